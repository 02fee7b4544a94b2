/* Children that borrow the memory, with what they exec beside the datum. */
#include <errno.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

struct {
    volatile char data[64];
    char path[32];
    char *arguments[4];
} shared __attribute__((aligned(4096))) = {
    .path = "/bin/echo",
    .arguments = {shared.path, "spawned", 0},
};
static char *nothing[] = {0};

static int waited(pid_t child) {
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

int main(void) {
    pid_t child;
    if (posix_spawn(&child, shared.path, 0, 0, shared.arguments, nothing) != 0)
        return 1;
    shared.data[0] = 1;
    if (waited(child) != 0)
        return 2;
    child = vfork();
    if (child == 0) {
        execve(shared.path, shared.arguments, nothing);
        _exit(errno);
    }
    shared.data[0] = 2;
    if (waited(child) != 0)
        return 3;
    child = vfork();
    if (child == 0) {
        shared.path[0] = '?';
        execve(shared.path, shared.arguments, nothing);
        _exit(errno);
    }
    shared.data[0] = 3;
    return WEXITSTATUS(waited(child)) == ENOENT ? 7 : 4;
}
