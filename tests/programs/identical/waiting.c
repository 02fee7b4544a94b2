// Waits that must not end early because other threads are observed.
#define _GNU_SOURCE
#include "tick.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <time.h>
#include <unistd.h>
static volatile int over;
static int ends[2], sem;
static pthread_t waiter;
static void *noise(void *arg) {
    for (int i = 0; i < 300 && !over; i++) {
        tick(0);
        usleep(500);
        if (i == 20 && write(ends[1], "x", 1) != 1) over = 1;
        if (i == 40) pthread_kill(waiter, SIGUSR1);
        if (i == 60) semop(sem, &(struct sembuf){0, 1, 0}, 1);
    }
    return arg;
}
int main(void) {
    pthread_t t;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (pipe(ends)) return 1;
    sem = semget(IPC_PRIVATE, 1, 0600);
    waiter = pthread_self();
    struct epoll_event event = {.events = EPOLLIN};
    int e = epoll_create1(0);
    epoll_ctl(e, EPOLL_CTL_ADD, ends[0], &event);
    pthread_create(&t, NULL, noise, NULL);
    printf("%d\n", epoll_wait(e, &event, 1, -1));
    printf("%d\n", sigwaitinfo(&set, NULL));
    printf("%d\n", semop(sem, &(struct sembuf){0, -1, 0}, 1));
    semctl(sem, 0, IPC_RMID);
    printf("%d\n", poll(NULL, 0, 20));
    struct timeval tv = {0, 20000};
    printf("%d\n", select(0, NULL, NULL, NULL, &tv));
    struct timespec ts = {0, 20000000};
    printf("%d\n", nanosleep(&ts, NULL));
    printf("%d\n", clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL));
    over = 1;
    pthread_join(t, NULL);
    return 0;
}
