#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    printf("%s\n", what);
    char *p = malloc(100);
    p[0] = 'x';
    if (!strcmp(what, "twice")) {
        free(p);
        free(p); // BAD twice
    } else if (!strcmp(what, "moved")) {
        void *fence = malloc(100);
        char *larger = realloc(p, 1 << 20);
        free(fence);
        free(larger);
        free(p); // BAD moved
    } else if (!strcmp(what, "resize")) {
        free(p);
        p = realloc(p, 10); // BAD resize
    }
    return 0;
}
