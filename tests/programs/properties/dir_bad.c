#include <dirent.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    printf("%s\n", what);
    DIR *d = opendir("/proc/self"); // BAD leak
    if (!strcmp(what, "use")) {
        closedir(d);
        dirfd(d); // BAD use
    }
    return 0;
}
