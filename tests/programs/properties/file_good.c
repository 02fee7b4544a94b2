#include <stdio.h>

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
    fprintf(stderr, "done\n");
    return 7;
}
