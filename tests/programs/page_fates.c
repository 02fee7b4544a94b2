/* What a program does to a page that is watched: it goes, moves, is closed. */
#define _GNU_SOURCE
#include <malloc.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

char *watched;
static sigjmp_buf back;
static volatile int handled;

__attribute__((noinline)) void begin(void) { __asm__ volatile(""); }
__attribute__((noinline)) void after(void) { __asm__ volatile(""); }

static void jump(int signal) { siglongjmp(back, signal); }
static void count(int signal) { handled += signal != 0; }

static char *fresh(size_t size) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    return mmap(0, size, PROT_READ | PROT_WRITE, flags, -1, 0);
}

static int unmaps(void) {
    watched = fresh(8192);
    begin();
    watched[3] = 1;
    munmap(watched, 8192);
    after();
    return 7;
}

static int trims(void) {
    char *heap = malloc(100000);
    watched = heap + 90000;
    begin();
    watched[3] = 1;
    free(heap);
    malloc_trim(0);
    after();
    heap = malloc(100000);
    heap[90000] = 2;
    return 7;
}

static int moves(void) {
    watched = fresh(8192);
    char *elsewhere = fresh(8192);
    begin();
    watched[3] = 1;
    char *now = mremap(watched, 8192, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere);
    after();
    now[3] += 6;
    return now[3];
}

static int closes(void) {
    watched = fresh(4096);
    signal(SIGSEGV, jump);
    begin();
    watched[3] = 1;
    mprotect(watched, 4096, PROT_READ);
    if (sigsetjmp(back, 1) == 0) {
        watched[3] = 2;
        return 1;
    }
    mprotect(watched, 4096, PROT_READ | PROT_WRITE);
    watched[3] += 6;
    return watched[3];
}

/* Signals with their frames on the watched page: `own` the stack's, else a
 * stack for signals. */
static int handles(int own) {
    char local[64] = {0};
    struct sigaction action = {.sa_handler = count};
    if (own) {
        watched = local;
    } else {
        char *stack = fresh(1 << 16);
        stack_t other = {.ss_sp = stack, .ss_size = 1 << 16};
        sigaltstack(&other, 0);
        action.sa_flags = SA_ONSTACK;
        watched = stack + (1 << 16) - 1024;
    }
    sigaction(SIGUSR1, &action, 0);
    begin();
    for (int i = 0; i < 3; i++) {
        raise(SIGUSR1);
        ((volatile char *)local)[3] = 1;
    }
    /* What comes after is on the same page, and deeper. */
    _exit(handled + 4);
}

/* The kernel notes on the watched page who was born, then what was read. No
 * signal comes between. */
static int forks(void) {
    int ends[2];
    watched = fresh(4096);
    if (pipe(ends) != 0) {
        return 1;
    }
    begin();
    for (int i = 0; i < 3; i++) {
        if (syscall(SYS_clone, CLONE_PARENT_SETTID, 0, watched + 16, 0, 0) == 0) {
            _exit(write(ends[1], "7", 1) != 1);
        }
        if (read(ends[0], watched + 32, 1) != 1) {
            return 2;
        }
    }
    return watched[32] - '0';
}

int main(int count, char **arguments) {
    switch (count > 1 ? arguments[1][0] : 0) {
    case 'u':
        return unmaps();
    case 't':
        return trims();
    case 'm':
        return moves();
    case 'c':
        return closes();
    case 's':
        return handles(1);
    case 'a':
        return handles(0);
    case 'f':
        return forks();
    }
    return 2;
}
