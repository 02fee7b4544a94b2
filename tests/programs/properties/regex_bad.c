#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    puts(what);
    static regex_t re;
    if (!strcmp(what, "early")) {
        *(void **)&re = calloc(1, 4096); // What happens to be in memory.
        regfree(&re); // BAD early
        return 0;
    }
    regcomp(&re, "a*b", 0); // BAD leak
    if (!strcmp(what, "twice")) {
        regfree(&re);
        regfree(&re); // BAD twice
    }
    return 0;
}
