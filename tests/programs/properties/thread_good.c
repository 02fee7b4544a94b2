#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

static sem_t over;

static void *work(void *arg) {
    return arg;
}

static void *alone(void *arg) {
    pthread_detach(pthread_self());
    sem_post(&over);
    return arg;
}

static void expire(union sigval value) {
    sem_post(value.sival_ptr);
}

// The C library has a thread for it, which nobody joins.
static void wait_for_timer(void) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = expire, .sigev_value.sival_ptr = &over};
    struct itimerspec soon = {.it_value.tv_nsec = 1000};
    timer_t timer;
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &soon, NULL);
    sem_wait(&over);
    timer_delete(timer);
}

// Several at a time: at first each has a number that was not there before.
static void join_otherwise(void) {
    pthread_t t[4];
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], i == 3 ? &attr : NULL, work, NULL);
    struct timespec real, monotonic;
    clock_gettime(CLOCK_REALTIME, &real);
    clock_gettime(CLOCK_MONOTONIC, &monotonic);
    real.tv_sec += 60;
    monotonic.tv_sec += 60;
    while (pthread_tryjoin_np(t[0], NULL))
        sched_yield();
    pthread_timedjoin_np(t[1], NULL, &real);
    pthread_clockjoin_np(t[2], NULL, CLOCK_MONOTONIC, &monotonic);
    pthread_join(t[3], NULL);
}

int main(void) {
    sem_init(&over, 0, 0);
    wait_for_timer();
    join_otherwise();
    for (int i = 0; i < 5; i++) {
        pthread_t a, b, c;
        pthread_create(&a, NULL, work, NULL);
        pthread_create(&b, NULL, alone, NULL);
        pthread_attr_t attr;
        pthread_attr_init(&attr);
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        pthread_create(&c, &attr, work, NULL);
        pthread_attr_destroy(&attr);
        pthread_join(a, NULL);
        sem_wait(&over);
    }
    join_otherwise();
    puts("done");
    return 0;
}
