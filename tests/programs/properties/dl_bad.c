#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    printf("%s\n", what);
    // The library stays: it is the program's own.
    void *h = dlopen("libc.so.6", RTLD_NOW); // BAD leak
    if (!strcmp(what, "use")) {
        dlclose(h);
        dlsym(h, "puts"); // BAD use
    }
    return 0;
}
