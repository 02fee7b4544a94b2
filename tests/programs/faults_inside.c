/* Touches watched data where SIGSEGV is blocked or ignored, which the kernel does not allow for. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 20 };

char *watched;
static char *forbidden;
static volatile int handled;
static sigjmp_buf back;

__attribute__((noinline)) void begin(void) { __asm__ volatile(""); }

static void touch(int round) { watched[round % 64] = (char)round; }

/* Lets the instruction that faulted pass. */
static void allow(int signal, siginfo_t *info, void *context) {
    (void)context;
    touch(handled);
    handled += signal == SIGSEGV && info->si_addr == forbidden;
    mprotect(forbidden, 4096, PROT_READ | PROT_WRITE);
    touch(handled);
}

static void fail(void) {
    mprotect(forbidden, 4096, PROT_NONE);
    *forbidden = 1;
}

static void handle(void (*handler)(int, siginfo_t *, void *), int flags) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    sigaddset(&action.sa_mask, SIGUSR1);
    sigaction(SIGSEGV, &action, 0);
}

static int is_handled(void (*handler)(int, siginfo_t *, void *), int flags) {
    struct sigaction now;
    sigaction(SIGSEGV, 0, &now);
    return now.sa_sigaction == handler && (now.sa_flags & ~0x04000000) == (SA_SIGINFO | flags) &&
           sigismember(&now.sa_mask, SIGUSR1) && !sigismember(&now.sa_mask, SIGUSR2);
}

static int is_blocked(int signal) {
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, 0, &now);
    return sigismember(&now, signal) == 1;
}

/* A handler that looks at watched data, again and again. */
static int handler(void) {
    handle(allow, 0);
    for (int i = 0; i < ROUNDS; i++) fail();
    return handled == ROUNDS && is_handled(allow, 0) && !is_blocked(SIGSEGV) ? 7 : 1;
}

/* All signals blocked, and some of them open again. */
static int mask(void) {
    handle(allow, 0);
    sigset_t all;
    sigfillset(&all);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_sigmask(SIG_BLOCK, &all, 0);
        touch(i);
        if (!is_blocked(SIGSEGV) || !is_handled(allow, 0)) return 1;
        raise(SIGSEGV);
        touch(i);
        sigset_t waiting;
        sigpending(&waiting);
        if (sigismember(&waiting, SIGSEGV) != 1) return 2;
        struct timespec none = {0, 0};
        if (sigtimedwait(&waiting, 0, &none) != SIGSEGV) return 3;
        pthread_sigmask(SIG_UNBLOCK, &all, 0);
        touch(i);
        if (is_blocked(SIGSEGV)) return 4;
        fail();
    }
    return handled == ROUNDS ? 7 : 5;
}

static int ignored(void) {
    signal(SIGSEGV, SIG_IGN);
    for (int i = 0; i < ROUNDS; i++) {
        touch(i);
        kill(getpid(), SIGSEGV);
    }
    return signal(SIGSEGV, SIG_DFL) == SIG_IGN ? 7 : 1;
}

/* A fault of the handler's own ends the program, whatever was touched before. */
static void clumsy(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info, (void)context;
    touch(1);
    *(volatile char *)0 = 1;
}

static int twice(void) {
    handle(clumsy, 0);
    fail();
    return 1;
}

/* As does a fault while all is blocked. */
static int blocked(void) {
    handle(allow, 0);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, 0);
    touch(1);
    fail();
    return 1;
}

/* An action for one time. */
static void jump(int signal, siginfo_t *info, void *context) {
    (void)info, (void)context;
    touch(signal);
    siglongjmp(back, 1);
}

static int once(void) {
    for (int i = 0; i < ROUNDS; i++) {
        handle(jump, SA_RESETHAND);
        touch(i);
        if (!sigsetjmp(back, 1)) fail();
        touch(i);
        struct sigaction now;
        sigaction(SIGSEGV, 0, &now);
        if (now.sa_handler != SIG_DFL || is_blocked(SIGSEGV)) return 1;
    }
    return 7;
}

/* One thread touches with all blocked, another has faults of its own. */
static volatile int touches, enough;

static void *toucher(void *unused) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, 0);
    while (!enough) touch(touches++);
    return is_blocked(SIGSEGV) ? unused : 0;
}

static int threads(void) {
    handle(allow, 0);
    pthread_t thread;
    pthread_create(&thread, 0, toucher, watched);
    while (!touches) usleep(100);
    int lost = 0;
    for (int i = 0; i < ROUNDS; i++) {
        int flags = i % 2 ? SA_NODEFER : 0;
        handle(allow, flags);
        fail();
        lost += !is_handled(allow, flags);
    }
    enough = 1;
    void *result;
    pthread_join(thread, &result);
    return handled == ROUNDS && result == watched && !lost && is_handled(allow, SA_NODEFER) ? 7 : 1;
}

int main(int count, char **words) {
    if (count < 2) return 2;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    watched = mmap(0, 4096, PROT_READ | PROT_WRITE, flags, -1, 0);
    forbidden = mmap(0, 4096, PROT_READ | PROT_WRITE, flags, -1, 0);
    begin();
    struct { const char *name; int (*run)(void); } kinds[] = {
        {"handler", handler}, {"mask", mask}, {"ignored", ignored}, {"twice", twice},
        {"blocked", blocked}, {"once", once}, {"threads", threads},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(words[1], kinds[i].name)) return kinds[i].run();
    return 2;
}
