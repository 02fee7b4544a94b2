// Coroutines: calls return on other stacks than they began.
#include "tick.h"
#include <stdio.h>
#include <ucontext.h>
static ucontext_t home, one, two;
static void body(int me) {
    for (int i = 0; i < 5; i++) {
        printf("%d:%d\n", me, tick(1));
        swapcontext(me == 1 ? &one : &two, me == 1 ? &two : &one);
    }
}
int main(void) {
    static char stacks[2][65536];
    ucontext_t *all[] = {&one, &two};
    for (int i = 0; i < 2; i++) {
        getcontext(all[i]);
        all[i]->uc_stack.ss_sp = stacks[i];
        all[i]->uc_stack.ss_size = sizeof stacks[i];
        all[i]->uc_link = &home;
        makecontext(all[i], (void (*)(void))body, 1, i + 1);
    }
    swapcontext(&home, &one);
    printf("%d\n", ticks);
    return 0;
}
