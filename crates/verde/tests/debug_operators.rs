//! C++ expressions: operators that a program defines, pointers to members, and containers that are
//! asked what the program has no function for.

mod lab;

use lab::{Fallible, Lab, in_order};

const OPERATORS: &str = r#"#include <string>
namespace ns {
struct V { double x; };
V operator+(const V &a, const V &b) { return {a.x + b.x}; }
template <class T> V operator*(const V &a, T k) { return {a.x * k}; }
bool operator<(const V &a, const V &b) { return a.x < b.x; }
bool operator==(const V &a, const V &b) { return a.x == b.x; }
V operator-(const V &a) { return {-a.x}; }
std::string operator<<(const V &, int n) { return std::string(n, 'x'); }
}
struct It {
  int i;
  It &operator++() { ++i; return *this; }
  It operator++(int) { It old = *this; ++i; return old; }
  int operator*() const { return i; }
  bool operator!() const { return i == 0; }
  It &operator+=(int n) { i += n; return *this; }
  int operator()(int a, int b) const { return a + b + i; }
};
struct P { int x, y; P operator+(const P &o) const { return {x + o.x, y + o.y}; } int sum() const { return x + y; } };
struct W {
  P p;
  P *operator->() { return &p; }
  P &operator*() { return p; }
  int operator[](int i) const { return i * 10 + p.x; }
};
struct A {
  int a = 1, b = 2;
  virtual int f(int x) { return x + a; }
  int g(int x) const { return x * 2; }
};
struct B : A { int f(int x) override { return x * 100; } };
static void stop() {}
int main() {
  ns::V a{1}, b{2};
  P p{1, 2}, q{3, 4};
  W w{p};
  It it{1};
  A o;
  B derived;
  A *po = &derived;
  int A::*pm = &A::b;
  int A::*null = nullptr;
  int (A::*pf)(int) const = &A::g;
  int (A::*pv)(int) = &A::f;
  int n = 3;
  auto lambda = [n, &o](int k) { return n + o.a + k; };
  int used = (int)(a + b).x + (int)(a * 2.0).x + (a < b) + (a == b) + (int)(-a).x + (int)(a << 1).size();
  used += *++it + *it++ + !it + it(1, 2) + (p + q).sum() + w->x + (*w).y + w[1] + lambda(1);
  it += 1;
  stop();
  return used + o.*pm + (o.*pf)(1) + (po->*pv)(2) + (null == nullptr);
}
"#;

fn program(source: &str) -> Result<Lab, Box<dyn std::error::Error>> {
    Lab::made("g++", "prog.cpp", source, &["-O0", "-std=c++17"])
}

/// Prints each expression one frame above `stop`: what is said of it, a value or an error.
fn check(lab: &Lab, expected: &[(&str, &str)]) -> Fallible {
    let mut commands: Vec<String> = vec!["break stop".into(), "run".into(), "up".into()];
    for (expression, _) in expected {
        commands.push("echo ==\\n".into());
        commands.push(format!("print {expression}"));
    }
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let output = lab.verde(&commands, &[])?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut errors = errors.lines();
    let mut parts = text.split("==\n").skip(1);
    for (expression, wanted) in expected {
        let part = parts.next().unwrap_or_default().trim_end();
        let said = match part.split_once(" = ") {
            Some((number, rest)) if number.starts_with('$') => rest,
            _ => errors.next().unwrap_or_default(),
        };
        assert_eq!(said, *wanted, "{expression}: {text}");
    }
    Ok(())
}

#[test]
fn operators_of_the_program_are_called() -> Fallible {
    let lab = program(OPERATORS)?;
    lab.same_as_gdb(&[
        "break stop",
        "run",
        "up",
        "print a + b",
        "print (a + b).x",
        "print a + b + a",
        "print a < b",
        "print a == b",
        "print -a",
        "print *it",
        "print !it",
        "print it++",
        "print it",
        "print p + q",
        "print (p + q).sum()",
        "print w->x",
        "print w->sum()",
        "print w[2]",
    ])?;
    let expected = [
        ("a * 2.0", "{x = 2}"),
        ("a << 3", "\"xxx\""),
        ("a != b", "true"),
        ("it(1, 2)", "7"),
        ("(*w).y", "2"),
        ("lambda(3)", "7"),
        ("(it += 5).i", "9"),
    ];
    check(&lab, &expected)
}

#[test]
fn an_operator_that_is_not_there_is_named() -> Fallible {
    let lab = program(OPERATORS)?;
    check(
        &lab,
        &[("a % b", "No symbol \"operator%\" in current context.")],
    )
}

#[test]
fn pointers_to_members_lead_to_them() -> Fallible {
    let lab = program(OPERATORS)?;
    lab.same_as_gdb(&[
        "break stop",
        "run",
        "up",
        "print pm",
        "print pf",
        "print pv",
        "print null",
        "print &A::a",
        "print &A::g",
        "print &A::f",
        "print o.*pm",
        "print po->*pm",
        "print (o.*pf)(7)",
        "print (o.*pv)(7)",
        "print o.*pm == 2",
        "print sizeof(pm)",
        "print sizeof(pf)",
        "whatis pm",
        "whatis pf",
    ])?;
    check(&lab, &[("(po->*pv)(7)", "700"), ("derived.*pm", "2")])
}

const CONTAINERS: &str = r#"#include <array>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>
struct P { int x, y; };
static void stop() {}
int main() {
  std::vector<P> v{{1, 2}, {3, 4}};
  std::vector<bool> bits{true, false};
  std::array<int, 3> arr{7, 8, 9};
  std::deque<int> d{1, 2, 3};
  std::list<int> l{4, 5};
  std::forward_list<int> f{6, 7};
  std::set<int> set{3};
  std::map<std::string, int> m{{"one", 1}, {"two", 2}};
  std::unordered_map<int, std::string> um{{1, "x"}};
  std::string s = "hello", none;
  std::string_view view = "view";
  std::optional<P> o = P{5, 6}, nothing;
  auto up = std::make_unique<P>(P{1, 2});
  std::unique_ptr<int[]> owned(new int[2]{8, 9});
  auto sp = std::make_shared<std::vector<int>>(3, 7);
  auto vit = v.begin();
  auto mit = m.begin();
  auto lit = l.begin();
  auto dit = d.begin();
  stop();
  return 0;
}
"#;

/// Nothing of this is instantiated: the layouts tell.
#[test]
fn containers_answer_without_functions() -> Fallible {
    let lab = program(CONTAINERS)?;
    let expected = [
        ("v[1].y", "4"),
        ("v[2]", "Index 2 is out of range: the length is 2."),
        ("v.size()", "2"),
        ("v.empty()", "false"),
        ("v.back()", "{x = 3, y = 4}"),
        ("v.front().x", "1"),
        ("bits[0]", "true"),
        ("arr[1]", "8"),
        ("arr[3]", "Index 3 is out of range: the length is 3."),
        ("arr.size()", "3"),
        ("d[2]", "3"),
        ("d.back()", "3"),
        ("l.front()", "4"),
        ("l.size()", "2"),
        ("f", "std::forward_list = {[0] = 6, [1] = 7}"),
        ("f.front()", "6"),
        ("set.size()", "1"),
        ("m[\"two\"]", "2"),
        ("m[\"three\"]", "There is no element with this key."),
        ("um[1]", "\"x\""),
        ("s[1]", "101 'e'"),
        ("s.length()", "5"),
        ("none.empty()", "true"),
        ("s == \"hello\"", "true"),
        ("s != none", "true"),
        ("view.size()", "4"),
        ("o->y", "6"),
        ("*o", "{x = 5, y = 6}"),
        ("*nothing", "It holds no value."),
        ("up->x", "1"),
        ("*up", "{x = 1, y = 2}"),
        ("sp->size()", "3"),
        ("v.at(1).y", "4"),
        ("v.at(2)", "Index 2 is out of range: the length is 2."),
        ("d.at(1)", "2"),
        ("m.at(\"two\")", "2"),
        ("s.at(1)", "101 'e'"),
        ("up.get() == &*up", "true"),
        ("up.get()->y", "2"),
        ("sp.get()->size()", "3"),
        ("owned[1]", "9"),
        ("o.has_value()", "true"),
        ("nothing.has_value()", "false"),
        ("o.value().y", "6"),
        ("nothing.value()", "It holds no value."),
        ("(*sp)[2]", "7"),
        ("*vit", "{x = 1, y = 2}"),
        ("vit->y", "2"),
        ("mit", "{first = \"one\", second = 1}"),
        ("mit->second", "1"),
        ("*lit + *dit", "5"),
        ("$_streq(s, \"hello\")", "1"),
        ("$_strlen(s)", "5"),
        ("$_regex(s, \"h.*o$\")", "1"),
        ("$_streq(s.c_str(), view)", "0"),
    ];
    check(&lab, &expected)
}

const WIDE: &str = r#"static void stop() {}
int main(int argc, char **) {
  wchar_t wc = L'é';
  char16_t u16[] = u"hé";
  char32_t c32 = U'\U0001F600';
  const wchar_t *ws = L"wide";
  const char32_t *us = U"long";
  wchar_t buffer[8] = L"hi";
  int vla[argc + 4];
  for (int i = 0; i < argc + 4; i++) vla[i] = i * i;
  stop();
  return wc + u16[0] + c32 + ws[0] + us[0] + buffer[0] + vla[1];
}
"#;

#[test]
fn wide_characters_are_text() -> Fallible {
    let lab = program(WIDE)?;
    lab.same_as_gdb(&[
        "break stop",
        "run",
        "up",
        "print wc",
        "print u16",
        "print c32",
        "print ws",
        "print us",
        "print buffer",
        "print L'x'",
        "print u'x'",
        "print L\"wide\"",
        "print wc == L'x'",
        "print vla",
        "print sizeof(vla)",
        "print sizeof vla / sizeof vla[0]",
        "whatis ws",
    ])
}

const NAMES: &str = r#"#include <list>
#include <map>
#include <string>
#include <tuple>
#include <vector>
#include <unistd.h>
static void stop() {}
int main(int argc, char **argv) {
  std::vector<std::string> words(argv, argv + argc);
  std::map<std::string, std::vector<int>> map{{"k", {1}}};
  std::list<int> list{1};
  std::string text = "x";
  std::tuple<int, std::string> tuple{1, "t"};
  stop();
  return getpid() == 0;
}
"#;

/// Types by the names people know, and functions with what they take.
#[test]
fn standard_types_have_short_names() -> Fallible {
    let lab = program(NAMES)?;
    lab.same_as_gdb(&[
        "break main",
        "break stop",
        "run",
        "continue",
        "up",
        "whatis words",
        "whatis map",
        "whatis list",
        "whatis tuple",
        "whatis &words",
        "ptype words",
        "ptype list",
        "ptype std::string",
        "info breakpoints",
    ])
}

const PASSED: &str = r#"struct Four { int n; };
struct Base { int b = 7; };
struct Other { int o = 1; };
struct Derived : Other, Base { int d = 9; };
int value(Four f) { return f.n; }
int base(Base b) { return b.b; }
int base_at(const Base &b) { return b.b; }
int number(const int &n) { return n + 1; }
int place(const int *const &p) { return *p; }
double wide(double d) { return d * 2; }
void stop() {}
int main() {
  Four four{4};
  Derived derived;
  int row[2] = {5, 6};
  float real = 2.5;
  stop();
  return value(four) + base(derived) + base_at(derived) + number(1) + place(row) + (int)wide(real);
}
"#;

/// A class is passed as itself or as one of its bases, not as whatever has its size.
#[test]
fn arguments_fit_their_parameters() -> Fallible {
    let no = |from: &str, to: &str| format!("An argument of type {from} cannot be passed as {to}.");
    check(
        &program(PASSED)?,
        &[
            ("value(four)", "4"),
            ("value(4)", &no("int", "Four")),
            ("value(derived)", &no("Derived", "Four")),
            ("base(derived)", "7"),
            ("base_at(derived)", "7"),
            ("base_at(four)", &no("Four", "const Base &")),
            ("base_at(\"xy\")", &no("char [3]", "const Base &")),
            ("number(row[0])", "6"),
            ("number(real)", "3"),
            ("number(four)", &no("Four", "const int &")),
            ("place(row)", "5"),
            ("place(&row[1])", "6"),
            ("wide(3)", "6"),
            ("wide(four)", &no("Four", "double")),
        ],
    )
}

const CASTS: &str = r#"struct node { int value; } node = { 3 };
int counter = 2;
static double half(double d) { return d / 2; }
static int sum(int n, ...) { return n; }
void stop(void) {}
int main(void) { stop(); return (int)half(counter) + sum(1) + node.value - 5; }
"#;

/// A cast says what a function takes and returns; one to an unknown type says which is unknown.
#[test]
fn casts_of_functions_and_to_nothing() -> Fallible {
    let lab = Lab::c(CASTS, &["-O0"])?;
    let unknown = "No symbol \"nodet\" in current context.  Did you mean \"node\"?";
    check(
        &lab,
        &[
            ("((double (*)(double))half)(3)", "1.5"),
            ("((double (*)())half)(3.0)", "1.5"),
            ("((int (*)(int, ...))sum)(4, 5)", "4"),
            (
                "((double (*)(double))half)(3, 4)",
                "Too many arguments in function call.",
            ),
            ("(nodet *)0", unknown),
            ("(nodet)0", unknown),
            ("sizeof(nodet *)", unknown),
            ("(counter)*2", "4"),
            (
                "&5",
                "Attempt to take address of value not located in memory.",
            ),
            ("*&\"abc\"", "\"abc\""),
        ],
    )?;
    let watched = lab.verde(&["break main", "run", "watch countre"], &[])?;
    let said = String::from_utf8_lossy(&watched.stderr);
    assert!(said.contains("Did you mean \"counter\"?"), "{said}");
    lab.same_as_gdb(&[
        "whatis (double (*)(double, ...))half",
        "whatis (int (*)(void))0",
        "whatis (int (*)())0",
        "break main",
        "tbreak main",
        "break 6",
        "run",
        "info breakpoints",
    ])
}

/// Nobody says what it returns.
#[test]
fn a_function_of_unknown_result_is_not_called() -> Fallible {
    let lab = program(NAMES)?;
    let unknown = "'getpid' has unknown return type; cast the call to its declared return type";
    check(
        &lab,
        &[("getpid()", unknown), ("(int)getpid() > 1", "true")],
    )
}

/// A vector register is everything that it may hold.
#[test]
fn vector_registers_have_parts() -> Fallible {
    let lab = program(NAMES)?;
    let text = lab.text(&[
        "break stop",
        "run",
        "print $xmm3.v4_int32[1] = 7",
        "print $xmm3.v4_int32[1]",
        "print $xmm3.v8_int16[2]",
        "print sizeof($xmm3)",
    ])?;
    let wanted = "$1 = 7\n$2 = 7\n$3 = 7\n$4 = 16\n";
    assert!(text.ends_with(wanted), "{text}");
    Ok(())
}

const RUST_NUMBERS: &str = r#"#[inline(never)]
fn stop() { std::hint::black_box(()); }
fn main() {
    let (a, b, c, d): (u8, i8, u16, i16) = (129, -100, 65000, -32000);
    let (e, f, g, h): (u32, i32, u64, i64) = (4_000_000_000, -2_000_000_000, u64::MAX - 5, i64::MIN + 7);
    let (i, j, k, l): (usize, isize, u128, i128) = (12, -12, 1 << 100, -(1 << 90));
    let (m, n, o, z8, z32): (f32, f64, bool, u8, u32) = (1.5, 2.25, true, 0, 0);
    let arr = [1u8, 250, 3];
    stop();
    println!("{a}{b}{c}{d}{e}{f}{g}{h}{i}{j}{k}{l}{m}{n}{o}{z8}{z32}{arr:?}");
}
"#;

/// Numbers of Rust are calculated with as gdb does: small ones do not wrap.
#[test]
fn numbers_of_rust() -> Fallible {
    let lab = Lab::c("int main(void) { return 0; }\n", &[])?;
    lab.build(
        "rustc",
        "prog.rs",
        RUST_NUMBERS,
        "prog",
        &["--edition", "2021"],
    )?;
    let expressions = "a * 2;a + 200;a - 200;0u8 - 1;a + a;a * a;b - 100;b * 2;c + 1000;c * c;\
        d - 1000;e + e;e * 2;e * e;z32 - 1;z8 - 1;f * 2;f - 2000000000;g + 10;g * 2;h - 10;h * 2;\
        i - 13;j * 2;i + j;j + i;a + b;e + f;f + e;g + h;e + b;a << 1;a << 8;a << 31;e << 1;\
        g << 1;b >> 1;f >> 3;a >> 1;g >> 60;h >> 2;-a;-b;-c;-e;-g;-f;!a;!b;!e;!g;!o;a / 2;b / 3;\
        b % 3;a % 7;f / b;g / 2;h / 2;e / 3;b / a;f / e;a & 15;a | 256;b & 255;b ^ a;e ^ 1;\
        z32 - 1 > 0;z8 - 1 < 0;a > b;b > a;b < e;f < e;h < g;j < i;-1 < z32;g > -1;g == -6;\
        a == 129;b == 156;m + 1;m + n;m * m;m / 2;2147483647 + 1;1u8 << 8;250u8 + 10;1u32 - 2;\
        1u64 - 2;3i8 * 100;arr[1] + arr[1];arr[1] as u16 * 2;a as i32 * 2;(a + 200) as u8;\
        a + 1u64;o as u8 + 1;sizeof(a + 1);sizeof(-a);-5 / 2;-5 % 3;a + 1.5;m == 1.5;\
        arr[a - 128];o & o;o ^ o;b as u8;e as i32";
    let mut commands = vec!["break prog::stop".to_owned(), "run".into(), "up".into()];
    commands.extend(
        expressions
            .split(';')
            .map(|e| format!("print {}", e.trim())),
    );
    let types = "a + a;e + e;a + b;g + a;e + f;-a;-e;!a;a << 1;e << 1;m + m;1 + 1;1;a == b";
    commands.extend(types.split(';').map(|e| format!("whatis {e}")));
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    lab.same_as_gdb(&commands)?;
    // Wider ones, which gdb does not calculate with; arrays are of their elements' type.
    let more = [
        "print k + 1",
        "print l - 1 < 0",
        "print [a, 200]",
        "print a += 200",
    ];
    let text = lab.text(&[&commands[..3], &more].concat())?;
    let values = [
        "= 1267650600228229401496703205377\n",
        "= true\n",
        "= [129, 200]\n",
        "= 73\n",
    ];
    in_order(&text, &values);
    Ok(())
}

const RUST_SLICES: &str = r#"use std::hint::black_box;
trait Shape { fn area(&self) -> u32; fn name(&self) -> String; }
struct Sq(u32);
struct Ci { r: u32 }
impl Shape for Sq { fn area(&self) -> u32 { self.0 * self.0 } fn name(&self) -> String { "sq".into() } }
impl Shape for Ci { fn area(&self) -> u32 { self.r * 3 } fn name(&self) -> String { "ci".into() } }
#[inline(never)]
fn stop(data: &[u8], big: &[u32; 5], d: &dyn Shape) -> usize {
    black_box(data.len() + big.len() + d.area() as usize + d.name().len())
}
fn main() {
    let big = [1u32, 2, 3, 4, 5];
    let (nested, none): ([[u8; 3]; 2], [u8; 0]) = ([[1; 3]; 2], []);
    let v = vec![9u8, 8, 7];
    let word = "text";
    let b: Box<dyn Shape> = Box::new(Sq(4));
    let n = stop(&v, &big, &Ci { r: 5 }) + stop(&v[1..], &big, &*b) + nested.len() + none.len();
    println!("{n} {} {word}", b.area());
}
"#;

/// Arrays know how long they are, slices what is behind them, and trait objects their methods.
#[test]
fn slices_and_trait_objects_of_rust() -> Fallible {
    let lab = Lab::c("int main(void) { return 0; }\n", &[])?;
    lab.build(
        "rustc",
        "prog.rs",
        RUST_SLICES,
        "prog",
        &["--edition", "2021"],
    )?;
    let expected = [
        ("*data", "[9, 8, 7]"),
        ("(*data)[1]", "8"),
        ("(*data).len()", "3"),
        ("sizeof(*data)", "3"),
        ("big.len()", "5"),
        ("d.area()", "15"),
        ("d.name()", "\"ci\""),
    ];
    let above = [
        ("big.len() + 1", "6"),
        ("nested.len()", "2"),
        ("nested[1].len()", "3"),
        ("none.is_empty()", "true"),
        ("big.is_empty()", "false"),
        ("b.area() + 1", "17"),
        ("b.name()", "\"sq\""),
        ("v[1..]", "[8, 7]"),
        ("word[0]", "116"),
    ];
    let print = |(e, _): &(&str, &str)| format!("print {e}");
    let mut commands = vec!["break prog::stop".to_owned(), "run".into()];
    commands.extend(expected.iter().map(print));
    commands.push("up".into());
    commands.extend(above.iter().map(print));
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let text = lab.text(&commands)?;
    for (i, (expression, value)) in expected.iter().chain(&above).enumerate() {
        let line = format!("\n${} = {value}\n", i + 1);
        assert!(text.contains(&line), "{expression}: {text}");
    }
    let output = lab.verde(&[commands[0], "run", "print d.depth()"], &[])?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let why = "Could not find a method depth of prog::Ci, which is behind &dyn prog::Shape.\n";
    assert_eq!(errors, why);
    let types = lab.text(&["whatis prog::stop", "whatis prog::main"])?;
    let stop = "type = fn (&[u8], &[u32; 5], &dyn prog::Shape) -> usize";
    assert_eq!(types, format!("{stop}\ntype = fn ()\n"));
    Ok(())
}
