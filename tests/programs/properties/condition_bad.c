#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

// It refuses to be unlocked by others, so that the wait returns at once.
static pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static struct timespec long_ago;

static void *wait(void *arg) {
    pthread_cond_timedwait(&c, &m, &long_ago); // BAD another
    return arg;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    puts(what);
    fflush(stdout);
    if (!strcmp(what, "never")) {
        pthread_cond_timedwait(&c, &m, &long_ago); // BAD never
    } else if (!strcmp(what, "released")) {
        pthread_mutex_lock(&m);
        pthread_mutex_unlock(&m);
        pthread_cond_timedwait(&c, &m, &long_ago); // BAD released
    } else {
        pthread_mutex_lock(&m);
        pthread_t t;
        pthread_create(&t, NULL, wait, NULL);
        pthread_join(t, NULL);
    }
    return 0;
}
