/* One thread on several stacks: a signal stack and two coroutines whose
   stacks are neighbours in one mapping. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

static ucontext_t home, one, two;

__attribute__((noinline)) int inner(int x) {
    __asm__ volatile("");
    return x + 1;
}

/* Switches to the other coroutine in the middle. */
__attribute__((noinline)) int across(ucontext_t *from, ucontext_t *to) {
    int r = inner(1);
    swapcontext(from, to);
    return r + inner(2);
}

static void run_one(void) {
    across(&one, &two);
    swapcontext(&one, &two);
}

static void run_two(void) {
    across(&two, &one);
}

__attribute__((noinline)) static void on_signal(int s) {
    inner(s);
}

__attribute__((noinline)) int outer(int x) {
    raise(SIGUSR1);
    return inner(x) + 1;
}

int main(void) {
    const int size = 64 * 1024;
    char *stacks = malloc(2 * size);
    getcontext(&one);
    one.uc_stack.ss_sp = stacks;
    one.uc_stack.ss_size = size;
    one.uc_link = &home;
    makecontext(&one, run_one, 0);
    getcontext(&two);
    two.uc_stack.ss_sp = stacks + size;
    two.uc_stack.ss_size = size;
    two.uc_link = &home;
    makecontext(&two, run_two, 0);

    stack_t alt = {.ss_sp = malloc(size), .ss_size = size};
    sigaltstack(&alt, 0);
    struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &sa, 0);

    int sum = 0;
    for (int i = 0; i < 10; i++)
        sum += outer(i);
    swapcontext(&home, &one);
    printf("%d\n", sum);
    return 0;
}
