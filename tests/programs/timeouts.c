// One call that waits with a limit, by its name: 0 if it waited that long and
// ended as it should, 1 if it came back too early, else the number of its error.
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { MS = 400 };
static const struct timespec relative = {0, MS * 1000000L};
static struct timespec start;

static double elapsed_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - start.tv_sec) * 1e3 + (now.tv_nsec - start.tv_nsec) / 1e6;
}

static struct timespec absolute(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += relative.tv_nsec;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

// What a call says that reached its limit: a value, or -1 and an error.
static int is(long result, long value, int error) {
    if (result == -1 && error && errno == error) return 0;
    if (result == value && !error) return 0;
    return result == -1 ? errno : 2;
}

static int limited_socket(int option) {
    int pair[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    struct timeval limit = {0, MS * 1000};
    setsockopt(pair[0], SOL_SOCKET, option, &limit, sizeof limit);
    return pair[0];
}

// A listening socket that nobody connects to, or whose queue is full.
static int listener(struct sockaddr_un *name, int filled) {
    int l = socket(AF_UNIX, SOCK_STREAM, 0);
    socklen_t length = sizeof(sa_family_t);
    name->sun_family = AF_UNIX;
    bind(l, (struct sockaddr *)name, length);
    length = sizeof *name;
    getsockname(l, (struct sockaddr *)name, &length);
    listen(l, 0);
    for (int i = 0; filled && i < 8; i++) {
        int c = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (connect(c, (struct sockaddr *)name, length) && errno == EAGAIN) break;
    }
    return l;
}

// A raw call, to see that its registers are what they were: the kernel keeps all but three.
static long raw(long number, long a, long b, long c, long d, long e, int *kept) {
    register long r10 asm("r10") = d;
    register long r8 asm("r8") = e;
    register long rdi asm("rdi") = a;
    register long rsi asm("rsi") = b;
    register long rdx asm("rdx") = c;
    long result = number;
    asm volatile("syscall"
                 : "+a"(result), "+r"(r10), "+r"(r8), "+r"(rdi), "+r"(rsi), "+r"(rdx)
                 :
                 : "rcx", "r11", "memory");
    *kept = r10 == d && r8 == e && rdi == a && rsi == b && rdx == c;
    if (result < 0 && result > -4096) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

static int run(const char *what) {
    char byte[1 << 16];
    int kept = 1, bad;
    struct epoll_event event;
    clock_gettime(CLOCK_MONOTONIC, &start);
#define CALL(name) else if (!strcmp(what, name))
    if (0) {
        return 3;
    }
    CALL("epoll_wait") return is(epoll_wait(epoll_create1(0), &event, 1, MS), 0, 0);
    CALL("epoll_pwait") return is(epoll_pwait(epoll_create1(0), &event, 1, MS, 0), 0, 0);
    CALL("epoll_child") {
        // Nobody wants to hear of its end.
        if (!fork()) {
            usleep(MS * 500);
            _exit(0);
        }
        return is(epoll_wait(epoll_create1(0), &event, 1, MS), 0, 0);
    }
    CALL("epoll_raw") {
        bad = is(raw(SYS_epoll_wait, epoll_create1(0), (long)&event, 1, MS, 0, &kept), 0, 0);
        return kept ? bad : 4;
    }
    CALL("epoll_pwait2") {
        bad = is(raw(SYS_epoll_pwait2, epoll_create1(0), (long)&event, 1, (long)&relative, 0, &kept), 0, 0);
        return kept ? bad : 4;
    }
    CALL("poll") return is(poll(0, 0, MS), 0, 0);
    CALL("ppoll") return is(ppoll(0, 0, &relative, 0), 0, 0);
    CALL("select") {
        struct timeval limit = {0, MS * 1000};
        return is(select(0, 0, 0, 0, &limit), 0, 0);
    }
    CALL("pselect") return is(pselect(0, 0, 0, 0, &relative, 0), 0, 0);
    CALL("nanosleep") return is(nanosleep(&relative, 0), 0, 0);
    CALL("clock_nanosleep") return clock_nanosleep(CLOCK_MONOTONIC, 0, &relative, 0);
    CALL("clock_nanosleep_until") {
        struct timespec t = absolute(CLOCK_MONOTONIC);
        return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0);
    }
    CALL("sem_timedwait") {
        sem_t sem;
        sem_init(&sem, 0, 0);
        struct timespec t = absolute(CLOCK_REALTIME);
        return is(sem_timedwait(&sem, &t), 0, ETIMEDOUT);
    }
    CALL("futex") {
        int word = 0;
        return is(syscall(SYS_futex, &word, 0, 0, &relative, 0, 0), 0, ETIMEDOUT);
    }
    CALL("cond_timedwait") {
        pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
        pthread_cond_t c = PTHREAD_COND_INITIALIZER;
        struct timespec t = absolute(CLOCK_REALTIME);
        pthread_mutex_lock(&m);
        int r = pthread_cond_timedwait(&c, &m, &t);
        return r == ETIMEDOUT ? 0 : r ? r : 2;
    }
    CALL("semtimedop") {
        int set = semget(IPC_PRIVATE, 1, 0600);
        struct sembuf op = {0, -1, 0};
        int r = is(semtimedop(set, &op, 1, &relative), 0, EAGAIN);
        semctl(set, 0, IPC_RMID);
        return r;
    }
    CALL("sigtimedwait") {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        sigprocmask(SIG_BLOCK, &set, 0);
        return is(sigtimedwait(&set, 0, &relative), 0, EAGAIN);
    }
    CALL("mq_timedreceive") {
        struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 8};
        char name[32];
        snprintf(name, sizeof name, "/verde-timeouts-%d", getpid());
        mqd_t q = mq_open(name, O_RDWR | O_CREAT, 0600, &attributes);
        if (q == (mqd_t)-1) return usleep(MS * 1000);
        mq_unlink(name);
        struct timespec t = absolute(CLOCK_REALTIME);
        return is(mq_timedreceive(q, byte, sizeof byte, 0, &t), 0, ETIMEDOUT);
    }
    CALL("io_getevents") {
        aio_context_t context = 0;
        if (syscall(SYS_io_setup, 1, &context)) return usleep(MS * 1000);
        struct io_event done;
        return is(syscall(SYS_io_getevents, context, 1, 1, &done, &relative), 0, 0);
    }
    CALL("recv") return is(recv(limited_socket(SO_RCVTIMEO), byte, 1, 0), 0, EAGAIN);
    CALL("read") return is(read(limited_socket(SO_RCVTIMEO), byte, 1), 0, EAGAIN);
    CALL("recvmsg") {
        struct msghdr message = {0};
        return is(recvmsg(limited_socket(SO_RCVTIMEO), &message, 0), 0, EAGAIN);
    }
    CALL("accept") {
        struct sockaddr_un name;
        int l = listener(&name, 0);
        struct timeval limit = {0, MS * 1000};
        setsockopt(l, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        return is(accept(l, 0, 0), 0, EAGAIN);
    }
    CALL("connect") {
        struct sockaddr_un name;
        listener(&name, 1);
        int c = socket(AF_UNIX, SOCK_STREAM, 0);
        struct timeval limit = {0, MS * 1000};
        setsockopt(c, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        return is(connect(c, (struct sockaddr *)&name, sizeof(sa_family_t) + 6), 0, EAGAIN);
    }
    CALL("connect_inet") {
        // The queue is full, so that it gets no answer.
        struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t length = sizeof name;
        int l = socket(AF_INET, SOCK_STREAM, 0);
        bind(l, (struct sockaddr *)&name, length);
        getsockname(l, (struct sockaddr *)&name, &length);
        listen(l, 0);
        for (int i = 0; i < 3; i++)
            connect(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), (struct sockaddr *)&name, length);
        usleep(50000);
        int c = socket(AF_INET, SOCK_STREAM, 0);
        struct timeval limit = {0, MS * 1000};
        setsockopt(c, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
        return is(connect(c, (struct sockaddr *)&name, length), 0, EINPROGRESS);
    }
    CALL("send") {
        int s = limited_socket(SO_SNDTIMEO);
        while (send(s, byte, sizeof byte, MSG_DONTWAIT) > 0) {
        }
        while (send(s, byte, 1, MSG_DONTWAIT) > 0) {
        }
        return is(send(s, byte, sizeof byte, 0), 0, EAGAIN);
    }
    return 3;
}

int main(int argc, char **argv) {
    int bad = run(argc > 1 ? argv[1] : "");
    if (!bad && elapsed_ms() < MS) bad = 1;
    return bad;
}
