extern "C" {
#include "tick.h"
}
#include <cstdio>
#include <stdexcept>
#include <string>
struct Guard {
    int n;
    ~Guard() { tick(n); }
};
static int deep(int n) {
    Guard g{n};
    if (n == 0) throw std::runtime_error("at the bottom " + std::to_string(tick(1)));
    return deep(n - 1) + tick(1);
}
int main() {
    for (int i = 0; i < 5; i++)
        try {
            deep(i);
        } catch (const std::exception &e) {
            std::puts(e.what());
        }
    std::printf("%d\n", ticks);
    std::fflush(stdout);
    throw 42;
}
