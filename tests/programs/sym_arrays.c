/* Arrays whose length only the running program knows, and pointers of all kinds to arrays. */
#include <stdlib.h>
#include <string.h>

struct packet { int length; char data[]; };
struct none { int n; int tail[0]; };
static struct none nil = {4};
enum mask { LOW = 1, MID = 6, HIGH = 8 };
typedef unsigned char byte;
static byte bytes[4] = {1, 2, 3, 255};
static const char *const names[] = {"a", "b"};
static double (*rows)[2];
static enum mask mixed = LOW | MID, other = 16;

__attribute__((noinline)) static int stop_here(int n, int m) {
    int line[n];
    short grid[n][m];
    for (int i = 0; i < n; i++) {
        line[i] = i * i;
        for (int j = 0; j < m; j++)
            grid[i][j] = i * 10 + j;
    }
    struct packet *p = malloc(sizeof *p + 8);
    p->length = 3;
    strcpy(p->data, "xyz");
    double table[3][2] = {{1, 2}, {3, 4}, {5, 6}};
    rows = table;
    return line[n - 1] + grid[0][0] + p->length + nil.n + bytes[0] + names[0][0] + (int)rows[1][0] + mixed + other; /* STOP */
}

int main(void) {
    return stop_here(5, 2) == 0;
}
