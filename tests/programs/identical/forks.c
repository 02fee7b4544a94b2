#include "tick.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    for (int i = 0; i < 4; i++) {
        pid_t child = i == 3 ? vfork() : fork();
        if (child == 0) {
            if (i == 3) _exit(33);
            for (int k = 0; k < 100; k++)
                tick(1);
            if (i == 1) raise(SIGKILL);
            if (i == 2) {
                raise(SIGSTOP);
                _exit(22);
            }
            _exit(ticks & 127);
        }
        int status;
        do {
            waitpid(child, &status, WUNTRACED);
            printf("%x\n", status);
            if (WIFSTOPPED(status)) kill(child, SIGCONT);
        } while (WIFSTOPPED(status));
        tick(1000);
    }
    fflush(stdout);
    return system("echo from a shell; exit 3") >> 8;
}
