/* A program that shows 60 pictures a second: 4 ms of work for each, then sleep until the next is due. A
   frame is late when it is finished after the next one was due.
   Usage: frames FRAMES */
#include "bench.h"

__attribute__((noinline)) void draw_frame(long n) {
    __asm__ volatile("" : "+r"(n));
    bench_spin(4000000);
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    long frames = atol(argv[1]), late = 0, period = 1000000000L / 60;
    bench_begin();
    for (long n = 0; n < frames; n++) {
        long due = bench_start + n * period;
        struct timespec t = {due / 1000000000L, due % 1000000000L};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
        draw_frame(n);
        late += bench_now() > due + period;
    }
    char more[64];
    snprintf(more, sizeof more, ",\"late\":%ld", late);
    bench_end(more);
    return 0;
}
