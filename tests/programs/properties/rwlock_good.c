#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int value;

static void *reader(void *arg) {
    long seen = 0;
    for (int i = 0; i < 10; i++) {
        pthread_rwlock_rdlock(&lock);
        pthread_rwlock_rdlock(&lock);
        seen += value >= 0;
        pthread_rwlock_unlock(&lock);
        pthread_rwlock_unlock(&lock);
    }
    *(long *)arg = seen;
    return NULL;
}

int main(void) {
    long seen[2];
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, reader, &seen[i]);
    for (int i = 0; i < 10; i++) {
        pthread_rwlock_wrlock(&lock);
        value++;
        pthread_rwlock_unlock(&lock);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    // As std::shared_timed_mutex waits.
    struct timespec real, steady;
    clock_gettime(CLOCK_REALTIME, &real);
    clock_gettime(CLOCK_MONOTONIC, &steady);
    real.tv_sec += 60;
    steady.tv_sec += 60;
    pthread_rwlock_timedrdlock(&lock, &real);
    pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &steady);
    pthread_rwlock_unlock(&lock);
    pthread_rwlock_unlock(&lock);
    pthread_rwlock_timedwrlock(&lock, &real);
    pthread_rwlock_unlock(&lock);
    pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &steady);
    pthread_rwlock_unlock(&lock);
    pthread_rwlock_destroy(&lock);
    printf("%ld %ld %d\n", seen[0], seen[1], value);
    return 0;
}
