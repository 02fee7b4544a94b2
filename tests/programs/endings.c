// Threads that write beside a watched range all the time, until the program
// ends (9), or one of them executes it anew (6).
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct {
    char watched[64];
    volatile long counts[8];
    volatile double sum;
} data;

static void *write_on(void *which) {
    for (;;) {
        data.counts[(long)which]++;
        data.sum += 1;
    }
    return 0;
}

static void *execute(void *program) {
    usleep(20000);
    execl(program, "endings", "again", "anew", (char *)0);
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 2) return 6;
    pthread_t thread;
    for (long i = 0; i < 4; i++) pthread_create(&thread, 0, write_on, (void *)i);
    if (argc > 1) {
        pthread_create(&thread, 0, execute, argv[0]);
        pthread_join(thread, 0);
    }
    usleep(20000);
    exit(9);
}
