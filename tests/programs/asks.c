/* N threads ask for the parent's id, M times each. Usage: asks THREADS TIMES */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static long times;

static void *work(void *unused) {
    (void)unused;
    for (long i = 0; i < times; i++)
        getppid();
    return 0;
}

int main(int argc, char **argv) {
    int threads = argc > 2 ? atoi(argv[1]) : 1;
    times = argc > 2 ? atol(argv[2]) : 1;
    pthread_t id[64];
    for (int i = 1; i < threads; i++)
        pthread_create(&id[i], 0, work, 0);
    work(0);
    for (int i = 1; i < threads; i++)
        pthread_join(id[i], 0);
    return 7;
}
