/* Forbids itself most system calls, mmap and mprotect among them, on pain of
   death; then each of its threads reads a byte and calls f. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((noinline)) int f(int x) {
    __asm__ volatile("");
    return x + 1;
}

#define ALLOW(call)                                                            \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1),                         \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int begun, sum;

static void *work(void *unused) {
    char byte;
    __atomic_fetch_add(&begun, 1, __ATOMIC_SEQ_CST);
    if (read(0, &byte, 1) != 1)
        _exit(98);
    int own = 0;
    for (int i = 0; i < 100; i++)
        own = f(own);
    __atomic_fetch_add(&sum, own, __ATOMIC_SEQ_CST);
    /* Whoever ends makes other calls. */
    for (; unused;)
        sched_yield();
    return 0;
}

int main(int argc, char **argv) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_exit_group),
        ALLOW(SYS_read),
        ALLOW(SYS_sched_yield),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    for (int i = 1; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, 0, work, &begun))
            _exit(97);
    }
    while (__atomic_load_n(&begun, __ATOMIC_SEQ_CST) < threads - 1)
        sched_yield();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                SECCOMP_FILTER_FLAG_TSYNC, &program))
        _exit(99);
    work(0);
    while (__atomic_load_n(&sum, __ATOMIC_SEQ_CST) < threads * 100)
        sched_yield();
    _exit(sum / threads);
}
