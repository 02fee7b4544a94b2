#include <netdb.h>
#include <stdio.h>

int main(void) {
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM}, *list;
    int found = 0;
    for (int i = 0; i < 3; i++) {
        if (getaddrinfo(i == 1 ? "::1" : "127.0.0.1", "80", &hints, &list) != 0)
            continue;
        for (struct addrinfo *a = list; a; a = a->ai_next)
            found++;
        freeaddrinfo(list);
    }
    // Nothing is made, and nothing is to be freed.
    if (getaddrinfo("no number", "80", &hints, &list) == 0)
        return 1;
    printf("%d\n", found);
    return 4;
}
