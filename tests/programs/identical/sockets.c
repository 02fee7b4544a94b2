#include "tick.h"
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
static int ends[2];
static void *echo(void *arg) {
    char text[64];
    ssize_t n;
    while ((n = read(ends[1], text, sizeof text)) > 0) {
        tick(1);
        if (write(ends[1], text, n) != n) break;
    }
    return arg;
}
int main(void) {
    pthread_t t;
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    pthread_create(&t, NULL, echo, NULL);
    for (int i = 0; i < 20; i++) {
        char text[64], back[64] = "";
        int n = snprintf(text, sizeof text, "message %d", i);
        if (write(ends[0], text, n) != n) return 1;
        struct pollfd p = {ends[0], POLLIN, 0};
        if (poll(&p, 1, -1) != 1) return 2;
        if (read(ends[0], back, sizeof back) != n || strcmp(text, back)) return 3;
        puts(back);
    }
    shutdown(ends[0], SHUT_WR);
    pthread_join(t, NULL);
    return ticks;
}
