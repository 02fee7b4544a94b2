#define _GNU_SOURCE
#include "tick.h"
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static void handler(int s, siginfo_t *i, void *c) {
    (void)c;
    printf("%s code %d value %d from me %d\n", sigabbrev_np(s), i->si_code, s == SIGRTMIN ? i->si_value.sival_int : 0, i->si_pid == getpid());
    tick(s);
}
int main(void) {
    static char stack[65536];
    stack_t alt = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&alt, NULL);
    struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGUSR1, &a, NULL);
    sigaction(SIGTRAP, &a, NULL);
    sigaction(SIGRTMIN, &a, NULL);
    raise(SIGUSR1);
    kill(getpid(), SIGTRAP);
    sigset_t set, pending;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &set, NULL);
    for (int i = 0; i < 3; i++)
        sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = i});
    raise(SIGUSR1);
    tick(1);
    sigpending(&pending);
    printf("pending %d %d\n", sigismember(&pending, SIGUSR1), sigismember(&pending, SIGRTMIN));
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    signal(SIGTERM, SIG_IGN);
    raise(SIGTERM);
    __asm__("int3");
    printf("%d\n", ticks);
    fflush(stdout);
    signal(SIGTERM, SIG_DFL);
    raise(SIGTERM);
    return 0;
}
