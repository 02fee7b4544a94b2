/* ck_children: a child sends back what it gets until the end comes. `hold` is before the parent has
   closed its ends of the child's, after the first answer and after the second. What the child is
   told to say at its end is how many it has sent back. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int to[2], from[2];

__attribute__((noinline)) void hold(void) { __asm__ volatile(""); }

static void child(void) {
    close(to[1]);
    close(from[0]);
    char c, count = '0';
    while (read(to[0], &c, 1) == 1) {
        count++;
        if (write(from[1], &c, 1) != 1)
            _exit(1);
    }
    _exit(write(from[1], &count, 1) != 1);
}

static void ask(char c) {
    char answer = '-';
    if (write(to[1], &c, 1) != 1)
        answer = '!';
    else if (read(from[0], &answer, 1) != 1)
        answer = '.';
    printf("%c", answer);
}

int main(void) {
    setbuf(stdout, 0);
    signal(SIGPIPE, SIG_IGN);
    if (pipe(to) || pipe(from))
        return 2;
    switch (fork()) {
    case -1: return 3;
    case 0: child();
    }
    hold();
    close(to[0]);
    close(from[1]);
    ask('a');
    hold();
    ask('b');
    hold();
    close(to[1]);
    char text[8];
    ssize_t n;
    while ((n = read(from[0], text, sizeof text)) > 0)
        printf("%.*s", (int)n, text);
    puts("|");
    return 0;
}
