#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int main(void) {
    void *a = dlopen("libm.so.6", RTLD_NOW), *b = dlopen("libm.so.6", RTLD_NOW);
    if (a != b)
        return 1;
    dlclose(a);
    double (*root)(double) = (double (*)(double))dlsym(b, "sqrt");
    printf("%.1f\n", root(4.0));
    if (dlmopen(LM_ID_BASE, "libm.so.6", RTLD_NOW) != b)
        return 1;
    dlclose(b);
    if (!dlsym(b, "cos"))
        return 1;
    dlclose(b);
    if (dlopen("libno-such.so", RTLD_NOW))
        return 1;
    return 0;
}
