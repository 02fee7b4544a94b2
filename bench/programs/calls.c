/* Calls of a function that does nothing, with a gap between them, shared by threads.
   Usage: calls TIMES GAP_US THREADS [GATE]
   With a gate it writes the thread that traces it to GATE.ready and waits for GATE.go before it begins. */
#include "bench.h"
#include <pthread.h>

static long times, gap;

__attribute__((noinline)) long nop(long x) {
    __asm__ volatile("" : "+r"(x));
    return x;
}

static void *work(void *unused) {
    (void)unused;
    for (long i = 0; i < times; i++) {
        nop(i);
        if (gap)
            bench_spin(gap);
    }
    return NULL;
}

static void pass(const char *gate) {
    char path[4096];
    snprintf(path, sizeof path, "%s.ready", gate);
    FILE *f = fopen(path, "w");
    if (!f)
        exit(3);
    fprintf(f, "%ld\n", bench_tracer());
    fclose(f);
    snprintf(path, sizeof path, "%s.go", gate);
    while (access(path, F_OK))
        usleep(1000);
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    int threads = atoi(argv[3]);
    times = atol(argv[1]) / threads;
    gap = (long)(atof(argv[2]) * 1e3);
    pthread_t id[64];
    if (argc > 4)
        pass(argv[4]);
    bench_begin();
    for (int i = 1; i < threads; i++)
        pthread_create(&id[i], NULL, work, NULL);
    work(NULL);
    for (int i = 1; i < threads; i++)
        pthread_join(id[i], NULL);
    bench_end("");
    return 0;
}
