// Stands for a program with libcurl: the library's functions are here.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { int used; } CURL;
int curl_global_init(long flags) { return flags < 0; }
CURL *curl_easy_init(void) { return calloc(1, sizeof(CURL)); }
static void (*write_function)(void);
int curl_easy_perform(CURL *c) {
    if (write_function)
        write_function();
    return c == NULL;
}
void curl_easy_cleanup(CURL *c) { (void)c; }

static void more(void) {
    curl_easy_init(); // BAD callback
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    puts(what);
    if (strcmp(what, "early"))
        curl_global_init(3);
    CURL *c = curl_easy_init(); // BAD early leak
    if (!strcmp(what, "use")) {
        curl_easy_cleanup(c);
        curl_easy_perform(c); // BAD use
    }
    if (!strcmp(what, "callback")) {
        write_function = more;
        curl_easy_perform(c);
        curl_easy_cleanup(c);
    }
    return 0;
}
