// A wait that only a handler of SIGUSR1 ends, and must end with EINTR: 0 if it
// did. Usage: cut_short FLAGS LIMIT (sigaction's, and milliseconds, or "sleep")
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

static volatile sig_atomic_t handled;

static void handler(int signal) {
    (void)signal;
    handled = 1;
}

int main(int argc, char **argv) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = argc > 1 ? atoi(argv[1]) : 0};
    sigaction(SIGUSR1, &action, 0);
    if (argc > 2 && !strcmp(argv[2], "sleep")) {
        struct timespec time = {60, 0};
        return clock_nanosleep(CLOCK_MONOTONIC, 0, &time, 0) == EINTR && handled ? 0 : 4;
    }
    struct epoll_event event;
    int result = epoll_wait(epoll_create1(0), &event, 1, argc > 2 ? atoi(argv[2]) : -1);
    if (result != -1) return 1;
    if (errno != EINTR) return 2;
    return handled ? 0 : 3;
}
