#include <cstdio>
#include <string>
#include <vector>

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
    std::printf("%d\n", sum);
    return 6;
}
