/* Three threads call f 2000 times each and then compute until somebody sets `go`.
   The status is 0 when all of them could always run on all CPUs. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

volatile int go, wrong;
static cpu_set_t first;

__attribute__((noinline)) void f(int i) { __asm__ volatile("" : : "r"(i)); }

static void look(void) {
    cpu_set_t now;
    CPU_ZERO(&now);
    syscall(SYS_sched_getaffinity, 0, sizeof now, &now);
    if (!CPU_EQUAL(&now, &first)) wrong = 1;
}

static void *work(void *unused) {
    for (int i = 0; i < 2000; i++) {
        f(i);
        if (i % 100 == 50) look();
    }
    while (!go) {
    }
    look();
    return unused;
}

int main(void) {
    CPU_ZERO(&first);
    syscall(SYS_sched_getaffinity, 0, sizeof first, &first);
    pthread_t id[3];
    for (int i = 0; i < 3; i++) pthread_create(&id[i], 0, work, 0);
    for (int i = 0; i < 3; i++) pthread_join(id[i], 0);
    return wrong;
}
