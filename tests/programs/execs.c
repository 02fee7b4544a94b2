/* Replaces itself from a secondary thread while others run. With a second
   argument it is the replacement. Usage: execs START */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *self;
static volatile int go;

__attribute__((noinline)) int f(int x) {
    __asm__ volatile("");
    return x + 1;
}

static void *spin(void *unused) {
    for (;;)
        f(1);
    return unused;
}

static void *replace(void *unused) {
    (void)unused;
    char *args[] = {self, "second", 0};
    execv(self, args);
    return 0;
}

int main(int argc, char **argv) {
    (void)argc;
    self = argv[0];
    if (!strcmp(argv[1], "second")) {
        int sum = 0;
        for (int i = 0; i < 50; i++)
            sum = f(sum);
        return sum;
    }
    pthread_t t;
    for (int i = 0; i < 3; i++)
        pthread_create(&t, 0, spin, 0);
    pthread_create(&t, 0, replace, 0);
    pthread_join(t, 0);
    for (;;)
        pause();
}
