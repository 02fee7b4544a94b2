/* A program that others may not look at (PR_SET_DUMPABLE) calls f, loads a
   library, calls what is in it, and makes a child that calls f. Usage:
   private LIBRARY */
#include <dlfcn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

volatile long calls;

__attribute__((noinline)) int f(int x) {
    calls++;
    return x + 1;
}

int main(int argc, char **argv) {
    (void)argc;
    f(0);
    if (prctl(PR_SET_DUMPABLE, 0))
        return 1;
    f(1);
    void *library = dlopen(argv[1], RTLD_NOW);
    if (!library)
        return 2;
    int (*plugged)(int) = (int (*)(int))dlsym(library, "plugged");
    if (!plugged)
        return 3;
    plugged(1);
    pid_t child = fork();
    if (child == 0)
        _exit(f(4) == 5 && prctl(PR_GET_DUMPABLE) == 0 ? 5 : 6);
    int status = 0;
    waitpid(child, &status, 0);
    f(2);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 5)
        return 4;
    return prctl(PR_GET_DUMPABLE) == 0 ? 0 : 5;
}
