#include "tick.h"
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
static volatile sig_atomic_t alarms;
static void on_alarm(int s) {
    alarms++;
    tick(s);
}
int main(void) {
    sigset_t block, old;
    signal(SIGALRM, on_alarm);
    sigemptyset(&block);
    sigaddset(&block, SIGALRM);
    sigprocmask(SIG_BLOCK, &block, &old);
    struct itimerval it = {{0, 2000}, {0, 2000}};
    setitimer(ITIMER_REAL, &it, NULL);
    while (alarms < 20)
        sigsuspend(&old);
    it.it_value.tv_usec = it.it_interval.tv_usec = 0;
    setitimer(ITIMER_REAL, &it, NULL);
    printf("%d\n", ticks / SIGALRM >= 20);
    return 0;
}
