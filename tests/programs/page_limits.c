/* A thread waits, with a limit, for a word on the page that the other one
 * stores to: for a lock, and for a condition beside it. */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

struct {
    volatile long data[8];
    pthread_mutex_t lock;
    pthread_cond_t condition;
    int waiting, go;
    float other;
} shared __attribute__((aligned(4096))) = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .condition = PTHREAD_COND_INITIALIZER,
};

static void *waits(void *unused) {
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 60;
    pthread_mutex_lock(&shared.lock);
    shared.waiting = 1;
    while (!shared.go)
        pthread_cond_timedwait(&shared.condition, &shared.lock, &limit);
    pthread_mutex_unlock(&shared.lock);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, waits, 0);
    for (int waiting = 0; !waiting; usleep(1000)) {
        pthread_mutex_lock(&shared.lock);
        waiting = shared.waiting;
        pthread_mutex_unlock(&shared.lock);
    }
    for (int i = 0; i < 1000; i++) {
        shared.data[0] = i;
        /* An access that stops the other thread. */
        if (i % 100 == 0)
            __asm__ volatile("fld1; fstps %0" : "=m"(shared.other));
    }
    pthread_mutex_lock(&shared.lock);
    shared.go = 1;
    pthread_cond_signal(&shared.condition);
    pthread_mutex_unlock(&shared.lock);
    pthread_join(thread, 0);
    return 7;
}
