/* Children made by clone with unusual flags call f; so does the program.
   Usage: clones KIND. 0 if all went well. With "stay" the child shares the
   memory and calls f until standard input ends; with "slow" it is a vfork
   child that waits for that, with "lost" one that calls f until it is killed. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
    const char *name;
    int flags;
    int own; /* The child has a copy of the memory. */
} kinds[] = {
    {"shared", CLONE_VM | SIGCHLD, 0},
    {"shared without a signal", CLONE_VM, 0},
    {"shared with all", CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | SIGCHLD, 0},
    {"copied", SIGCHLD, 1},
    {"copied without a signal", 0, 1},
    {"copied with another signal", SIGUSR1, 1},
    {"copied and waited for", CLONE_VFORK | SIGCHLD, 1},
};

static volatile int done;
volatile long calls;

__attribute__((noinline)) long f(long x) {
    __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    return x + 1;
}

static int call(void *unused) {
    (void)unused;
    long sum = 0;
    for (int i = 0; i < 50; i++)
        sum = f(sum);
    return sum == 50 ? 5 : 6;
}

static int stay(void *unused) {
    (void)unused;
    while (!done)
        f(1);
    return 5;
}

static int make(int (*what)(void *), int flags) {
    const int size = 64 * 1024;
    char *stack = malloc(size);
    int child = clone(what, stack + size, flags, 0);
    return child;
}

static int status_of(int child) {
    int status = 0;
    if (waitpid(child, &status, __WALL) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

int main(int argc, char **argv) {
    (void)argc;
    char byte;
    setvbuf(stdout, 0, _IONBF, 0);
    signal(SIGUSR1, SIG_IGN);
    if (!strcmp(argv[1], "stay")) {
        int child = make(stay, CLONE_VM | SIGCHLD);
        puts("ready");
        while (read(0, &byte, 1) > 0)
            f(1);
        done = 1;
        return status_of(child) == 5 ? 0 : 1;
    }
    if (!strcmp(argv[1], "slow")) {
        int child = vfork();
        if (child == 0) {
            read(0, &byte, 1);
            _exit(5);
        }
        for (;;)
            f(1);
    }
    if (!strcmp(argv[1], "lost")) {
        int status, child = vfork();
        if (child == 0) {
            for (int i = 0;; i++) {
                f(i);
                if (i == 100)
                    write(1, "calls\n", 6);
            }
        }
        waitpid(child, &status, 0);
        return WIFSIGNALED(status) ? WTERMSIG(status) : 1;
    }
    for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (strcmp(kinds[k].name, argv[1]))
            continue;
        for (int i = 0; i < 10; i++) {
            f(i);
            int child = make(call, kinds[k].flags);
            if (status_of(child) != 5)
                return 2;
            f(i);
        }
        return calls == (kinds[k].own ? 20 : 520) ? 0 : 3;
    }
    return 4;
}
