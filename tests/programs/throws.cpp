// Calls left by exceptions, caught at different depths.
#include <cstdio>
#include <stdexcept>

extern "C" __attribute__((noinline)) int risky(int n) {
    if (n % 3 == 0)
        throw std::runtime_error("three");
    return n * 2;
}

extern "C" __attribute__((noinline)) int outer(int n) {
    return risky(n) + 1;
}

extern "C" __attribute__((noinline)) int careful(int n) {
    try {
        return risky(n);
    } catch (const std::exception &) {
        return -1;
    }
}

int main() {
    int sum = 0;
    for (int i = 0; i < 30; i++) {
        try {
            sum += outer(i);
        } catch (const std::exception &) {
            sum--;
        }
        sum += careful(i);
    }
    std::printf("%d\n", sum);
    return 0;
}
