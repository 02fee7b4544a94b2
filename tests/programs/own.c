/* N threads, one after the other if `s`, store M times each to what is their
   own, and the first thread does so as well.
   Usage: own THREADS TIMES [s] */
#include <pthread.h>
#include <stdlib.h>

/* The only one of the program: just below the thread pointer. */
__thread volatile long own;
static long times;
/* For all threads, and touched by none. */
long data[8] __attribute__((aligned(4096)));

static void *work(void *unused) {
    for (long i = 1; i <= times; i++)
        own = i;
    return unused;
}

int main(int argc, char **argv) {
    int threads = atoi(argv[1]);
    times = atol(argv[2]);
    pthread_t id[64];
    for (int i = 0; i < threads; i++) {
        pthread_create(&id[i], 0, work, 0);
        if (argc > 3)
            pthread_join(id[i], 0);
    }
    work(0);
    for (int i = 0; i < threads && argc <= 3; i++)
        pthread_join(id[i], 0);
    return 7;
}
