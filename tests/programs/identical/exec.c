#include "tick.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 0;
    for (int i = 0; i < 5; i++)
        tick(i);
    printf("%d %d\n", n, ticks);
    fflush(stdout);
    char next[16];
    snprintf(next, sizeof next, "%d", n + 1);
    if (n < 3) execl(argv[0], argv[0], next, (char *)NULL);
    execl("/bin/sh", "sh", "-c", "echo the end; exit 5", (char *)NULL);
    return 1;
}
