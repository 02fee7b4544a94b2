#include <regex.h>
#include <stdio.h>

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
    printf("%d\n", matches);
    return 0;
}
