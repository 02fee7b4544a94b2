/* Signals of all sorts. Usage: signals KIND
   rt: 200 real-time signals with values; int3: the program's own int3, 100
   times; timer: a fast timer while f is called; fault: f's first instruction
   faults and its handler repairs; kill: SIGTRAP sent by the program; blocked:
   one that it blocks. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

static volatile long handled, value_sum, sender_ok;
static volatile long *volatile cell;

__attribute__((noinline)) long f(long x) {
    __asm__ volatile("");
    return x + 1;
}

/* Its first instruction is a store. */
long store(volatile long *p, long v);
__asm__(".text\n.globl store\n.type store,@function\n"
        "store: movq %rsi,(%rdi)\n mov %rsi,%rax\n ret\n.size store,.-store\n");

/* Its first instruction has one byte. */
long pushes(long x);
__asm__(".globl pushes\n.type pushes,@function\n"
        "pushes: push %rbx\n lea 1(%rdi),%rax\n pop %rbx\n ret\n"
        ".size pushes,.-pushes\n");

/* A loop instruction and a call at known addresses. */
long looped(long n);
__asm__(".globl looped\n.type looped,@function\n"
        "looped: mov %rdi,%rcx\n xor %eax,%eax\n"
        "looped_body: inc %rax\n"
        ".globl looped_end\nlooped_end: loop looped_body\n"
        ".globl looped_call\nlooped_call: call helper\n ret\n"
        ".size looped,.-looped\n"
        "helper: inc %rax\n ret\n");

static void on_signal(int s, siginfo_t *info, void *unused) {
    (void)unused;
    (void)s;
    handled++;
    value_sum += info->si_value.sival_int;
    sender_ok += info->si_pid == getpid();
}

static void on_fault(int s, siginfo_t *info, void *context) {
    (void)s;
    (void)info;
    /* The handler must see the program's own code address. */
    long pc = ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    if (pc != (long)store)
        _exit(3);
    handled++;
    mprotect((void *)cell, 4096, PROT_READ | PROT_WRITE);
}

static void install(int s, void (*handler)(int, siginfo_t *, void *)) {
    struct sigaction sa;
    memset(&sa, 0, sizeof sa);
    sa.sa_sigaction = handler;
    sa.sa_flags = SA_SIGINFO;
    sigaction(s, &sa, 0);
}

/* As dense as the timer is, it must not keep a slow tracer busy for ever. */
static void on_alarm(int s, siginfo_t *info, void *context) {
    (void)s, (void)info, (void)context;
    if (++handled == 4000) {
        struct itimerval off = {{0, 0}, {0, 0}};
        setitimer(ITIMER_REAL, &off, 0);
    }
}

int main(int argc, char **argv) {
    (void)argc;
    const char *kind = argv[1];
    if (!strcmp(kind, "rt")) {
        for (int s = SIGRTMIN; s < SIGRTMIN + 4; s++)
            install(s, on_signal);
        for (int i = 0; i < 200; i++) {
            union sigval v = {.sival_int = i};
            sigqueue(getpid(), SIGRTMIN + i % 4, v);
            f(i);
        }
        return handled == 200 && value_sum == 19900 && sender_ok == 200 ? 0 : 1;
    }
    if (!strcmp(kind, "int3")) {
        install(SIGTRAP, on_signal);
        for (int i = 0; i < 100; i++) {
            f(i);
            __asm__ volatile(".globl own_int3\nown_int3: int3");
        }
        return handled == 100 ? 0 : 1;
    }
    if (!strcmp(kind, "kill")) {
        install(SIGTRAP, on_signal);
        for (int i = 0; i < 100; i++) {
            f(i);
            raise(SIGTRAP);
        }
        return handled == 100 && sender_ok == 100 ? 0 : 1;
    }
    if (!strcmp(kind, "blocked")) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGTRAP);
        sigprocmask(SIG_BLOCK, &set, 0);
        raise(SIGTRAP);
        for (int i = 0; i < 10; i++)
            if (f(i) + pushes(i) != 2 * i + 2)
                return 1;
        siginfo_t info;
        if (sigwaitinfo(&set, &info) != SIGTRAP)
            return 2;
        return info.si_code == SI_USER && info.si_pid == getpid() ? 0 : 3;
    }
    if (!strcmp(kind, "timer")) {
        install(SIGALRM, on_alarm);
        struct itimerval fast = {{0, 100}, {0, 100}};
        setitimer(ITIMER_REAL, &fast, 0);
        long sum = 0;
        for (int i = 0; i < 5000; i++)
            sum += f(i) + looped(3);
        struct itimerval off = {{0, 0}, {0, 0}};
        setitimer(ITIMER_REAL, &off, 0);
        printf("%ld\n", handled);
        return sum == 5000L * 5001 / 2 + 5000 * 4 ? 0 : 1;
    }
    if (!strcmp(kind, "fault")) {
        install(SIGSEGV, on_fault);
        cell = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (int i = 0; i < 50; i++) {
            mprotect((void *)cell, 4096, PROT_READ);
            store(cell, i);
        }
        return handled == 50 && *cell == 49 ? 0 : 1;
    }
    return 2;
}
