/* Threads that come and go. Usage: churn KIND
   leader: the first thread ends, the others go on calling f;
   many: 300 short threads, at most 6 at a time, call f 10 times each. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static volatile long sum;

__attribute__((noinline)) long f(long x) {
    __asm__ volatile("");
    return x + 1;
}

static void *calls(void *count) {
    for (long i = 0; i < (long)count; i++)
        __sync_fetch_and_add(&sum, f(i) - i);
    return 0;
}

static void *last(void *unused) {
    pthread_t id[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&id[i], 0, calls, (void *)1000);
    for (int i = 0; i < 3; i++)
        pthread_join(id[i], 0);
    exit(sum == 3000 ? 7 : 1);
    return unused;
}

int main(int argc, char **argv) {
    (void)argc;
    pthread_t id[6];
    if (!strcmp(argv[1], "leader")) {
        pthread_create(&id[0], 0, last, 0);
        pthread_exit(0);
    }
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 6; i++)
            pthread_create(&id[i], 0, calls, (void *)10);
        for (int i = 0; i < 6; i++)
            pthread_join(id[i], 0);
    }
    return sum == 3000 ? 7 : 1;
}
