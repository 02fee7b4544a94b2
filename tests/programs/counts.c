/* N threads call f, g and write `shared`, M times each.
   Usage: counts THREADS TIMES */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

volatile long shared;
volatile long reads;
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
        shared = i;
    return 0;
}

int main(int argc, char **argv) {
    int threads = atoi(argv[1]);
    times = atol(argv[2]);
    void *(*task)(void *) = argc > 3 && argv[3][0] == 'w' ? writer : work;
    pthread_t id[64];
    for (int i = 1; i < threads; i++)
        pthread_create(&id[i], 0, task, 0);
    long sum = (long)task(0);
    for (int i = 1; i < threads; i++) {
        void *part;
        pthread_join(id[i], &part);
        sum += (long)part;
    }
    printf("%ld\n", sum);
    return 7;
}
