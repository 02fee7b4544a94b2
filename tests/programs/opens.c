/* Opens the library, calls into it and closes it, several times.
   Usage: opens LIBRARY */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
    (void)argc;
    int sum = 0;
    for (int i = 0; i < 3; i++) {
        void *library = dlopen(argv[1], RTLD_NOW);
        if (!library)
            return 1;
        int (*plugged)(int) = (int (*)(int))dlsym(library, "plugged");
        for (int j = 0; j < 10; j++)
            sum = plugged(sum);
        dlclose(library);
    }
    return sum;
}
