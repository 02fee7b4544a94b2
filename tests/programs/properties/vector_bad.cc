#include <cstdio>
#include <cstring>
#include <vector>

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    std::vector<int> v;
    // It moves before there is an iterator.
    for (int i = 0; i < 4; i++)
        v.push_back(i);
    int sum = 0;
    auto it = v.begin() + 3;
    sum += *it;
    if (!std::strcmp(what, "moved")) {
        v.push_back(4);
        --it;
        sum += *it; // BAD moved
    } else if (!std::strcmp(what, "reserve")) {
        v.reserve(100);
        sum += *it; // BAD reserve
    } else if (!std::strcmp(what, "assign")) {
        v.assign(100, 1);
        sum += *it; // BAD assign
    } else if (!std::strcmp(what, "another")) {
        v = std::vector<int>(100, 1);
        sum += *it; // BAD another
    } else if (!std::strcmp(what, "often")) {
        for (int i = 0; i < 100; i++)
            v.push_back(i);
        sum += *it; // BAD often
    } else if (!std::strcmp(what, "erase")) {
        v.erase(v.begin());
        sum += *it; // BAD erase
    } else {
        v.clear();
        sum += *it; // BAD clear
    }
    std::puts("over");
    return sum < 0;
}
