// What the monitors watch in every program here.
int ticks;
__attribute__((noinline)) int tick(int n) {
    ticks += n;
    return ticks;
}
