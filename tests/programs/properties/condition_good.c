#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, recursive;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static int turn, sum, waiting;

static void *player(void *arg) {
    int me = *(int *)arg;
    for (int i = 0; i < 10; i++) {
        pthread_mutex_lock(&m);
        while (turn != me)
            pthread_cond_wait(&turned, &m);
        sum += me + 1;
        turn = 1 - me;
        pthread_cond_broadcast(&turned);
        pthread_mutex_unlock(&m);
    }
    pthread_mutex_lock(&recursive);
    pthread_mutex_lock(&recursive);
    pthread_mutex_unlock(&recursive);
    pthread_mutex_unlock(&recursive);
    return NULL;
}

// The mutex that a cancelled wait took again is held.
static void once_more(void *mutex) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    pthread_cond_timedwait(&turned, mutex, &now);
    pthread_mutex_unlock(mutex);
}

static void *cancelled(void *arg) {
    pthread_mutex_lock(&m);
    pthread_cleanup_push(once_more, &m);
    waiting = 1;
    for (;;)
        pthread_cond_wait(&turned, &m);
    pthread_cleanup_pop(1);
    return arg;
}

static void cancel(void) {
    pthread_t t;
    pthread_create(&t, NULL, cancelled, NULL);
    for (int waits = 0; !waits;) {
        pthread_mutex_lock(&m);
        waits = waiting;
        pthread_mutex_unlock(&m);
    }
    pthread_cancel(t);
    pthread_join(t, NULL);
}

static void *dies(void *mutex) {
    pthread_mutex_lock(mutex);
    return NULL;
}

// The owner dies, and the next one waits with its mutex.
static int inherited(void) {
    pthread_mutex_t robust;
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attr);
    pthread_t t;
    pthread_create(&t, NULL, dies, &robust);
    pthread_join(t, NULL);
    if (pthread_mutex_lock(&robust) != EOWNERDEAD)
        return 0;
    pthread_mutex_consistent(&robust);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    pthread_cond_timedwait(&turned, &robust, &now);
    pthread_mutex_unlock(&robust);
    pthread_mutex_destroy(&robust);
    return 1;
}

int main(void) {
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &attr);
    int me[2] = {0, 1};
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, player, &me[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    cancel();
    if (!inherited() || pthread_mutex_trylock(&m))
        return 1;
    pthread_mutex_unlock(&m);
    struct timespec now, limit;
    clock_gettime(CLOCK_REALTIME, &now);
    clock_gettime(CLOCK_MONOTONIC, &limit);
    limit.tv_sec += 60;
    if (pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &limit))
        return 1;
    pthread_cond_timedwait(&turned, &m, &now);
    pthread_mutex_unlock(&m);
    // It is still held, once.
    pthread_mutex_lock(&recursive);
    pthread_mutex_lock(&recursive);
    pthread_mutex_unlock(&recursive);
    pthread_cond_timedwait(&turned, &recursive, &now);
    if (pthread_mutex_clocklock(&recursive, CLOCK_MONOTONIC, &limit))
        return 1;
    pthread_mutex_unlock(&recursive);
    struct timespec later = {now.tv_sec + 60, 0};
    if (pthread_mutex_timedlock(&recursive, &later))
        return 1;
    pthread_mutex_unlock(&recursive);
    pthread_cond_timedwait(&turned, &recursive, &now);
    pthread_mutex_unlock(&recursive);
    pthread_mutex_destroy(&m);
    pthread_mutex_destroy(&recursive);
    printf("%d\n", sum);
    return 3;
}
