#include "tick.h"
#include <stdio.h>
#include <stdlib.h>
static void first(void) { printf("first %d\n", tick(1)); }
static void second(void) { printf("second %d\n", tick(1)); }
__attribute__((constructor)) static void before(void) { printf("before %d\n", tick(1)); }
__attribute__((destructor)) static void after(void) { printf("after %d\n", tick(1)); }
int main(void) {
    atexit(first);
    atexit(second);
    exit(200);
}
