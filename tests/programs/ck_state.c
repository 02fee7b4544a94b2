/* ck_state ROUNDS: six threads that verify, again and again, what the kernel
   keeps for them: vector registers, robust list, rseq, signal mask, affinity,
   priority.
   `hold` is called when all are at work. Prints what it finds wrong. */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 6
static int rounds, cpus;
static volatile int wrong[10];
static const char *const names[] = {"vectors", "mxcsr", "robust",   "mask",
                                    "rseq",    "name",  "affinity", "stack", "join", "priority"};
static volatile int ready, go, finished;
/* For the test to change. */
volatile unsigned long marked;

__attribute__((noinline)) void hold(void) { __asm__ volatile(""); }

/* Keeps a pattern in vector registers for a while, at first until `hold` has
   returned. */
static void spin(const uint64_t *pattern, uint64_t *out, uint32_t control, uint32_t *after) {
    __asm__ volatile("ldmxcsr %3\n"
                     "movdqu (%0), %%xmm7\n"
                     "movdqu 16(%0), %%xmm15\n"
                     "lock incl %4\n"
                     "1: cmpl $0, %5\n"
                     "je 1b\n"
                     "mov $100000, %%rcx\n"
                     "2: dec %%rcx\n"
                     "jnz 2b\n"
                     "movdqu %%xmm7, (%1)\n"
                     "movdqu %%xmm15, 16(%1)\n"
                     "stmxcsr (%2)\n" ::"r"(pattern),
                     "r"(out), "r"(after), "m"(control), "m"(ready), "m"(go)
                     : "rcx", "memory", "xmm7", "xmm15");
    uint32_t usual = 0x1f80;
    __asm__ volatile("ldmxcsr %0" ::"m"(usual));
}

static void on(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

/* The kernel tells a registered thread its CPU. */
static void check_rseq(void) {
    struct rseq *area = (void *)((char *)__builtin_thread_pointer() + __rseq_offset);
    for (int c = 0; c < cpus; c++) {
        on(c);
        wrong[4] |= *(volatile uint32_t *)&area->cpu_id != (uint32_t)c;
    }
}

static void *thread(void *argument) {
    long id = (long)argument;
    uint64_t pattern[4], out[4];
    for (int i = 0; i < 4; i++)
        pattern[i] = id * 1000003 + i + 1;
    char name[16], name_now[16];
    snprintf(name, sizeof name, "state%ld", id);
    pthread_setname_np(pthread_self(), name);
    void *list, *list_now;
    size_t length;
    syscall(SYS_get_robust_list, 0, &list, &length);
    sigset_t mask, mask_now;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    if (id & 1)
        sigaddset(&mask, SIGUSR2);
    pthread_sigmask(SIG_SETMASK, &mask, 0);
    stack_t stack = {malloc(65536), 0, 65536}, stack_now;
    sigaltstack(&stack, 0);
    uint32_t control = 0x1f80 | ((id & 3) << 13), control_now;
    setpriority(PRIO_PROCESS, gettid(), 1 + id);
    on(id % cpus);
    for (int k = 0; k < rounds; k++) {
        spin(pattern, out, control, &control_now);
        wrong[0] |= memcmp(pattern, out, sizeof out) != 0;
        wrong[1] |= ((control ^ control_now) & 0x6000) != 0;
        syscall(SYS_get_robust_list, 0, &list_now, &length);
        wrong[2] |= list_now != list;
        pthread_sigmask(0, 0, &mask_now);
        wrong[3] |= sigismember(&mask_now, SIGUSR1) != 1 ||
                    sigismember(&mask_now, SIGUSR2) != (id & 1);
        cpu_set_t allowed;
        sched_getaffinity(0, sizeof allowed, &allowed);
        wrong[6] |= CPU_COUNT(&allowed) != 1 || !CPU_ISSET(id % cpus, &allowed);
        pthread_getname_np(pthread_self(), name_now, sizeof name_now);
        wrong[5] |= strcmp(name, name_now) != 0;
        sigaltstack(0, &stack_now);
        wrong[7] |= stack_now.ss_sp != stack.ss_sp;
        wrong[9] |= getpriority(PRIO_PROCESS, gettid()) != 1 + id;
        check_rseq();
        on(id % cpus);
    }
    __atomic_fetch_add(&finished, 1, __ATOMIC_SEQ_CST);
    return 0;
}

/* How many threads the kernel knows. */
static int tasks(void) {
    int count = 0;
    DIR *dir = opendir("/proc/self/task");
    for (struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

int main(int argc, char **argv) {
    rounds = atoi(argv[1]);
    cpus = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 2 : 1;
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], 0, thread, (void *)i);
    stack_t stack = {malloc(65536), 0, 65536}, stack_now;
    sigaltstack(&stack, 0);
    void *list, *list_now;
    size_t length;
    syscall(SYS_get_robust_list, 0, &list, &length);
    while (ready < THREADS)
        sched_yield();
    hold();
    check_rseq();
    sigaltstack(0, &stack_now);
    wrong[7] |= stack_now.ss_sp != stack.ss_sp;
    syscall(SYS_get_robust_list, 0, &list_now, &length);
    wrong[2] |= list_now != list;
    go = 1;
    while (finished < THREADS)
        usleep(1000);
    while (tasks() > 1)
        usleep(1000);
    for (int i = 0; i < THREADS; i++)
        wrong[8] |= pthread_tryjoin_np(threads[i], 0) != 0;
    printf("wrong:");
    for (int i = 0; i < 10; i++)
        if (wrong[i])
            printf(" %s", names[i]);
    printf("\n");
    return 0;
}
