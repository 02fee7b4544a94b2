/* Every kind of parameter and result of the calling convention. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#define N __attribute__((noipa))
enum color { RED, GREEN = 5, BLUE = 9 };
struct small { int a; int b; };
struct mixed { double d; long l; };
struct floats { float x, y, z; };
struct big { long a[3]; int tail; };
struct odd { char c[3]; };
static volatile long sink;

N int f_int(int x) { sink += x; return -x; }
N unsigned char f_uchar(unsigned char x) { sink += x; return x + 1; }
N short f_short(short x) { sink += x; return x; }
N bool f_bool(bool x) { sink += x; return !x; }
N enum color f_enum(enum color x) { sink += x; return x; }
N uint64_t f_u64(uint64_t x) { sink += (long)x; return x - 1; }
N double f_double(double x) { sink += (long)x; return x * 2; }
N float f_float(float x) { sink += (long)x; return x * 2; }
N long double f_ld(long double x) { sink += (long)x; return x + 1; }
N struct small f_small(struct small s) { sink += s.a + s.b; s.a++; return s; }
N struct mixed f_mixed(struct mixed s) { sink += (long)s.d + s.l; s.l++; return s; }
N struct floats f_floats(struct floats s) { sink += (long)s.x; s.z = 9; return s; }
N struct big f_big(struct big s) { sink += s.a[2] + s.tail; s.tail++; return s; }
N struct odd f_odd(struct odd s) { sink += s.c[1]; return s; }
N int f_nine(int a1, int a2, int a3, int a4, int a5, int a6, int a7, int a8, long a9) { sink += a1 + a9; return a2; }
N void f_mix(int i, double d, long j, float f, char k, double e) { sink += i + j; }
N void f_after_big(struct big s, int x, double d) { sink += x; }
N int f_va(int n, ...) { va_list l; va_start(l, n); int s = 0; while (n--) s += va_arg(l, int); va_end(l); return s; }

int main(void) {
    struct small s = {7, -8};
    struct mixed m = {1.5, -77};
    struct floats f = {1.25f, 2.5f, 3.75f};
    struct big b = {{1, 2, 3000000000l}, 44};
    struct odd o = {"ab"};
    f_int(-5); f_uchar(200); f_short(-300); f_bool(true); f_enum(BLUE); f_u64(18446744073709551615ull);
    f_double(-2.5); f_float(0.25f); f_ld(1.5L);
    f_small(s); f_mixed(m); f_floats(f); f_big(b); f_odd(o);
    f_nine(1, 2, 3, 4, 5, 6, 77, -88, 9000000000l); f_mix(1, 2.5, -3, 4.5f, 'k', 6.25); f_after_big(b, 31, 0.125);
    return (sink += f_va(3, 10, 20, 30)) == 0;
}
