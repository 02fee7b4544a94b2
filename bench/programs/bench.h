/* What a measured program says of itself: one line of JSON in the file that BENCH_OUT names, with the
   time between bench_begin and bench_end, and what its debugger used meanwhile (nothing when there is none). */
#pragma once
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long bench_start, bench_cpu_start;

static inline long bench_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

/* A number behind a word of a file, 0 when it is not there. */
static long bench_field(const char *path, const char *word) {
    char line[256];
    long value = 0;
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, word, strlen(word)) && sscanf(line + strlen(word), "%ld", &value) == 1)
            break;
    fclose(f);
    return value;
}

static inline long bench_tracer(void) { return bench_field("/proc/self/status", "TracerPid:"); }

/* Nanoseconds on a processor, all threads of the debugger together. */
static long bench_tracer_cpu(void) {
    char path[300];
    long sum = 0, tracer = bench_tracer();
    snprintf(path, sizeof path, "/proc/%ld/task", tracer);
    DIR *tasks = tracer ? opendir(path) : NULL;
    if (!tasks)
        return 0;
    for (struct dirent *e; (e = readdir(tasks));) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/%ld/task/%.20s/schedstat", tracer, e->d_name);
        sum += bench_field(path, "");
    }
    closedir(tasks);
    return sum;
}

static inline void bench_begin(void) {
    bench_cpu_start = bench_tracer_cpu();
    bench_start = bench_now();
}

/* `more` is further fields, or "". */
static inline void bench_end(const char *more) {
    long ns = bench_now() - bench_start;
    long cpu = bench_tracer_cpu() - bench_cpu_start;
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/status", bench_tracer());
    long peak = bench_field(path, "VmHWM:");
    const char *out = getenv("BENCH_OUT");
    FILE *f = out ? fopen(out, "w") : stdout;
    if (!f)
        exit(3);
    fprintf(f, "{\"ns\":%ld,\"tracer_cpu_ns\":%ld,\"tracer_peak_kb\":%ld%s}\n", ns, cpu, peak, more);
    if (out)
        fclose(f);
}

/* Busy for this long, as the paper's loop of a configurable duration. */
static inline void bench_spin(long ns) {
    long end = bench_now() + ns;
    while (bench_now() < end)
        ;
}
