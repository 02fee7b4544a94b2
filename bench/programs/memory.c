/* MB of touched memory and THREADS threads, then `ready`, where a checkpoint is taken; each ROUND after it
   writes to one page of a hundred.
   Usage: memory MB THREADS [ROUNDS] */
#include "bench.h"
#include <pthread.h>

static pthread_barrier_t barrier;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) void ready(long round) { __asm__ volatile("" : "+r"(round)); }

static void *blocked(void *unused) {
    (void)unused;
    pthread_barrier_wait(&barrier);
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    size_t bytes = (size_t)atol(argv[1]) << 20;
    int threads = atoi(argv[2]);
    long rounds = argc > 3 ? atol(argv[3]) : 0;
    char *memory = malloc(bytes);
    if (!memory)
        return 3;
    memset(memory, 1, bytes);
    pthread_t id[64];
    pthread_mutex_lock(&held);
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (int i = 1; i < threads; i++)
        pthread_create(&id[i], NULL, blocked, NULL);
    pthread_barrier_wait(&barrier);
    ready(0);
    for (long r = 1; r <= rounds; r++) {
        for (size_t at = (size_t)(r % 100) * 4096; at < bytes; at += 100 * 4096)
            memory[at]++;
        ready(r);
    }
    pthread_mutex_unlock(&held);
    for (int i = 1; i < threads; i++)
        pthread_join(id[i], NULL);
    return 0;
}
