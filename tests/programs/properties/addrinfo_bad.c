#include <netdb.h>
#include <stdio.h>
#include <string.h>

static struct addrinfo *find(const char *host) {
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM}, *list = NULL;
    getaddrinfo(host, "80", &hints, &list); // BAD leak
    return list;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    puts(what);
    // What the property sees of the second call comes before the memory is touched.
    struct addrinfo *list = find("127.0.0.1");
    if (!strcmp(what, "twice")) {
        freeaddrinfo(list);
        freeaddrinfo(list); // BAD twice
    }
    return 0;
}
