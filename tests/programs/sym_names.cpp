// Names of every kind a C++ program has: namespaces, overloads, templates, lambdas, operators.
#include <cstdio>

namespace ns {
struct C {
    int v;
    static int made;
    explicit C(int x) : v(x) { made++; }
    int m() const { return v; }
    static int s(int a) { return a + 1; }
    bool operator<(const C &o) const { return v < o.v; }
};
int C::made = 0;
int f(int a) { return a + 1; }
int f(const char *s) { return s[0]; }
namespace inner { int f(int a) { return a * 2; } }
inline namespace v1 { int versioned(int a) { return a - 1; } }
}
namespace { int hidden(int a) { return a + 10; } }
int f(double d) { return (int)d; }

template <typename T> struct Stack {
    T data[4];
    int n = 0;
    __attribute__((noipa)) void push(T t) { data[n++] = t; }
};
template <typename T> __attribute__((noinline)) T largest(T a, T b) { return a > b ? a : b; }

struct Shape { virtual ~Shape() {} virtual int area() const { return 0; } };
struct Square : Shape { int side; explicit Square(int s) : side(s) {} int area() const override { return side * side; } };

static inline __attribute__((always_inline)) int squeezed(int a) { volatile int t = a; return t + 1; }

int main() {
    ns::C c(4), d(5);
    Stack<int> si;
    Stack<double> sd;
    si.push(1);
    sd.push(2.5);
    auto lambda = [&](int x) { return x + c.v; };
    Square sq(3);
    Shape &shape = sq;
    int r = ns::f(1) + ns::f("a") + ns::inner::f(2) + ns::versioned(3) + hidden(1) + f(1.5) + largest(1, 2)
        + (int)largest(1.0, 2.0) + lambda(1) + shape.area() + c.m() + ns::C::s(1) + (c < d) + squeezed(3) + squeezed(4);
    printf("%d\n", r);
    return 0;
}
