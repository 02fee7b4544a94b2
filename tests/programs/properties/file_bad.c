// Each word is one mistake with a stream; `BAD word` marks its line.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <wchar.h>

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
    } else if (!strcmp(what, "all")) {
        fcloseall();
        fileno(f); // BAD all
    } else if (strcmp(what, "leak")) {
        char text[4];
        fpos_t place;
        fclose(f);
        if (!strcmp(what, "wide"))
            fgetwc(f); // BAD wide
        if (!strcmp(what, "unlocked"))
            fgets_unlocked(text, sizeof text, f); // BAD unlocked
        if (!strcmp(what, "place"))
            fgetpos(f, &place); // BAD place
        if (!strcmp(what, "buffer"))
            setbuf(f, NULL); // BAD buffer
    }
    return 4;
}
