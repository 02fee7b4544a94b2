/* A thread writes to the datum while another one makes children that borrow the
   memory. 7 if all went well. */
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>

volatile long shared[8] __attribute__((aligned(4096)));

static volatile int spawning = 1;

static void *spawn(void *unused) {
    char *arguments[] = {"/bin/true", 0}, *nothing[] = {0};
    for (int i = 0; i < 20; i++) {
        pid_t child;
        int status = -1;
        if (posix_spawn(&child, arguments[0], 0, 0, arguments, nothing) == 0)
            waitpid(child, &status, 0);
        if (status != 0)
            return arguments[0];
    }
    spawning = 0;
    return unused;
}

int main(void) {
    pthread_t thread;
    long count = 0;
    void *failed;
    pthread_create(&thread, 0, spawn, 0);
    while (spawning)
        shared[0] = ++count;
    pthread_join(thread, &failed);
    shared[1] = count;
    return failed ? 1 : 7;
}
