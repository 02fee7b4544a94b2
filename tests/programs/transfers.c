// One call moves a megabyte while another thread makes it wait in between, and calls hold() each
// time it waits. Usage: transfers write|writev|send|sendmsg|sockwrite|recv|recvmsg|tty
// Says what the call returned ("moved N"), and moves the rest by further calls if that was not
// all. Exits with 0 if all bytes arrived in order and the call left its registers alone.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

enum { SIZE = 1 << 20, PART = 150000, PARTS = 5 };

static char from[SIZE], to[SIZE];
static int ends[2];
static const char *kind;
static volatile pid_t mover;
static volatile int received;

__attribute__((noinline)) void hold(void) { __asm__ volatile(""); }

static int is(const char *name) { return !strcmp(kind, name); }

static void handler(int signal) { (void)signal; }

static void fail(const char *what) {
    printf("%s\n", what);
    exit(1);
}

// The call by itself: what a program may rely on afterwards is what was there before.
static long call(long number, long a, long b, long c, long d) {
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = 0;
    register long r9 __asm__("r9") = 0;
    long rax = number, rdi = a, rsi = b, rdx = c;
    __asm__ volatile(".globl at_call\nat_call: syscall"
                     : "+a"(rax), "+D"(rdi), "+S"(rsi), "+d"(rdx), "+r"(r10), "+r"(r8), "+r"(r9)
                     :
                     : "rcx", "r11", "memory");
    if (rdi != a || rsi != b || rdx != c || r10 != d || r8 || r9) fail("registers");
    return rax;
}

static long move(void) {
    char *bytes = is("recv") || is("recvmsg") ? to : from;
    struct iovec list[PARTS];
    for (int i = 0; i < PARTS; i++) {
        list[i].iov_base = bytes + i * (SIZE / PARTS);
        list[i].iov_len = i < PARTS - 1 ? SIZE / PARTS : SIZE - i * (SIZE / PARTS);
    }
    struct msghdr message = {.msg_iov = list, .msg_iovlen = PARTS};
    if (is("writev")) return call(SYS_writev, ends[1], (long)list, PARTS, 0);
    if (is("send")) return call(SYS_sendto, ends[1], (long)from, SIZE, MSG_NOSIGNAL);
    if (is("sendmsg")) return call(SYS_sendmsg, ends[1], (long)&message, 0, 0);
    if (is("recv")) return call(SYS_recvfrom, ends[0], (long)to, SIZE, MSG_WAITALL);
    if (is("recvmsg")) return call(SYS_recvmsg, ends[0], (long)&message, MSG_WAITALL, 0);
    return call(SYS_write, ends[1], (long)from, SIZE, 0);
}

static void *moves(void *unused) {
    mover = gettid();
    long moved = move();
    printf("moved %ld\n", moved);
    fflush(stdout);
    if (moved <= 0) exit(1);
    while (moved < SIZE) {
        long n = is("recv") || is("recvmsg") ? read(ends[0], to + moved, SIZE - moved)
                                             : write(ends[1], from + moved, SIZE - moved);
        if (n <= 0) fail("the rest");
        moved += n;
    }
    received = 1;
    return unused;
}

// The call waits, or has come back.
static void until_it_waits(void) {
    char path[64], text[256];
    for (int rounds = 0; !received && rounds < 3;) {
        while (!mover) sched_yield();
        snprintf(path, sizeof path, "/proc/self/task/%d/stat", mover);
        FILE *stat = fopen(path, "r");
        if (!stat) return;
        char state = 0;
        if (fgets(text, sizeof text, stat)) state = strrchr(text, ')')[2];
        fclose(stat);
        rounds = state == 'S' ? rounds + 1 : 0;
        sched_yield();
    }
}

int main(int argc, char **argv) {
    kind = argc > 1 ? argv[1] : "write";
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, 0);
    for (int i = 0; i < SIZE; i++) from[i] = is("tty") ? 'a' + i % 23 : (i * 7 + i / 251) & 0xff;
    int failed;
    if (is("tty")) {
        struct termios modes;
        failed = openpty(&ends[0], &ends[1], 0, 0, 0);
        tcgetattr(ends[1], &modes);
        cfmakeraw(&modes);
        tcsetattr(ends[1], TCSANOW, &modes);
    } else if (is("write") || is("writev")) {
        failed = pipe(ends);
    } else {
        failed = socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    }
    if (failed) fail("no channel");
    pthread_t thread;
    pthread_create(&thread, 0, moves, 0);
    int at = 0;
    int receives = is("recv") || is("recvmsg");
    while (at < SIZE) {
        if (!receives) until_it_waits();
        if (at > 0 || !receives) hold();
        int part = SIZE - at < PART ? SIZE - at : PART;
        if (receives) {
            if (write(ends[1], from + at, part) != part) fail("not sent");
            at += part;
            int unread = 1;
            while (at < SIZE && unread) {
                ioctl(ends[0], FIONREAD, &unread);
                sched_yield();
            }
            until_it_waits();
            continue;
        }
        for (int end = at + part; at < end;) {
            int n = read(ends[0], to + at, end - at);
            if (n <= 0) fail("nothing to read");
            at += n;
        }
    }
    if (receives) shutdown(ends[1], SHUT_WR);
    else if (memcmp(from, to, SIZE)) fail("other bytes");
    pthread_join(thread, 0);
    if (memcmp(from, to, SIZE)) fail("other bytes");
    return 0;
}
