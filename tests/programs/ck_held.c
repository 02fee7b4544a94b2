/* ck_held [KIND]: threads hold mutexes that know their owner, one waits in each kind
   of system call that is interrupted; `hold` is the moment to save. With a KIND only a lock of
   that kind is held, and nothing waits: errorcheck, recursive, robust, priority, rwlocks,
   normal, adaptive or reading. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t errorcheck, inherit, robust;
static volatile int held, released;
/* For the test to change. */
volatile unsigned long marked;
static void check(int result, const char *what) {
    if (result) {
        printf("%s: %s\n", what, strerror(result));
        fflush(stdout);
        _exit(1);
    }
}

__attribute__((noinline)) void hold(void) { __asm__ volatile(""); }

static void *owner(void *argument) {
    check(pthread_mutex_lock(&errorcheck), "lock errorcheck");
    check(pthread_mutex_lock(&inherit), "lock inherit");
    check(pthread_mutex_lock(&robust), "lock robust");
    held = 1;
    while (!released)
        usleep(1000);
    check(pthread_mutex_unlock(&errorcheck), "unlock errorcheck");
    check(pthread_mutex_unlock(&inherit), "unlock inherit");
    check(pthread_mutex_unlock(&robust), "unlock robust");
    return 0;
}

static void *sleeper(void *argument) {
    struct timespec t = {1, 0};
    check(nanosleep(&t, 0) ? errno : 0, "nanosleep");
    struct pollfd none = {-1, 0, 0};
    check(poll(&none, 0, 100) < 0 ? errno : 0, "poll");
    return 0;
}

/* Holds one lock; whoever comes later must get it. */
static void one(const char *name) {
    pthread_mutexattr_t kind;
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    pthread_mutexattr_init(&kind);
    if (!strcmp(name, "rwlocks") || !strcmp(name, "reading")) {
        int reading = !strcmp(name, "reading");
        check(reading ? pthread_rwlock_rdlock(&rwlock) : pthread_rwlock_wrlock(&rwlock), "lock");
        hold();
        check(pthread_rwlock_unlock(&rwlock), "unlock");
        check(pthread_rwlock_trywrlock(&rwlock), "lock again");
        return;
    }
    if (!strcmp(name, "errorcheck"))
        pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    if (!strcmp(name, "recursive"))
        pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    if (!strcmp(name, "adaptive"))
        pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ADAPTIVE_NP);
    if (!strcmp(name, "robust"))
        pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
    if (!strcmp(name, "priority"))
        pthread_mutexattr_setprotocol(&kind, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&mutex, &kind);
    check(pthread_mutex_lock(&mutex), "lock");
    hold();
    check(pthread_mutex_unlock(&mutex), "unlock");
    check(pthread_mutex_trylock(&mutex), "lock again");
}

int main(int argc, char **argv) {
    if (argc > 1) {
        one(argv[1]);
        printf("good\n");
        return 0;
    }
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&errorcheck, &kind);
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_setprotocol(&kind, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&inherit, &kind);
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &kind);
    pthread_t threads[2];
    pthread_create(&threads[0], 0, owner, 0);
    pthread_create(&threads[1], 0, sleeper, 0);
    while (!held)
        usleep(1000);
    usleep(50000);
    hold();
    released = 1;
    check(pthread_mutex_lock(&inherit), "main lock inherit");
    check(pthread_mutex_lock(&errorcheck), "main lock errorcheck");
    check(pthread_mutex_lock(&robust), "main lock robust");
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    printf("good\n");
    return 0;
}
