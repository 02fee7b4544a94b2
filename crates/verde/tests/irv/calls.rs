//! Events of calls and returns, with their parameters.

use crate::bench::Bench;
use serde_json::json;

const QUEUE: &str = r#"
#include <stdio.h>
struct queue { int size, n; int items[64]; };
void queue_new(struct queue *queue, int size) { queue->size = size; queue->n = 0; }
void queue_push(struct queue *queue, int prod_id) { /* line 5 */
    queue->items[queue->n++ & 63] = prod_id; }
int queue_pop(struct queue *queue, int prod_id) { return queue->items[--queue->n & 63]; }
static void overflow(struct queue *queue) {
    queue_push(queue, 77); /* line 9 */
}
int main(int argc, char **argv) {
    struct queue a, b;
    queue_new(&a, 64); queue_new(&b, 4);
    for (int i = 0; i < 3; i++) queue_push(&b, i);
    queue_push(&a, 1); queue_pop(&a, 1);
    if (argc > 1) overflow(&b); /* line 16 */
    puts("out"); fputs("err\n", stderr);
    return 3;
}
"#;

const PROPERTY: &str = "slice on queue
initialization: {N = 0; maxSize = 0}
state init accepting:
	transition:
		event queue_new(queue, size : int) { maxSize = size - 1 }
		success queue_ready
state queue_ready accepting:
	transition:
		event queue_push(queue, prod_id) { return N < maxSize }
		success { N = N + 1; print(\"nb elem: \"+str(N));} queue_ready
		failure { print(\"%d made %d overflow!\"% (prod_id, queue)) } sink
	transition:
		event queue_pop(queue, prod_id) { return N > 0 }
		success { N = N - 1 } queue_ready
		failure sink
state sink non-accepting sink_reached()
";

#[test]
fn the_papers_queue() {
    let bench = Bench::c(QUEUE, &[]);
    let good = bench.check_property(PROPERTY, &[]);
    assert_eq!(good.code, 3, "the program's own status: {}", good.err);
    assert_eq!(good.out, "out\n");
    let last = good.last();
    assert_eq!(last["events"], 7);
    assert_eq!(last["program"], json!({"exit": 3}));
    assert_eq!(last["properties"][0]["verdict"], "true");
    assert_eq!(
        last["properties"][0]["slices"]["by_state"],
        json!({"queue_ready": 2})
    );

    let bad = bench.check_property(PROPERTY, &["x"]);
    assert_eq!(bad.code, 100);
    assert_eq!(bad.out, "out\n");
    let violations = bad.of_type("violation");
    assert_eq!(violations.len(), 1);
    let v = violations[0];
    assert_eq!(v["state"], "sink");
    assert_eq!(v["loc"], "prog.c:5");
    assert_eq!(v["n"], 8);
    assert_eq!(
        v["backtrace"],
        json!([
            "queue_push at prog.c:5",
            "overflow at prog.c:9",
            "main at prog.c:16"
        ])
    );
    assert_eq!(v["history"].as_array().map(Vec::len), Some(5));
    let prints = bad.of_type("print");
    assert!(
        prints
            .iter()
            .any(|p| p["text"].as_str().is_some_and(|t| t.ends_with("overflow!")))
    );
}

const KINDS: &str = r#"
#include <stdint.h>
#include <stdbool.h>
#define N __attribute__((noipa))
enum color { RED, GREEN = 5, BLUE = 9 };
struct pair { int a, b; }; struct big { long a[3]; int tail; };
static volatile long sink;
N void f_small(signed char c, unsigned char u, short s, bool b, enum color e) { sink += c + u + s + b + e; }
N void f_wide(uint64_t u, int64_t i) { sink += u + i; }
N void f_float(double d, float f, int i) { sink += d + f + i; }
N void f_struct(struct pair p, struct big g) { sink += p.a + g.tail; }
N void f_many(int a, int b, int c, int d, int e, int f, int g, long h) { sink += a + h; }
N int f_out(int *p, int v) { *p = v; return v + 1; }
N const char *f_text(const char *s) { sink += s[0]; return "back"; }
int main(void) {
    struct pair p = {7, -8}; struct big g = {{1, 2, 3000000000}, 44}; int out = 0;
    f_small(-3, 200, -300, true, BLUE); f_wide(UINT64_MAX, INT64_MIN); f_float(-2.5, 0.25f, 4);
    f_struct(p, g); f_many(1, 2, 3, 4, 5, 6, 77, 9000000000); f_out(&out, 5); f_text("hello");
    return 0;
}
"#;

#[test]
fn every_kind_of_parameter_at_the_entry() {
    for optimise in ["-O0", "-O2"] {
        let bench = Bench::c(KINDS, &[optimise]);
        let seen = bench.seen(&[
            "event f_small(c, u, s, b, e)",
            "event f_wide(u, i)",
            "event f_float(d, arg 1, arg 2)",
            "event f_struct(p.a, p.b as second, g.a[2] as third, g.tail)",
            "event f_many(a, arg 6, h)",
            "after event f_out(*p, v, ret)",
            "before event f_text(s : str, *s as first)",
            "after event f_text(ret : str, entry(s) : str)",
        ]);
        assert_eq!(
            seen,
            [
                r#"call before f_small {"b":true,"c":-3,"e":9,"s":-300,"u":200}"#,
                r#"call before f_wide {"i":-9223372036854775808,"u":18446744073709551615}"#,
                r#"call before f_float {"arg 1":0.25,"arg 2":4,"d":-2.5}"#,
                r#"call before f_struct {"g.a[2]":3000000000,"g.tail":44,"p.a":7,"p.b":-8}"#,
                r#"call before f_many {"a":1,"arg 6":77,"h":9000000000}"#,
                r#"call after f_out {"*p":5,"ret":6,"v":5}"#,
                r#"call before f_text {"*s":104,"s":"hello"}"#,
                r#"call after f_text {"entry(s)":"hello","ret":"back"}"#,
            ],
            "{optimise}"
        );
    }
}

#[test]
fn functions_of_a_stripped_library_by_position() {
    let bench = Bench::new();
    bench.compile(
        "gcc",
        "lib.c",
        "static volatile long s; __attribute__((noipa)) long lib_sum(int a, long b, unsigned char c, double d, int e, int f, int g, int h)\n\
         { s += a + b + c + d + h; return -a; }",
        "liblab.so",
        &["-O2", "-shared", "-fPIC", "-s"],
    );
    bench.compile(
        "gcc",
        "prog.c",
        "long lib_sum(int, long, unsigned char, double, int, int, int, int);\n\
         int main(void) { lib_sum(-1, -2000000000000, 250, 1.5, 5, 6, 7, -8); return 0; }",
        "prog",
        &["-O2", "-s", "-L.", "-llab", "-Wl,-rpath,$ORIGIN"],
    );
    let seen = bench.seen(&[
        "event lib_sum(arg 0 : int, arg 1 : long, arg 2 : unsigned char, arg 6 : int)",
        "event liblab.so!lib_sum(arg 0 as x : double)",
        "after event lib_sum(ret : long)",
    ]);
    assert_eq!(
        seen,
        [
            r#"call before lib_sum {"arg 0":-1,"arg 1":-2000000000000,"arg 2":250,"arg 6":-8}"#,
            r#"call before liblab.so!lib_sum {"arg 0":1.5}"#,
            r#"call after lib_sum {"ret":1}"#,
        ]
    );
}

#[test]
fn returns_of_recursion_and_of_calls_that_were_running() {
    let bench = Bench::c(
        "__attribute__((noinline)) int deep(int n) { if (n == 0) return 0; return 1 + deep(n - 1); }\n\
         int main(void) { return deep(4); }",
        &["-O0"],
    );
    let seen = bench.seen(&["after event deep(n, ret)"]);
    let wanted: Vec<String> = (0..5)
        .map(|n| format!(r#"call after deep {{"n":{n},"ret":{n}}}"#))
        .collect();
    assert_eq!(seen, wanted);
    // The first call is under way when its return becomes interesting.
    let ran = bench.check_property(
        "initialization { n = 0 }
         state init accepting { transition { before event deep(n as k) success inside } }
         state inside accepting {
             transition { after event deep(n as k, ret) { return ret == k } success { n = n + 1 } inside failure bad } }
         state bad non-accepting",
        &[],
    );
    assert_eq!(ran.last()["events"], 6, "{}", ran.err);
    assert_eq!(ran.code, 4);
}

#[test]
fn frames_left_by_exceptions_and_longjmp() {
    let bench = Bench::new();
    bench.compile(
        "g++",
        "prog.cpp",
        "#include <csetjmp>\n#include <stdexcept>\n\
         jmp_buf jb; volatile int sink;\n\
         __attribute__((noinline)) void thrower(int x) { if (x > 1) throw std::runtime_error(\"x\"); sink++; }\n\
         __attribute__((noinline)) void jumper(int x) { if (x > 1) longjmp(jb, 1); sink++; }\n\
         __attribute__((noinline)) void after() { sink++; }\n\
         int main() { for (int i = 0; i < 3; i++) {\n\
           try { thrower(i); } catch (std::exception &) { }\n\
           if (!setjmp(jb)) jumper(i); } after(); return 0; }",
        "prog",
        &["-O1"],
    );
    let seen = bench.seen(&[
        "after event thrower(x)",
        "event unwound thrower(x)",
        "after event jumper(x)",
        "event unwound jumper(x)",
    ]);
    assert_eq!(
        seen,
        [
            r#"call after thrower {"x":0}"#,
            r#"call after jumper {"x":0}"#,
            r#"call after thrower {"x":1}"#,
            r#"call after jumper {"x":1}"#,
            r#"unwound before thrower {"x":2}"#,
            r#"unwound before jumper {"x":2}"#,
        ]
    );
}

/// A call that panics is made again from the same place: the new one is no tail call.
#[test]
fn frames_left_by_panics() {
    let bench = Bench::new();
    bench.rust(
        "#[inline(never)] fn on() { std::hint::black_box(()); }\n\
         #[inline(never)] fn off() { std::hint::black_box(()); }\n\
         #[inline(never)] fn f(x: i32) -> i32 {\n\
             if x % 2 == 0 { off(); panic!(); }\n\
             on(); x }\n\
         fn main() { std::panic::set_hook(Box::new(|_| {})); on();\n\
             for i in 0..4 { let _ = std::panic::catch_unwind(|| f(i)); } }",
    );
    let events = ["after event prog::f(x, ret)", "event unwound prog::f(x)"];
    assert_eq!(
        bench.seen(&events),
        [
            r#"unwound before prog::f {"x":0}"#,
            r#"call after prog::f {"ret":1,"x":1}"#,
            r#"unwound before prog::f {"x":2}"#,
            r#"call after prog::f {"ret":3,"x":3}"#,
        ]
    );
    // Those that return began when nobody waited for that.
    bench.write(
        "p.prop",
        "state init accepting { transition { event prog::on() success watching } }
         state watching accepting {
             transition { after event prog::f(x, ret) { print(x, ret) } success watching }
             transition { event prog::off() success init }
         }",
    );
    let ran = bench.check(&["-p", "p.prop"], &[]);
    assert_eq!(ran.printed(), ["None 1", "None 3"], "{}", ran.err);
}

#[test]
fn methods_overloads_and_templates_of_cpp() {
    let bench = Bench::new();
    bench.compile(
        "g++",
        "prog.cpp",
        "namespace ns { struct C { int v; __attribute__((noinline)) int m(int a) { return v + a; }\n\
         __attribute__((noinline)) int m(double a) { return v + (int)a; } };\n\
         template <class T> __attribute__((noinline)) T twice(T x) { return x + x; } }\n\
         int main() { ns::C c{5}; c.m(3); c.m(2.5); ns::twice(4); ns::twice(1.5); return 0; }",
        "prog",
        &["-O0"],
    );
    let seen = bench.seen(&["event ns::C::m(this->v, a)", "event ns::twice(x)"]);
    assert_eq!(
        seen,
        [
            r#"call before ns::C::m {"a":3,"this->v":5}"#,
            r#"call before ns::C::m {"a":2.5,"this->v":5}"#,
            r#"call before ns::twice {"x":4}"#,
            r#"call before ns::twice {"x":1.5}"#,
        ]
    );
    let one = bench.seen(&["event 'ns::C::m(double)'(a)", "event ns::twice<double>(x)"]);
    assert_eq!(
        one,
        [
            r#"call before ns::C::m(double) {"a":2.5}"#,
            r#"call before ns::twice<double> {"x":1.5}"#,
        ]
    );
}

#[test]
fn paths_and_generics_of_rust() {
    let bench = Bench::new();
    bench.rust(
        "mod m { pub struct Stack<T> { pub items: Vec<T> }\n\
         impl<T> Stack<T> { #[inline(never)] pub fn push(&mut self, t: T) -> usize { self.items.push(t); self.items.len() } } }\n\
         #[inline(never)] fn named(name: &str, flag: bool) -> i64 { if flag { name.len() as i64 } else { -1 } }\n\
         fn main() { let mut a = m::Stack { items: vec![] }; let mut b = m::Stack { items: vec![] };\n\
         a.push(5i32); b.push(2.5f64); a.push(-6i32); std::process::exit(named(\"abc\", true) as i32); }",
    );
    let seen = bench.seen(&[
        "event prog::m::Stack<i32>::push(t)",
        "after event prog::m::Stack::push(ret)",
        "event prog::named(name : str, flag)",
    ]);
    assert_eq!(
        seen,
        [
            r#"call before prog::m::Stack<i32>::push {"t":5}"#,
            r#"call after prog::m::Stack::push {"ret":1}"#,
            r#"call after prog::m::Stack::push {"ret":1}"#,
            r#"call before prog::m::Stack<i32>::push {"t":-6}"#,
            r#"call after prog::m::Stack::push {"ret":2}"#,
            r#"call before prog::named {"flag":true,"name":"abc"}"#,
        ]
    );
}

#[test]
fn a_library_that_is_loaded_later() {
    let bench = Bench::new();
    bench.compile(
        "gcc",
        "late.c",
        "int late(int x) { return x + 1; }",
        "late.so",
        &["-shared", "-fPIC"],
    );
    bench.compile(
        "gcc",
        "prog.c",
        "#include <dlfcn.h>\nint main(void) { for (int i = 0; i < 2; i++) { void *l = dlopen(\"./late.so\", RTLD_NOW);\n\
         int (*f)(int) = dlsym(l, \"late\"); f(i); dlclose(l); } return 0; }",
        "prog",
        &["-ldl"],
    );
    bench.write(
        "all.prop",
        "state init accepting { transition { event late(x) success init } }",
    );
    let ran = bench.check(&["-p", "all.prop"], &[]);
    assert_eq!(ran.last()["events"], 2, "{}", ran.err);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.err.contains("late is not in the program"),
        "{}",
        ran.err
    );
}

#[test]
fn indirect_functions_stand_for_the_variant_that_runs() {
    let bench = Bench::c(
        "#include <string.h>\nint main(int c, char **v) { char b[64]; int n = 0;\n\
         for (int i = 0; i < 2; i++) { n += strlen(v[0]); memcpy(b, v[0], 3 + i); } return n; }",
        &["-O0", "-fno-builtin"],
    );
    let seen = bench.seen(&[
        "event memcpy(arg 2)",
        "after event strlen(arg 0 : str, ret)",
    ]);
    // The program sees the name that the user wrote, too.
    let wanted: Vec<String> = (3..5)
        .flat_map(|n| {
            [
                r#"call after strlen {"arg 0":"./prog","ret":6}"#.to_owned(),
                format!(r#"call before memcpy {{"arg 2":{n}}}"#),
            ]
        })
        .collect();
    assert_eq!(seen, wanted);
}

/// What the kernel brings stands behind the library's function, which is loaded later.
#[test]
fn a_function_that_the_kernel_brings_as_well() {
    let bench = Bench::new();
    bench.compile(
        "gcc",
        "lib.c",
        "int clock_gettime(int clock_id, void *at) { asm volatile(\"\" :: \"r\"(at)); return clock_id; }",
        "libown.so",
        &["-shared", "-fPIC", "-O1"],
    );
    bench.compile(
        "gcc",
        "prog.c",
        "int clock_gettime(int, void *); int main(void) { return clock_gettime(3, 0) - 3; }",
        "prog",
        &["-O1", "-L.", "-lown", "-Wl,-rpath,$ORIGIN"],
    );
    let seen = bench.seen(&["event clock_gettime(clock_id)"]);
    assert_eq!(seen, ["call before clock_gettime {\"clock_id\":3}"]);
}

/// A run that is refused before it begins ends, although nothing stops the program.
#[test]
fn a_run_that_is_refused_late_ends() {
    let bench = Bench::c("int main(void) { return 0; }", &[]);
    for name in [
        "__vdso_clock_gettime",
        "ld-linux-x86-64.so.2!_dl_catch_error",
    ] {
        let text = format!(
            "state init accepting {{ transition {{ event {name}(nosuch) success init }} }}"
        );
        bench.write("p.prop", &text);
        let mut check = std::process::Command::new("timeout");
        check.args([
            "60",
            env!("CARGO_BIN_EXE_verde"),
            "check",
            "-p",
            "p.prop",
            "./prog",
        ]);
        let done = check
            .current_dir(bench.path(""))
            .output()
            .expect("timeout runs");
        let err = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{err}");
        assert!(err.contains("the program was not run"), "{err}");
    }
}

#[test]
fn one_instance_of_a_line_may_lack_what_the_others_have() {
    let bench = Bench::new();
    bench.compile(
        "g++",
        "prog.cc",
        "struct S { int a[9]; };\n\
         template <class T> __attribute__((noinline)) int at(T v) {\n\
         asm volatile(\"\" :: \"m\"(v));\n\
         return sizeof v; }\n\
         int main() { return at(1) + at(S()) - 40; }",
        "prog",
        &["-O0"],
    );
    let property = |param: &str| {
        format!("state init accepting {{ transition {{ event line prog.cc:4({param} as it : int) {{ return it == 1 }} success seen }} }}
state seen accepting {{ transition {{ event at() success bad }} }}
state bad non-accepting")
    };
    let ran = bench.check_property(&property("v"), &[]);
    assert_eq!(ran.code, 100, "{}", ran.err);
    assert!(
        ran.err.contains("warning: event line prog.cc:4"),
        "{}",
        ran.err
    );
    let none = bench.check_property(&property("w"), &[]);
    assert_eq!(none.code, 1, "{}", none.err);
}

/// What is passed in a register is a number for whoever declares one.
#[test]
fn small_structures_are_their_words() {
    let bench = Bench::c(
        "union any { int *i; long *l; } __attribute__((transparent_union));\n\
         struct one { long n; }; struct two { short a, b; }; struct real { double d; };\n\
         __attribute__((noinline)) struct two f(union any p, struct one o, struct two t, struct real r)\n\
         { asm volatile(\"\" :: \"r\"(p.i), \"r\"(o.n), \"r\"(r.d)); return t; }\n\
         int main(void) { struct one o = { -5 }; struct two t = { 7, 1 }; struct real r = { 1.5 };\n\
         return f((int *)16, o, t, r).b - 1; }",
        &["-O1"],
    );
    let seen = bench.seen(&[
        "event f(arg 0 as p : unsigned long, o : long, t : short, r : double)",
        "after event f(ret as all : unsigned int)",
    ]);
    assert_eq!(
        seen,
        [
            "call before f {\"arg 0\":16,\"o\":-5,\"r\":1.5,\"t\":7}",
            "call after f {\"ret\":65543}",
        ]
    );
}

/// Which function of a name lacks a parameter, and what is left of one that is nowhere.
#[test]
fn warnings_name_the_library_and_what_was_inlined() {
    let bench = Bench::new();
    let library = "int step(int other) { return other; }\nint own(void) { return step(1); }";
    bench.compile(
        "gcc",
        "lib.c",
        library,
        "libstep.so",
        &["-O0", "-shared", "-fPIC"],
    );
    let program = "static void gone(int l) { int k = l * 2; (void)k; }\n\
        __attribute__((noinline)) static int step(int i) { asm volatile(\"\" :: \"r\"(i)); return i; }\n\
        int own(void);\n\
        int main(int c, char **v) { gone(c); return step(c) + own() > 5; }";
    let options = ["-O2", "-L.", "-lstep", "-Wl,-rpath,$ORIGIN"];
    bench.compile("gcc", "prog.c", program, "prog", &options);
    bench.write(
        "p.prop",
        "state init { transition { event step(i) { return i > 9 } success bad }\n\
         transition { event gone(l) success bad } }\nstate bad non-accepting",
    );
    let ran = bench.check(&["-p", "p.prop"], &[]);
    for says in [
        "event step: in libstep.so: No symbol \"i\"",
        "event gone: it was inlined, and nothing is left of its calls",
    ] {
        assert!(ran.err.contains(says), "{}", ran.err);
    }
}

/// A library may bring what the program has only inlined; by the bare name of a function of the C
/// library Rust's own of that name is not meant.
#[test]
fn inlined_calls_beside_functions_of_libraries() {
    let bench = Bench::new();
    bench.rust_with(
        "fn main() { let mut v: Vec<u64> = Vec::new();\n\
         for i in 0..std::env::args().count() as u64 * 100 { v.push(i); }\n\
         println!(\"{}\", v.len()); }",
        &["-O"],
    );
    let property = |event: &str| {
        format!(
            "state init {{ transition {{ event {event}() success bad }} }}\nstate bad non-accepting"
        )
    };
    let ran = bench.check_property(&property("realloc"), &[]);
    assert_eq!(ran.code, 100, "{}", ran.err);
    assert!(!ran.err.contains("inlined"), "{}", ran.err);
    assert_eq!(bench.lint("p.prop"), (Some(0), "no findings\n".to_owned()));
    let ran = bench.check_property(&property("alloc::alloc::realloc"), &[]);
    assert!(ran.err.contains("inlined: not observable"), "{}", ran.err);

    let source = "static inline int twice(int k) { asm volatile(\"nop\" :: \"r\"(k)); return k * 2; }\n\
        int main(int c, char **v) { return twice(c) + twice(c + 1) == 1; }";
    for (options, alone) in [(&["-O2"][..], false), (&["-O2", "-static"], true)] {
        let bench = Bench::c(source, options);
        let ran = bench.check_property(&property("twice"), &[]);
        assert_eq!(ran.code, 101, "{}", ran.err);
        let says = "event twice: 2 calls inlined: not observable";
        assert!(ran.err.contains(says), "{}", ran.err);
        assert_eq!(ran.err.contains("there is no other"), alone, "{}", ran.err);
        for untrue in ["not in the program", "never found in the program"] {
            assert!(!ran.err.contains(untrue), "{}", ran.err);
        }
        let (_, found) = bench.lint("p.prop");
        assert!(found.contains(says), "{found}");
        assert!(!found.contains("has no function"), "{found}");
    }
}

/// What a library does with its own functions is not counted when a process is attached to.
#[test]
fn inlined_calls_of_a_library_by_name() {
    let bench = Bench::new();
    let library = "static inline int inner(int k) { asm volatile(\"nop\" :: \"r\"(k)); return k * 3; }\n\
        __attribute__((visibility(\"default\"))) int offered(int k) { return k + 1; }\n\
        int own(int k) { return offered(k) + inner(k) + inner(k + 1); }";
    let options = ["-O2", "-shared", "-fPIC", "-fno-semantic-interposition"];
    bench.compile("gcc", "lib.c", library, "libown.so", &options);
    let program = "int own(int), offered(int); int main(int c, char **v) { return own(c) + offered(c) == 1; }";
    let options = ["-O2", "-L.", "-lown", "-Wl,-rpath,$ORIGIN"];
    bench.compile("gcc", "prog.c", program, "prog", &options);
    let ran = bench.check_property(
        "state init accepting { transition { event offered(k) success init }\n\
         transition { event inner(k) success bad } }\nstate bad non-accepting",
        &[],
    );
    let says = "event inner: 2 calls inlined in libown.so: not observable";
    assert!(ran.err.contains(says), "{}", ran.err);
    assert!(!ran.err.contains("event offered:"), "{}", ran.err);
    // Of a parameter that a library's function is no longer passed it is said, too.
    let library = "struct s { int a, b; };\n\
        static __attribute__((noinline)) int part(struct s *p, int unused) { volatile int k = p->a; return k * 3; }\n\
        int own(int k) { struct s q = {k, 2}; int r = 0;\n\
        \x20 for (int i = 0; i < 2; i++) { q.a = i; r += part(&q, i + 5); } return r; }\n\
        int offered(int k) { return k; }";
    bench.compile(
        "gcc",
        "lib.c",
        library,
        "libown.so",
        &["-O2", "-shared", "-fPIC"],
    );
    let (_, remarks) = bench.events_and_remarks(&["event part(p)"]);
    let says = "event part: `p` was optimised away in 1 of 1 function";
    assert!(remarks.contains(says), "{remarks}");
    let at_end = "event inner was inlined, and never found elsewhere: the verdict is inconclusive";
    assert!(ran.err.contains(at_end), "{}", ran.err);
}

/// A lambda that was inlined has no name any more, and is in the program nevertheless.
#[test]
fn an_inlined_lambda_is_said_to_be_inlined() {
    let bench = Bench::new();
    let source = "static int apply(int k) { auto twice = [](int x) { asm volatile(\"nop\" :: \"r\"(x)); return x * 2; };\n\
        \x20 auto sum = [](int x, int y) { asm volatile(\"nop\" :: \"r\"(x)); return x + y; }; return sum(twice(k), twice(k + 1)); }\n\
        int main(int c, char **v) { auto add = [c](int x) { asm volatile(\"nop\" :: \"r\"(x)); return x + c; }; return apply(c) + add(3) == 1; }";
    bench.compile("g++", "prog.cc", source, "prog", &["-O2"]);
    for (name, count) in [
        ("apply(int)::{lambda(int)#1}::operator()", "2 calls"),
        ("apply(int)::{lambda(int, int)#1}::operator()", "1 call"),
        ("main::{lambda(int)#1}::operator()", "1 call"),
    ] {
        let property = format!(
            "state init {{ transition {{ event '{name}'() success bad }} }}\nstate bad non-accepting"
        );
        let ran = bench.check_property(&property, &[]);
        let says = format!("event {name}: {count} inlined: not observable");
        assert!(ran.err.contains(&says), "{name}: {}", ran.err);
        assert!(
            !ran.err.contains("not in the program"),
            "{name}: {}",
            ran.err
        );
        let (_, found) = bench.lint("p.prop");
        assert!(found.contains(&says), "{name}: {found}");
        assert!(!found.contains("has no function"), "{name}: {found}");
    }
    let ran = bench.check_property(
        "state init { transition { event 'main::{lambda(int)#7}::operator()'() success bad } }\nstate bad non-accepting",
        &[],
    );
    assert!(ran.err.contains("is not in the program"), "{}", ran.err);
}

/// GCC folds equal functions into one: of the other only the inlined form is described.
#[test]
fn a_function_that_is_described_only_as_inlined() {
    let bench = Bench::c(
        "#include <stdlib.h>\n\
         void one(void *l) { free(l); }\n\
         void two(void *m) { free(m); }\n\
         int main(void) { one(malloc(1)); two(malloc(1)); return 0; }",
        &["-O2"],
    );
    bench.write(
        "p.prop",
        "state init { transition { event two(m) success bad } }\nstate bad non-accepting",
    );
    let ran = bench.check(&["-p", "p.prop"], &[]);
    let says = "the debug information describes two only where it is inlined: use `arg 0`";
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.err.contains(says), "{}", ran.err);
}

/// A handler may go on where the call that panicked would have returned to.
#[test]
fn a_caught_panic_is_no_return() {
    let bench = Bench::new();
    let source = "#[inline(never)] fn f(n: i32) { if n % 2 == 0 { std::panic::panic_any(7) } std::hint::black_box(n); }\n\
         fn main() { std::panic::set_hook(Box::new(|_| {}));\n\
             for i in 0..4 { let _ = std::panic::catch_unwind(|| f(i)); } }";
    for level in ["-Copt-level=0", "-Copt-level=2"] {
        bench.rust_with(source, &[level]);
        let events = ["after event prog::f(n)", "event unwound prog::f(n)"];
        let wanted = [
            r#"unwound before prog::f {"n":0}"#,
            r#"call after prog::f {"n":1}"#,
            r#"unwound before prog::f {"n":2}"#,
            r#"call after prog::f {"n":3}"#,
        ];
        assert_eq!(bench.seen(&events), wanted, "{level}");
    }
}

/// `delete` runs a form of the destructor that calls the other one, or has it in itself.
#[test]
fn an_object_is_destroyed_once() {
    let source = "static int ended;\n\
        struct A { int v; A(int x) : v(x) {} virtual ~A(); };\n\
        A::~A() { ended += v; asm volatile(\"\" ::: \"memory\"); }\n\
        struct B : A { B(int x) : A(x) {} ~B() override { ended += 2; } };\n\
        int main() { for (int i = 0; i < 3; i++) { A *a = new A(i); delete a; }\n\
        \x20 A *b = new B(7); delete b; A local(9); return 0; }\n";
    for level in ["-O0", "-O2"] {
        let bench = Bench::new();
        bench.compile("g++", "prog.cc", source, "prog", &[level, "-fno-inline"]);
        let seen = bench.seen(&["event A::~A(this->v)"]);
        let wanted = [0, 1, 2, 7, 9].map(|v| format!(r#"call before A::~A {{"this->v":{v}}}"#));
        assert_eq!(seen, wanted, "{level}");
        assert_eq!(bench.seen(&["event B::~B(this->v)"]).len(), 1, "{level}");
    }
}

/// At -O2 a loop may begin with the function's first instruction: its rounds are no calls.
#[test]
fn a_loop_back_to_the_first_instruction_is_no_call() {
    let source = "#include <pthread.h>\n#include <setjmp.h>\nstatic jmp_buf out;\n\
        __attribute__((noipa)) int spin(volatile int *p) { int x; do { x = *p; *p = x - 1; } while (x > 0); return x; }\n\
        __attribute__((noipa)) void leave(volatile int *p) { do { if (*p == 2) longjmp(out, 1); } while (--*p > 0); }\n\
        static void *work(void *unused) { for (int i = 0; i < 20; i++) { volatile int n = 5; spin(&n); } return unused; }\n\
        int main(void) { pthread_t t[3];\n\
        \x20 for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, work, 0);\n\
        \x20 for (int i = 0; i < 3; i++) pthread_join(t[i], 0);\n\
        \x20 for (int i = 0; i < 4; i++) { volatile int n = 5; if (!setjmp(out)) leave(&n); }\n\
        \x20 return 0; }\n";
    for level in ["-O1", "-O2"] {
        let bench = Bench::c(source, &[level, "-pthread"]);
        let both = ["event spin(p)", "after event spin(p, ret)"];
        let seen = bench.seen(&both);
        let calls = seen.iter().filter(|e| e.starts_with("call before"));
        assert_eq!((calls.count(), seen.len()), (60, 120), "{level}");
        assert_eq!(bench.seen(&both[..1]).len(), 60, "{level}");
        assert_eq!(bench.seen(&both[1..]).len(), 60, "{level}");
        assert_eq!(bench.seen(&["event leave(p)"]).len(), 4, "{level}");
        assert_eq!(bench.seen(&["event unwound leave(p)"]).len(), 4, "{level}");
    }
}

/// A function of the program's does not hide another of that name in a library.
#[test]
fn functions_of_one_name_in_program_and_library() {
    let bench = Bench::new();
    let library = "int helper(int a) { return a + 7; } int other(int a) { return helper(a); }";
    let options = ["-O0", "-shared", "-fPIC", "-s"];
    bench.compile("gcc", "lib.c", library, "libtwo.so", &options);
    let program = "int other(int); static int helper(int a) { return a; }\n\
        int main(void) { helper(1); other(2); helper(3); return 0; }";
    let options = ["-O0", "-L.", "-ltwo", "-Wl,-rpath,$ORIGIN"];
    bench.compile("gcc", "prog.c", program, "prog", &options);
    let calls = |numbers: &[i32]| -> Vec<String> {
        let line = |n: &i32| format!(r#"call before helper {{"arg 0":{n}}}"#);
        numbers.iter().map(line).collect()
    };
    assert_eq!(
        bench.seen(&["event helper(arg 0 : int)"]),
        calls(&[1, 2, 3])
    );
    let said = bench.debug(&[], &["start", "break helper"]);
    assert!(said.contains("(2 locations)"), "{said}");
    // The library's has no parameter that could be named: it is not the one that is meant.
    let (events, said) = bench.events_and_remarks(&["event helper(a)"]);
    let values: Vec<i64> = events
        .iter()
        .filter_map(|e| e["args"]["a"].as_i64())
        .collect();
    assert_eq!((values, events.len()), (vec![1, 3], 2));
    assert!(said.contains("those calls are not observed"), "{said}");
}

/// Of two functions of one name the inlined calls of the one that is meant are counted.
#[test]
fn inlined_calls_of_a_function_of_one_file() {
    let bench = Bench::new();
    let one = "static inline int same(int a) { asm volatile(\"nop\"); return a + 1; }";
    bench.write(
        "other.c",
        &format!("{one}\nint two(int a) {{ return same(a) + same(a + 1); }}"),
    );
    let main = format!(
        "{one}\nint two(int); int main(int c, char **v) {{ return same(c) + two(c) == 1; }}"
    );
    bench.compile("gcc", "prog.c", &main, "prog", &["-O2", "-g", "other.c"]);
    let (_, said) = bench.events_and_remarks(&["event prog.c:same(a)"]);
    assert!(said.contains("event prog.c:same: 1 call inlined"), "{said}");
    let (_, said) = bench.events_and_remarks(&["event same(a)"]);
    assert!(said.contains("event same: 3 calls inlined"), "{said}");
}

/// What goes on with a coroutine is no call of it.
#[test]
fn coroutines_are_called_once() {
    let bench = Bench::new();
    let source = "#include <coroutine>
        struct Task { struct promise_type {
            Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
            std::suspend_always initial_suspend() { return {}; }
            std::suspend_always final_suspend() noexcept { return {}; }
            void return_void() {} void unhandled_exception() {} };
            std::coroutine_handle<promise_type> h; };
        Task session(int n) { for (int i = 0; i < n; i++) co_await std::suspend_always{}; }
        int main() { auto t = session(3); while (!t.h.done()) t.h.resume(); t.h.destroy(); }";
    bench.compile("g++", "prog.cpp", source, "prog", &["-std=c++20", "-O0"]);
    let seen = bench.seen(&["event session(n)", "after event session(n)"]);
    let call = |when: &str| format!(r#"call {when} session {{"n":3}}"#);
    assert_eq!(seen, [call("before"), call("after")]);
}
