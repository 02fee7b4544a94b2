/* ck_channels FIFO: what is on its way through pipes, sockets, timers and
   terminals of a program, and how they are set. Sets everything up, calls
   `hold`, says what it finds and uses it up, calls `used`. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <unistd.h>

__attribute__((noinline)) void hold(void) { __asm__ volatile(""); }
__attribute__((noinline)) void used(void) { __asm__ volatile(""); }

static void need(int good, const char *what) {
    if (!good) {
        perror(what);
        exit(2);
    }
}

static void take(int fd, const char *name) {
    char text[64] = "";
    ssize_t got = recv(fd, text, sizeof text - 1, MSG_DONTWAIT);
    printf("%s %zd %s\n", name, got, got < 0 ? strerror(errno) : text);
}

static void pair(int kind, int ends[2]) {
    need(!socketpair(AF_UNIX, kind, 0, ends), "socketpair");
}

static int timer(long every) {
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    struct itimerspec soon = {{0, every}, {0, 1000000}};
    timerfd_settime(fd, 0, &soon, 0);
    return fd;
}

static long expired(int fd) {
    unsigned long count = 0;
    return read(fd, &count, sizeof count) < 0 ? -1 : (long)count;
}

int main(int argc, char **argv) {
    /* an event loop with a pipe of its own, waited for by two kinds */
    int loop = epoll_create1(EPOLL_CLOEXEC), again = dup(loop), wake[2], once[2];
    need(!pipe(wake) && !pipe(once), "pipe");
    struct epoll_event in = {EPOLLIN, {.u64 = 5}}, out = {EPOLLOUT | EPOLLONESHOT, {.u64 = 6}}, got;
    epoll_ctl(loop, EPOLL_CTL_ADD, wake[0], &in);
    epoll_ctl(loop, EPOLL_CTL_ADD, once[1], &out);
    /* timers that nobody has asked since they expired */
    int single = timer(0), periodic = timer(10000000);
    struct pollfd ready[2] = {{single, POLLIN}, {periodic, POLLIN}};
    need(poll(ready, 2, 5000) > 0 && poll(ready + 1, 1, 5000) == 1, "poll");
    usleep(55000);
    /* sockets: half closed, left by their peer, with empty messages */
    int half[2], shut[2], left[2], whole[2], messages[2], records[2];
    pair(SOCK_STREAM, half);
    need(write(half[0], "half", 4) == 4 && !shutdown(half[0], SHUT_WR), "half");
    pair(SOCK_STREAM, shut);
    need(write(shut[0], "abcdef", 6) == 6 && !shutdown(shut[1], SHUT_RD), "shut");
    pair(SOCK_STREAM, left);
    need(write(left[0], "left", 4) == 4 && !close(left[0]), "left");
    pair(SOCK_STREAM, whole);
    pair(SOCK_DGRAM, messages);
    need(send(messages[0], "one", 3, 0) == 3, "one");
    need(send(messages[0], "", 0, 0) == 0, "empty");
    need(send(messages[0], "three", 5, 0) == 5, "three");
    pair(SOCK_SEQPACKET, records);
    need(write(records[1], "record", 6) == 6, "record");
    /* packets */
    int packets[2];
    need(!pipe2(packets, O_DIRECT | O_NONBLOCK), "packets");
    need(write(packets[1], "aa", 2) == 2 && write(packets[1], "bbbb", 4) == 4, "packets");
    /* a FIFO */
    need(!mkfifo(argv[1], 0600), "mkfifo");
    int fifo = open(argv[1], O_RDWR | O_NONBLOCK);
    need(write(fifo, "fifo", 4) == 4, "fifo");
    /* a window */
    int master, terminal;
    struct winsize window = {33, 77, 0, 0};
    need(!openpty(&master, &terminal, 0, 0, &window), "openpty");

    hold();

    char text[64] = "";
    need(write(wake[1], "x", 1) == 1, "wake");
    int sum = 0, n;
    while ((n = epoll_wait(again, &got, 1, sum ? 0 : 5000)) == 1 && sum < 11) {
        sum += got.data.u64;
        if (got.data.u64 == 5)
            need(read(wake[0], text, 1) == 1, "woken");
    }
    printf("loop %d %d\n", sum, n);
    printf("timers %ld %d\n", expired(single), expired(periodic) >= 5);
    take(half[1], "half");
    take(half[1], "half");
    take(shut[1], "shut");
    take(shut[1], "shut");
    take(left[1], "left");
    take(left[1], "left");
    printf("whole %zd\n", send(whole[0], "abc", 3, MSG_NOSIGNAL));
    take(whole[1], "whole");
    take(whole[1], "whole");
    for (int i = 0; i < 4; i++)
        take(messages[1], "message");
    take(records[0], "record");
    struct timeval limit;
    socklen_t size = sizeof limit;
    getsockopt(records[0], SOL_SOCKET, SO_RCVTIMEO, &limit, &size);
    printf("limit %ld\n", (long)limit.tv_sec);
    n = read(packets[0], text, sizeof text);
    printf("packet %d %.*s\n", n, n, text);
    n = read(packets[0], text, sizeof text);
    printf("packet %d %.*s\n", n, n, text);
    n = read(fifo, text, sizeof text);
    printf("fifo %d %.*s\n", n, n, text);
    ioctl(terminal, TIOCGWINSZ, &window);
    printf("window %d %d\n", window.ws_row, window.ws_col);

    close(whole[0]);
    take(whole[1], "closed");
    shutdown(half[1], SHUT_RDWR);
    need(write(packets[1], "junk", 4) == 4 && write(fifo, "junk", 4) == 4, "junk");
    limit.tv_sec = 7;
    setsockopt(records[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    window.ws_row = 5;
    ioctl(terminal, TIOCSWINSZ, &window);
    in.events = 0;
    epoll_ctl(loop, EPOLL_CTL_MOD, wake[0], &in);
    used();
    fflush(stdout);
    return 0;
}
