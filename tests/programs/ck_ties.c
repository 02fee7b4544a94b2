/* ck_ties KIND DIRECTORY: what ties a process to the kernel and to files: locks, later (ones), between (two
   calls of `hold`), fifo
   (with a lock), terminal (likewise), cleared (memory that forks clear), excluded (memory
   that forks leave out), signals (a set of descriptors that waits for
   signals), session, attributes (prctl), policies (of memory), apart (threads), renumbered (files in a set), pidfds (of itself), files (that
   tell of itself), ready (signals that tell that something is), owners (whom they tell),
   priorities, directory (that is being
   read), ended (pipes that nobody writes to any more), input (a set of
   descriptors that waits for it), user (another one), full (no
   descriptor is left), narrow and narrowest (fewer descriptors than it has), segment (of System V), closed (memory, read-only for now), shut (memory, for nobody for now), mapped (a file), cut (a mapped file that becomes shorter), leases, seals (of files),
   urgent (data), overruns (of a timer), chosen (signals to be read), mode (of a file without a name), leads (a session
   with a terminal), secret (memory), keys and thread_keys (in keyrings), large (memory, and a place in the order in which
   the kernel kills), huge (pages of the system's pool), shares (its memory with a child that nobody traces).
   Sets it up, calls `hold`, looks whether it is so, uses it up. Exits with 1 and says
   where if not; going back to `hold` must make it so again. */
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
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) void hold(void) { __asm__ volatile(""); }

#define CHECK(what)                                                                               \
    do {                                                                                          \
        if (!(what)) {                                                                            \
            printf("line %d: %s: %s\n", __LINE__, #what, strerror(errno));                        \
            fflush(stdout);                                                                       \
            _exit(1);                                                                             \
        }                                                                                         \
    } while (0)

static int file(const char *name) { return open(name, O_RDWR | O_CREAT, 0600); }

static int tries(int fd) { return flock(fd, LOCK_EX | LOCK_NB); }

static int tries_part(int fd) {
    struct flock part = {.l_type = F_WRLCK, .l_start = 10, .l_len = 10};
    return fcntl(fd, F_OFD_SETLK, &part);
}

/* Who has closed a file holds no lock on it. */
static void locks(void) {
    int closed = file("closed"), kept = file("kept"), part = file("part");
    CHECK(write(kept, "0123456789", 10) == 10);
    CHECK(lseek(kept, 4, SEEK_SET) == 4);
    int same = dup(kept);
    CHECK(!tries(closed) && !tries(kept) && !tries_part(part));
    hold();
    int others[3] = {file("closed"), file("kept"), file("part")};
    CHECK(tries(others[0]) && tries(others[1]) && tries_part(others[2]));
    close(closed);
    close(part);
    CHECK(!tries(others[0]));
    CHECK(!tries_part(others[2]));
    CHECK(lseek(same, 0, SEEK_CUR) == 4);
    CHECK(lseek(kept, 7, SEEK_SET) == 7 && lseek(same, 0, SEEK_CUR) == 7);
    CHECK(!flock(same, LOCK_UN));
    CHECK(!tries(others[1]));
}

/* What nobody held then nobody holds, though its file was open. */
static void later(void) {
    int whole = file("whole"), part = file("part"), same = file("same"), twice = file("same");
    CHECK(!tries(same));
    hold();
    int others[2] = {file("whole"), file("part")};
    CHECK(!tries(others[0]) && !tries_part(others[1]) && !close(others[0]) && !close(others[1]));
    CHECK(!tries(whole) && !tries_part(part));
    CHECK(tries(twice) && !flock(same, LOCK_UN) && !tries(twice));
}

/* Saved twice, free and held. */
static void between(void) {
    int fd = file("between");
    hold();
    int other = file("between");
    CHECK(!tries(other) && !flock(other, LOCK_UN) && !tries(fd));
    hold();
    CHECK(tries(other) && !flock(fd, LOCK_UN) && !tries(other));
}

/* Opened anew it would have lost its signal. */
static void fifo(void) {
    CHECK(!access("fifo", F_OK) || !mkfifo("fifo", 0600));
    int fd = open("fifo", O_RDWR), other = open("fifo", O_RDWR);
    CHECK(!tries(fd) && !fcntl(fd, F_SETSIG, SIGUSR1));
    hold();
    CHECK(fcntl(fd, F_GETSIG) == SIGUSR1);
    CHECK(tries(other) && !flock(fd, LOCK_UN) && !tries(other));
}

/* Opened anew it would become the one of a session. */
static void terminal(void) {
    CHECK(setsid() == getpid());
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    CHECK(!grantpt(master) && !unlockpt(master));
    int fd = open(ptsname(master), O_RDWR | O_NOCTTY);
    CHECK(!tries(fd));
    hold();
    CHECK(tcgetsid(master) == -1 && open("/dev/tty", O_RDWR) == -1);
}

static void excluded(void) {
    const size_t size = 1 << 20;
    volatile char *some = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(!madvise((void *)some, size, MADV_DONTFORK));
    some[size / 2] = 7;
    hold();
    CHECK(some[size / 2] == 7);
    /* A child must now have it as it is. */
    CHECK(!madvise((void *)some, size, MADV_DOFORK));
    int child = fork(), status;
    if (!child)
        _exit(some[size / 2] == 7 ? 0 : 1);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void cleared(void) {
    const size_t small = 1 << 20, large = 16 << 20;
    char *some = mmap(0, small, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *much = mmap(0, large, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(!madvise(some, small, MADV_WIPEONFORK) && !madvise(much, large, MADV_WIPEONFORK));
    some[small / 2] = much[large / 2] = 7;
    CHECK(!mprotect(much, large, PROT_READ));
    hold();
    CHECK(some[small / 2] == 7);
    CHECK(much[large / 2] == 7);
    some[small / 2] = 8;
}

static void signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, 0);
    int fd = signalfd(-1, &set, SFD_NONBLOCK), epoll = epoll_create1(0);
    struct epoll_event event = {EPOLLIN, {.u64 = 42}};
    CHECK(!epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
    hold();
    kill(getpid(), SIGUSR1);
    event.data.u64 = 0;
    CHECK(epoll_wait(epoll, &event, 1, 1000) == 1 && event.data.u64 == 42);
    struct signalfd_siginfo info;
    CHECK(read(fd, &info, sizeof info) == sizeof info);
}

static void choose(int fd, int signal) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    sigprocmask(SIG_BLOCK, &set, 0);
    CHECK(signalfd(fd, &set, 0) == fd);
}

static void chosen(void) {
    sigset_t none;
    sigemptyset(&none);
    int fd = signalfd(-1, &none, SFD_NONBLOCK);
    choose(fd, SIGUSR1);
    hold();
    struct signalfd_siginfo info;
    kill(getpid(), SIGUSR1);
    CHECK(read(fd, &info, sizeof info) == sizeof info && info.ssi_signo == SIGUSR1);
    choose(fd, SIGUSR2);
}

static void mode(void) {
    int fd = memfd_create("mode", 0);
    struct stat about;
    CHECK(!fchmod(fd, 0640));
    hold();
    CHECK(!fstat(fd, &about) && (about.st_mode & 07777) == 0640);
    CHECK(!fchmod(fd, 0400));
}

static void leads(void) {
    CHECK(setsid() == getpid());
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    CHECK(!grantpt(master) && !unlockpt(master));
    CHECK(open(ptsname(master), O_RDWR) >= 0);
    hold();
    if (open("/dev/tty", O_RDWR) == -1)
        printf("no terminal\n");
}

static void secret(void) {
    int fd = syscall(SYS_memfd_secret, 0);
    CHECK(fd >= 0 && !ftruncate(fd, 4096));
    char *at = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(at != MAP_FAILED);
    hold();
    if (*at)
        printf("%s\n", at);
    strcpy(at, "changed");
}

/* A key in the keyring of the process (-2) or of the thread (-1). */
static void keep(long keyring) { CHECK(syscall(SYS_add_key, "user", "verde", "key", 3, keyring) > 0); }

static int has_key(long keyring) {
    return syscall(SYS_keyctl, /* KEYCTL_SEARCH */ 10, keyring, "user", "verde", 0) > 0;
}

static void keys(void) {
    keep(-2);
    hold();
    if (!has_key(-2))
        printf("no key\n");
}

static int keys_ready[2];

static void *keeps(void *unused) {
    char byte;
    keep(-1);
    CHECK(write(keys_ready[1], "", 1) == 1);
    CHECK(read(keys_ready[0], &byte, 1) == 1);
    if (!has_key(-1))
        printf("no key\n");
    return 0;
}

static void thread_keys(void) {
    pthread_t other;
    char byte;
    int there[2], back[2];
    CHECK(!pipe(there) && !pipe(back));
    keys_ready[0] = there[0];
    keys_ready[1] = back[1];
    CHECK(!pthread_create(&other, 0, keeps, 0));
    CHECK(read(back[0], &byte, 1) == 1);
    hold();
    CHECK(write(there[1], "", 1) == 1);
    CHECK(!pthread_join(other, 0));
}

static void large(void) {
    int score = open("/proc/self/oom_score_adj", O_WRONLY);
    CHECK(write(score, "7", 1) == 1 && !close(score));
    CHECK(mmap(0, 10 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    hold();
}

static void huge(void) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB;
    char *at = mmap(0, 4 << 20, PROT_READ | PROT_WRITE, flags, -1, 0);
    CHECK(at != MAP_FAILED);
    at[0] = at[2 << 20] = 1;
    hold();
}

static volatile int shared_ends;
static int shares_memory(void *unused) {
    while (!shared_ends)
        sched_yield();
    return 0;
}

static void shares(void) {
    static char stack[65536];
    int child = clone(shares_memory, stack + sizeof stack, CLONE_VM | CLONE_UNTRACED | SIGCHLD, 0);
    CHECK(child > 0);
    hold();
    shared_ends = 1;
    CHECK(waitpid(child, 0, 0) == child);
}

static void session(void) {
    CHECK(setsid() == getpid());
    hold();
    CHECK(getsid(0) == getpid() && getpgrp() == getpid());
}

static int ends[2];

static void *thread(void *ready) {
    char byte;
    int signal = 0;
    prctl(PR_SET_TIMERSLACK, 23456);
    prctl(PR_SET_PDEATHSIG, SIGUSR2);
    CHECK(!prctl(PR_SET_TSC, PR_TSC_SIGSEGV));
    CHECK(!prctl(PR_MCE_KILL, PR_MCE_KILL_SET, PR_MCE_KILL_EARLY, 0, 0));
    CHECK(write(*(int *)ready, "r", 1) == 1);
    CHECK(read(ends[0], &byte, 1) == 1);
    CHECK(prctl(PR_GET_TIMERSLACK) == 23456);
    CHECK(!prctl(PR_GET_PDEATHSIG, &signal) && signal == SIGUSR2);
    int stamps = 0;
    CHECK(!prctl(PR_GET_TSC, &stamps) && stamps == PR_TSC_SIGSEGV);
    CHECK(prctl(PR_MCE_KILL_GET, 0, 0, 0, 0) == PR_MCE_KILL_EARLY);
    return 0;
}

static void attributes(void) {
    int signal = 0, adopts = 0, ready[2];
    char byte;
    pthread_t other;
    CHECK(!pipe(ends) && !pipe(ready));
    CHECK(!pthread_create(&other, 0, thread, &ready[1]));
    CHECK(read(ready[0], &byte, 1) == 1);
    prctl(PR_SET_PDEATHSIG, SIGUSR1);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_TIMERSLACK, 12345);
    hold();
    CHECK(!prctl(PR_GET_PDEATHSIG, &signal) && signal == SIGUSR1);
    CHECK(!prctl(PR_GET_CHILD_SUBREAPER, &adopts) && adopts == 1);
    CHECK(prctl(PR_GET_TIMERSLACK) == 12345);
    prctl(PR_SET_PDEATHSIG, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    CHECK(write(ends[1], "x", 1) == 1);
    pthread_join(other, 0);
}

static int policy(unsigned long *nodes) {
    int mode = -1;
    CHECK(!syscall(SYS_get_mempolicy, &mode, nodes, 1024, 0, 0));
    return mode;
}

/* Preferred is the first node. */
static void *prefers(void *ready) {
    char byte;
    unsigned long nodes[16] = {1};
    CHECK(!syscall(SYS_set_mempolicy, 1, nodes, 1024));
    CHECK(write(*(int *)ready, "r", 1) == 1);
    CHECK(read(ends[0], &byte, 1) == 1);
    nodes[0] = 0;
    CHECK(policy(nodes) == 1 && nodes[0] == 1);
    return 0;
}

/* None of its own, where the first thread has one. */
static void *prefers_nothing(void *ready) {
    char byte;
    unsigned long nodes[16];
    CHECK(write(*(int *)ready, "r", 1) == 1);
    CHECK(read(ends[0], &byte, 1) == 1);
    CHECK(policy(nodes) == 0);
    return 0;
}

static void policies(void) {
    int ready[2];
    char byte;
    unsigned long nodes[16] = {1};
    pthread_t some[2];
    CHECK(!pipe(ends) && !pipe(ready));
    CHECK(!pthread_create(&some[0], 0, prefers, &ready[1]));
    CHECK(!pthread_create(&some[1], 0, prefers_nothing, &ready[1]));
    CHECK(read(ready[0], &byte, 1) == 1 && read(ready[0], &byte, 1) == 1);
    /* Interleaved. */
    CHECK(!syscall(SYS_set_mempolicy, 3, nodes, 1024));
    hold();
    CHECK(policy(nodes) == 3 && nodes[0] == 1);
    CHECK(write(ends[1], "xx", 2) == 2);
    pthread_join(some[0], 0);
    pthread_join(some[1], 0);
}

static void *leave(void *ready) {
    char byte;
    const int *what = ready;
    CHECK(!(what[2] ? unshare(what[2]) : prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)));
    CHECK(write(what[1], "r", 1) == 1);
    CHECK(read(what[3], &byte, 1) == 1);
    return 0;
}

/* Threads that leave the first one, each in its way. */
static void apart(void) {
    static int what[3][4] = {{0, 0, CLONE_FS, 0}, {0, 0, CLONE_FILES, 0}, {0, 0, 0, 0}};
    int ready[2];
    char byte;
    pthread_t other;
    CHECK(!pipe(ends) && !pipe(ready));
    for (int i = 0; i < 3; i++) {
        what[i][1] = ready[1];
        what[i][3] = ends[0];
        CHECK(!pthread_create(&other, 0, leave, what[i]));
        CHECK(read(ready[0], &byte, 1) == 1);
    }
    hold();
}

/* A set goes on with a file under its first number, which may be another file's now. */
static void renumbered(void) {
    int free_now[2], taken[2], epoll = epoll_create1(0);
    CHECK(!pipe(free_now) && !pipe(taken));
    struct epoll_event event = {EPOLLIN, {.u64 = 41}}, got[2];
    CHECK(!epoll_ctl(epoll, EPOLL_CTL_ADD, free_now[0], &event));
    event.data.u64 = 42;
    CHECK(!epoll_ctl(epoll, EPOLL_CTL_ADD, taken[0], &event));
    CHECK(dup2(free_now[0], 50) == 50 && dup2(taken[0], 51) == 51);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CHECK(dup3(null, taken[0], O_CLOEXEC) == taken[0] && !close(null) && !close(free_now[0]));
    hold();
    CHECK(write(free_now[1], "x", 1) == 1 && write(taken[1], "x", 1) == 1);
    CHECK(epoll_wait(epoll, got, 2, 0) == 2 && got[0].data.u64 + got[1].data.u64 == 83);
    char byte;
    CHECK(read(taken[0], &byte, 1) == 0 && fcntl(taken[0], F_GETFD) == FD_CLOEXEC);
    CHECK(fcntl(free_now[0], F_GETFD) == -1 && read(50, &byte, 1) == 1 && !close(50));
    CHECK(epoll_wait(epoll, got, 2, 0) == 1 && got[0].data.u64 == 42);
}

static int names(int fd) { return !syscall(SYS_pidfd_send_signal, fd, 0, 0, 0); }

static void *named(void *ready) {
    char byte;
    int tid = gettid();
    CHECK(write(*(int *)ready, &tid, sizeof tid) == sizeof tid);
    CHECK(read(ends[0], &byte, 1) == 1);
    return 0;
}

static void pidfds(void) {
    int ready[2], tid;
    pthread_t other;
    CHECK(!pipe(ends) && !pipe(ready));
    CHECK(!pthread_create(&other, 0, named, &ready[1]));
    CHECK(read(ready[0], &tid, sizeof tid) == sizeof tid);
    int process = syscall(SYS_pidfd_open, getpid(), O_NONBLOCK), same = dup(process);
    CHECK(process >= 0 && same >= 0);
    /* Old kernels know none of threads. */
    int thread = syscall(SYS_pidfd_open, tid, O_EXCL), epoll = epoll_create1(0);
    struct epoll_event event = {EPOLLIN, {.u64 = 41}};
    CHECK(!epoll_ctl(epoll, EPOLL_CTL_ADD, process, &event));
    event.data.u64 = 42;
    CHECK(thread < 0 || !epoll_ctl(epoll, EPOLL_CTL_ADD, thread, &event));
    hold();
    CHECK(names(process) && names(same) && (thread < 0 || names(thread)));
    CHECK(fcntl(process, F_GETFL) & O_NONBLOCK);
    CHECK(fcntl(process, F_GETFD) == FD_CLOEXEC && fcntl(same, F_GETFD) == 0);
    CHECK(!fcntl(process, F_SETFL, 0) && !(fcntl(same, F_GETFL) & O_NONBLOCK));
    CHECK(epoll_wait(epoll, &event, 1, 0) == 0);
    CHECK(write(ends[1], "x", 1) == 1);
    pthread_join(other, 0);
    event.data.u64 = 0;
    CHECK(thread < 0 || (epoll_wait(epoll, &event, 1, 10000) == 1 && event.data.u64 == 42));
}

/* How many files a set of descriptors waits for. */
static int waits(int epoll) {
    char text[128];
    int count = 0;
    snprintf(text, sizeof text, "/proc/self/fdinfo/%d", epoll);
    FILE *info = fopen(text, "r");
    CHECK(info);
    while (fgets(text, sizeof text, info))
        count += !strncmp(text, "tfd:", 4);
    fclose(info);
    return count;
}

static void files(void) {
    char text[64];
    int maps = open("/proc/self/maps", O_RDONLY), same = dup(maps);
    snprintf(text, sizeof text, "/proc/self/task/%d/comm", gettid());
    int name = open(text, O_RDWR), directory = open("/proc/self", O_RDONLY | O_DIRECTORY);
    int path = open("/proc/self/status", O_PATH);
    int link = open("/proc/self/exe", O_PATH | O_NOFOLLOW);
    int mounts = open("/proc/self/mounts", O_RDONLY), epoll = epoll_create1(0);
    struct epoll_event event = {EPOLLPRI, {.u64 = 42}};
    CHECK(link >= 0 && !epoll_ctl(epoll, EPOLL_CTL_ADD, mounts, &event));
    CHECK(read(maps, text, 10) == 10 && name >= 0 && directory >= 0 && path >= 0);
    hold();
    CHECK(lseek(same, 0, SEEK_CUR) == 10 && read(same, text, 10) == 10);
    CHECK(lseek(maps, 0, SEEK_CUR) == 20);
    CHECK(write(name, "other", 5) == 5);
    int again = openat(directory, "status", O_RDONLY);
    CHECK(again >= 0 && read(again, text, 10) == 10);
    CHECK(readlinkat(link, "", text, sizeof text) > 0);
    CHECK(waits(epoll) == 1 && !close(mounts) && waits(epoll) == 0);
    snprintf(text, sizeof text, "/proc/self/fd/%d", path);
    again = open(text, O_RDONLY);
    CHECK(again >= 0 && read(again, text, 10) == 10);
}

static volatile int told;
static void tell(int signal) { told = signal; }

static volatile int told_number;
static void tell_number(int signal, siginfo_t *info, void *context) {
    (void)context;
    told = signal;
    told_number = info->si_fd;
}

static void ready(void) {
    int pair[2];
    struct sigaction action = {.sa_sigaction = tell_number, .sa_flags = SA_SIGINFO};
    CHECK(!access("fifo", F_OK) || !mkfifo("fifo", 0600));
    int fd = open("fifo", O_RDWR);
    CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    signal(SIGIO, tell);
    sigaction(SIGUSR1, &action, 0);
    CHECK(!fcntl(fd, F_SETOWN, getpid()) && !fcntl(fd, F_SETFL, O_ASYNC));
    struct f_owner_ex thread = {F_OWNER_TID, gettid()};
    CHECK(!fcntl(pair[0], F_SETOWN_EX, &thread) && !fcntl(pair[0], F_SETSIG, SIGUSR1));
    CHECK(!fcntl(pair[0], F_SETFL, O_ASYNC));
    hold();
    CHECK(write(fd, "x", 1) == 1 && told == SIGIO);
    CHECK(write(pair[1], "x", 1) == 1 && told == SIGUSR1 && told_number == pair[0]);
    CHECK(!fcntl(fd, F_SETFL, 0));
}

static int is_told(int fd, int id, int signal) {
    return fcntl(fd, F_GETOWN) == id && fcntl(fd, F_GETSIG) == signal;
}

/* Known also while nobody asks for a signal. */
static void owners(void) {
    int made[2], fd = open("/dev/null", O_RDONLY), later = open("/dev/null", O_RDONLY);
    CHECK(!pipe(made));
    CHECK(!fcntl(made[0], F_SETOWN, getpid()) && !fcntl(made[0], F_SETSIG, SIGUSR1));
    CHECK(!fcntl(made[1], F_SETOWN, -getpgrp()) && !fcntl(made[1], F_SETSIG, SIGUSR2));
    CHECK(!fcntl(fd, F_SETOWN, getpid()) && !fcntl(fd, F_SETSIG, SIGUSR1));
    hold();
    CHECK(is_told(made[0], getpid(), SIGUSR1) && is_told(made[1], -getpgrp(), SIGUSR2));
    CHECK(is_told(fd, getpid(), SIGUSR1) && is_told(later, 0, 0));
    CHECK(!fcntl(fd, F_SETOWN, getppid()) && !fcntl(fd, F_SETSIG, SIGUSR2));
    CHECK(!fcntl(later, F_SETOWN, getppid()) && !fcntl(later, F_SETSIG, SIGUSR2));
}

static int real_time;

static void *prior(void *ready) {
    char byte;
    struct sched_param param = {.sched_priority = 1};
    const int best_effort = 2 << 13 | 6;
    CHECK(!setpriority(PRIO_PROCESS, gettid(), 5));
    CHECK(!syscall(SYS_ioprio_set, 1, 0, best_effort));
    /* Not everybody may. */
    real_time = !sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param);
    CHECK(write(*(int *)ready, "r", 1) == 1);
    CHECK(read(ends[0], &byte, 1) == 1);
    CHECK(!real_time || sched_getscheduler(0) == (SCHED_FIFO | SCHED_RESET_ON_FORK));
    CHECK(getpriority(PRIO_PROCESS, gettid()) == 5);
    CHECK(syscall(SYS_ioprio_get, 1, 0) == best_effort);
    return 0;
}

/* The first thread's is not inherited. */
static void priorities(void) {
    int ready[2];
    char byte;
    pthread_t other;
    struct sched_param param = {0};
    CHECK(!pipe(ends) && !pipe(ready));
    CHECK(!pthread_create(&other, 0, prior, &ready[1]));
    CHECK(read(ready[0], &byte, 1) == 1);
    CHECK(!sched_setscheduler(0, SCHED_BATCH | SCHED_RESET_ON_FORK, &param));
    hold();
    CHECK(sched_getscheduler(0) == (SCHED_BATCH | SCHED_RESET_ON_FORK));
    CHECK(write(ends[1], "x", 1) == 1);
    pthread_join(other, 0);
}

static void directory(void) {
    char name[32], entries[1024];
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "entry-%d", i);
        close(file(name));
    }
    int fd = open(".", O_RDONLY | O_DIRECTORY);
    CHECK(syscall(SYS_getdents64, fd, entries, sizeof entries) > 0);
    hold();
    CHECK(syscall(SYS_getdents64, fd, entries, sizeof entries) > 0);
    while (syscall(SYS_getdents64, fd, entries, sizeof entries) > 0)
        ;
}

static void ended(void) {
    int plain[2], packets[2];
    char text[16];
    CHECK(!pipe(plain) && !pipe2(packets, O_DIRECT));
    CHECK(write(plain[1], "data", 4) == 4);
    CHECK(write(packets[1], "one", 3) == 3 && write(packets[1], "three", 5) == 5);
    CHECK(!close(plain[1]) && !close(packets[1]));
    int same = dup(plain[0]);
    hold();
    CHECK(read(plain[0], text, 2) == 2 && read(same, text, 16) == 2 && !memcmp(text, "ta", 2));
    CHECK(read(packets[0], text, 16) == 3 && read(packets[0], text, 16) == 5);
    CHECK(read(plain[0], text, 16) == 0 && read(packets[0], text, 16) == 0);
}

static void narrow_to(rlim_t most) {
    int made[2], high[2] = {100, 101};
    char text[8];
    struct rlimit few = {50, most};
    CHECK(!pipe(made) && dup2(made[0], high[0]) == 100 && dup2(made[1], high[1]) == 101);
    CHECK(!close(made[0]) && !close(made[1]) && write(high[1], "data", 4) == 4);
    CHECK(!setrlimit(RLIMIT_NOFILE, &few));
    hold();
    CHECK(!getrlimit(RLIMIT_NOFILE, &few) && few.rlim_cur == 50 && few.rlim_max == most);
    CHECK(read(high[0], text, 8) == 4 && !memcmp(text, "data", 4));
}

/* A pipe from who has started the tests, who has it, too. */
static void input(void) {
    char text[8];
    int epoll = epoll_create1(0);
    struct epoll_event event = {EPOLLIN, {.u64 = 42}};
    CHECK(!epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &event));
    hold();
    CHECK(waits(epoll) == 1 && epoll_wait(epoll, &event, 1, 0) == 1);
    CHECK(read(0, text, 8) >= 0 && read(0, text, 8) == 0);
}

/* A user whose limits others may not even ask for. */
static void user(void) {
    int made[2];
    char text[8];
    CHECK(getuid() || (!setresgid(65534, 65534, 65534) && !setresuid(65534, 65534, 65534)));
    CHECK(!pipe(made) && write(made[1], "data", 4) == 4);
    hold();
    CHECK(!close(made[1]) && read(made[0], text, 8) == 4);
    struct pollfd end = {made[0], POLLIN, 0};
    CHECK(poll(&end, 1, 10000) == 1 && end.revents == POLLHUP);
}

/* Every number that it may have is in use. */
static void full(void) {
    int made[2], last;
    char text[8];
    struct rlimit few = {64, 200};
    CHECK(!setrlimit(RLIMIT_NOFILE, &few) && !pipe(made));
    CHECK(write(made[1], "data", 4) == 4 && !close(made[1]));
    do
        last = dup(1);
    while (last >= 0);
    CHECK(errno == EMFILE);
    hold();
    CHECK(read(made[0], text, 8) == 4 && !memcmp(text, "data", 4));
    CHECK(read(made[0], text, 8) == 0 && dup(1) == -1 && errno == EMFILE);
}

static void narrow(void) { narrow_to(200); }
static void narrowest(void) { narrow_to(60); }

static void segment(void) {
    int id = shmget(IPC_PRIVATE, 8192, 0600);
    volatile char *map = shmat(id, 0, 0);
    CHECK(map != (void *)-1 && !shmctl(id, IPC_RMID, 0));
    map[5000] = 1;
    hold();
    CHECK(map[5000] == 1);
    map[5000] = 2;
    CHECK(!shmdt((void *)map));
}

/* Memory that is written at times only, and some that never is. */
static void closed(void) {
    const int both = PROT_READ | PROT_WRITE;
    int fd = file("closed"), never = file("never");
    CHECK(!ftruncate(fd, 8192) && pwrite(never, "1", 1, 0) == 1);
    char *map = mmap(0, 8192, both, MAP_SHARED, fd, 0);
    char *nameless = mmap(0, 8192, both, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int read_only = open("never", O_RDONLY);
    const char *other = mmap(0, 4096, PROT_READ, MAP_SHARED, read_only, 0);
    map[5000] = nameless[5000] = 1;
    CHECK(!mprotect(map, 8192, PROT_READ) && !mprotect(nameless, 8192, PROT_READ));
    CHECK(!close(fd) && !close(read_only) && !close(never) && other[0] == '1');
    hold();
    CHECK(map[5000] == 1);
    CHECK(nameless[5000] == 1);
    /* Still closed. */
    int ends[2];
    CHECK(!pipe(ends) && write(ends[1], "x", 1) == 1);
    CHECK(read(ends[0], map, 1) == -1 && read(ends[0], nameless, 1) == -1 && errno == EFAULT);
    CHECK(!mprotect(map, 8192, both) && !mprotect(nameless, 8192, both));
    map[5000] = nameless[5000] = 2;
    CHECK(mprotect((void *)other, 4096, both) == -1);
}

/* Memory that nobody may use for now. */
static void shut(void) {
    const int both = PROT_READ | PROT_WRITE;
    int fd = file("shut");
    CHECK(!ftruncate(fd, 8192));
    char *map = mmap(0, 8192, both, MAP_SHARED, fd, 0);
    char *nameless = mmap(0, 8192, both, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    map[5000] = nameless[5000] = 1;
    CHECK(!mprotect(map, 8192, PROT_NONE) && !mprotect(nameless, 8192, PROT_NONE) && !close(fd));
    hold();
    int ends[2];
    CHECK(!pipe(ends) && write(ends[1], map, 1) == -1 && write(ends[1], nameless, 1) == -1);
    CHECK(!mprotect(map, 8192, both) && !mprotect(nameless, 8192, both));
    CHECK(map[5000] == 1);
    CHECK(nameless[5000] == 1);
    map[5000] = nameless[5000] = 2;
}

/* A file that comes back, for all of it is in memory. */
static void mapped(void) {
    char text[8] = {0};
    int fd = file("mapped");
    CHECK(!ftruncate(fd, 5000));
    char *map = mmap(0, 5000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    strcpy(map, "then");
    hold();
    CHECK(pread(fd, text, 5, 0) == 5 && !strcmp(text, "then"));
    strcpy(map, "since");
    CHECK(pwrite(fd, "x", 1, 4500) == 1);
}

static void cut(void) {
    int fd = file("cut");
    CHECK(!ftruncate(fd, 8192));
    volatile char *map = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    map[0] = map[5000] = 1;
    hold();
    CHECK(map[0] == 1);
    map[0] = 2;
    CHECK(!ftruncate(fd, 4096));
}

/* One that it has, and one that it takes later. */
static void leases(void) {
    int held = file("held"), later = file("later");
    signal(SIGIO, tell);
    CHECK(!fcntl(held, F_SETLEASE, F_WRLCK));
    hold();
    CHECK(fcntl(held, F_GETLEASE) == F_WRLCK && fcntl(later, F_GETLEASE) == F_UNLCK);
    /* Who opens it waits until it is told and lets him. */
    CHECK(open("held", O_RDWR | O_NONBLOCK) == -1 && errno == EWOULDBLOCK && told == SIGIO);
    CHECK(!fcntl(held, F_SETLEASE, F_UNLCK) && !fcntl(later, F_SETLEASE, F_WRLCK));
}

static void seals(void) {
    int fd = memfd_create("seals", MFD_ALLOW_SEALING), other = memfd_create("other", MFD_ALLOW_SEALING);
    CHECK(write(fd, "then", 4) == 4 && write(other, "then", 4) == 4);
    hold();
    CHECK(write(fd, "since", 5) == 5);
    CHECK(!fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) && !fcntl(other, F_ADD_SEALS, F_SEAL_GROW));
}

static void urgent(void) {
    int pair[2];
    CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    CHECK(send(pair[0], "abc", 3, 0) == 3 && send(pair[0], "def", 3, MSG_OOB) == 3);
    CHECK(send(pair[0], "ghi", 3, 0) == 3);
    hold();
    char text[32] = {0}, byte = 0;
    int got = recv(pair[1], &byte, 1, MSG_OOB);
    for (int n, at = 0; (n = recv(pair[1], text + at, 31 - at, MSG_DONTWAIT)) > 0;) at += n;
    if (got != 1 || byte != 'f') printf("%d %c %s\n", got, byte, text);
}

static void overruns(void) {
    sigset_t set;
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec often = {{0, 1000000}, {0, 1000000}};
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, 0);
    CHECK(!timer_create(CLOCK_MONOTONIC, &event, &timer) && !timer_settime(timer, 0, &often, 0));
    do
        sigpending(&set);
    while (!sigismember(&set, SIGUSR1));
    hold();
    CHECK(sigwaitinfo(&set, 0) == SIGUSR1);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*act)(void);
    } all[] = {{"locks", locks}, {"later", later}, {"between", between}, {"fifo", fifo}, {"terminal", terminal}, {"excluded", excluded},
               {"cleared", cleared}, {"signals", signals}, {"session", session},
               {"attributes", attributes}, {"policies", policies}, {"apart", apart}, {"renumbered", renumbered}, {"pidfds", pidfds}, {"files", files}, {"ready", ready},
               {"owners", owners}, {"priorities", priorities}, {"directory", directory}, {"ended", ended}, {"input", input}, {"user", user}, {"full", full}, {"narrow", narrow},
               {"narrowest", narrowest}, {"segment", segment}, {"closed", closed}, {"shut", shut}, {"mapped", mapped}, {"cut", cut},
               {"leases", leases}, {"seals", seals}, {"urgent", urgent}, {"overruns", overruns}, {"chosen", chosen}, {"mode", mode}, {"leads", leads},
               {"secret", secret}, {"keys", keys}, {"thread_keys", thread_keys},
               {"large", large}, {"huge", huge}, {"shares", shares}};
    /* Nothing from who has started the tests. */
    CHECK(!syscall(SYS_close_range, 3, ~0U, 0));
    CHECK(!chdir(argv[2]));
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(all[i].name, argv[1]))
            all[i].act();
    return 0;
}
