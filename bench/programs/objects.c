/* OBJECTS objects are opened, then TIMES events fall on them in a random order.
   Usage: objects OBJECTS TIMES */
#include "bench.h"

__attribute__((noinline)) void open_object(long object) { __asm__ volatile("" : "+r"(object)); }
__attribute__((noinline)) void use_object(long object, int way) { __asm__ volatile("" : "+r"(object), "+r"(way)); }

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    long objects = atol(argv[1]), times = atol(argv[2]);
    unsigned long random = 1;
    long before = bench_now();
    for (long i = 0; i < objects; i++)
        open_object(0x555555550000 + 48 * i);
    char more[64];
    snprintf(more, sizeof more, ",\"opening_ns\":%ld", bench_now() - before);
    bench_begin();
    for (long i = 0; i < times; i++) {
        random = random * 6364136223846793005UL + 1442695040888963407UL;
        use_object(0x555555550000 + 48 * (long)((random >> 33) % (unsigned long)objects), (int)(i & 1));
    }
    bench_end(more);
    return 0;
}
