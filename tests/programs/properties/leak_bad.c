#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    printf("%s\n", what);
    if (!strcmp(what, "malloc"))
        malloc(100); // BAD malloc
    void *p = malloc(10), *fence = malloc(10);
    p = realloc(p, 1 << 20); // BAD realloc
    free(fence);
    if (!strcmp(what, "malloc"))
        free(p);
    return 0;
}
