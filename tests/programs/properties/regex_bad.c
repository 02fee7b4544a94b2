#include <regex.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    puts(what);
    static regex_t re;
    if (!strcmp(what, "early")) {
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
