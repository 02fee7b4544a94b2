#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, recursive;
// As std::recursive_mutex is: nobody is told by a call.
static pthread_mutex_t quiet = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
// It says so when its owner locks it again.
static pthread_mutex_t strict = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
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
    pthread_mutex_lock(&quiet);
    pthread_mutex_lock(&quiet);
    pthread_mutex_trylock(&quiet);
    for (int i = 0; i < 3; i++)
        pthread_mutex_unlock(&quiet);
    return NULL;
}

static void release(void *mutex) {
    pthread_mutex_unlock(mutex);
}

// It is cancelled while it waits, which takes the mutex again for `release`.
static void *cancelled(void *arg) {
    pthread_mutex_lock(&m);
    pthread_cleanup_push(release, &m);
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

static int refused(void) {
    pthread_mutex_lock(&strict);
    int n = pthread_mutex_lock(&strict) == EDEADLK;
    n += pthread_mutex_trylock(&strict) == EBUSY;
    pthread_mutex_unlock(&strict);
    pthread_mutex_destroy(&strict);
    return n;
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
    if (refused() != 2 || pthread_mutex_trylock(&m))
        return 1;
    pthread_mutex_unlock(&m);
    // As std::timed_mutex waits.
    struct timespec limit;
    clock_gettime(CLOCK_MONOTONIC, &limit);
    limit.tv_sec += 60;
    for (int i = 0; i < 2; i++) {
        if (pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &limit))
            return 1;
        pthread_mutex_unlock(&m);
    }
    if (pthread_mutex_clocklock(&quiet, CLOCK_MONOTONIC, &limit) || pthread_mutex_clocklock(&quiet, CLOCK_MONOTONIC, &limit))
        return 1;
    pthread_mutex_unlock(&quiet);
    pthread_mutex_unlock(&quiet);
    pthread_mutex_destroy(&m);
    pthread_mutex_destroy(&recursive);
    printf("%d\n", sum);
    return 3;
}
