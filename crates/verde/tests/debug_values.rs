//! Values of the standard libraries, in the forms of gdb's printers for C++
//! and of rust-gdb's for Rust.

mod lab;

use lab::{Fallible, Lab, in_order};

const CPP: &str = r#"#include <atomic>
#include <bitset>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <stack>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>
static void stop() {}
int main() {
  std::map<int, std::string> m{{1, "one"}, {2, "two"}};
  std::unordered_map<std::string, int> um{{"k", 7}};
  std::shared_ptr<int> sp = std::make_shared<int>(5), null;
  std::optional<int> o = 4, on;
  std::optional<std::string> os = "opt";
  std::variant<int, std::string, double> va = 3, vs = std::string("v"), vd = 2.5;
  std::string_view sv = "view";
  std::tuple<int, std::string> t{1, "t"};
  std::bitset<8> bs(5);
  std::stack<int> sk; sk.push(1);
  std::queue<int> q; q.push(2);
  std::atomic<int> at{3};
  std::vector<int> v{1, 2, 3};
  std::vector<int>::iterator vi = v.begin() + 1;
  std::wstring ws = L"wide";
  stop();
  return 0;
}
"#;

const RUST: &str = r#"use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
#[inline(never)]
fn stop() {}
fn main() {
    let small: BTreeMap<i32, String> = [(2, "two".to_string()), (1, "one".to_string())].into_iter().collect();
    let large: BTreeMap<u16, u64> = (0..100).map(|i| (i, u64::from(i) * 2)).collect();
    let empty: BTreeMap<i32, i32> = BTreeMap::new();
    let set: BTreeSet<i32> = [3, 1, 2].into_iter().collect();
    let mut hash: HashMap<String, i32> = HashMap::new();
    hash.insert("k".into(), 7);
    let cell = Cell::new(4);
    let shared = RefCell::new(6);
    let number = std::num::NonZeroU32::new(4);
    let name = std::ffi::OsString::from("os");
    stop();
    println!("{small:?}{large:?}{empty:?}{set:?}{hash:?}{cell:?}{shared:?}{number:?}{name:?}");
}
"#;

/// Prints each expression one frame above `stop`.
fn check(lab: &Lab, stop: &str, expected: &[(&str, &str)]) -> Fallible {
    let mut commands = vec![format!("break {stop}"), "run".into(), "up".into()];
    commands.extend(expected.iter().map(|(name, _)| format!("print {name}")));
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let text = lab.text(&commands)?;
    for (i, (name, wanted)) in expected.iter().enumerate() {
        let line = format!("\n${} = {wanted}\n", i + 1);
        assert!(text.contains(&line), "{name}: {line}{text}");
    }
    Ok(())
}

#[test]
fn containers_of_cpp() -> Fallible {
    let lab = Lab::made("g++", "prog.cc", CPP, &["-O0", "-std=c++17"])?;
    let expected = [
        (
            "m",
            r#"std::map with 2 elements = {[1] = "one", [2] = "two"}"#,
        ),
        ("um", r#"std::unordered_map with 1 element = {["k"] = 7}"#),
        ("*sp", "5"),
        ("null", "std::shared_ptr<int> (empty) = {get() = 0x0}"),
        ("o", "std::optional<int> = {[contained value] = 4}"),
        ("on", "std::optional<int> [no contained value]"),
        (
            "os",
            r#"std::optional<std::string> = {[contained value] = "opt"}"#,
        ),
        (
            "va",
            "std::variant<int, std::string, double> [index 0] = {3}",
        ),
        (
            "vs",
            r#"std::variant<int, std::string, double> [index 1] = {"v"}"#,
        ),
        (
            "vd",
            "std::variant<int, std::string, double> [index 2] = {2.5}",
        ),
        ("sv", r#""view""#),
        ("t", r#"std::tuple containing = {[1] = 1, [2] = "t"}"#),
        ("bs", "std::bitset = {[0] = 1, [2] = 1}"),
        ("sk", "std::stack wrapping: std::deque with 1 element = {1}"),
        ("q", "std::queue wrapping: std::deque with 1 element = {2}"),
        ("at", "std::atomic<int> = { 3 }"),
        ("vi", "2"),
        ("ws", r#"L"wide""#),
    ];
    check(&lab, "stop", &expected)
}

#[test]
fn containers_of_rust() -> Fallible {
    let lab = Lab::c("int main(void) { return 0; }\n", &[])?;
    let options = ["--edition", "2021", "-C", "opt-level=0"];
    lab.build("rustc", "prog.rs", RUST, "prog", &options)?;
    let all: Vec<String> = (0..100).map(|i| format!("[{i}] = {}", i * 2)).collect();
    let large = format!("BTreeMap(size=100) = {{{}}}", all.join(", "));
    let expected = [
        ("small", r#"BTreeMap(size=2) = {[1] = "one", [2] = "two"}"#),
        ("large", large.as_str()),
        ("empty", "BTreeMap(size=0)"),
        ("set", "BTreeSet(size=3) = {1, 2, 3}"),
        ("hash", r#"HashMap(size=1) = {["k"] = 7}"#),
        ("cell", "Cell = {value = 4}"),
        ("shared", "RefCell(borrow=0) = {value = 6, borrow = 0}"),
        (
            "number",
            "core::option::Option<core::num::nonzero::NonZero<u32>>::Some(4)",
        ),
        ("name", r#""os""#),
    ];
    check(&lab, "prog::stop", &expected)
}

const METHODS: &str = r#"#include <memory>
#include <string>
#include <vector>
struct Shape {
  int w = 3, h = 4;
  int area() const { return w * h; }
  int scaled(int k) { return area() * k; }
  virtual ~Shape() {}
  virtual const char *name() const { return "shape"; }
  static int count() { return 7; }
};
struct Named { int id = 9; virtual int number() { return id; } };
struct Square : Shape, Named {
  const char *name() const override { return "square"; }
  int number() override { return id * 2; }
};
template <class T> T twice(T x) { return x + x; }
static void stop() {}
int main() {
  Shape s;
  Square q;
  Shape *p = &q;
  Named *n = &q;
  std::unique_ptr<Shape> u(new Square);
  std::string text = "hello";
  int used = s.scaled(2) + q.number() + p->area() + Shape::count() + twice(4) + u->area();
  used += (int)text.size() + p->name()[0] + n->number();
  stop();
  return used == 0;
}
"#;

/// Methods are those of the object, whoever declares them.
#[test]
fn methods_are_called() -> Fallible {
    let lab = Lab::made("g++", "prog.cpp", METHODS, &["-O0"])?;
    let commands = [
        "break stop",
        "run",
        "up",
        "print s.area()",
        "print s.scaled(3)",
        "print p->name()",
        "print q.area()",
        "print q.name()",
        "print n->number()",
        "print q.number()",
        "print s.count()",
        "print text.size()",
        "print text.length() + 1",
        "print twice<int>(21)",
        "print static_cast<Square *>(p)->id",
        "print reinterpret_cast<long>(p) != 0",
        "info breakpoints",
    ];
    lab.same_as_gdb(&commands)?;
    let text = lab.text(&[
        "break stop",
        "run",
        "up",
        "print u->area()",
        "print text[1]",
    ])?;
    assert!(text.ends_with("$1 = 12\n$2 = 101 'e'\n"), "{text}");
    Ok(())
}

const OBJECT: &str = r#"struct Shape {
  int w;
  int scaled(int k) { return w * k; }
  static int count() { return 7; }
};
Shape s{4};
int main() { return s.scaled(1) + Shape::count() - 11; }
"#;

/// Older debug information, and that of other compilers, says only of the
/// parameter itself that it is the object.
#[test]
fn methods_without_a_named_object() -> Fallible {
    let lab = Lab::c("int main(void) { return 0; }", &[])?;
    let flags = ["-O0", "-gdwarf-2", "-gstrict-dwarf"];
    lab.build("g++", "prog.cpp", OBJECT, "prog", &flags)?;
    let commands = ["break main", "run", "print s.scaled(3)", "print s.count()"];
    let text = lab.text(&commands)?;
    assert!(text.ends_with("$1 = 12\n$2 = 7\n"), "{text}");
    Ok(())
}

const OVERLOADS: &str = r#"#include <optional>
struct T {
  int v;
  int get(int a) { return v + a; }
  int get(double d) { return v + 100 * d; }
  int get(const char *) { return -1; }
};
namespace n {
int f(long) { return 1; }
int f(double) { return 2; }
int f(char *) { return 3; }
int f(int, int) { return 4; }
}
int over(int) { return 10; }
int over(float) { return 20; }
int over(const T &) { return 30; }
struct Plain { int a; Plain() = default; Plain(const Plain &) = default; ~Plain() = default; };
struct Copied { int a; Copied(int a) : a(a) {} Copied(const Copied &o) : a(o.a) {} };
struct Moved { int a; Moved(int a) : a(a) {} Moved(Moved &&) = default; Moved(const Moved &) = delete; };
std::optional<int> some() { return 4; }
Plain plain() { Plain p; p.a = 5; return p; }
Copied copied() { return Copied(6); }
Moved moved() { return Moved(7); }
int main() {
  T t{1};
  char c[4] = "x";
  double d = 2.5;
  short s = 2;
  int sum = n::f(1L) + n::f(d) + n::f(c) + n::f(1, 2) + t.get(1) + t.get(d) + t.get("");
  sum += over(s) + over(1.5f) + over(t);
  sum += *some() + plain().a + copied().a + moved().a;
  return sum == 0;
}
"#;

fn overloads() -> Result<Lab, Box<dyn std::error::Error>> {
    Lab::made("g++", "prog.cc", OVERLOADS, &["-O0", "-std=c++17"])
}

#[test]
fn a_call_means_the_function_that_takes_its_arguments() -> Fallible {
    let lab = overloads()?;
    lab.same_as_gdb(&[
        "break 30",
        "run",
        "print n::f(1L)",
        "print n::f(1.0)",
        "print n::f(d)",
        "print n::f(c)",
        "print n::f(1, 2)",
        "print t.get(1)",
        "print t.get(s)",
        "print t.get(1.5)",
        "print t.get(\"a\")",
        "print over(2)",
        "print over(s)",
        "print over(1.5f)",
        "print over(t)",
    ])?;
    let output = lab.verde(
        &["break 30", "run", "print over(2.5)", "print n::f(t)"],
        &[],
    )?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("over(int) and over(float)"), "{errors}");
    assert!(errors.contains("Cannot resolve function n::f"), "{errors}");
    Ok(())
}

#[test]
fn a_small_class_comes_back_in_registers_if_it_is_copied_as_bytes() -> Fallible {
    let lab = overloads()?;
    let prints = ["print some()", "print plain()", "print copied()"];
    lab.same_as_gdb(&[&["break 30", "run"][..], &prints].concat())?;
    // gdb takes one that can only be moved for one in memory.
    let text = lab.text(&["break 30", "run", "print moved()"])?;
    assert!(text.ends_with("$1 = {a = 7}\n"), "{text}");
    for function in ["some", "plain", "copied"] {
        let stop = format!("break {function}");
        lab.same_as_gdb(&[&stop, "run", "finish"])?;
    }
    Ok(())
}

const DIAMOND: &str = r#"struct B { virtual ~B() {} virtual int id() const { return 1; } int bv = 1; };
struct A { virtual ~A() {} int av = 9; };
struct D1 : virtual B, virtual A { int d1 = 2; int id() const override { return 2; } };
struct D2 : virtual A, virtual B { int d2 = 3; };
struct M : D1, D2 { int mm = 4; int id() const override { return 4; } };
int main() {
  M m;
  B *b = &m;
  A *a = &m;
  D2 *d = &m;
  return b->id() + d->bv + a->av == 0;
}
"#;

#[test]
fn a_virtual_base_is_where_its_object_says() -> Fallible {
    let lab = Lab::made("g++", "prog.cc", DIAMOND, &["-O0"])?;
    lab.same_as_gdb(&[
        "break 11",
        "run",
        "print (B *)&m == b",
        "print (A *)d == a",
        "print ((M *)b)->mm",
        "print ((M *)a)->d2",
        "print d->bv",
        "print d->av",
        "print m.av",
        "print d->id()",
        "print *(B *)d",
    ])
}

#[test]
fn the_programs_names_come_before_those_of_libraries() -> Fallible {
    let lab = Lab::c("int main(void) { return 0; }\n", &[])?;
    let library = "static int twice[2] = {1, 2};\nint *get(void) { return twice; }\n";
    let options = ["-O0", "-shared", "-fPIC"];
    lab.build("gcc", "two.c", library, "libtwo.so", &options)?;
    let source = "int *get(void);\nint twice(int n) { return 2 * n; }\n\
                  int main(void) { return twice(*get()) == 0; }\n";
    let path = format!("-Wl,-rpath,{}", lab.path(".").display());
    let library = lab.path("libtwo.so").display().to_string();
    let options = ["-O0", library.as_str(), path.as_str()];
    lab.build("gcc", "prog.c", source, "prog", &options)?;
    lab.same_as_gdb(&["break main", "run", "print twice(4)", "whatis twice"])?;
    // Where the library's code runs its own come first.
    lab.same_as_gdb(&["break main", "run", "tbreak get", "continue", "print twice"])
}

const PIECES: &str = r#"#include <optional>
#include <tuple>
static volatile int sink;
__attribute__((noinline)) void stop(int n) { sink += n; }
int main() {
  std::optional<int> o = 5;
  std::tuple<int, char> t{1, 'c'};
  stop(1);
  sink += *o + std::get<0>(t) + std::get<1>(t);
  return 0;
}
"#;

#[test]
fn a_value_in_pieces_needs_no_padding() -> Fallible {
    let lab = Lab::made("g++", "prog.cc", PIECES, &["-O2", "-std=c++17"])?;
    let text = lab.text(&["break stop", "run", "up", "print o", "print t"])?;
    let wanted = "$1 = std::optional<int> = {[contained value] = 5}\n\
                  $2 = std::tuple containing = {[1] = 1, [2] = 99 'c'}\n";
    assert!(text.ends_with(wanted), "{text}");
    Ok(())
}

/// Vectors in the registers of SSE and AVX: at the entry, in the body and as results.
#[test]
fn vectors_are_read_from_their_registers() -> Fallible {
    if !std::fs::read_to_string("/proc/cpuinfo")?.contains(" avx2") {
        return Ok(());
    }
    let source = "#include <immintrin.h>\n#define N __attribute__((noipa))\n\
        N __m256 add(__m256 a, __m256 b, int n) { return a + b; }\n\
        N __m128 four(__m128 a, __m128d d, double x) { return a + a; }\n\
        N __m256i whole(__m256i a, int n, __m256d d) { return a + a; }\n\
        N int many(__m256 a, __m256 b, __m256 c, __m256 d, __m256 e, __m256 f, __m256 g, __m256 h,\n\
        \x20         int n, __m256 onstack) { return n; }\n\
        volatile float one = 1;\n\
        int main(void) {\n  __m256 x = _mm256_set_ps(8, 7, 6, 5, 4, 3, 2, one);\n\
        \x20 x = add(x, _mm256_set1_ps(10), 7);\n\
        \x20 four(_mm_set_ps(4, 3, 2, one), _mm_set_pd(2.5, 1.5), 6.5);\n\
        \x20 whole(_mm256_set1_epi64x(3), 8, _mm256_set1_pd(0.5));\n\
        \x20 many(x, x, x, x, x, x, x, x, 9, x + 1);\n  return 0;\n}\n";
    let x = "{12, 12, 13, 14, 15, 16, 17, 19}";
    for level in ["-O0", "-O2"] {
        let lab = Lab::c(source, &[level, "-mavx2"])?;
        let text = lab.text(&[
            "break *add",
            "break *four",
            "break *whole",
            "break *many",
            "run",
            "info args",
            "print a[7] + n",
            "print a[0] = 2",
            "print a[7] = 9",
            "finish",
            "continue",
            "info args",
            "finish",
            "continue",
            "info args",
            "finish",
            "continue",
            "print n",
            "print h",
            "print onstack",
        ])?;
        let wanted = [
            "a = {1, 2, 3, 4, 5, 6, 7, 8}\nb = {10, 10, 10, 10, 10, 10, 10, 10}\nn = 7\n$1 = 15\n"
                .to_owned(),
            format!("Value returned is $4 = {x}\n"),
            "a = {1, 2, 3, 4}\nd = {1.5, 2.5}\nx = 6.5\n".to_owned(),
            "Value returned is $5 = {2, 4, 6, 8}\n".to_owned(),
            "a = {3, 3, 3, 3}\nn = 8\nd = {0.5, 0.5, 0.5, 0.5}\n".to_owned(),
            "Value returned is $6 = {6, 6, 6, 6}\n".to_owned(),
            format!("$7 = 9\n$8 = {x}\n$9 = {{13, 13, 14, 15, 16, 17, 18, 20}}\n"),
        ];
        let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        in_order(&text, &wanted);
    }
    Ok(())
}

/// Functions for another processor than their unit: what the file does not tell is not guessed.
#[test]
fn vectors_of_a_function_for_another_processor() -> Fallible {
    if !std::fs::read_to_string("/proc/cpuinfo")?.contains(" avx2") {
        return Ok(());
    }
    let source = "#include <immintrin.h>\n#define N __attribute__((noipa, target(\"avx2\")))\n\
        N int take(int k, __m256 a, int n, double d) { return n + k; }\n\
        N __m256 twice(__m256 a, int n) { return a + a; }\n\
        N __m128 small(__m128 a, double d) { return a; }\n\
        N int main(void) {\n  __m256 x = _mm256_set1_ps(3);\n\
        \x20 take(5, x, 7, 2.5);\n  small(_mm_set1_ps(1), 0.5);\n  x = twice(x, 4);\n\
        \x20 return 0;\n}\n";
    let unknown = "<error: the file does not tell whether vectors are in registers>";
    for level in ["-O0", "-O2"] {
        let lab = Lab::c(source, &[level, "-Wno-psabi"])?;
        let text = lab.text(&[
            "break *take",
            "break *small",
            "break *twice",
            "run",
            "info args",
            "continue",
            "info args",
            "continue",
            "finish",
        ])?;
        let first = format!("k = 5\na = {unknown}\nn = 7\nd = {unknown}\n");
        let last = "Value returned is not available: the file does not tell";
        in_order(&text, &[&first, "a = {1, 1, 1, 1}\nd = 0.5\n", last]);
    }
    Ok(())
}

/// Numbers of the debug information whose highest bit is set: bounds, enumerators, constants.
#[test]
fn numbers_without_a_sign_in_the_debug_information() -> Fallible {
    let source = "enum e { A = -1, B = 200, C = 40000, D = -40000, E = 0x7fffffff } e = C;\n\
        enum u { U = 0x80000000u, V = 255 } u = V; enum l { L = 0xffffffffffffffffUL } l = L;\n\
        static const unsigned char byte = 250; static const signed char small = -3;\n\
        struct s { int t[200]; char name[40000]; } st; int a129[129], a256[256], none[0];\n\
        int two[200][300];\n\
        int main(void) { return e + u + l + byte + small + st.t[7] + a129[3] + a256[1]; }\n";
    let commands = [
        "break main",
        "run",
        "print e",
        "print e == C",
        "print (enum e) 200",
        "ptype enum e",
        "print u",
        "ptype enum u",
        "print l",
        "print/d l",
        "print byte",
        "print small",
        "print sizeof(a129)",
        "print sizeof(a256)",
        "ptype st",
        "ptype none",
        "whatis two",
        "print sizeof(two[199])",
        "print sizeof(struct s)",
    ];
    for level in ["-O0", "-O2"] {
        let lab = Lab::c(source, &[level])?;
        lab.same_as_gdb(&commands)?;
    }
    Ok(())
}

#[test]
fn variants_told_by_negative_numbers() -> Fallible {
    let source = "#[repr(i32)] #[derive(Debug)] enum A { M(u8) = -1, N(u16) = -300, P(u8) = 200, R = -70000 }\n\
        #[derive(Debug)] enum Big { A(u64), C([u8; 200]) }\n\
        fn main() {\n    let a = [A::M(1), A::N(2), A::P(3), A::R];\n\
        \x20   let b = [Big::A(1), Big::C([1; 200])];\n    println!(\"{a:?} {b:?}\");\n}\n";
    let lab = Lab::made("rustc", "prog.rs", source, &["-g"])?;
    let text = lab.text(&["break prog.rs:6", "run", "print a", "print b"])?;
    let wanted = "$1 = [prog::A::M(1), prog::A::N(2), prog::A::P(3), prog::A::R]\n\
                  $2 = [prog::Big::A(1), prog::Big::C([1 <repeats 200 times>])]\n";
    assert!(text.ends_with(wanted), "{text}");
    Ok(())
}

/// A bit field keeps as many bits as it has; an object is not given to who takes temporary ones.
#[test]
fn what_is_stored_is_what_is_shown() -> Fallible {
    let source = "#include <string>\n#include <cstdio>\nstruct { int low : 5; unsigned high : 2; } f;\n\
        std::string owner = \"bob\";\nvoid stop() {}\n\
        int main(int n, char **) { std::string t = std::string(n, 'x') + \"y\"; stop();\n\
        \x20 return f.low + t.size() == 0; }\n";
    let lab = Lab::made("g++", "prog.cc", source, &["-O0"])?;
    let commands = [
        "break stop",
        "run",
        "print f.low = -20",
        "print f.low",
        "print f.high = 99",
    ];
    let text = lab.text(&commands)?;
    assert!(text.ends_with("$1 = 12\n$2 = 12\n$3 = 3\n"), "{text}");
    let output = lab.verde(
        &["break stop", "run", "print owner + \"x\"", "print owner"],
        &[],
    )?;
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.ends_with("= \"bob\"\n"), "{text}");
    Ok(())
}
