/* ck_often KIND: a timer that expires every half millisecond, an interval timer (alarm) or one with
   a descriptor (timerfd). Calls `hold`, then waits for five expirations more. */
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define EVERY 500 /* microseconds */

static volatile sig_atomic_t alarms;

__attribute__((noinline)) void hold(void) { __asm__ volatile(""); }

static void expired(int signal) { alarms++; }

static int by_alarm(void) {
    struct itimerval often = {{0, EVERY}, {0, EVERY}};
    signal(SIGALRM, expired);
    setitimer(ITIMER_REAL, &often, 0);
    hold();
    int before = alarms;
    for (int i = 0; i < 2000 && alarms < before + 5; i++)
        usleep(1000);
    return alarms < before + 5;
}

static int by_descriptor(void) {
    struct itimerspec often = {{0, EVERY * 1000}, {0, EVERY * 1000}};
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    timerfd_settime(timer, 0, &often, 0);
    hold();
    for (int i = 0; i < 5; i++) {
        struct pollfd readable = {timer, POLLIN, 0};
        uint64_t count;
        if (poll(&readable, 1, 2000) != 1 || read(timer, &count, 8) != 8)
            return 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    return strcmp(argv[1], "alarm") ? by_descriptor() : by_alarm();
}
