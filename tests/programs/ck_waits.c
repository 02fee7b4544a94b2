/* ck_waits: has a child and waits for every one it has. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) void hold(void) { __asm__ volatile(""); }

int main(void) {
    hold();
    int waited = 0;
    if (fork() == 0)
        _exit(0);
    while (wait(0) > 0)
        waited++;
    printf("waited for %d\n", waited);
    return 0;
}
