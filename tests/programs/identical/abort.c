#include "tick.h"
#include <stdio.h>
#include <stdlib.h>
static void leaving(void) {
    puts("not reached");
}
int main(void) {
    atexit(leaving);
    printf("%d\n", tick(6));
    fflush(stdout);
    abort();
}
