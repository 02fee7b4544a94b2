/* ck_threads ITEMS PRODUCERS CONSUMERS FILE: producers and consumers, every
   kind of mutex, timed waits, a reader blocked in a pipe. Checks itself. */
#define _GNU_SOURCE
#include <errno.h>
#include <immintrin.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROOM 8
static long queue[ROOM];
static int head, tail, count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t errorcheck, recursive, robust, inherit;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t sem;
static long items, produced, consumed, sum;
static long in_errorcheck, in_recursive, in_robust, in_inherit, in_rwlock;
static int bad, stop, ends[2];
static __thread int own_tid;
static __thread double reference;

#define BAD(...)                                                               \
    do {                                                                       \
        fprintf(stderr, "BAD ");                                               \
        fprintf(stderr, __VA_ARGS__);                                          \
        fprintf(stderr, "\n");                                                 \
        __atomic_store_n(&bad, 1, __ATOMIC_SEQ_CST);                           \
    } while (0)

static void check(int result, const char *what) {
    if (result)
        BAD("%s: %s in thread %d", what, strerror(result), own_tid);
}

__attribute__((target("avx"))) static double work(double start) {
    __m256d a = _mm256_set1_pd(start), b = _mm256_set1_pd(1.0000001);
    for (int i = 0; i < 300; i++)
        a = _mm256_add_pd(_mm256_mul_pd(a, b), _mm256_set1_pd(1e-9));
    double out[4];
    _mm256_storeu_pd(out, a);
    return out[0] + out[1] + out[2] + out[3];
}

static void every_kind(void) {
    check(pthread_mutex_lock(&errorcheck), "lock errorcheck");
    in_errorcheck++;
    check(pthread_mutex_unlock(&errorcheck), "unlock errorcheck");
    check(pthread_mutex_lock(&recursive), "lock recursive");
    check(pthread_mutex_lock(&recursive), "lock recursive twice");
    in_recursive++;
    check(pthread_mutex_unlock(&recursive), "unlock recursive");
    check(pthread_mutex_unlock(&recursive), "unlock recursive twice");
    check(pthread_mutex_lock(&robust), "lock robust");
    in_robust++;
    check(pthread_mutex_unlock(&robust), "unlock robust");
    check(pthread_mutex_lock(&inherit), "lock priority inheritance");
    in_inherit++;
    check(pthread_mutex_unlock(&inherit), "unlock priority inheritance");
    sem_wait(&sem);
    sem_post(&sem);
    check(pthread_rwlock_wrlock(&rwlock), "write lock");
    in_rwlock++;
    check(pthread_rwlock_unlock(&rwlock), "write unlock");
    if (own_tid != syscall(SYS_gettid)) {
        BAD("thread id %d is now %ld", own_tid, syscall(SYS_gettid));
        own_tid = syscall(SYS_gettid);
    }
    if (work(3.0) != reference)
        BAD("vector registers");
}

static void *producer(void *argument) {
    long id = (long)argument;
    unsigned seed = id;
    own_tid = gettid();
    reference = work(3.0);
    stack_t stack = {malloc(65536), 0, 65536}, now;
    sigaltstack(&stack, 0);
    for (;;) {
        pthread_mutex_lock(&lock);
        while (count == ROOM)
            pthread_cond_wait(&not_full, &lock);
        if (produced >= items) {
            pthread_mutex_unlock(&lock);
            pthread_cond_broadcast(&not_empty);
            break;
        }
        queue[tail] = ++produced;
        tail = (tail + 1) % ROOM;
        if (++count > ROOM)
            BAD("overflow");
        pthread_cond_signal(&not_empty);
        pthread_mutex_unlock(&lock);
        every_kind();
        if (rand_r(&seed) % 16 == 0) {
            struct timespec t = {0, rand_r(&seed) % 200000};
            nanosleep(&t, 0);
        }
    }
    sigaltstack(0, &now);
    if (now.ss_sp != stack.ss_sp || now.ss_size != 65536)
        BAD("signal stack lost");
    return (void *)(id + 100);
}

static void wait_a_little(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += 3000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    int result = pthread_cond_timedwait(&not_empty, &lock, &t);
    if (result && result != ETIMEDOUT)
        BAD("timed wait: %s", strerror(result));
}

static void *consumer(void *argument) {
    long id = (long)argument;
    char name[16], now[16];
    own_tid = gettid();
    reference = work(3.0);
    snprintf(name, sizeof name, "consumer%ld", id);
    pthread_setname_np(pthread_self(), name);
    for (;;) {
        pthread_mutex_lock(&lock);
        while (count == 0 && consumed < items) {
            if (id & 1)
                pthread_cond_wait(&not_empty, &lock);
            else
                wait_a_little();
        }
        if (consumed >= items) {
            pthread_mutex_unlock(&lock);
            pthread_cond_broadcast(&not_empty);
            break;
        }
        sum += queue[head];
        head = (head + 1) % ROOM;
        consumed++;
        if (--count < 0)
            BAD("underflow");
        pthread_cond_signal(&not_full);
        pthread_mutex_unlock(&lock);
        every_kind();
    }
    pthread_getname_np(pthread_self(), now, sizeof now);
    if (strcmp(now, name))
        BAD("name %s instead of %s", now, name);
    return (void *)(id + 1000);
}

static void *reader(void *argument) {
    char c;
    ssize_t got = read(ends[0], &c, 1);
    if (got != 1 || c != 'x')
        BAD("read: %zd %s", got, strerror(errno));
    return (void *)7;
}

static void *sleeper(void *argument) {
    struct pollfd none = {-1, 0, 0};
    while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
        struct timespec t = {0, 30000000};
        if (nanosleep(&t, &t))
            BAD("nanosleep: %s", strerror(errno));
        if (poll(&none, 0, 5) < 0)
            BAD("poll: %s", strerror(errno));
    }
    return (void *)8;
}

int main(int argc, char **argv) {
    items = atol(argv[1]);
    int producers = atoi(argv[2]), consumers = atoi(argv[3]);
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&errorcheck, &kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_NORMAL);
    pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &kind);
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_setprotocol(&kind, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&inherit, &kind);
    sem_init(&sem, 0, 2);
    if (pipe(ends))
        return 2;
    pid_t self = getpid();
    pthread_t threads[600], blocked, sleeping;
    int n = 0;
    pthread_create(&blocked, 0, reader, 0);
    pthread_create(&sleeping, 0, sleeper, 0);
    for (long i = 0; i < producers; i++)
        pthread_create(&threads[n++], 0, producer, (void *)i);
    for (long i = 0; i < consumers; i++)
        pthread_create(&threads[n++], 0, consumer, (void *)i);
    FILE *file = fopen(argv[4], "w+");
    void *result;
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i], &result);
        long want = i < producers ? i + 100 : i - producers + 1000;
        if ((long)result != want)
            BAD("thread %d gave %ld", i, (long)result);
        fprintf(file, "joined %d\n", i);
        fflush(file);
    }
    stop = 1;
    if (write(ends[1], "x", 1) != 1)
        BAD("write");
    pthread_join(blocked, &result);
    if ((long)result != 7)
        BAD("reader");
    pthread_join(sleeping, &result);
    if ((long)result != 8)
        BAD("sleeper");
    if (getpid() != self)
        BAD("process id %d is now %d", self, getpid());
    if (sum != items * (items + 1) / 2 || produced != items || consumed != items)
        BAD("sum %ld of %ld produced, %ld consumed", sum, produced, consumed);
    if (in_errorcheck != 2 * items || in_recursive != 2 * items ||
        in_robust != 2 * items || in_inherit != 2 * items || in_rwlock != 2 * items)
        BAD("counts %ld %ld %ld %ld %ld", in_errorcheck, in_recursive, in_robust,
            in_inherit, in_rwlock);
    rewind(file);
    int lines = 0;
    char line[64];
    while (fgets(line, sizeof line, file))
        lines++;
    if (lines != n)
        BAD("%d lines in the file instead of %d", lines, n);
    printf("done sum=%ld bad=%d\n", sum, bad);
    return bad;
}
