/* A thread waits in the kernel, ROUNDS times, with the memory of its call on a
   page with watched data; meanwhile WRITERS threads store TIMES times each to
   `shared.value` on that page. The kernel writes to `shared.buffer` once in each
   round. Kinds `exit`, `exec` and `fork`: a read during which another thread ends
   the program, replaces it, or makes a child; `large`: a read of much. With `input` instead of a number of rounds it waits for standard
   input, and nobody stores.
   Usage: page_waits KIND ROUNDS WRITERS TIMES | page_waits read|poll input */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct {
    volatile long value[8];
    union {
        char bytes[128];
        struct pollfd descriptor;
        fd_set set;
        struct epoll_event event;
        struct timespec rest;
        siginfo_t info;
        int status;
    } buffer;
    struct timespec limit;
    struct timeval time;
    sigset_t mask;
    struct iovec vector[2];
    struct msghdr message;
    struct sockaddr_un address;
    socklen_t length;
    struct rusage usage;
    char rest[1 << 18];
} shared __attribute__((aligned(4096)));

static long rounds, writers, times;
static const char *kind;
static int ends[2], sockets[2], epoll, child_end;
static volatile int turn;
static volatile pid_t waiter, child;
static pthread_t first;
static pthread_barrier_t together;
static volatile int caught;
/* Elsewhere, to be sent. */
static char text[8] = "abcdefg";

__attribute__((noinline)) void begin(void) { __asm__ volatile(""); }
__attribute__((noinline)) void hold(void) { __asm__ volatile(""); }

static int is(const char *name) { return !strcmp(kind, name); }
static void fail(int line) { fprintf(stderr, "%s: line %d, errno %d\n", kind, line, errno), _exit(1); }
#define CHECK(x) ((x) ? (void)0 : fail(__LINE__))

static void handler(int signal) {
    (void)signal;
    caught++;
}

static int asleep(void) {
    char path[64], line[256];
    sprintf(path, "/proc/self/task/%d/stat", waiter);
    int fd = open(path, O_RDONLY);
    ssize_t n = read(fd, line, sizeof line - 1);
    close(fd);
    line[n > 0 ? n : 0] = 0;
    char *end = strrchr(line, ')');
    return end && end[2] == 'S';
}

/* What fills the pipe; the waiter's own bytes come after it. */
static char filling[4096];

static void wake(void) {
    if (is("nanosleep") || is("clock_nanosleep"))
        pthread_kill(first, SIGUSR1);
    else if (is("wait4") || is("waitid"))
        CHECK(close(child_end) == 0);
    else if (is("write"))
        CHECK(read(ends[0], filling, sizeof filling) == sizeof filling);
    else if (is("recvfrom") || is("recvmsg"))
        CHECK(send(sockets[0], text, 8, 0) == 8);
    else if (is("exit"))
        _exit(7);
    else if (is("exec"))
        execl("/bin/sh", "sh", "-c", "exit 7", (char *)0);
    else if (is("fork")) {
        int status;
        pid_t id = fork();
        if (id == 0)
            _exit(shared.value[0] == times - 1 ? 0 : 1);
        CHECK(waitpid(id, &status, 0) == id && status == 0);
        CHECK(write(ends[1], text, 8) == 8);
    } else
        CHECK(write(ends[1], text, 8) == 8);
}

static void *writer(void *number) {
    for (long round = 1; round <= rounds; round++) {
        while (turn != round || !asleep())
            usleep(200);
        if (number == 0 && (is("restart") || is("interrupt"))) {
            int before = caught;
            pthread_kill(first, SIGUSR1);
            while (caught == before || !asleep())
                usleep(200);
        }
        pthread_barrier_wait(&together);
        for (long i = 0; i < times; i++)
            shared.value[(long)number % 8] = i;
        pthread_barrier_wait(&together);
        if (number == 0) {
            hold();
            wake();
        }
    }
    return 0;
}

static void start_child(void) {
    int control[2];
    CHECK(pipe2(control, O_CLOEXEC) == 0);
    pid_t id = fork();
    if (id == 0) {
        char byte;
        close(control[1]);
        _exit(read(control[0], &byte, 1) == 0 ? 3 : 4);
    }
    close(control[0]);
    child_end = control[1];
    child = id;
}

static void get(void) {
    char *bytes = shared.buffer.bytes;
    char got[8];
    if (is("large"))
        CHECK(read(ends[0], bytes, 1 << 18) == 8 && !memcmp(bytes, text, 8));
    else if (is("read") || is("restart") || is("exit") || is("exec") || is("fork"))
        CHECK(read(ends[0], bytes, 100) == 8 && !memcmp(bytes, text, 8));
    else if (is("interrupt")) {
        ssize_t n;
        while ((n = read(ends[0], bytes, 100)) < 0)
            CHECK(errno == EINTR);
        CHECK(n == 8 && !memcmp(bytes, text, 8));
    } else if (is("readv")) {
        CHECK(readv(ends[0], shared.vector, 2) == 8);
        CHECK(!memcmp(bytes, text, 3) && !memcmp(bytes + 64, text + 3, 5));
    } else if (is("recvfrom")) {
        shared.length = sizeof shared.address;
        CHECK(recvfrom(sockets[1], bytes, 100, 0, (struct sockaddr *)&shared.address, &shared.length) == 8);
        CHECK(!memcmp(bytes, text, 8) && shared.length > sizeof(sa_family_t));
        CHECK(shared.address.sun_family == AF_UNIX);
    } else if (is("recvmsg")) {
        shared.message.msg_namelen = sizeof shared.address;
        CHECK(recvmsg(sockets[1], &shared.message, 0) == 8);
        CHECK(!memcmp(bytes, text, 3) && !memcmp(bytes + 64, text + 3, 5));
        CHECK(shared.address.sun_family == AF_UNIX && shared.message.msg_flags == 0);
        CHECK(shared.message.msg_iov == shared.vector && shared.vector[0].iov_base == bytes);
    } else if (is("poll"))
        CHECK(poll(&shared.buffer.descriptor, 1, 1000000) == 1 && shared.buffer.descriptor.revents == POLLIN);
    else if (is("ppoll")) {
        CHECK(ppoll(&shared.buffer.descriptor, 1, &shared.limit, &shared.mask) == 1);
        CHECK(shared.buffer.descriptor.revents == POLLIN);
    } else if (is("select")) {
        CHECK(select(ends[0] + 1, &shared.buffer.set, 0, 0, &shared.time) == 1);
        CHECK(FD_ISSET(ends[0], &shared.buffer.set) && shared.time.tv_sec > 900000);
    } else if (is("pselect")) {
        CHECK(pselect(ends[0] + 1, &shared.buffer.set, 0, 0, &shared.limit, &shared.mask) == 1);
        CHECK(FD_ISSET(ends[0], &shared.buffer.set));
    } else if (is("epoll")) {
        CHECK(epoll_wait(epoll, &shared.buffer.event, 4, -1) == 1);
        CHECK(shared.buffer.event.data.fd == ends[0]);
    } else if (is("nanosleep")) {
        CHECK(syscall(SYS_nanosleep, &shared.limit, &shared.buffer.rest) == -1 && errno == EINTR);
        CHECK(shared.buffer.rest.tv_sec > 900000 && shared.buffer.rest.tv_sec <= 1000000);
    } else if (is("clock_nanosleep")) {
        CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &shared.limit, &shared.buffer.rest) == EINTR);
        CHECK(shared.buffer.rest.tv_sec > 900000 && shared.buffer.rest.tv_sec <= 1000000);
    } else if (is("wait4"))
        CHECK(wait4(child, &shared.buffer.status, 0, &shared.usage) == child && shared.buffer.status == 3 << 8);
    else if (is("waitid")) {
        CHECK(waitid(P_PID, child, &shared.buffer.info, WEXITED) == 0);
        CHECK(shared.buffer.info.si_pid == child && shared.buffer.info.si_status == 3);
    } else if (is("write"))
        CHECK(write(ends[1], bytes, 128) == 128 && read(ends[0], filling, 4096) == 128);
    else
        fail(__LINE__);
    if (is("poll") || is("ppoll") || is("select") || is("pselect") || is("epoll"))
        CHECK(read(ends[0], got, 8) == 8 && !memcmp(got, text, 8));
}

static int from_input(void) {
    ends[0] = 0;
    shared.buffer.descriptor = (struct pollfd){.fd = 0, .events = POLLIN};
    begin();
    if (is("poll"))
        CHECK(poll(&shared.buffer.descriptor, 1, -1) == 1 && shared.buffer.descriptor.revents & POLLIN);
    CHECK(read(0, shared.buffer.bytes, 100) == 8 && !memcmp(shared.buffer.bytes, text, 8));
    return 7;
}

int main(int argc, char **argv) {
    kind = argv[1];
    if (argc < 5)
        return from_input();
    rounds = atol(argv[2]);
    writers = atol(argv[3]);
    times = atol(argv[4]);
    CHECK(pipe(ends) == 0);
    CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets) == 0);
    /* Any name that is free. */
    struct sockaddr_un none = {.sun_family = AF_UNIX};
    CHECK(bind(sockets[0], (struct sockaddr *)&none, sizeof(sa_family_t)) == 0);
    struct sigaction action = {.sa_handler = handler, .sa_flags = is("restart") ? SA_RESTART : 0};
    sigaction(SIGUSR1, &action, 0);
    waiter = (pid_t)syscall(SYS_gettid);
    first = pthread_self();
    shared.limit.tv_sec = shared.time.tv_sec = 1000000;
    shared.vector[0] = (struct iovec){shared.buffer.bytes, 3};
    shared.vector[1] = (struct iovec){shared.buffer.bytes + 64, 64};
    shared.message = (struct msghdr){.msg_name = &shared.address, .msg_iov = shared.vector, .msg_iovlen = 2};
    if (is("poll") || is("ppoll"))
        shared.buffer.descriptor = (struct pollfd){.fd = ends[0], .events = POLLIN};
    if (is("select") || is("pselect"))
        FD_SET(ends[0], &shared.buffer.set);
    if (is("epoll")) {
        epoll = epoll_create1(0);
        struct epoll_event event = {.events = EPOLLIN, .data.fd = ends[0]};
        CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event) == 0);
    }
    if (is("write"))
        CHECK(fcntl(ends[1], F_SETPIPE_SZ, 4096) == 4096);
    pthread_barrier_init(&together, 0, (unsigned)writers);
    begin();
    pthread_t threads[16];
    for (long i = 0; i < writers; i++)
        CHECK(pthread_create(&threads[i], 0, writer, (void *)i) == 0);
    for (int round = 1; round <= rounds; round++) {
        if (is("wait4") || is("waitid"))
            start_child();
        if (is("write")) {
            CHECK(write(ends[1], filling, sizeof filling) == sizeof filling);
        }
        turn = round;
        get();
    }
    for (long i = 0; i < writers; i++)
        pthread_join(threads[i], 0);
    return 7;
}
