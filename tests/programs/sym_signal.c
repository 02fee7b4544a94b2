/* A signal handler on its own stack: unwinding must cross the trampoline. */
#include <signal.h>
#include <stdlib.h>

static volatile int seen;
static char stack[65536];

__attribute__((noinline)) static void handler(int number) {
    seen += number;
}

__attribute__((noinline)) static int work(int n) {
    raise(SIGUSR1);
    return n + seen;
}

int main(void) {
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaltstack(&alternate, 0);
    sigaction(SIGUSR1, &action, 0);
    return work(1) == 0;
}
