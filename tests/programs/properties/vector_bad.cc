#include <cstdio>
#include <vector>

int main() {
    std::vector<int> v;
    v.reserve(4);
    for (int i = 0; i < 4; i++)
        v.push_back(i);
    int sum = 0;
    auto it = v.begin();
    sum += *it;
    v.push_back(4);
    ++it;
    sum += *it; // BAD moved
    std::puts("over");
    return sum < 0;
}
