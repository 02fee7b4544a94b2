#include <fcntl.h>
#include <mqueue.h>
#include <pty.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
    int ends[2];
    char byte;
    for (int i = 0; i < 5; i++) {
        int fd = open("/dev/zero", O_RDONLY);
        if (read(fd, &byte, 1) != 1)
            return 1;
        close(fd);
        // These get the number that was closed.
        if (pipe(ends))
            return 1;
        if (write(ends[1], "x", 1) != 1 || read(ends[0], &byte, 1) != 1)
            return 1;
        close(ends[0]);
        close(ends[1]);
        int copy = dup(1);
        if (write(copy, "copy\n", 5) != 5)
            return 1;
        close(copy);
        mqd_t queue = mq_open("/verde-fd-good", O_CREAT | O_RDWR, 0600, NULL);
        if (queue != (mqd_t)-1)
            mq_close(queue);
    }
    mq_unlink("/verde-fd-good");
    // The terminal's number comes from an ioctl.
    int spare[2] = {open("/dev/null", O_RDONLY), open("/dev/null", O_RDONLY)};
    close(spare[0]);
    close(spare[1]);
    if (openpty(&ends[0], &ends[1], NULL, NULL, NULL) || write(ends[1], "x", 1) != 1 || read(ends[0], &byte, 1) != 1)
        return 1;
    close(ends[0]);
    close(ends[1]);
    // Whether it is open may be asked.
    if (fcntl(ends[0], F_GETFD) != -1 || fcntl(ends[0], F_GETFL) != -1 || isatty(ends[0]))
        return 1;
    // There was none.
    close(-1);
    close(-1);
    return 0;
}
