/* Values of every kind a C program has, at one stop: fixture of the symbol and expression tests. */
#include <complex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum color { RED, GREEN = 5, BLUE = 9 };
enum flags { NONE = 0, READ = 1, WRITE = 2, EXEC = 4 };
struct item { int id; double w; char name[8]; struct item *next; };
union number { int i; float f; unsigned char bytes[4]; };
struct bits { unsigned a : 3; int b : 5; unsigned c : 24; enum color d : 8; };
struct nested { struct { int x, y; } at; union { long l; double d; }; const char *label; };
typedef int (*operation)(int, int);
typedef struct item item_t;
typedef unsigned long word;
struct handlers { operation op; void (*done)(void); int (*table[2])(int, int); };

int counter = 7;
static int table[6] = {10, 20, 30, 40, 50, 60};
static struct item third = {3, 2.5, "three", 0}, second = {2, 1.5, "two", &third};
const char *message = "hello, world";
char text[32] = "abc";
int zeros[300];
int matrix[2][3] = {{1, 2, 3}, {4, 5, 6}};
double numbers[] = {0.1, 1e100, -3.25, 1.0 / 3, 100000, 123456789.0, 1e-5};
static __thread int local_to_thread = 42;
__thread long zero_in_thread;
volatile int ready = 1;
const int fixed = 99;
_Bool yes = 1;
char long_text[260];
char repeated[40] = "aaaaaaaaaaaaaaaaaaaaaaaabbbccccccccccccc";
unsigned char raw[6] = {0, 1, 255, 'a', '\n', 127};
struct item items[3] = {{1, 1, "x", 0}, {1, 1, "x", 0}, {2, 2, "y", 0}};
int16_t shorts[4] = {-1, 2, -3, 4};
void *nothing;
float complex twisted = 1.5f + 2.5f * I;
struct bits packed = {5, -3, 70000, BLUE};
char *words[] = {"one", "two", 0};

static int add(int a, int b) { return a + b; }
static int sub(int a, int b) { return a - b; }
static void done(void) { counter++; }
static struct handlers handlers = {add, done, {add, sub}};

__attribute__((noinline)) int stop_here(struct item *p, int k, double d, const char *s, enum color c) {
    int loc = k * 2;
    union number un;
    un.i = 0x3f800000;
    struct nested nest = {{1, 2}, {3}, "nested"};
    operation op = add;
    void *vp = p;
    unsigned char uc = 200;
    signed char neg = -1;
    char letter = 'q', newline = '\n', zero = 0;
    long big = -5000000000;
    unsigned long long huge = 18446744073709551615ull;
    float fl = 0.1f;
    long double ld = 1.5L;
    bool flag = k > 0;
    enum flags fs = READ | EXEC, odd = 8, none = NONE;
    enum color unknown = 3;
    item_t *alias = p;
    word w = 1ul << 40;
    int grid[2][2] = {{k, 2}, {3, 4}};
    int *pointers[2] = {&counter, 0};
    struct item copy = *p;
    const int *cp = &fixed;
    static int calls;
    calls++;
    {
        int inner = loc + 1;
        int loc = 1000;
        counter += inner + loc; /* STOP */
    }
    return loc + p->next->id + un.i + nest.at.x + op(1, 2) + (vp != 0) + uc + neg + letter + newline + zero + (big > 0)
        + (int)huge + (int)fl + (int)ld + flag + (int)d + s[0] + c + fs + odd + none + unknown + alias->id + (int)w
        + grid[1][1] + *pointers[0] + copy.id + *cp;
}

static int middle(int depth, struct item *p) {
    if (depth > 0)
        return middle(depth - 1, p) + 1;
    return stop_here(p, 21, 2.75, "argument", GREEN);
}

int main(int argc, char **argv) {
    struct item first = {1, 0.5, "one", &second};
    memset(long_text, 'z', 250);
    int r = middle(2, &first);
    printf("%d %d %d %ld %d\n", r, table[2], local_to_thread, zero_in_thread, ready + yes + handlers.table[1](3, 1) + argc + (argv != 0));
    return nothing != 0;
}
