#include "tick.h"
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *spin(void *arg) {
    for (;;) {
        tick(0);
        usleep(1000);
    }
    return arg;
}
static void *leave(void *arg) {
    tick(1);
    execl("/bin/echo", "echo", "from a thread", (char *)NULL);
    return arg;
}
int main(void) {
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, i < 2 ? spin : leave, NULL);
    pthread_join(t[2], NULL);
    return 1;
}
