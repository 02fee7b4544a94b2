// On a terminal: its size, its settings, and a line without echo.
#include "tick.h"
#include <stdio.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
int main(void) {
    struct termios t;
    struct winsize w = {0};
    printf("%d %d %d\n", isatty(0), isatty(1), isatty(2));
    if (!tcgetattr(1, &t)) {
        printf("%x %x %x\n", t.c_iflag, t.c_oflag, t.c_lflag);
        t.c_lflag &= ~ECHO;
        printf("%d\n", tcsetattr(1, TCSADRAIN, &t));
        tick(1);
        t.c_lflag |= ECHO;
        tcsetattr(1, TCSADRAIN, &t);
    }
    printf("%d\n", tcgetpgrp(1) == getpgrp());
    printf("%d %d\n", ioctl(1, TIOCGWINSZ, &w), w.ws_row);
    return tick(2);
}
