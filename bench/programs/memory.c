/* memory MB HUGE THREADS DIRTY: touches that much memory, on huge pages or
   not, has that many threads, and calls `mark` for ever, after changing one
   page in DIRTY (0: none). */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

volatile long marks;

__attribute__((noinline)) void mark(void) { marks++; }

static void *idle(void *argument) {
    for (;;)
        pause();
    return 0;
}

int main(int argc, char **argv) {
    size_t huge = 2 << 20, size = (size_t)atoi(argv[1]) << 20;
    int dirty = atoi(argv[4]);
    char *memory = mmap(0, size + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory += -(size_t)memory % huge;
    madvise(memory, size, atoi(argv[2]) ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    for (size_t i = 0; i < size; i += 4096)
        memory[i] = 1;
    for (int i = 1; i < atoi(argv[3]); i++) {
        pthread_t thread;
        pthread_create(&thread, 0, idle, 0);
    }
    usleep(20000);
    for (unsigned char round = 2;; round++) {
        for (size_t i = 0; dirty && i < size; i += (size_t)4096 * dirty)
            memory[i] = round;
        mark();
    }
}
