#define _GNU_SOURCE
#include <regex.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    const char *patterns[] = {"a*b", "[0-9]+", "(", "x"};
    int matches = 0;
    for (int i = 0; i < 4; i++) {
        regex_t re;
        if (regcomp(&re, patterns[i], REG_EXTENDED))
            continue;
        matches += !regexec(&re, "aab 42", 0, NULL, 0);
        regfree(&re);
    }
    for (int i = 0; i < 2; i++) {
        struct re_pattern_buffer other;
        memset(&other, 0, sizeof other);
        if (re_compile_pattern("b", 1, &other))
            return 1;
        matches += re_search(&other, "abc", 3, 0, 3, NULL) == 1;
        regfree(&other);
    }
    regex_t never = {0};
    regfree(&never);
    printf("%d\n", matches);
    return 0;
}
