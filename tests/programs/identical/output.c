// More than a pipe holds, in pieces.
#include "tick.h"
#include <stdio.h>
#include <unistd.h>
int main(void) {
    static char block[7919];
    for (int i = 0; i < 40; i++) {
        for (unsigned k = 0; k < sizeof block; k++)
            block[k] = 'a' + (k * 31 + i) % 26;
        size_t done = 0;
        while (done < sizeof block) {
            ssize_t n = write(1, block + done, sizeof block - done);
            if (n < 0) return 1;
            done += n;
        }
        tick(1);
    }
    return ticks;
}
