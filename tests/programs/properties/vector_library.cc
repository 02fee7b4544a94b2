// A library that has vectors of its own.
#include <vector>

static std::vector<double> numbers;

extern "C" void grow(int count) {
    for (int i = 0; i < 9; i++)
        numbers.push_back(i);
    numbers.resize(count);
}
