#include "tick.h"
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
static jmp_buf out;
static sigjmp_buf back;
static int compare(const void *a, const void *b) {
    tick(1);
    if (ticks == 7) longjmp(out, 3);
    return *(const int *)a - *(const int *)b;
}
static void fault(int s) {
    tick(s);
    siglongjmp(back, s);
}
int main(void) {
    int numbers[] = {5, 2, 8, 1, 9, 3};
    volatile int rounds = 0;
    int how = setjmp(out);
    if (!how) qsort(numbers, 6, sizeof *numbers, compare);
    printf("%d %d\n", how, ticks);
    signal(SIGSEGV, fault);
    while (rounds < 3)
        if (!sigsetjmp(back, 1))
            *(volatile int *)8 = 1;
        else
            rounds++;
    printf("%d\n", ticks);
    return 0;
}
