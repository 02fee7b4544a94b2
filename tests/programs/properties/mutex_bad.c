#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

static pthread_mutex_t m, other = PTHREAD_MUTEX_INITIALIZER;

static void *unlock(void *arg) {
    pthread_mutex_unlock(&m); // BAD another
    return arg;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    puts(what);
    fflush(stdout);
    pthread_mutex_init(&m, NULL);
    pthread_mutex_lock(&m);
    if (!strcmp(what, "twice")) {
        // It waits for itself; the timer ends the program.
        struct itimerval soon = {{0, 0}, {0, 50000}};
        setitimer(ITIMER_REAL, &soon, NULL);
        pthread_mutex_lock(&m); // BAD twice
    } else if (!strcmp(what, "another")) {
        pthread_t t;
        pthread_create(&t, NULL, unlock, NULL);
        pthread_join(t, NULL);
    } else if (!strcmp(what, "free")) {
        pthread_mutex_unlock(&m);
        pthread_mutex_unlock(&m); // BAD free
    } else if (!strcmp(what, "never")) {
        pthread_mutex_unlock(&other); // BAD never
    } else {
        pthread_mutex_destroy(&m); // BAD destroy
    }
    return 0;
}
