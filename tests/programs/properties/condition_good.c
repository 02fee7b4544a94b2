#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, recursive;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static int turn, sum;

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
    if (pthread_mutex_trylock(&m))
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
