#include <semaphore.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    puts(what);
    static sem_t s;
    if (!strcmp(what, "early")) {
        sem_post(&s); // BAD early
    } else {
        sem_init(&s, 0, 1);
        sem_wait(&s);
        sem_destroy(&s);
        sem_post(&s); // BAD late
    }
    return 0;
}
