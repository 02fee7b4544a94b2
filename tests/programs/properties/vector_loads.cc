// A program with a vector, and a library with others that it is linked with or loads.
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <vector>

#ifdef LOADS
static void grow(int) {}
#else
extern "C" void grow(int count);
#endif

int main(int argc, char **argv) {
    auto more = grow;
    if (argc > 1)
        more = (void (*)(int))dlsym(dlopen(argv[1], RTLD_NOW), "grow");
    more(1000);
    more(5000);
    for (int i = 0; i < 200; i++)
        std::free(std::malloc(i));
    std::vector<int> v;
    v.push_back(1);
    auto it = v.begin();
    v.reserve(100);
    std::printf("%d\n", *it == 7);
    return 0;
}
