#include "tick.h"
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    int to[2], from[2];
    if (pipe(to) || pipe(from)) return 1;
    if (!fork()) {
        char c;
        close(to[1]);
        while (read(to[0], &c, 1) == 1) {
            tick(1);
            c += 1;
            if (write(from[1], &c, 1) != 1) _exit(1);
        }
        _exit(ticks);
    }
    close(to[0]);
    for (int i = 0; i < 10; i++) {
        char c = 'a' + i;
        tick(i);
        if (write(to[1], &c, 1) != 1 || read(from[0], &c, 1) != 1) return 1;
        putchar(c);
    }
    close(to[1]);
    int status;
    wait(&status);
    printf("\n%d %d\n", ticks, WEXITSTATUS(status));
    return 0;
}
