// The stack ends; a handler on another stack says so.
#include "tick.h"
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>
static int deep(int n) {
    volatile char room[4000];
    room[0] = n;
    if (n % 100 == 0) tick(1);
    return deep(n + 1) + room[0];
}
static void on_end(int s) {
    tick(s);
    static const char text[] = "no more stack\n";
    if (write(1, text, sizeof text - 1) < 0) _exit(1);
    _exit(ticks > 11 ? 4 : 5);
}
int main(void) {
    static char other[65536];
    stack_t alt = {.ss_sp = other, .ss_size = sizeof other};
    sigaltstack(&alt, NULL);
    struct sigaction a = {.sa_handler = on_end, .sa_flags = SA_ONSTACK};
    sigaction(SIGSEGV, &a, NULL);
    return deep(1);
}
