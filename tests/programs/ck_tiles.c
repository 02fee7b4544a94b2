// Threads with values in tiles (AMX) that they find again: prints the threads whose tiles are
// wrong, or that there are no tiles here.
#include <immintrin.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS 3
#define ARCH_REQ_XCOMP_PERM 0x1023
#define TILE_DATA 18

struct config {
    uint8_t palette, start, reserved[14];
    uint16_t columns[16];
    uint8_t rows[16];
} __attribute__((packed, aligned(64)));

static pthread_barrier_t filled, held;

__attribute__((noinline)) void hold(void) { __asm__ volatile("" ::: "memory"); }

__attribute__((target("amx-tile"))) static void *keep(void *number) {
    struct config config = {.palette = 1};
    config.columns[0] = config.columns[7] = 64;
    config.rows[0] = config.rows[7] = 16;
    _tile_loadconfig(&config);
    uint8_t before[1024], after[2][1024];
    for (int i = 0; i < 1024; i++)
        before[i] = (uint8_t)(7 * i + (intptr_t)number);
    _tile_loadd(0, before, 64);
    _tile_loadd(7, before, 64);
    pthread_barrier_wait(&filled);
    if (!number)
        hold();
    pthread_barrier_wait(&held);
    _tile_stored(0, after[0], 64);
    _tile_stored(7, after[1], 64);
    _tile_release();
    return (void *)(intptr_t)(memcmp(before, after[0], 1024) || memcmp(before, after[1], 1024));
}

int main(void) {
    if (syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, TILE_DATA)) {
        puts("no tiles");
        return 0;
    }
    pthread_t threads[THREADS];
    pthread_barrier_init(&filled, NULL, THREADS + 1);
    pthread_barrier_init(&held, NULL, THREADS + 1);
    for (intptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, keep, (void *)(i + 1));
    intptr_t wrong = (intptr_t)keep(NULL);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        wrong += (intptr_t)result;
    }
    printf("wrong: %d\n", (int)wrong);
}
