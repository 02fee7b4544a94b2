//! Types that have units of their own (`-fdebug-types-section`).

mod lab;

use lab::{Fallible, Lab};

const IN_C: &str = r#"struct bits { unsigned a : 1; signed b : 4; int c; } b = {1, -2, 3};
typedef struct { int x; struct bits in; struct node *n; } unnamed;
struct node { struct node *next; int v; unnamed a; } n = {0, 4};
union both { int i; float f; } u = {1};
enum color { red, green } col = green;
int value(struct node *p) { return p->v; }
int main(void) { struct node *p = &n; return value(p) - 4; }
"#;

const OF_C: [&str; 17] = [
    "break value",
    "run",
    "print b",
    "print n",
    "print *p",
    "ptype b",
    "ptype struct bits",
    "ptype struct node",
    "print u",
    "print col",
    "ptype p",
    "print sizeof(b)",
    "print sizeof(struct bits)",
    "whatis n.a",
    "print (enum color)1 == green",
    "ptype unnamed",
    "finish",
];

const IN_CPP: &str = r#"#include <map>
#include <string>
#include <vector>
namespace geo {
struct Base { int id = 1; virtual ~Base() {} virtual double area() const { return 0; } static int count; };
int Base::count = 5;
struct Named { std::string name = "nm"; virtual void hello() {} };
struct Circle : Base, Named {
    struct Part { int at; };
    double r; Part part{3};
    Circle(double r) : r(r) {}
    double area() const override { return 3 * r * r; }
};
enum class Color : unsigned char { Red, Green = 5 };
struct Vec { double x, y; Vec operator+(const Vec &o) const { return {x + o.x, y + o.y}; } };
}
int main() {
    std::map<std::string, int> m{{"one", 1}, {"two", 2}};
    std::vector<int> v{1, 2, 3};
    geo::Circle c(4);
    geo::Base *b = &c;
    geo::Color col = geo::Color::Green;
    geo::Vec one{1, 2}, two{3, 4}, sum = one + two;
    return (int)b->area() + (int)sum.x - 52;
}
"#;

const OF_CPP: [&str; 18] = [
    "break 24",
    "run",
    "print m",
    "print v",
    "print c",
    "print *b",
    "print col",
    "print one + two",
    "print b->area()",
    "print geo::Base::count",
    "print c.part",
    "whatis c.part",
    "whatis c",
    "print sizeof(geo::Circle)",
    "print geo::Color::Green",
    "print *(geo::Circle *)b",
    "break geo::Circle::area",
    "continue",
];

#[test]
fn of_c() -> Fallible {
    for version in ["-gdwarf-5", "-gdwarf-4"] {
        let lab = Lab::c(IN_C, &[version, "-fdebug-types-section"])?;
        lab.same_as_gdb(&OF_C)?;
    }
    Ok(())
}

#[test]
fn of_cpp() -> Fallible {
    for version in ["-gdwarf-5", "-gdwarf-4"] {
        let options = [version, "-std=c++17", "-fdebug-types-section"];
        let lab = Lab::made("g++", "prog.cpp", IN_CPP, &options)?;
        lab.same_as_gdb(&OF_CPP)?;
    }
    Ok(())
}
