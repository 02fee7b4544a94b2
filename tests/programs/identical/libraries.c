#include "tick.h"
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
    for (int i = 0; i < 5; i++) {
        void *h = dlopen("libm.so.6", RTLD_NOW);
        double (*f)(double) = (double (*)(double))dlsym(h, "cbrt");
        printf("%.3f %d\n", f(27.0 * (i + 1)), tick(1));
        dlclose(h);
    }
    return 0;
}
