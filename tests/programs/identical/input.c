#include "tick.h"
#include <stdio.h>
int main(void) {
    char line[100];
    while (fgets(line, sizeof line, stdin)) {
        tick(1);
        printf("%d: %s", ticks, line);
        fprintf(stderr, "line %d\n", ticks);
    }
    return ticks;
}
