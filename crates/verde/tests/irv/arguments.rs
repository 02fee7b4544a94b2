//! What a call begins with and returns, where compilers make that hard.

use crate::bench::Bench;
use serde_json::{Value, json};

/// The arguments of the one event that a property with it sees.
fn args(bench: &Bench, event: &str) -> Value {
    let events = bench.events(&[event]);
    assert_eq!(events.len(), 1, "{event}: {events:?}");
    events[0]["args"].clone()
}

fn cpp(source: &str, optimised: &str) -> Bench {
    let bench = Bench::new();
    let options = ["-w", "-std=c++17", optimised];
    bench.compile("g++", "prog.cpp", source, "prog", &options);
    bench
}

/// The optimiser folds what a function does first into what it does later, and describes its
/// parameters as if it were done at the first instruction.
#[test]
fn parameters_that_are_changed_at_once() {
    let bench = Bench::c(
        "#define N __attribute__((noipa))
        struct small { int a, b; }; struct big { int id; long a[4]; };
        N int sink(int x) { asm volatile(\"\" :: \"r\"(x)); return x; }
        N int moved(char *p, int n) { p += 3; n -= 1; sink(*p); return n; }
        N int replaced(int a, int b) { a = b; return sink(a); }
        N int grown(int a, int b, int c, int d, int e, int f, int g) { g++; return sink(g); }
        N double added(double d) { d = d + 1; return d; }
        N struct big whole(struct big s, int k) { s.id += k; return s; }
        int main(void) { struct big b = {6, {1, 2, 3, 4}};
          moved(\"hello\", 5); replaced(29, 30); grown(1, 2, 3, 4, 5, 6, 70); added(1.5);
          return whole(b, 100).id - 106; }",
        &["-O2", "-w"],
    );
    assert_eq!(
        args(&bench, "event moved(p : str, n)"),
        json!({"p": "hello", "n": 5})
    );
    assert_eq!(
        args(&bench, "event replaced(a, b)"),
        json!({"a": 29, "b": 30})
    );
    assert_eq!(args(&bench, "event grown(g)"), json!({"g": 70}));
    assert_eq!(args(&bench, "event added(d)"), json!({"d": 1.5}));
    let whole = json!({"s": {"id": 6, "a": [1, 2, 3, 4]}, "k": 100});
    assert_eq!(args(&bench, "event whole(s, k)"), whole);
    let result = args(&bench, "after event whole(ret.id, ret.a[1])");
    assert_eq!(result, json!({"ret.id": 106, "ret.a[1]": 2}));
}

/// Clones of GCC's: a parameter is in a register of its own, the same in all calls, known where
/// the call is made, or gone; and changed at once all the same.
#[test]
fn parameters_of_clones() {
    for options in [
        &["-gdwarf-5"][..],
        &["-gdwarf-4"],
        &["-gdwarf-5", "-gsplit-dwarf"],
    ] {
        let options = [&["-O2", "-w"], options].concat();
        clones(&Bench::c(CLONES, &options));
    }
}

const CLONES: &str = "#include <stdio.h>
        #define N __attribute__((noinline))
        N int sink(int x) { asm volatile(\"\" :: \"r\"(x)); return x; }
        struct s { int a, b; };
        static N int same(int x, int mode) { volatile int v = x; int r = 0;
          for (int i = 0; i < v; i++) r += mode ? i * mode : -i; return r; }
        static N int member(struct s *p, int unused) { volatile int k = p->a; return k * 3; }
        static N int moved(char *p, int n, int mode) { p += 3; n -= 1; sink(*p); return n * mode; }
        static N int replaced(int a, int b, int mode) { a = b; return sink(a) + mode; }
        int main(int argc, char **argv) { struct s q = {argc, 2}; int r = 0;
          for (int i = 0; i < 2; i++) r += same(i + argc, 7);
          for (int i = 0; i < 2; i++) { q.a = i; r += member(&q, i + 5); }
          r += moved(\"hello\", argc + 4, 2) + moved(\"world\", argc + 5, 2);
          r += replaced(28 + argc, 30 * argc, 5) + replaced(argc, 3 * argc, 5);
          printf(\"%d\\n\", r); return 0; }";

fn clones(bench: &Bench) {
    let seen = |event: &str| -> Vec<Value> {
        let (events, _) = bench.events_and_remarks(&[event]);
        events.iter().map(|e| e["args"].clone()).collect()
    };
    assert_eq!(
        seen("event same(x, mode)"),
        [json!({"x": 1, "mode": 7}), json!({"x": 2, "mode": 7})]
    );
    assert_eq!(
        seen("event member(unused)"),
        [json!({"unused": 5}), json!({"unused": 6})]
    );
    assert_eq!(
        seen("event moved(p : str, n, mode)"),
        [
            json!({"p": "hello", "n": 5, "mode": 2}),
            json!({"p": "world", "n": 6, "mode": 2})
        ]
    );
    assert_eq!(
        seen("after event replaced(entry(a), b)"),
        [
            json!({"entry(a)": 29, "b": 30}),
            json!({"entry(a)": 1, "b": 3})
        ]
    );
    let ran = bench.check_property(
        "state init { transition { event member(p) success bad } } state bad non-accepting",
        &[],
    );
    let said = "`p` was optimised away in 1 of 1 function";
    assert!(ran.err.contains(said), "{}", ran.err);
    assert_eq!(ran.code, 100);
}

/// What is left of a function whose beginning its callers have in themselves is no function.
#[test]
fn parts_of_functions_are_not_called() {
    let bench = Bench::c(
        "#include <stdio.h>
        int table[100], used;
        int look(int *p, int n) { if (__builtin_expect(!p, 1)) return 0; int t = 0;
          for (int i = 0; i < n; i++) { t += p[i]; printf(\"%d \", p[i]); table[i % 100] ^= t; used += printf(\"x\"); }
          for (int i = 0; i < n; i++) { t ^= i * used; printf(\"%d \", t); table[i % 100] += t; }
          puts(\".\"); return t; }
        __attribute__((noinline)) int user(int *p, int n) { return look(p, n) + 1; }
        int main(void) { int some[3] = {1, 2, 3}; int (*volatile f)(int *, int) = look;
          return user(some, 3) + user(0, 2) + f(some, 1) + f(0, 1) == 12345; }",
        &["-O2", "-w"],
    );
    let (events, said) = bench.events_and_remarks(&["event look(n)", "after event look(ret)"]);
    let moments: Vec<&str> = events.iter().filter_map(|e| e["when"].as_str()).collect();
    assert_eq!(
        moments,
        ["before", "after", "before", "after"],
        "{events:?}"
    );
    assert!(said.contains("the compiler split it"), "{said}");
}

#[test]
fn parameters_without_names_and_odd_ones() {
    let source = "
        #include <cstddef>
        #define N __attribute__((noipa))
        struct Packed { char c; int i; } __attribute__((packed));
        N int some(int, int x, double, double y) { asm volatile(\"\"); return x; }
        struct S { N int m(int, long z) { asm volatile(\"\"); return z; } };
        N int packed(Packed p, int x) { asm volatile(\"\"); return x + p.i; }
        N int null(std::nullptr_t n, int x) { asm volatile(\"\"); return x; }
        N int many(int, int, int, int, int, int, long, int x) { asm volatile(\"\"); return x; }
        int main() { S s; some(1, 2, 3.5, 4.5); s.m(7, 8); packed({1, 2}, 12); null(nullptr, 22);
          many(1, 2, 3, 4, 5, 6, -7, 8); }";
    for optimised in ["-O0", "-O2"] {
        let bench = cpp(source, optimised);
        assert_eq!(args(&bench, "event some(x, y)"), json!({"x": 2, "y": 4.5}));
        let all = args(&bench, "event some(arg 0, arg 1, arg 2, arg 3)");
        assert_eq!(
            all,
            json!({"arg 0": 1, "arg 1": 2, "arg 2": 3.5, "arg 3": 4.5})
        );
        assert_eq!(
            args(&bench, "event S::m(z, arg 1)"),
            json!({"z": 8, "arg 1": 7})
        );
        assert_eq!(
            args(&bench, "event packed(x, p.i)"),
            json!({"x": 12, "p.i": 2})
        );
        assert_eq!(args(&bench, "event null(x)"), json!({"x": 22}));
        assert_eq!(
            args(&bench, "event many(arg 6, x)"),
            json!({"arg 6": -7, "x": 8})
        );
    }
}

#[test]
fn structures_are_objects() {
    let bench = cpp(
        "#include <utility>
        struct Bits { unsigned a : 3, b : 5; int : 0; int c : 4; };
        struct Base { int base; }; struct Derived : Base { int own; union { int i; char ch; }; };
        std::pair<int, double> both(int x) { return {x, x * 2.0}; }
        void bits(Bits v) {} void derived(Derived v) {} Derived *find(Derived *d) { return d; }
        int main() { both(27); bits({2, 9, -3}); Derived d; d.base = 1; d.own = 2; d.i = 3; derived(d); find(&d); }",
        "-O0",
    );
    let pair = args(&bench, "after event both(ret)");
    assert_eq!(pair, json!({"ret": {"first": 27, "second": 54.0}}));
    let bits = args(&bench, "event bits(v)");
    assert_eq!(bits, json!({"v": {"a": 2, "b": 9, "c": -3}}));
    let derived = args(&bench, "event derived(v)");
    assert_eq!(
        derived,
        json!({"v": {"base": 1, "own": 2, "i": 3, "ch": 3}})
    );
    let found = args(&bench, "after event find(ret->own, *ret as all)");
    let all = json!({"base": 1, "own": 2, "i": 3, "ch": 3});
    assert_eq!(found, json!({"ret->own": 2, "*ret": all}));
}

#[test]
fn numbers_become_what_is_declared() {
    let bench = Bench::c("void f(int x) {} int main(void) { f(5); return 0; }", &[]);
    assert_eq!(args(&bench, "event f(x : bool)"), json!({"x": true}));
    assert_eq!(
        args(&bench, "event f(x : double)").to_string(),
        "{\"x\":5.0}"
    );
    assert_eq!(args(&bench, "event f(x : int)"), json!({"x": 5}));
    // The last byte alone says nothing of a wider number.
    let bench = Bench::c(
        "void f(int x, char *p, long wide) {} int main(void) { f(256, 0, 1L << 40); return 0; }",
        &["-w"],
    );
    let truths = args(&bench, "event f(x : bool, p : bool, wide : bool)");
    assert_eq!(truths, json!({"x": true, "p": false, "wide": true}));
}

/// rustc passes a `String` by its address, and lists where that is even in unoptimised code.
#[test]
fn strings_by_value_in_rust() {
    let bench = Bench::new();
    bench.rust(
        "#[inline(never)] fn text(s: &str, t: String, n: u8) -> usize { s.len() + t.len() + n as usize }
        mod m { pub struct Stack<T>(pub Vec<T>); impl<T> Stack<T> { #[inline(never)] pub fn push(&mut self, x: T) { self.0.push(x) } } }
        fn main() { assert_eq!(text(\"hey\", String::from(\"world\"), 7), 15); m::Stack(vec![]).push(4u8); m::Stack(vec![]).push(5i64); }",
    );
    let text = args(&bench, "event prog::text(s : str, t : str, n)");
    assert_eq!(text, json!({"s": "hey", "t": "world", "n": 7}));
    // A program's own crate has two names.
    assert_eq!(
        args(&bench, "event crate::m::Stack<u8>::push(x)"),
        json!({"x": 4})
    );
    assert_eq!(bench.events(&["event crate::m::Stack::push(x)"]).len(), 2);
}

/// An inlined call may begin with the first instruction of the function that it is inlined into.
#[test]
fn parameters_of_a_function_that_begins_with_an_inlined_call() {
    let bench = Bench::c(
        "static volatile int sink;
        static inline __attribute__((always_inline)) int twice(int v) { sink = v; asm volatile(\"\" ::: \"memory\"); return v * 2; }
        __attribute__((noipa)) int f(int a, char *name) { return twice(a) + name[0]; }
        int main(void) { return f(21, \"n\") != 42 + 'n'; }",
        &["-O2"],
    );
    let seen = args(&bench, "event f(a, name : str, *name as first)");
    assert_eq!(seen, json!({"a": 21, "name": "n", "*name": 110}));
    let seen = args(&bench, "after event f(entry(a), *name as first, ret)");
    assert_eq!(seen, json!({"entry(a)": 21, "*name": 110, "ret": 152}));
}

/// `crate` is the program's: another crate may have a function of the same path.
#[test]
fn crate_is_the_programs_own() {
    let bench = Bench::new();
    bench.write(
        "other.rs",
        "pub mod m { #[inline(never)] pub fn f(x: u32) -> u32 { std::hint::black_box(x) } }",
    );
    let done = std::process::Command::new("rustc")
        .args([
            "-g",
            "--edition",
            "2021",
            "--crate-type",
            "rlib",
            "other.rs",
        ])
        .current_dir(bench.path("other.rs").parent().expect("a folder"))
        .status()
        .expect("rustc runs");
    assert!(done.success());
    bench.rust_with(
        "mod m { #[inline(never)] pub fn f(x: u32) -> u32 { std::hint::black_box(x) } }
        fn main() { m::f(1); other::m::f(2); m::f(3); }",
        &["--extern", "other=libother.rlib"],
    );
    let seen = |event: &str| -> Vec<Value> {
        let events = bench.events(&[event]);
        events.iter().map(|e| e["args"]["x"].clone()).collect()
    };
    assert_eq!(seen("event crate::m::f(x)"), [json!(1), json!(3)]);
    assert_eq!(seen("event other::m::f(x)"), [json!(2)]);
    assert_eq!(seen("event m::f(x)").len(), 3);
}

/// A parameter of which only a part is left is None, not a text that says so.
#[test]
fn a_value_that_is_gone_is_none() {
    let bench = Bench::new();
    bench.rust_with(
        "#[derive(Clone, Copy)] pub enum Kind { In, Out(u32), Both { a: u8, b: u16 } }
        #[inline(never)] fn kinded(k: Kind, o: Option<&str>) -> usize {
          match k { Kind::In => 0, Kind::Out(n) => n as usize,
            Kind::Both { a, b } => a as usize + b as usize + o.map_or(0, |s| s.len()) } }
        fn main() { println!(\"{}\", kinded(Kind::In, None) + kinded(Kind::Out(7), None)
          + kinded(Kind::Both { a: 1, b: 300 }, Some(\"xyz\"))); }",
        &["-O"],
    );
    let (events, _) = bench.events_and_remarks(&["event crate::kinded(k, o)"]);
    assert_eq!(events.len(), 3, "{events:?}");
    for event in &events {
        assert!(
            !event["args"]["o"].to_string().contains("optimized"),
            "{event}"
        );
    }
    assert_eq!(events[1]["args"]["k"], "prog::Kind::Out(7)");
}

/// As those of C++: the library's values are what the prompt prints.
#[test]
fn strings_and_containers_of_rust_as_they_are_printed() {
    let bench = Bench::new();
    bench.rust(
        "struct Named { name: String, n: u8 }
        #[inline(never)] fn text(s: String, t: &str) -> usize { s.len() + t.len() }
        #[inline(never)] fn list(v: Vec<u16>) -> usize { v.len() }
        #[inline(never)] fn whole(w: Named) -> usize { w.name.len() + w.n as usize }
        fn main() { text(String::from(\"hello\"), \"you\"); list(vec![5, 6]); whole(Named { name: String::from(\"x\"), n: 2 }); }",
    );
    assert_eq!(
        args(&bench, "event crate::text(s, t)"),
        json!({"s": "\"hello\"", "t": "\"you\""})
    );
    let list = args(&bench, "event crate::list(v)");
    assert!(
        list["v"].as_str().is_some_and(|s| s.contains("5, 6")),
        "{list}"
    );
    assert_eq!(
        args(&bench, "event crate::whole(w)"),
        json!({"w": {"name": "\"x\"", "n": 2}})
    );
}

/// Optimised Rust does not return the address to which a result was written.
#[test]
fn results_in_memory_in_rust() {
    for options in [&[][..], &["-O"]] {
        let bench = Bench::new();
        bench.rust_with(
            "pub struct Three { pub a: u64, pub b: u64, pub c: u64 }
            #[inline(never)] fn three(a: u64) -> Three { Three { a, b: a + 1, c: std::hint::black_box(a * 3) } }
            #[inline(never)] fn name(n: u64) -> String { let mut s = String::new(); for _ in 0..n { s.push('x'); } s }
            fn main() { let t = three(std::hint::black_box(5)); let s = name(t.c - 12);
              if t.a + t.b + s.len() as u64 != 14 { std::process::exit(1); } }",
            options,
        );
        assert_eq!(
            args(&bench, "after event prog::name(ret : str)"),
            json!({"ret": "xxx"})
        );
        assert_eq!(
            args(&bench, "after event prog::three(ret.c)"),
            json!({"ret.c": 15})
        );
    }
}

#[test]
fn overloads_by_the_names_that_people_write() {
    let bench = cpp(
        "#include <string>\n#include <vector>\n#include <cstdint>
        namespace ns { void f(const std::string &v) {} void f(std::vector<int *> v) {} void f(std::uint64_t v) {} void f(int v) {} }
        int main() { ns::f(std::string(\"hi\")); ns::f(std::vector<int *>()); ns::f(std::uint64_t(9)); ns::f(4); std::vector<int> v; v.push_back(1); }",
        "-O0",
    );
    for name in ["const std::string &", "std::string const&"] {
        let event = format!("event 'ns::f({name})'(v : str)");
        assert_eq!(args(&bench, &event), json!({"v": "hi"}));
    }
    assert_eq!(
        args(&bench, "event 'ns::f(std::vector<int *>)'()"),
        json!({})
    );
    assert_eq!(args(&bench, "event 'ns::f(size_t)'(v)"), json!({"v": 9}));
    assert_eq!(args(&bench, "event 'ns::f(int)'(v)"), json!({"v": 4}));
    assert_eq!(
        args(&bench, "event std::vector<int>::push_back()"),
        json!({})
    );
}

/// What the C++ library is made of is not for properties.
#[test]
fn strings_and_containers_of_cpp_as_they_are_printed() {
    let bench = cpp(
        "#include <string>\n#include <vector>\n#include <utility>
        struct named { std::string name; int n; };
        void text(std::string s) {} void list(std::vector<int> v) {}
        void whole(named w) {} void two(std::pair<int, int> p) {}
        int main() { text(\"hello\"); list({5, 6}); whole({\"x\", 2}); two({3, 4}); }",
        "-O0",
    );
    let text = args(&bench, "event text(s)");
    assert!(
        text["s"].as_str().is_some_and(|s| s.contains("hello")),
        "{text}"
    );
    let list = args(&bench, "event list(v)");
    assert!(
        list["v"].as_str().is_some_and(|s| s.contains("5, 6")),
        "{list}"
    );
    let whole = args(&bench, "event whole(w)");
    assert!(whole["w"]["name"].is_string(), "{whole}");
    assert_eq!(
        args(&bench, "event two(p)"),
        json!({"p": {"first": 3, "second": 4}})
    );
}

/// What is passed by its address and has no name is not where a number without one would be.
#[test]
fn an_argument_without_a_name_that_is_passed_by_its_address() {
    let bench = cpp(
        "struct Held { int n; Held(int n) : n(n) {} ~Held() { n = 0; } };
        __attribute__((noipa)) int f(Held, int x) { asm volatile(\"\"); return x; }
        int main() { return f(Held(5), 6) - 6; }",
        "-O0",
    );
    assert_eq!(args(&bench, "event f(x)"), json!({"x": 6}));
    let property = "state init accepting {\n  transition { event f(arg 0) success init }\n}\n";
    let ran = bench.check_property(property, &[]);
    assert!(
        ran.err.contains("has no name and cannot be read"),
        "{}",
        ran.err
    );
}

/// Vectors alone in structures, and large ones in code that is not for AVX.
#[test]
fn arguments_beside_vectors() {
    let bench = Bench::c(
        "#include <emmintrin.h>
        typedef float big __attribute__((vector_size(32)));
        struct held { __m128 v; };
        __attribute__((noipa)) int inside(struct held s, int n) { return n; }
        __attribute__((noipa)) big made(int a, long b) { big x = {a, b}; return x; }
        __attribute__((noipa)) int passed(big v, double d, int n) { return n; }
        int main(void) { struct held s = {_mm_set1_ps(2)}; inside(s, 5); big x = made(6, 7);
          return passed(x, 1.5, 8) - 8; }",
        &["-O0", "-w"],
    );
    assert_eq!(args(&bench, "event inside(n)"), json!({"n": 5}));
    // Where a large vector is depends on the processor that the function is for, which the file
    // does not tell; integers have registers of their own.
    assert_eq!(args(&bench, "event passed(n)"), json!({"n": 8}));
    let (seen, remarks) = bench.events_and_remarks(&["event made(a, b)"]);
    assert_eq!(seen[0]["args"], json!({"a": null, "b": null}));
    let why = "`a` cannot be read in 1 of 1 function (the file does not tell whether vectors are in registers): it is None there";
    assert!(remarks.contains(why), "{remarks}");
    let (seen, remarks) = bench.events_and_remarks(&["event passed(v)", "after event made(ret)"]);
    assert_eq!(seen[0]["args"], json!({"ret": null}));
    assert_eq!(seen[1]["args"], json!({"v": null}));
    for name in ["v", "ret"] {
        let why = format!("`{name}` cannot be read in 1 of 1 function (the file");
        assert!(remarks.contains(&why), "{remarks}");
    }
    assert!(!remarks.contains("optimised away"), "{remarks}");
}

/// The linker's names of Rust's methods have paths in them, which are not the marks of clones.
#[test]
fn modules_named_like_the_marks_of_clones() {
    let bench = Bench::new();
    bench.rust(
        "trait Shape { fn area(&self, k: i32) -> i32; }
        mod part { pub struct Piece(pub i32); }
        impl Shape for part::Piece {
            #[inline(never)] fn area(&self, k: i32) -> i32 { self.0 * k }
        }
        fn main() { std::process::exit(part::Piece(3).area(7) - 21); }",
    );
    assert_eq!(args(&bench, "event area(k)"), json!({"k": 7}));
}

/// A type that nobody knows, or that a value cannot become, is an error with its place; the program
/// does not begin.
#[test]
fn declared_types_are_known_and_fit() {
    let bench = Bench::c(
        "#include <stdio.h>\n\
         typedef struct { int lines; } Log; struct conn { int id; };\n\
         int f(struct conn *c, int n, Log *l, unsigned long w, const char *s) {\n\
           return c->id + n + l->lines + (int)w + s[0]; }\n\
         int main(void) { struct conn c = {1}; Log l = {2};\n\
           puts(\"begun\"); return f(&c, 1, &l, 1, \"\") == 0; }",
        &["-O0"],
    );
    let run = |params: &str| {
        bench.write(
            "p.prop",
            &format!(
                "state init {{ transition {{ event f({params}) {{ return False }} success bad }} }}\n\
                 state bad non-accepting"
            ),
        );
        let lint = |options: &[&str]| {
            let done = bench.command("lint").arg("p.prop").args(options).output();
            let done = done.expect("verde runs");
            (
                done.status.code(),
                String::from_utf8_lossy(&done.stdout).into_owned(),
            )
        };
        let alone = lint(&[]);
        assert_eq!(alone.0, Some(0), "{params}: {}", alone.1);
        (
            lint(&["--exe", "./prog"]),
            bench.check(&["-p", "p.prop"], &[]),
        )
    };
    for (params, says) in [
        ("n : struct foo", "the program has no type `struct foo`"),
        ("n : banana", "the program has no type `banana`"),
        ("l : Lag *", "the program has no type `Lag`; near it: Log"),
        (
            "c : struct nosuch *",
            "the program has no type `struct nosuch`",
        ),
        (
            "n : Log *",
            "`n` is of type `int`, which does not convert to `Log *`",
        ),
        (
            "n : Log",
            "`n` is of type `int`, which does not convert to `Log`",
        ),
        ("c : struct conn", "does not convert to `struct conn`"),
    ] {
        let ((code, found), ran) = run(params);
        assert_eq!(code, Some(1), "{params}: {found}");
        assert!(
            found.contains(says) && found.contains("p.prop:1:"),
            "{params}: {found}"
        );
        assert_eq!(ran.code, 1, "{params}: {}", ran.err);
        assert!(
            ran.err.contains(says) && ran.err.contains("p.prop:1"),
            "{params}: {}",
            ran.err
        );
        assert!(!ran.out.contains("begun"), "{params}");
    }
    for params in [
        "c : struct conn *, n : int, l : Log *, w : unsigned long, s : str",
        "c : void *, n : unsigned, l : const Log *, w : Log *, s : const char *",
        "c : ptr, n : size_t, l : uintptr_t, w : FILE *, s : char*, arg 0 : any",
        "*c : struct conn, *l : Log, c->id : long, n : bool, w : u64",
    ] {
        let ((code, found), ran) = run(params);
        assert_eq!(
            (code, ran.code),
            (Some(0), 0),
            "{params}: {found} {}",
            ran.err
        );
    }
}

/// What LLVM no longer passes is `None`, not what happens to be in the register.
#[test]
fn parameters_that_llvm_took_away_are_none() {
    let bench = Bench::new();
    bench.rust_with(
        "#[inline(never)] fn oi(o: Option<i64>) -> i64 { std::hint::black_box(&o); o.unwrap_or(0) }\n\
         #[inline(never)] fn sl(o: &[i32]) -> usize { std::hint::black_box(&o); o.len() }\n\
         fn main() { let n = oi(Some(7)) + oi(None) + sl(&[1, 2, 3]) as i64; println!(\"{n}\"); }",
        &["-O"],
    );
    bench.write(
        "p.prop",
        "state init { transition { event prog::oi(o) { print(o); return False } success bad }\n\
         transition { event prog::sl(o) { print(o); return False } success bad } }\n\
         state bad non-accepting",
    );
    let ran = bench.check(&["-p", "p.prop"], &[]);
    let printed: Vec<_> = ran.of_type("print").into_iter().collect();
    let texts: Vec<&str> = printed.iter().filter_map(|r| r["text"].as_str()).collect();
    assert_eq!(texts, ["None", "None", "None"], "{}", ran.err);
    let says = "`o` was optimised away in 1 of 1 function: it is None there";
    assert_eq!(ran.err.matches(says).count(), 2, "{}", ran.err);
}

/// Of parameters of which only a part is left each expression is told apart: those that can be read
/// are, and those that cannot are counted when the property is loaded.
#[test]
fn what_is_left_of_parameters() {
    let bench = Bench::new();
    bench.rust_with(
        "use std::hint::black_box;\n\
         pub struct Account { id: u64, balance: i64 }\n\
         impl Account {\n\
             #[inline(never)] fn pay(&mut self, n: i64) -> i64 { self.balance -= n; black_box(self.balance) }\n\
             #[inline(never)] fn number(&self) -> u64 { black_box(self.id) + 1 }\n\
         }\n\
         #[inline(never)] fn length(s: &str) -> usize { black_box(s.len()) }\n\
         #[inline(never)] fn item(s: &[i32], k: usize) -> i32 { black_box(s[k]) }\n\
         #[inline(never)] fn pair(p: (i32, i64)) -> i32 { black_box(p.0) }\n\
         fn main() {\n\
             let mut a = Account { id: black_box(7), balance: black_box(100) };\n\
             let v = vec![1, 2, 3];\n\
             let n = a.pay(black_box(5)) as usize + a.number() as usize + length(black_box(\"hello\"));\n\
             let n = n + item(&v, black_box(1)) as usize + pair((black_box(3), 4)) as usize;\n\
             println!(\"{n} {}\", a.balance);\n\
         }",
        &["-O"],
    );
    let events = [
        "event prog::Account::pay(self.balance, n)",
        "event prog::Account::number(self, self.id, *self as it)",
        "event prog::length(s : str, s.length)",
        "event prog::item(s, s.length, k)",
        "event prog::pair(p, p.__0 as a, p.__1 as b)",
    ];
    let (seen, remarks) = bench.events_and_remarks(&events);
    let args: Vec<&Value> = seen.iter().map(|e| &e["args"]).collect();
    assert_eq!(*args[0], json!({"self.balance": 100, "n": 5}));
    // None of it is None that nothing was said about, and the other way round.
    for (event, args) in seen.iter().zip(&args) {
        let name = event["event"].as_str().expect("a name");
        for (text, value) in args.as_object().expect("arguments") {
            let says = format!("event {name}: `{text}` was optimised away in 1 of 1 function: it");
            assert_eq!(
                value.is_null(),
                remarks.contains(&says),
                "{says}\n{remarks}"
            );
        }
    }
    assert_eq!(*args[2], json!({"s": null, "s.length": 5}), "{remarks}");
    assert_eq!(args[3]["s.length"], 3, "{remarks}");
    let part = "event prog::pair: `p` was optimised away in part in 1 of 1 function: what is missing is None there";
    assert!(remarks.contains(part), "{remarks}");
    assert_eq!(args[4]["p"], json!({"__0": 3, "__1": null}), "{remarks}");

    let (_, found) = bench.lint("all.prop");
    assert!(found.contains(part), "{found}");
    let text = bench.debug(&["-p", "all.prop"], &[]);
    assert!(text.contains(part), "{text}");
}

/// At a line inside a function what the body no longer has may be known by the call.
#[test]
fn variables_at_a_line_that_only_the_caller_knows() {
    let bench = Bench::c(
        "#include <stdio.h>
        struct s { int a, b; };
        __attribute__((noinline)) static int use(struct s *p, int k) { int far = k * 3;
          asm volatile(\"\" ::: \"memory\"); int z = far + p->b;
          printf(\"%d\\n\", z);
          return z; }
        int main(int argc, char **argv) { struct s q = {argc, 2}; int r = 0;
          for (int i = 0; i < 2; i++) r += use(&q, i);
          return r == 999; }",
        &["-O2", "-w"],
    );
    let (seen, remarks) = bench.events_and_remarks(&["event line prog.c:6(far, z, k, p->b)"]);
    let args: Vec<&Value> = seen.iter().map(|e| &e["args"]).collect();
    let first = json!({"far": 0, "z": 2, "k": 0, "p->b": 2});
    let second = json!({"far": 3, "z": 5, "k": 1, "p->b": 2});
    assert_eq!(args, [&first, &second], "{remarks}");
    let says = "`k` was optimised away in 1 of 1 place: it is what the caller's code tells there, else None";
    assert!(remarks.contains(says), "{remarks}");
}

/// What a pointer pointed to is known though the compiler did without the pointer.
#[test]
fn pointers_that_are_only_implied() {
    let bench = Bench::c(
        "#include <stdio.h>
        struct s { int a, b; };
        __attribute__((noipa)) int f(int c) { struct s q = {c, c + 1}; struct s *w = &q;
          asm volatile(\"nop\" :: \"r\"(q.a), \"r\"(q.b));
          return q.a + w->b; }
        int main(int c, char **v) { return f(c + 4) - 11; }",
        &["-O2"],
    );
    let (seen, remarks) =
        bench.events_and_remarks(&["event line prog.c:5(w->b, *w as it, w as at)"]);
    let args = &seen[0]["args"];
    assert_eq!(args["w->b"], 6, "{remarks}");
    assert_eq!(args["*w"], json!({"a": 5, "b": 6}), "{remarks}");
    assert_eq!(args["w"], Value::Null, "{remarks}");
    assert_eq!(remarks.matches("optimised away").count(), 1, "{remarks}");
    assert!(remarks.contains("`w` was optimised away in"), "{remarks}");
}

/// What is in a register has no address.
#[test]
fn addresses_of_what_is_in_registers() {
    let bench = Bench::c(
        "struct big { long v[5]; };
        __attribute__((noipa)) long f(int k, struct big b) { return k + b.v[1]; }
        int main(void) { struct big b = {{1, 2}}; return f(3, b) - 5; }",
        &["-O1"],
    );
    let (seen, remarks) = bench.events_and_remarks(&["event f(&k, &b)"]);
    assert_eq!(seen[0]["args"]["&k"], Value::Null);
    assert!(seen[0]["args"]["&b"].is_u64(), "{}", seen[0]);
    let says = "`&k` has no address in 1 of 1 function (what it is of is in registers)";
    assert!(remarks.contains(says), "{remarks}");
    assert!(!remarks.contains("`&b`"), "{remarks}");
}

/// A reference is what it refers to; there is nothing to follow in it, which is said at load.
#[test]
fn references_are_not_followed_twice() {
    let source = "struct P { int a, b; };\n\
        __attribute__((noipa)) void f(int &r, P &p, int *&q, int n, unsigned long w) {\n\
        \x20 asm volatile(\"\" :: \"r\"(&r), \"r\"(&p), \"r\"(w), \"r\"(n) : \"memory\"); r++; }\n\
        int main() { int v = 5; P p{1, 2}; int *q = &v; f(v, p, q, 3, (unsigned long)&v); return v - 6; }\n";
    for level in ["-O0", "-O2"] {
        let bench = cpp(source, level);
        let seen = bench.events(&["event f(r, &r as at, p.b, q, *q as there)"]);
        let seen = &seen[0]["args"];
        assert_eq!(seen["r"], 5, "{level}");
        assert_eq!(seen["&r"], seen["q"], "{level}");
        assert_eq!(
            (&seen["p.b"], &seen["*q"]),
            (&json!(2), &json!(5)),
            "{level}"
        );
        for (param, says) in [
            (
                "*r",
                "`*r`: `r` is a reference: write `r` for what it refers to, `&r` for its address",
            ),
            ("*arg 0", "`*arg 0`: `arg 0` is a reference"),
            ("entry(*r)", "`r` is a reference"),
            ("*n", "`*n`: `n` is no pointer"),
            ("**q", "`**q`: `*q` is no pointer"),
        ] {
            let property = format!(
                "state init {{ transition {{ after event f({param}) success bad }} }}\nstate bad non-accepting"
            );
            let ran = bench.check_property(&property, &[]);
            assert_eq!(ran.code, 1, "{param}: {}", ran.err);
            assert!(ran.err.contains(says), "{param}: {}", ran.err);
            let (code, found) = bench.lint("p.prop");
            assert_eq!(code, Some(1), "{param}: {found}");
            assert!(found.contains(says), "{param}: {found}");
        }
    }
}

/// Types that a program declares and never defines are known, by either name.
#[test]
fn declared_types_that_are_never_defined() {
    let bench = Bench::c(
        "struct hidden; typedef struct hidden hid; typedef void *handle;
        __attribute__((noipa)) int use(struct hidden *h, hid *g, handle k) { return h != 0; }
        int main(void) { return use(0, 0, 0); }",
        &["-O0"],
    );
    let event = "event use(h : struct hidden *, g : hid *, k : handle)";
    assert_eq!(args(&bench, event), json!({"h": 0, "g": 0, "k": 0}));
}

/// GCC describes more parameters of constructors than the one form or the other is passed.
#[test]
fn constructors_with_virtual_bases() {
    let source = "struct Base { int id; Base(int i) : id(i) {} virtual ~Base() {} };\n\
        struct Mid : virtual Base { int m; Mid(int i) : Base(i), m(i) {} };\n\
        struct Low : Mid { Low(int i, int j) : Base(i), Mid(j) {} };\n\
        int main() { Low low(1, 10); Mid mid(100); return low.id + mid.m == 0; }\n";
    for level in ["-O0", "-O2"] {
        let bench = cpp(source, level);
        bench.compile("g++", "prog.cc", source, "prog", &[level, "-fno-inline"]);
        let seen = bench.events(&["event Mid::Mid(i)", "event Low::Low(i, j)"]);
        let seen: Vec<Value> = seen.iter().map(|e| e["args"].clone()).collect();
        let wanted = [
            json!({"i": 1, "j": 10}),
            json!({"i": 10}),
            json!({"i": 100}),
        ];
        assert_eq!(seen, wanted, "{level}");
    }
}

/// A member that no variant of an enum of Rust has is an error; one of another variant is `None`.
#[test]
fn members_of_enums() {
    let bench = Bench::new();
    bench.rust(
        "pub enum Node { Leaf { n: i64 }, Pair { one: i64, two: i64 } }
        #[inline(never)] fn f(n: &Node, k: Option<i32>) { std::hint::black_box((n, k)); }
        fn main() { f(&Node::Pair { one: 1, two: 2 }, Some(3)); f(&Node::Leaf { n: 4 }, None); }",
    );
    let seen = bench.events(&["event crate::f(n.n as x, n.two as y)"]);
    let seen: Vec<_> = seen.iter().map(|e| e["args"].clone()).collect();
    let wanted = [
        json!({"n.n": null, "n.two": 2}),
        json!({"n.n": 4, "n.two": null}),
    ];
    assert_eq!(seen, wanted);
    for event in [
        "event crate::f(n.nosuch as x)",
        "event crate::f(k.nosuch as x)",
    ] {
        let property = format!(
            "state init {{ transition {{ {event} success bad }} }} state bad non-accepting"
        );
        let ran = bench.check_property(&property, &[]);
        assert_eq!(ran.code, 1, "{}", ran.err);
        assert!(ran.err.contains("no member named nosuch"), "{}", ran.err);
    }
}
