/* Data to watch: locals of a recursive function, loads and stores, buffers
   filled by the kernel and by libc. */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Alone in 4096 bytes: guarded pages must not catch other data. */
struct {
    volatile long cells[81];
    char text[64];
    char buffer[64];
} data __attribute__((aligned(4096)));
char after[4096] __attribute__((aligned(4096)));

static jmp_buf back;

/* `place` tells the debugger where the local is. */
__attribute__((noinline)) void announce(volatile long *place) {
    __asm__ volatile("" ::"r"(place) : "memory");
}

__attribute__((noinline)) long local(long n, int leave) {
    volatile long v = n;
    announce(&v);
    for (int i = 0; i < 3; i++)
        v += i;
    if (n > 1)
        v += local(n - 1, leave);
    if (leave)
        longjmp(back, 1);
    return v;
}

/* Reuses the stack of `local` after it has gone. */
__attribute__((noinline)) long scribble(long n) {
    volatile long many[64];
    for (int i = 0; i < 64; i++)
        many[i] = n;
    return many[5];
}

__attribute__((noinline)) void begin(void) {
    __asm__ volatile("");
}

int main(void) {
    long sum = 0;
    for (int i = 0; i < 81; i++)
        data.cells[i] = 0;
    begin();
    for (int i = 0; i < 81; i++)
        data.cells[i] = i;
    for (int i = 0; i < 81; i++)
        sum += data.cells[i];
    /* The same value again is a store all the same. */
    data.cells[7] = 7;
    data.cells[7]++;
    strcpy(data.text, "a string of some length");
    int ends[2];
    if (pipe(ends) || write(ends[1], "0123456789", 10) != 10)
        return 2;
    if (read(ends[0], data.buffer, 10) != 10)
        return 3;
    sum += local(3, 0) + scribble(sum);
    if (!setjmp(back))
        local(1, 1);
    sum += scribble(sum);
    printf("%ld %s %s\n", sum, data.text, data.buffer);
    return 0;
}
