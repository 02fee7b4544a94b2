#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    printf("%s\n", what);
    int fd = open("/dev/null", O_RDWR);
    close(fd);
    if (!strcmp(what, "use")) {
        write(fd, "x", 1); // BAD use
    } else if (!strcmp(what, "flags")) {
        fcntl(fd, F_SETFD, FD_CLOEXEC); // BAD flags
    } else if (!strcmp(what, "copy")) {
        dup(fd); // BAD copy
    } else if (!strcmp(what, "waiting")) {
        int bytes;
        ioctl(fd, FIONREAD, &bytes); // BAD waiting
    } else {
        close(fd); // BAD twice
    }
    return 0;
}
