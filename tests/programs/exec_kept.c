/* A thread executes the program anew (6): the others are ended. */
#include <pthread.h>
#include <unistd.h>

static void *rest(void *unused) {
    for (;;)
        pause();
    return unused;
}

long answer(void) {
    return 42;
}

static void *execute(void *program) {
    execl(program, "exec_kept", "anew", (char *)0);
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1)
        return 6;
    pthread_t one, other;
    pthread_create(&one, 0, rest, 0);
    pthread_create(&other, 0, execute, argv[0]);
    pthread_join(other, 0);
    return answer() == 42;
}
