// Each word is one mistake with a stream; `BAD word` marks its line.
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    printf("%s\n", what);
    FILE *f = fopen("/dev/zero", "r"); // BAD leak
    if (!strcmp(what, "use")) {
        fclose(f);
        fileno(f); // BAD use
    } else if (!strcmp(what, "twice")) {
        fclose(f);
        fclose(f); // BAD twice
    }
    return 4;
}
