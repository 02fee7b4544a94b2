/* Threads make children until the program ends. Usage: makers COUNT
   One thread: its child says so, whatever becomes of the program. Several: an
   exit among them, after some time. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

volatile long calls;

__attribute__((noinline)) void f(void) {
    calls++;
}

void leave(void) {
    _exit(9);
}

static void *make_one(void *unused) {
    f();
    if (fork() == 0) {
        f();
        if (write(1, "it lives\n", 9) != 9)
            _exit(1);
        _exit(0);
    }
    for (;;)
        pause();
    return unused;
}

static void *make_many(void *unused) {
    for (;;) {
        f();
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        waitpid(child, 0, 0);
    }
    return unused;
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 1;
    pthread_t thread;
    for (int i = 0; i < count; i++)
        pthread_create(&thread, 0, count > 1 ? make_many : make_one, 0);
    if (count == 1)
        for (;;)
            pause();
    usleep(3000);
    leave();
}
