#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    printf("%s\n", what);
    int fd = open("/dev/null", O_RDWR);
    close(fd);
    if (!strcmp(what, "use")) {
        write(fd, "x", 1); // BAD use
    } else {
        close(fd); // BAD twice
    }
    return 0;
}
