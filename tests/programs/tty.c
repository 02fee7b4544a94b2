/* Changes the terminal's settings and checks that they stay changed across
   the debugger's stops at `begin`. */
#include <termios.h>
#include <unistd.h>

__attribute__((noinline)) void begin(void) {
    __asm__ volatile("");
}

int main(void) {
    struct termios t;
    if (tcgetattr(0, &t) || !(t.c_lflag & ECHO))
        return 1;
    t.c_lflag &= ~ECHO;
    if (tcsetattr(0, TCSANOW, &t))
        return 2;
    for (int i = 0; i < 3; i++) {
        begin();
        if (tcgetattr(0, &t) || t.c_lflag & ECHO)
            return 3;
    }
    return 0;
}
