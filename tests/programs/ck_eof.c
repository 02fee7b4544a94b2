/* ck_eof: a thread reads a pipe to its end, which comes when the write end
   is closed, after `hold`. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int ends[2], copy;

__attribute__((noinline)) void hold(void) { __asm__ volatile(""); }

static void *reader(void *argument) {
    static char text[64];
    size_t got = 0;
    ssize_t n;
    while ((n = read(ends[0], text + got, sizeof text - got)) > 0)
        got += n;
    printf("read %zu\n", got);
    return 0;
}

int main(void) {
    if (pipe(ends) || (copy = dup(ends[1])) < 0 || write(ends[1], "first", 5) != 5)
        return 2;
    pthread_t thread;
    pthread_create(&thread, 0, reader, 0);
    hold();
    if (write(copy, "second", 6) != 6)
        return 3;
    close(ends[1]);
    close(copy);
    pthread_join(thread, 0);
    return 0;
}
