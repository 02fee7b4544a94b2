/* Children of every kind call f; each must live and give the right status.
   Usage: forks KIND, one of fork, vfork, spawn, thread (fork in a thread). */
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

volatile long calls __attribute__((aligned(256)));

__attribute__((noinline)) int f(int x) {
    calls = calls + 1;
    return x + 1;
}

static int status_of(pid_t child) {
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

static int by_fork(void) {
    pid_t child = fork();
    if (child == 0) {
        int sum = 0;
        for (int i = 0; i < 100; i++)
            sum = f(sum);
        _exit(sum == 100 ? 5 : 6);
    }
    return status_of(child);
}

static int by_vfork(void) {
    char *args[] = {"/bin/sh", "-c", "exit 5", 0};
    pid_t child = vfork();
    if (child == 0) {
        f(1);
        execv(args[0], args);
        _exit(7);
    }
    return status_of(child);
}

static int by_spawn(void) {
    char *args[] = {"/bin/sh", "-c", "exit 5", 0};
    pid_t child;
    if (posix_spawn(&child, args[0], 0, 0, args, environ))
        return -1;
    return status_of(child);
}

static void *in_thread(void *result) {
    *(int *)result = by_fork();
    return 0;
}

int main(int argc, char **argv) {
    (void)argc;
    int good = 0;
    for (int i = 0; i < 20; i++) {
        int result = -1;
        f(i);
        if (!strcmp(argv[1], "fork"))
            result = by_fork();
        else if (!strcmp(argv[1], "vfork"))
            result = by_vfork();
        else if (!strcmp(argv[1], "spawn"))
            result = by_spawn();
        else {
            pthread_t t;
            pthread_create(&t, 0, in_thread, &result);
            pthread_join(t, 0);
        }
        good += result == 5;
    }
    printf("%d\n", good);
    return good == 20 ? 0 : 1;
}
