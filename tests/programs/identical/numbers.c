// Floating point and vectors live in registers across observed calls.
#include "tick.h"
#include <math.h>
#include <stdio.h>
typedef double v4 __attribute__((vector_size(32)));
int main(void) {
    v4 sum = {0, 0, 0, 0}, step = {1.5, 2.25, 3.125, 4.0625};
    double x = 0.5;
    long double y = 1.0L;
    for (int i = 0; i < 100; i++) {
        sum += step * (double)tick(1);
        x = sin(x) + tick(0) * 1e-3;
        y = y / 1.0001L + tick(0);
    }
    printf("%a %a %a %a %a %La\n", sum[0], sum[1], sum[2], sum[3], x, y);
    return 0;
}
