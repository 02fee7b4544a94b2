// Waits with limits, which the kernel goes on with by a record of its own after a stop.
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static sem_t none;
static int bad;

static void expect(const char *what, int is, int error) {
    if (is) return;
    printf("%s: %s\n", what, strerror(error));
    bad = 1;
}

static void *in_poll(void *unused) {
    int result = poll(NULL, 0, 1000);
    expect("poll", result == 0, errno);
    return unused;
}

static void *in_sleep(void *unused) {
    struct timespec time = {1, 0};
    int result = nanosleep(&time, NULL);
    expect("nanosleep", result == 0, errno);
    return unused;
}

static void *in_semaphore(void *unused) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec++;
    int result = sem_timedwait(&none, &end);
    expect("sem_timedwait", result == -1 && errno == ETIMEDOUT, errno);
    return unused;
}

__attribute__((noinline)) void mark(void) { __asm__ volatile(""); }

int main(void) {
    void *(*kinds[])(void *) = {in_poll, in_sleep, in_semaphore};
    pthread_t threads[3];
    sem_init(&none, 0, 0);
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, kinds[i], NULL);
    for (int i = 0; i < 3; i++) {
        usleep(100000);
        mark();
    }
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    if (!bad) puts("good");
    return bad;
}
