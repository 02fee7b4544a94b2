// As in a shell whose parameter lookup can fail: the pointer to the value is a
// local of one function, and another one writes NULL to it.
#include <stdio.h>
#include <string.h>

static const char *names[] = {"HOME", "SHELL"};
static const char *values[] = {"/home/ada", "/bin/zsh"};

static void lookup(const char *name, const char **result) {
    for (int i = 0; i < 2; i++)
        if (!strcmp(names[i], name)) {
            *result = values[i];
            return;
        }
    *result = NULL; // an unset parameter
}

static void expand(const char *name) {
    const char *s = "";
    lookup(name, &s);
    // Nothing checks `s` on the way to its use.
    printf("%s has %zu characters\n", name, strlen(s));
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    expand("HOME");
    expand("SHELL");
    expand("TERM");
    return 0;
}
