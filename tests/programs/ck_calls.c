/* ck_calls: functions to trap and data to watch, before and after `hold`. */
#include <stdio.h>

volatile int cells[1024];
volatile long total;

__attribute__((noinline)) void hold(void) { __asm__ volatile(""); }

__attribute__((noinline)) int leaf(int k) {
    cells[(k % 8) * 128] = k;
    total += k;
    return k + 1;
}

/* Calls itself; the deepest one calls `hold`. */
__attribute__((noinline)) int deep(int k) {
    if (k == 0) {
        hold();
        return leaf(0);
    }
    return deep(k - 1) + leaf(k);
}

int main(void) {
    int sum = leaf(100);
    sum += deep(5);
    for (int i = 1; i <= 7; i++)
        sum += leaf(i);
    printf("sum %d total %ld\n", sum, total);
    return 0;
}
