#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    puts(what);
    signal(SIGPIPE, SIG_IGN);
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (!strcmp(what, "listen")) {
        listen(s, 1); // BAD listen
    } else if (!strcmp(what, "accept")) {
        bind(s, (struct sockaddr *)&any, sizeof any);
        accept(s, NULL, NULL); // BAD accept
    } else if (!strcmp(what, "send")) {
        send(s, "x", 1, MSG_NOSIGNAL); // BAD send
    } else if (!strcmp(what, "read")) {
        bind(s, (struct sockaddr *)&any, sizeof any);
        read(s, (char[1]){0}, 1); // BAD read
    } else if (!strcmp(what, "write")) {
        write(s, "x", 0); // BAD write
    } else {
        close(s);
        send(s, "x", 1, MSG_NOSIGNAL); // BAD closed
    }
    return 0;
}
