#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int ends[2];

static void *work(void *arg) {
    char byte;
    if (read(ends[0], &byte, 1) != 1)
        return NULL;
    return arg;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    puts(what);
    fflush(stdout);
    if (pipe(ends))
        return 1;
    pthread_t t;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    if (!strcmp(what, "attributes")) {
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_JOINABLE);
        pthread_create(&t, &attr, work, NULL); // BAD attributes
        return 0;
    } else if (!strcmp(what, "loose")) {
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        pthread_create(&t, &attr, work, NULL);
        pthread_join(t, NULL); // BAD loose
        return 0;
    }
    pthread_create(&t, NULL, work, NULL); // BAD leak
    if (!strcmp(what, "detached")) {
        pthread_detach(t);
        pthread_join(t, NULL); // BAD detached
    }
    return 0;
}
