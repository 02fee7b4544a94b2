/* Calls that end in unusual ways. Usage: calls
   Per round: fact 6 + 3 entries, deep 5 entries all left by longjmp,
   tail1 and tail2 one entry each, returning together; even and odd call each
   other in tail position. */
#include <setjmp.h>
#include <stdio.h>

static jmp_buf back;

__attribute__((noinline, optimize("O1"))) int fact(int n) {
    if (n <= 1)
        return 1;
    return n * fact(n - 1);
}

__attribute__((noinline, optimize("O1"))) int deep(int n) {
    if (n == 0)
        longjmp(back, 1);
    return deep(n - 1) + 1;
}

__attribute__((noinline, optimize("O2"))) int tail2(int x) {
    __asm__ volatile("");
    return x * 3;
}

__attribute__((noinline, optimize("O2"))) int tail1(int x) {
    __asm__ volatile("");
    return tail2(x + 1);
}

__attribute__((noinline, optimize("O2"))) int odd(int n);

__attribute__((noinline, optimize("O2"))) int even(int n) {
    __asm__ volatile("");
    if (n == 0)
        return 1;
    return odd(n - 1);
}

int odd(int n) {
    __asm__ volatile("");
    if (n == 0)
        return 0;
    return even(n - 1);
}

/* One function, several return instructions. */
__attribute__((noinline, optimize("O2"))) int several(int n) {
    if (n == 0)
        return printf("zero\n");
    __asm__ volatile("" ::: "memory");
    if (n == 1)
        return 11;
    return printf("%d\n", n);
}

int main(void) {
    volatile int sum = 0;
    for (volatile int i = 0; i < 3; i++) {
        sum += fact(6);
        /* The same call again and again, nothing trapped in between. */
        for (volatile int j = 0; j < 4; j++)
            if (!setjmp(back))
                sum += deep(4);
        sum += tail1(i) + fact(3) + even(5) + several(i);
    }
    printf("%d\n", sum);
    return 0;
}
