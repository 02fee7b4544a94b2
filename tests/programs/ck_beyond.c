/* ck_beyond FILE: state that is neither in registers nor in private memory.
   Sets everything up, calls `hold`, says what it finds and uses it up, calls
   `used`. Going back to `hold` must make it say the same again. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) void hold(void) { __asm__ volatile(""); }
__attribute__((noinline)) void used(void) { __asm__ volatile(""); }

static void need(int good, const char *what) {
    if (!good) {
        perror(what);
        exit(2);
    }
}

/* What can be read at once. */
static const char *take(int fd, char *buffer, size_t size) {
    ssize_t got = read(fd, buffer, size - 1);
    buffer[got < 0 ? 0 : got] = 0;
    return got < 0 ? "nothing" : buffer;
}

static const char *left(struct timespec t) { return t.tv_sec > 2000 ? "long" : "short"; }

static char *map(int flags) {
    char *at = mmap(0, 4096, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    need(at != MAP_FAILED, "mmap");
    return at;
}

/* Whether a child lacks the memory, or what was in it. */
static int forked(char *memory, int lacks) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        unsigned char there;
        int missing = mincore(memory, 4096, &there) != 0;
        _exit(lacks ? missing : !missing && !*memory);
    }
    int status = 0;
    need(waitpid(child, &status, 0) == child, "waitpid");
    return WEXITSTATUS(status);
}

int main(int argc, char **argv) {
    char buffer[256];
    int file = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    need(write(file, "0123456789", 10) == 10, "write");
    lseek(file, 4, SEEK_SET);
    int nameless = memfd_create("nameless", 0);
    need(write(nameless, "memfd", 5) == 5, "memfd");
    int pipes[2], stream[2], messages[2];
    need(!pipe2(pipes, O_NONBLOCK), "pipe");
    need(write(pipes[1], "hello", 5) == 5, "write");
    int event = eventfd(7, EFD_NONBLOCK);
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec far = {{4000, 0}, {5000, 0}}, near = {{0, 0}, {10, 0}}, now;
    timerfd_settime(timer, 0, &far, 0);
    need(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, stream), "socketpair");
    need(send(stream[0], "stream", 6, 0) == 6, "send");
    need(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, messages), "socketpair");
    send(messages[1], "one", 3, 0);
    send(messages[1], "two", 3, 0);
    int master, terminal;
    need(!openpty(&master, &terminal, 0, 0, 0), "openpty");
    int epoll = epoll_create1(0);
    struct epoll_event wait = {EPOLLIN, {.u64 = 42}}, got;
    epoll_ctl(epoll, EPOLL_CTL_ADD, event, &wait);
    char *shared = map(MAP_SHARED), *excluded = map(MAP_PRIVATE), *cleared = map(MAP_PRIVATE);
    strcpy(shared, "shared");
    strcpy(excluded, "excluded");
    strcpy(cleared, "cleared");
    need(!madvise(excluded, 4096, MADV_DONTFORK), "madvise");
    need(!madvise(cleared, 4096, MADV_WIPEONFORK), "madvise");
    struct sigevent tell = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    timer_t first, second;
    timer_create(CLOCK_MONOTONIC, &tell, &first);
    timer_create(CLOCK_MONOTONIC, &tell, &second);
    timer_settime(second, 0, &far, 0);
    timer_delete(first);
    struct itimerval alarm_far = {{0, 0}, {6000, 0}}, none = {{0, 0}, {0, 0}}, alarm_now;
    setitimer(ITIMER_REAL, &alarm_far, 0);
    sigset_t block;
    sigemptyset(&block);
    sigaddset(&block, SIGUSR2);
    sigaddset(&block, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &block, 0);
    sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 99});
    raise(SIGUSR2);

    hold();

    printf("offset %ld\n", (long)lseek(file, 0, SEEK_CUR));
    memset(buffer, 0, sizeof buffer);
    need(pread(nameless, buffer, sizeof buffer, 0) >= 0, "memfd");
    printf("nameless %s\n", buffer);
    printf("pipe %s\n", take(pipes[0], buffer, sizeof buffer));
    int ready = epoll_wait(epoll, &got, 1, 0);
    printf("epoll %d %d\n", ready, ready == 1 ? (int)got.data.u64 : 0);
    eventfd_t value = 0;
    printf("eventfd %d ", eventfd_read(event, &value));
    printf("%d\n", (int)value);
    timerfd_gettime(timer, &now);
    printf("timerfd %s %s\n", left(now.it_value), left(now.it_interval));
    printf("stream %s\n", take(stream[1], buffer, sizeof buffer));
    printf("message %s ", take(messages[0], buffer, sizeof buffer));
    printf("%s\n", take(messages[0], buffer, sizeof buffer));
    struct termios modes;
    tcgetattr(terminal, &modes);
    printf("echo %d\n", (modes.c_lflag & ECHO) != 0);
    printf("memory %s %s %s\n", shared, excluded, cleared);
    printf("forked %d %d\n", forked(excluded, 1), forked(cleared, 0));
    memset(&now, 0, sizeof now);
    printf("timer %d ", timer_gettime(second, &now));
    printf("%s\n", left(now.it_value));
    getitimer(ITIMER_REAL, &alarm_now);
    printf("itimer %s\n", alarm_now.it_value.tv_sec > 2000 ? "long" : "short");
    struct timespec zero = {0, 0};
    siginfo_t info;
    memset(&info, 0, sizeof info);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGRTMIN);
    int signal = sigtimedwait(&one, &info, &zero);
    printf("signal %d %d ", signal == SIGRTMIN, info.si_value.sival_int);
    sigemptyset(&one);
    sigaddset(&one, SIGUSR2);
    printf("%d\n", sigtimedwait(&one, &info, &zero) == SIGUSR2);
    fflush(stdout);

    need(pwrite(nameless, "changed!", 8, 0) == 8, "memfd");
    lseek(file, 9, SEEK_SET);
    send(stream[0], "later", 5, 0);
    timerfd_settime(timer, 0, &near, 0);
    modes.c_lflag &= ~ECHO;
    tcsetattr(terminal, TCSANOW, &modes);
    epoll_ctl(epoll, EPOLL_CTL_DEL, event, &wait);
    strcpy(shared, "changed");
    strcpy(excluded, "changed");
    timer_delete(second);
    setitimer(ITIMER_REAL, &none, 0);
    used();
    return 0;
}
