/* Threads that contend for a lock on the page of watched data, for ever; or
   until one of them ends the program after so many rounds. With 0 rounds they
   go on without the lock. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static struct {
    _Alignas(4096) volatile long data[8];
    pthread_mutex_t lock;
} page = {{0}, PTHREAD_MUTEX_INITIALIZER};

static long rounds;

static void *work(void *arg) {
    for (;;) {
        if (rounds)
            pthread_mutex_lock(&page.lock);
        long n = page.data[0] + 1;
        page.data[0] = n;
        if (n == rounds)
            _exit(7);
        if (rounds)
            pthread_mutex_unlock(&page.lock);
    }
    return arg;
}

int main(int argc, char **argv) {
    rounds = argc > 1 ? atol(argv[1]) : -1;
    pthread_t thread;
    for (int i = 0; i < 5; i++)
        pthread_create(&thread, 0, work, 0);
    work(0);
}
