#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void *unlock(void *arg) {
    pthread_rwlock_unlock(&lock); // BAD another
    return arg;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    puts(what);
    fflush(stdout);
    pthread_rwlock_rdlock(&lock);
    if (!strcmp(what, "upgrade")) {
        // It waits for itself; the timer ends the program.
        struct itimerval soon = {{0, 0}, {0, 50000}};
        setitimer(ITIMER_REAL, &soon, NULL);
        pthread_rwlock_wrlock(&lock); // BAD upgrade
    } else if (!strcmp(what, "another")) {
        pthread_t t;
        pthread_create(&t, NULL, unlock, NULL);
        pthread_join(t, NULL);
    } else {
        pthread_rwlock_destroy(&lock); // BAD destroy
    }
    return 0;
}
