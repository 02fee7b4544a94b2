// Pushes 100 integers, pops them, and again.
#include <stdio.h>

static int stack[128], depth;

void push(int value) {
    stack[depth++] = value;
}

int pop(void) {
    return stack[--depth];
}

int main(void) {
    long sum = 0;
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 100; i++)
            push(i);
        for (int i = 0; i < 100; i++)
            sum += pop();
    }
    printf("%ld\n", sum);
    return 0;
}
