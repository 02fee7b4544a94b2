#include <future>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>

int main() {
    std::ios::sync_with_stdio(false);
    static std::string text(80, 'x');
    std::ostringstream numbers;
    numbers << 1.5 << text;
    std::cout << numbers.str().size() << std::endl;
    std::wcout << L"wide" << std::endl;
    try {
        throw std::runtime_error("a message that is longer than a small string");
    } catch (const std::exception &e) {
        std::cerr << e.what() << std::endl;
    }
    std::cout << std::async(std::launch::async, [] { return std::string(100, 'y'); }).get() << std::endl;
    return 0;
}
