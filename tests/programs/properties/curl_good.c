// Stands for a program with libcurl: the library's functions are here.
#include <stdio.h>
#include <stdlib.h>

typedef struct { int used; } CURL;
int curl_global_init(long flags) { return flags < 0; }
void curl_global_cleanup(void) {}
CURL *curl_easy_init(void) { return calloc(1, sizeof(CURL)); }
// It has a handle of its own, which it closes by itself.
static CURL *own;
static void Curl_conncache_init(void) { own = curl_easy_init(); }
int curl_easy_perform(CURL *c) {
    Curl_conncache_init();
    free(own);
    return c == NULL;
}
void curl_easy_cleanup(CURL *c) { free(c); }

int main(void) {
    curl_global_init(3);
    for (int i = 0; i < 3; i++) {
        CURL *c = curl_easy_init();
        printf("%d\n", curl_easy_perform(c));
        curl_easy_cleanup(c);
    }
    curl_global_cleanup();
    return 0;
}
