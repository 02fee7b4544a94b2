/* To be stepped through: the line numbers matter to the test. */
#include <signal.h>
#include <stdio.h>

static volatile int handled;

static int twice(int x) {
    int y = x * 2;
    return y;
}

static int fact(int n) {
    if (n <= 1)
        return 1;
    return n * fact(n - 1);
}

static void on_signal(int s) {
    handled += s;
}

int main(void) {
    int a = 1;
    a = twice(a) + 1;
    a += fact(5);
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    for (int i = 0; i < 3; i++)
        a += i;
    printf("%d\n", a);
    return handled == SIGUSR1 ? 0 : 1;
}
