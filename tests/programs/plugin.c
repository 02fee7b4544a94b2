/* A library to be opened and closed. */
__attribute__((noinline)) int plugged(int x) {
    __asm__ volatile("");
    return x + 1;
}
