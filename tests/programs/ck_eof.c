/* ck_eof [child]: a thread reads a pipe to its end, which comes when the write end
   is closed, after `hold`. With a child meanwhile, which has none of it. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
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

int main(int argc, char **argv) {
    (void)argv;
    int child = 0;
    if (pipe(ends) || (copy = dup(ends[1])) < 0 || write(ends[1], "first", 5) != 5)
        return 2;
    if (argc > 1 && (child = fork()) == 0) {
        close(ends[0]);
        close(ends[1]);
        close(copy);
        raise(SIGSTOP);
        _exit(0);
    }
    if (child)
        waitpid(child, 0, WUNTRACED);
    pthread_t thread;
    pthread_create(&thread, 0, reader, 0);
    hold();
    if (write(copy, "second", 6) != 6)
        return 3;
    close(ends[1]);
    close(copy);
    pthread_join(thread, 0);
    if (child)
        kill(child, SIGKILL);
    return 0;
}
