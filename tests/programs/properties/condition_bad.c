#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
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
        // The other one waits for this mutex after its wait.
        while (pthread_tryjoin_np(t, NULL)) {
            pthread_mutex_unlock(&m);
            pthread_mutex_lock(&m);
        }
    }
    return 0;
}
