// Looks at its own set of CPUs in every way it knows, right after hits of `f`.
// Ends with the number of the first way that did not show what was there at
// the start.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static cpu_set_t first;
static int status;
static char line[128];
volatile int total;

__attribute__((noinline)) void f(int i) { total += i; }

static void hits(void) {
    for (int i = 0; i < 20; i++) f(i);
}

static int same(void) {
    cpu_set_t now;
    CPU_ZERO(&now);
    // Not through the library: nothing lies between the hit and the kernel.
    syscall(SYS_sched_getaffinity, 0, sizeof now, &now);
    return CPU_EQUAL(&now, &first);
}

static void allowed(char *to, size_t size) {
    static char text[8192];
    ssize_t n = pread(status, text, sizeof text - 1, 0);
    text[n < 0 ? 0 : n] = 0;
    char *at = strstr(text, "Cpus_allowed:");
    snprintf(to, size, "%.60s", at ? at : "");
}

static volatile sig_atomic_t in_handler;
static void handler(int signal) {
    (void)signal;
    in_handler = same() ? 1 : 2;
}

static void *thread(void *arg) {
    (void)arg;
    return (void *)(long)same();
}

int main(void) {
    CPU_ZERO(&first);
    syscall(SYS_sched_getaffinity, 0, sizeof first, &first);
    status = open("/proc/self/status", O_RDONLY);
    allowed(line, sizeof line);
    signal(SIGUSR1, handler);
    for (int round = 0; round < 30; round++) {
        hits();
        if (!same()) return 1;
        hits();
        char now[128];
        allowed(now, sizeof now);
        if (strcmp(now, line) != 0) return 2;
        hits();
        pid_t child = fork();
        if (child == 0) _exit(same() ? 0 : 1);
        int code = 1;
        waitpid(child, &code, 0);
        if (code != 0) return 3;
        hits();
        pthread_t other;
        void *result = 0;
        pthread_create(&other, 0, thread, 0);
        pthread_join(other, &result);
        if (!result) return 4;
        hits();
        raise(SIGUSR1);
        if (in_handler != 1) return 5;
        hits();
        // Its own choice stays.
        cpu_set_t one;
        CPU_ZERO(&one);
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET(cpu, &first)) { CPU_SET(cpu, &one); break; }
        sched_setaffinity(0, sizeof one, &one);
        hits();
        cpu_set_t seen;
        CPU_ZERO(&seen);
        syscall(SYS_sched_getaffinity, 0, sizeof seen, &seen);
        if (!CPU_EQUAL(&seen, &one)) return 6;
        sched_setaffinity(0, sizeof first, &first);
    }
    for (int i = 0; i < 3000; i++) f(i);
    return same() ? 0 : 7;
}
