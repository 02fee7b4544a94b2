/* Children that have just got memory of their own. */
#include <spawn.h>
#include <stddef.h>
#include <sys/wait.h>

__attribute__((noinline)) void hold(void) { __asm__ volatile("" ::: "memory"); }

int main(void) {
    char *arguments[] = {"/bin/true", NULL}, *nothing[] = {NULL};
    for (int i = 0; i < 20; i++) {
        pid_t child;
        if (posix_spawn(&child, arguments[0], NULL, NULL, arguments, nothing) != 0)
            return 1;
        hold();
        waitpid(child, NULL, 0);
    }
    return 0;
}
