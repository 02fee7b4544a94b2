#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

static int lines(const char *path) {
    FILE *f = fopen(path, "r");
    if (!f)
        return -1;
    int n = 0;
    for (int ch; (ch = fgetc(f)) != EOF;)
        n += ch == '\n';
    fclose(f);
    return n;
}

static ssize_t drop(void *cookie, const char *text, size_t size) {
    (void)cookie, (void)text;
    return size;
}

// They get the addresses of streams that were closed.
static int others(void) {
    FILE *f = fopencookie(NULL, "w", (cookie_io_functions_t){.write = drop});
    int n = fprintf(f, "dropped");
    fclose(f);
    wchar_t *text;
    size_t size;
    f = open_wmemstream(&text, &size);
    fputws(L"wide", f);
    n += fileno(f);
    fclose(f);
    free(text);
    return n;
}

// A stream that cannot be opened again is closed.
static int again(void) {
    FILE *f = freopen("/dev/zero", "r", fopen("/dev/null", "r"));
    int n = fgetc(f);
    return freopen("/no/such/file", "r", f) ? -1 : n;
}

int main(void) {
    FILE *out = tmpfile();
    for (int i = 0; i < 20; i++)
        fprintf(out, "line %d\n", i);
    rewind(out);
    char text[32];
    int read = 0;
    while (fgets(text, sizeof text, out))
        read++;
    fclose(out);
    FILE *p = popen("echo from a child", "r");
    fgets(text, sizeof text, p);
    pclose(p);
    printf("%d lines, %s", read, text);
    printf("%d %d\n", lines("/dev/null"), lines("/no/such/file"));
    printf("%d\n", others());
    printf("%d\n", again());
    fprintf(stderr, "done\n");
    fopen("/dev/null", "r");
    fcloseall();
    return 7;
}
