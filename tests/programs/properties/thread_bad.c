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
    pthread_create(&t, NULL, work, NULL); // BAD leak
    if (!strcmp(what, "detached")) {
        pthread_detach(t);
        pthread_join(t, NULL); // BAD detached
    }
    return 0;
}
