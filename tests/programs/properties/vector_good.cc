#include <cstdio>
#include <string>
#include <vector>

struct alignas(64) Wide {
    int value;
};

int main() {
    std::vector<int> v;
    std::vector<std::string> names;
    int sum = 0;
    for (int i = 0; i < 40; i++) {
        v.push_back(i);
        names.push_back(std::to_string(i));
        for (auto it = v.begin(); it != v.end(); ++it)
            sum += *it;
        for (char c : names.back())
            sum += c;
    }
    // What was behind the elements that are left has elements again.
    v.clear();
    for (int i = 0; i < 40; i++)
        v.push_back(i);
    for (auto it = v.begin(); it != v.end();)
        it = *it % 2 ? v.erase(it) : it + 1;
    v.resize(40);
    for (int each : v)
        sum += each;
    // Two vectors that exchange their blocks.
    std::vector<int> next, taken;
    for (int round = 0; round < 4; round++) {
        for (int each : v)
            next.push_back(each + 1);
        v.swap(next);
        next.clear();
    }
    v.clear();
    taken = std::move(v);
    taken.assign(30, 1);
    for (int each : taken)
        sum += each;
    taken.clear();
    std::vector<int> last(std::move(taken));
    last.assign(20, 2);
    for (int each : last)
        sum += each;
    std::vector<bool> flags;
    for (int i = 0; i < 200; i++)
        flags.push_back(i % 3 == 0);
    for (bool flag : flags)
        sum += flag;
    flags.clear();
    // What one has left another one gets.
    std::vector<Wide> wide, other;
    wide.reserve(64);
    wide.reserve(200);
    other.reserve(40);
    for (int i = 0; i < 4; i++)
        other.push_back({i});
    for (auto it = other.begin(); it != other.end(); ++it)
        sum += (*it).value;
    std::printf("%d\n", sum);
    return 6;
}
