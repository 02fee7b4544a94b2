// One call moves more than there is room for, and never all: while it waits, something happens to
// what it writes to. Usage: transfer_fates other|reset|shut
//   other  another file is behind the descriptor
//   reset  the peer resets the connection: the next call says so
//   shut   the peer receives no more, in a program with a filter for its system calls
// Calls hold() when the call waits, and changed() when it has happened.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static char bytes[64 << 20];
static int ends[2];
static volatile pid_t mover;

__attribute__((noinline)) void hold(void) { __asm__ volatile(""); }
__attribute__((noinline)) void changed(void) { __asm__ volatile(""); }

static void say(const char *name, long n, long all) {
    int error = errno;
    printf("%s: %s\n", name, n < 0 ? strerror(error) : n < all ? "a part" : "all");
    fflush(stdout);
}

static void *moves(void *twice) {
    mover = gettid();
    say("first", write(ends[1], bytes, sizeof bytes), sizeof bytes);
    if (twice) say("second", write(ends[1], bytes, 10), 10);
    return 0;
}

static void until_it_waits(void) {
    char path[64], text[256];
    for (int rounds = 0; rounds < 3;) {
        while (!mover) sched_yield();
        snprintf(path, sizeof path, "/proc/self/task/%d/stat", mover);
        FILE *stat = fopen(path, "r");
        char state = stat && fgets(text, sizeof text, stat) ? strrchr(text, ')')[2] : 0;
        if (stat) fclose(stat);
        rounds = state == 'S' ? rounds + 1 : 0;
        sched_yield();
    }
}

static void connect_ends(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int listens = socket(AF_INET, SOCK_STREAM, 0);
    bind(listens, (struct sockaddr *)&at, sizeof at);
    listen(listens, 1);
    getsockname(listens, (struct sockaddr *)&at, &size);
    ends[1] = socket(AF_INET, SOCK_STREAM, 0);
    connect(ends[1], (struct sockaddr *)&at, sizeof at);
    ends[0] = accept(listens, 0, 0);
}

int main(int argc, char **argv) {
    const char *fate = argc > 1 ? argv[1] : "";
    int is_other = !strcmp(fate, "other"), is_reset = !strcmp(fate, "reset");
    int file = memfd_create("other", 0), spare = -1;
    if (is_other) {
        signal(SIGPIPE, SIG_IGN);
        if (pipe(ends)) return 1;
    } else if (is_reset) {
        connect_ends();
    } else {
        struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
        struct sock_fprog filter = {1, all};
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter)) return 2;
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return 1;
    }
    pthread_t thread;
    pthread_create(&thread, 0, moves, is_reset ? &thread : 0);
    until_it_waits();
    hold();
    if (is_other) {
        spare = dup(ends[1]);
        dup2(file, ends[1]);
    } else if (is_reset) {
        struct linger at_once = {1, 0};
        setsockopt(ends[0], SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        close(ends[0]);
    } else {
        shutdown(ends[0], SHUT_RD);
    }
    changed();
    if (is_other) {
        close(spare);
        close(ends[0]);
    }
    pthread_join(thread, 0);
    printf("elsewhere: %ld\n", (long)lseek(file, 0, SEEK_END));
    return 0;
}
