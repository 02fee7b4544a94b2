/* ck_outside KIND: has something that no checkpoint brings back: socket,
   child, feeds (a child through a pipe), talks (to one by a socket pair), lock, ring (io_uring), requests (io_setup), faults (userfaultfd), rights (a
   descriptor in a message), inotify, queue, messages and semaphores (of System V), pipe (that
   somebody else writes to), counter (of the CPU's time), terminal (data in a terminal of its own); or is
   in a narrow place: filter (seccomp, for clone3), memory (no more of it), processes (no
   more of them). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) void hold(void) { __asm__ volatile(""); }

/* Kills the process that uses the call. */
static void filter(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {4, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        exit(77);
}

/* Sends a descriptor through a socket; what must receive it. */
static int sent(void) {
    int ends[2];
    char byte = 'x', control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &(int){2}, sizeof(int));
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || sendmsg(ends[0], &message, 0) != 1)
        exit(3);
    return ends[1];
}

static int received(int socket) {
    char byte, control[64];
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                             .msg_controllen = sizeof control};
    return recvmsg(socket, &message, MSG_DONTWAIT) == 1 && CMSG_FIRSTHDR(&message);
}

/* A fork waits until somebody reads of it here, which only this process could. */
static int faults(void) {
    int events = syscall(SYS_userfaultfd, 0);
    struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_EVENT_FORK};
    if (ioctl(events, UFFDIO_API, &api))
        return events;
    char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register all = {.range = {(unsigned long)page, 4096},
                                  .mode = UFFDIO_REGISTER_MODE_MISSING};
    ioctl(events, UFFDIO_REGISTER, &all);
    return events;
}

int main(int argc, char **argv) {
    char settings[256] = {0};
    int child = 0, ring = 0, socket_with = 0;
    if (!strcmp(argv[1], "socket"))
        socket(AF_INET, SOCK_DGRAM, 0);
    if (!strcmp(argv[1], "child") && (child = fork()) == 0)
        for (;;)
            pause();
    if (!strcmp(argv[1], "feeds"))
        popen("cat", "w");
    if (!strcmp(argv[1], "talks")) {
        int ends[2];
        if (!socketpair(AF_UNIX, SOCK_STREAM, 0, ends) && (child = fork()) == 0) {
            close(ends[0]);
            for (;;)
                pause();
        }
        close(ends[1]);
    }
    if (!strcmp(argv[1], "lock")) {
        FILE *file = tmpfile();
        struct flock lock = {.l_type = F_WRLCK};
        fcntl(fileno(file), F_SETLK, &lock);
    }
    if (!strcmp(argv[1], "rights"))
        socket_with = sent();
    if (!strcmp(argv[1], "queue") && mq_open("/verde-ck-outside", O_RDWR | O_CREAT, 0600, 0) < 0)
        return 77;
    mq_unlink("/verde-ck-outside");
    if (!strcmp(argv[1], "inotify"))
        inotify_init();
    if (!strcmp(argv[1], "pipe")) {
        /* Of a grandchild, which stays as long as we do; and one that has ended. */
        int ends[2], life[2], ended[2];
        char byte;
        if (pipe(ends) || pipe(life))
            return 3;
        if (!(child = fork())) {
            close(life[1]);
            _exit(fork() ? 0 : read(life[0], &byte, 1));
        }
        waitpid(child, 0, 0);
        child = 0;
        close(ends[1]);
        close(life[0]);
        if (pipe(ended))
            return 3;
        close(ended[1]);
    }
    if (!strcmp(argv[1], "counter")) {
        struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE,
                                             .size = sizeof attributes,
                                             .config = PERF_COUNT_SW_TASK_CLOCK,
                                             .exclude_kernel = 1};
        if (syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0) < 0)
            return 77;
    }
    int messages = -1, semaphores = -1;
    if (!strcmp(argv[1], "messages")) {
        struct {
            long kind;
            char text[4];
        } message = {1, "one"};
        messages = msgget(IPC_PRIVATE, 0600);
        if (messages < 0 || msgsnd(messages, &message, sizeof message.text, 0))
            return 3;
    }
    if (!strcmp(argv[1], "semaphores")) {
        semaphores = semget(IPC_PRIVATE, 3, 0600);
        if (semaphores < 0 || semop(semaphores, &(struct sembuf){2, 1, 0}, 1))
            return 3;
    }
    int master, terminal;
    if (!strcmp(argv[1], "terminal")) {
        if (openpty(&master, &terminal, 0, 0, 0) || write(terminal, "out", 3) != 3)
            return 3;
        /* The kernel passes it on a moment later. */
        struct pollfd there = {master, POLLIN, 0};
        if (poll(&there, 1, 10000) != 1)
            return 3;
    }
    if (!strcmp(argv[1], "ring"))
        ring = syscall(SYS_io_uring_setup, 8, settings);
    unsigned long context = 0;
    if (!strcmp(argv[1], "requests"))
        ring = syscall(SYS_io_setup, 8, &context);
    if (!strcmp(argv[1], "faults"))
        ring = faults();
    struct rlimit none = {1, 1};
    if (!strcmp(argv[1], "memory"))
        setrlimit(RLIMIT_AS, &none);
    if (!strcmp(argv[1], "processes"))
        setrlimit(RLIMIT_NPROC, &none);
    if (!strcmp(argv[1], "filter"))
        filter();
    if (ring < 0)
        return 77;
    hold();
    if (messages >= 0)
        msgctl(messages, IPC_RMID, 0);
    if (semaphores >= 0)
        semctl(semaphores, 0, IPC_RMID);
    if (socket_with && !received(socket_with))
        return 4;
    if (child) {
        kill(child, 9);
        waitpid(child, 0, 0);
    }
    return 0;
}
