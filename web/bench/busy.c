// Many events of a monitored function, and how long they took, in milliseconds.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

__attribute__((noinline)) void touch(int *object, int value) { *object += value; }

int main(int argc, char **argv) {
    int events = argc > 1 ? atoi(argv[1]) : 100000;
    int *objects = calloc(1000, sizeof(int));
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < events; i++)
        touch(&objects[i % 1000], i);
    clock_gettime(CLOCK_MONOTONIC, &to);
    printf("%ld\n", (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000);
    return 0;
}
