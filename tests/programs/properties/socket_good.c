#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in address;

static void *client(void *arg) {
    for (int i = 0; i < 3; i++) {
        int s = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(s, (struct sockaddr *)&address, sizeof address))
            return arg;
        write(s, "ping", 4);
        char answer[4];
        recv(s, answer, 4, MSG_WAITALL);
        close(s);
    }
    return NULL;
}

int main(void) {
    int l = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t size = sizeof address;
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(l, (struct sockaddr *)&address, size) || listen(l, 5))
        return 1;
    getsockname(l, (struct sockaddr *)&address, &size);
    pthread_t t;
    pthread_create(&t, NULL, client, NULL);
    for (int i = 0; i < 3; i++) {
        int s = accept(l, NULL, NULL);
        char question[5] = "";
        read(s, question, 4);
        send(s, "pong", 4, 0);
        close(s);
        puts(question);
    }
    pthread_join(t, NULL);
    close(l);
    // Numbers of closed ones that come back another way.
    int pair[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    int copies[] = {fcntl(pair[0], F_DUPFD_CLOEXEC, 0), dup3(pair[0], 40, 0)};
    for (int i = 0; i < 2; i++) {
        send(copies[i], "x", 1, 0);
        close(copies[i]);
    }
    int again = socket(AF_INET, SOCK_STREAM, 0);
    close(again);
    again = fcntl(pair[0], F_DUPFD_CLOEXEC, again);
    send(again, "x", 1, 0);
    close(again);
    again = socket(AF_INET, SOCK_STREAM, 0);
    close(again);
    dup3(pair[0], again, 0);
    send(again, "x", 1, 0);
    close(again);
    again = socket(AF_INET, SOCK_STREAM, 0);
    close_range(again, again, 0);
    close(pair[0]);
    close(pair[1]);
    // Closed in another way: their numbers belong to others.
    again = socket(AF_INET, SOCK_STREAM, 0);
    fclose(fdopen(again, "w"));
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    send(pair[0], "x", 1, 0);
    again = socket(AF_INET, SOCK_STREAM, 0);
    dup2(pair[0], again);
    send(again, "x", 1, 0);
    close(again);
    close(pair[0]);
    close(pair[1]);
    // A file has the number, and is read by the library.
    again = socket(AF_INET, SOCK_STREAM, 0);
    fclose(fdopen(again, "w"));
    FILE *zeros = fopen("/dev/zero", "r");
    fgetc(zeros);
    fclose(zeros);
    // Connected as another number.
    l = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_port = 0;
    bind(l, (struct sockaddr *)&address, size);
    listen(l, 1);
    getsockname(l, (struct sockaddr *)&address, &size);
    again = socket(AF_INET, SOCK_STREAM, 0);
    int copy = fcntl(again, F_DUPFD_CLOEXEC, 0);
    connect(copy, (struct sockaddr *)&address, sizeof address);
    write(again, "x", 1);
    close(copy);
    close(again);
    close(l);
    int u = socket(AF_INET, SOCK_DGRAM, 0);
    connect(u, (struct sockaddr *)&address, sizeof address);
    send(u, "x", 1, 0);
    close(u);
    return 0;
}
