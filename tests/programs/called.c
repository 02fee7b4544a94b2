/* Functions to be called by the debugger, while the program waits for input. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int counter;

long add(long a, long b, long c, long d, long e, long f) {
    counter++;
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f;
}

double half(double x) {
    return x / 2;
}

char *copy(const char *text) {
    return strdup(text);
}

long crash(void) {
    return *(volatile long *)8;
}

const char text[] = "some text";

int main(void) {
    char byte;
    double d = sqrt(2.0 + counter);
    long sum = add(1, 2, 3, 4, 5, 6);
    if (read(0, &byte, 1) != 1)
        return 1;
    printf("%ld %.6f %d\n", sum, d, counter);
    return half(d) > 0 && copy(text) != 0 ? 0 : (int)crash();
}
