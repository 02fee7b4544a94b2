/* ck_outside KIND: has something that no checkpoint brings back: socket,
   child, lock, ring (io_uring). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) void hold(void) { __asm__ volatile(""); }

int main(int argc, char **argv) {
    char settings[256] = {0};
    int child = 0, ring = 0;
    if (!strcmp(argv[1], "socket"))
        socket(AF_INET, SOCK_DGRAM, 0);
    if (!strcmp(argv[1], "child") && (child = fork()) == 0)
        for (;;)
            pause();
    if (!strcmp(argv[1], "lock")) {
        FILE *file = tmpfile();
        struct flock lock = {.l_type = F_WRLCK};
        fcntl(fileno(file), F_SETLK, &lock);
    }
    if (!strcmp(argv[1], "ring"))
        ring = syscall(SYS_io_uring_setup, 8, settings);
    if (ring < 0)
        return 77;
    hold();
    if (child) {
        kill(child, 9);
        waitpid(child, 0, 0);
    }
    return 0;
}
