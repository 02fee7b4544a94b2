/* Blocks in system calls and goes on. Usage: waits KIND
   pipe: reads a byte from standard input, must not see EINTR;
   pause: sleeps for ever; spin: computes for ever, calling f. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Alone in 256 bytes, so that larger ranges can be watched. */
volatile long tick[32] __attribute__((aligned(256)));

__attribute__((noinline)) int f(int x) {
    tick[0]++;
    return x + 1;
}

static void *spin(void *unused) {
    for (;;)
        f(1);
    return unused;
}

int main(int argc, char **argv) {
    setvbuf(stdout, 0, _IONBF, 0);
    puts("ready");
    if (!strcmp(argv[1], "pipe")) {
        char byte;
        f(0);
        ssize_t n = read(0, &byte, 1);
        if (n != 1)
            return errno == EINTR ? 2 : 3;
        return f(0);
    }
    if (!strcmp(argv[1], "spin")) {
        pthread_t t;
        for (int i = 1; argc > 2 && i < argv[2][0] - '0'; i++)
            pthread_create(&t, 0, spin, 0);
        spin(0);
    }
    for (;;)
        pause();
}
