/* The paper's stack: the first 100 natural numbers are pushed and popped, alternately, again and again.
   Usage: stack ROUNDS */
#include "bench.h"

static int stack[128], depth;

__attribute__((noinline)) void push(int value) { stack[depth++] = value; }
__attribute__((noinline)) int pop(void) { return stack[--depth]; }

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    long rounds = atol(argv[1]);
    bench_begin();
    for (long r = 0; r < rounds; r++)
        for (int i = 0; i < 100; i++) {
            push(i);
            pop();
        }
    bench_end("");
    return 0;
}
