/* N threads call f and g (default), store to `shared` (w), do so with all
   signals blocked (b, after reading a byte), add to it (a), invert it (n) or store
   under a lock on the same page (l), M times each.
   Usage: counts THREADS TIMES [w|b|a|n|l] */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Alone in 256 bytes, so that larger ranges can be watched. */
struct {
    volatile long value;
    char rest[120];
    pthread_mutex_t lock;
} shared __attribute__((aligned(256)));
static long times;

__attribute__((noinline)) long f(long x) {
    __asm__ volatile("");
    return x + 1;
}

__attribute__((noinline)) long g(long x) {
    __asm__ volatile("");
    return f(x) * 2;
}

static void *work(void *unused) {
    (void)unused;
    long sum = 0;
    for (long i = 0; i < times; i++)
        sum += g(i) + f(i);
    return (void *)sum;
}

static void *writer(void *unused) {
    (void)unused;
    for (long i = 0; i < times; i++)
        shared.value = i;
    return 0;
}

static void *adder(void *unused) {
    (void)unused;
    for (long i = 0; i < times; i++)
        __sync_fetch_and_add(&shared.value, 1);
    return 0;
}

static void *inverter(void *unused) {
    (void)unused;
    for (long i = 0; i < times; i++)
        __asm__ volatile("lock notq %0" : "+m"(shared.value));
    return 0;
}

static void *locker(void *unused) {
    (void)unused;
    for (long i = 0; i < times; i++) {
        pthread_mutex_lock(&shared.lock);
        shared.value = i;
        pthread_mutex_unlock(&shared.lock);
    }
    return 0;
}

int main(int argc, char **argv) {
    int threads = atoi(argv[1]);
    times = atol(argv[2]);
    char kind = argc > 3 ? argv[3][0] : 'c';
    void *(*task)(void *) = kind == 'w' || kind == 'b' ? writer : kind == 'a' ? adder
                         : kind == 'l' ? locker
                         : kind == 'n' ? inverter : work;
    if (kind == 'b') {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, 0);
        char byte;
        if (read(0, &byte, 1) != 1)
            return 2;
    }
    pthread_t id[64];
    for (int i = 1; i < threads; i++)
        pthread_create(&id[i], 0, task, 0);
    long sum = (long)task(0);
    for (int i = 1; i < threads; i++) {
        void *part;
        pthread_join(id[i], &part);
        sum += (long)part;
    }
    if (kind == 'a' && shared.value != threads * times)
        return 1;
    if (kind == 'n' && shared.value != -(threads * times % 2))
        return 3;
    printf("%ld\n", sum);
    return 7;
}
