/* A call through a null pointer: the frame has no code, its caller's address is on the stack. */
static void (*volatile target)(int);

__attribute__((noinline)) static int jump(int n) {
    target(n);
    return n + 1;
}

int main(void) {
    return jump(4);
}
