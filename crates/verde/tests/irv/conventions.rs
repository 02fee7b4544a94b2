//! Where the calling conventions of the languages put what a call begins with and returns.

use crate::bench::Bench;
use serde_json::{Value, json};

/// The arguments of each of these events, which happen once, in this order.
fn seen(bench: &Bench, events: &[&str]) -> Vec<Value> {
    let rows = bench.events(events);
    rows.iter().map(|e| e["args"].clone()).collect()
}

/// Rust passes the two words of a pair as two arguments, and 128 bits as one.
#[test]
fn pairs_of_rust_between_registers_and_stack() {
    let bench = Bench::new();
    bench.rust(
        "use std::hint::black_box as bb;
        fn texts(n: u32, a: &str, b: &str, c: &str, z: i32) { bb((n, a, b, c, z)); }
        fn wide(a: u64, b: u64, c: u64, d: u64, e: u64, u: u128, y: u8, g: char, v: u128, z: u8) { bb((a, b, c, d, e, u, y, g, v, z)); }
        fn some(a: u64, b: u64, c: u64, d: u64, e: u64, s: Option<u64>, t: (u8, u16), r: &[i32], z: u8) { bb((a, b, c, d, e, s, t, r, z)); }
        fn real(a: &str, b: &str, c: &str, m: (u64, f64), s: String, z: u8) { bb((a, b, c, m, s, z)); }
        fn main() { texts(1, \"ann\", \"opens\", \"door\", 42);
          wide(1, 2, 3, 4, 5, 6, 7, 'x', 8, 77);
          some(1, 2, 3, 4, 5, Some(6), (7, 8), &[9, 10], 77);
          real(\"a\", \"b\", \"c\", (4, 2.5), String::from(\"five\"), 77); }",
    );
    let events = [
        "event prog::texts(a : str, b : str, c : str, z, arg 4)",
        "event prog::wide(e, u, y, g, v, z)",
        "event prog::some(t.__0, t.__1, r.length, z)",
        "event prog::real(c : str, m.__0, m.__1, s : str, z)",
    ];
    assert_eq!(
        seen(&bench, &events),
        [
            json!({"a": "ann", "b": "opens", "c": "door", "z": 42, "arg 4": 42}),
            json!({"e": 5, "u": 6, "y": 7, "g": 120, "v": 8, "z": 77}),
            json!({"t.__0": 7, "t.__1": 8, "r.length": 2, "z": 77}),
            json!({"c": "c", "m.__0": 4, "m.__1": 2.5, "s": "five", "z": 77}),
        ]
    );
}

/// What Rust has for C is called as C is: large structures are on the stack, and what is in an
/// eightbyte shares a register.
#[test]
fn functions_of_rust_for_c() {
    let source = "#[derive(Clone, Copy)] #[repr(C)] pub struct Big { a: i64, b: f64, c: i64 }
        #[derive(Clone, Copy)] #[repr(C)] pub struct V2 { x: f32, y: f32 }
        #[no_mangle] #[inline(never)] pub extern \"C\" fn take(b: Big, p: Option<&i32>, z: i32) -> i32 { std::hint::black_box((b, p)); z }
        #[no_mangle] #[inline(never)] pub extern \"C\" fn make(x: f32) -> V2 { V2 { x, y: x + 1.0 } }
        #[export_name = \"pass\"] #[inline(never)] pub extern \"C\" fn two(v: V2, w: V2) -> f32 { v.y + w.y }
        #[no_mangle] #[inline(never)] pub extern \"C\" fn wrap(x: i64) -> Big { Big { a: x, b: 1.5, c: 9 } }
        #[inline(never)] fn own(v: V2, w: V2) -> V2 { V2 { x: v.y, y: w.x } }
        fn main() { take(Big { a: 1, b: 2.5, c: 3 }, Some(&4), 77);
          std::hint::black_box(own(make(6.5), V2 { x: 8.5, y: 9.5 })); two(V2 { x: 1.5, y: 2.5 }, V2 { x: 3.5, y: 4.5 });
          std::hint::black_box(wrap(6)); }";
    let bench = Bench::new();
    bench.rust(source);
    let events = [
        "event crate::take(b.a, b.b, p, z)",
        "after event crate::make(ret, x)",
        "event crate::own(v.x, v.y, w.x as wx, w.y as wy)",
        "after event crate::own(ret)",
        "event crate::two(v.x, v.y, w.x as wx, w.y as wy)",
        "after event crate::wrap(ret, x)",
    ];
    let mut rows = seen(&bench, &events);
    let p = rows[0].as_object_mut().and_then(|o| o.remove("p"));
    assert!(p.is_some_and(|p| p.to_string().contains("Some(0x")));
    assert_eq!(
        rows,
        [
            json!({"b.a": 1, "b.b": 2.5, "z": 77}),
            json!({"ret": {"x": 6.5, "y": 7.5}, "x": 6.5}),
            json!({"v.x": 6.5, "v.y": 7.5, "w.x": 8.5, "w.y": 9.5}),
            json!({"ret": {"x": 7.5, "y": 8.5}}),
            json!({"v.x": 1.5, "v.y": 2.5, "w.x": 3.5, "w.y": 4.5}),
            json!({"ret": {"a": 6, "b": 1.5, "c": 9}, "x": 6}),
        ]
    );
    let said = bench.debug(&[], &["break make", "run", "finish"]);
    assert!(said.contains("x: 6.5, y: 7.5}"), "{said}");
}

/// What has nothing in it but empty classes is not passed at all.
#[test]
fn empty_classes_are_not_passed() {
    let bench = Bench::new();
    let source = "struct E {}; struct EE : E {}; struct Two { E a, b; }; struct Real { double x; E e; };
        struct Late { E e[8]; long a; }; struct D : E { int b; double d; };
        int f1(E e, double q, int z) { return z; }
        int f2(EE e, Two t, D d, double q, int z) { return z; }
        int f3(Real r, double q, int z) { return z; }
        int f4(Late l, E e, double q, long a, long b, long c, long d, long g, long h, Two t, int z) { return z; }
        E f5(int z) { return {}; }
        int main() { D d; d.b = 4; d.d = 5.5;
          f1({}, 2.5, 77); f2({}, {}, d, 2.5, 77); f3({1.5}, 2.5, 77);
          f4({{}, 9}, {}, 2.5, 1, 2, 3, 4, 5, 6, {}, 77); f5(77); }";
    bench.compile("g++", "prog.cpp", source, "prog", &["-w"]);
    let events = [
        "event f1(e, q, z)",
        "event f2(d.b, d.d, q, z)",
        "event f3(r.x, q, z)",
        "event f4(l.a as l, q, a, h, z)",
        "after event f5(ret, z)",
    ];
    assert_eq!(
        seen(&bench, &events),
        [
            json!({"e": {}, "q": 2.5, "z": 77}),
            json!({"d.b": 4, "d.d": 5.5, "q": 2.5, "z": 77}),
            json!({"r.x": 1.5, "q": 2.5, "z": 77}),
            json!({"l.a": 9, "q": 2.5, "a": 1, "h": 6, "z": 77}),
            json!({"ret": {}, "z": 77}),
        ]
    );
}

/// A structure as a whole has the members that are in vector registers.
#[test]
fn structures_in_vector_registers_as_a_whole() {
    let bench = Bench::c(
        "typedef struct { double x, y; } V2; typedef struct { double w; long n; } Mix;
        double len(V2 v, int k) { return v.x + v.y + k; }
        long mix(Mix m) { return m.n; }
        int main(void) { V2 v = {3, 4}; Mix m = {1.5, 7}; len(v, 5); mix(m); return 0; }",
        &[],
    );
    assert_eq!(
        seen(&bench, &["event len(v, k)", "event mix(m)"]),
        [
            json!({"v": {"x": 3.0, "y": 4.0}, "k": 5}),
            json!({"m": {"w": 1.5, "n": 7}}),
        ]
    );
}

/// A function of Rust that is `extern "C"` and keeps its mangled name: what unoptimised code copies
/// to its frame tells how it was called; of optimised code what its lists do not say is `None`.
#[test]
fn mangled_functions_of_rust_with_the_convention_of_c() {
    let source = r#"
        use std::hint::black_box;
        #[repr(C)] #[derive(Clone, Copy)] pub struct V { x: f32, y: f32 }
        #[repr(C)] #[derive(Clone, Copy)] pub struct P { a: u32, b: u32 }
        #[repr(C)] #[derive(Clone, Copy)] pub struct Big { a: i64, b: f64, c: i64 }
        #[inline(never)] extern "C" fn pair(k: i32, p: P, z: i32) -> u32 { black_box((k, z)); black_box(p.a + p.b) }
        #[inline(never)] extern "C" fn vector(v: V, w: V) -> f32 { black_box(v.x + v.y + w.y) }
        #[inline(never)] extern "C" fn big(b: Big, z: i32) -> i64 { black_box(b.a + b.c + z as i64) }
        #[inline(never)] extern "C" fn alone(b: Big) -> i64 { black_box(b.a + b.c) }
        #[inline(never)] fn own_pair(k: i32, p: P, z: i32) -> u32 { black_box((k, z)); black_box(p.a * p.b) }
        #[inline(never)] fn own_vector(v: V, w: V) -> f32 { black_box(v.x * v.y * w.y) }
        #[inline(never)] fn own_big(b: Big, z: i32) -> i64 { black_box(b.a * b.c * z as i64) }
        #[inline(never)] fn own_alone(b: Big) -> i64 { black_box(b.a * b.c) }
        fn main() {
            let p = black_box(P { a: 1, b: 2 });
            let (v, w) = black_box((V { x: 1.5, y: 2.5 }, V { x: 3.5, y: 4.5 }));
            let b = black_box(Big { a: 5, b: 0.5, c: 6 });
            let x = pair(7, p, 8) + own_pair(7, p, 8);
            let y = vector(v, w) + own_vector(v, w);
            let z = big(b, 9) + own_big(b, 9) + alone(b) + own_alone(b);
            black_box((x, y, z));
        }
"#;
    for level in ["0", "2"] {
        let bench = Bench::new();
        bench.rust_with(source, &["-C", &format!("opt-level={level}")]);
        for (function, params, wanted) in [
            ("pair", "k, p.a, p.b, z", r#"{"k":7,"p.a":1,"p.b":2,"z":8}"#),
            (
                "vector",
                "v.x, v.y, w.y as wy",
                r#"{"v.x":1.5,"v.y":2.5,"w.y":4.5}"#,
            ),
            ("big", "b.a, b.c, z", r#"{"b.a":5,"b.c":6,"z":9}"#),
            ("alone", "b.a, b.c", r#"{"b.a":5,"b.c":6}"#),
        ] {
            let wanted: serde_json::Value = serde_json::from_str(wanted).expect("values");
            for name in [function.to_owned(), format!("own_{function}")] {
                let event = format!("event crate::{name}({params})");
                let (rows, _) = bench.events_and_remarks(&[&event]);
                assert_eq!(rows.len(), 1, "{name}, level {level}");
                let seen = rows[0]["args"].as_object().expect("arguments");
                for (param, value) in wanted.as_object().expect("values") {
                    let got = seen.get(param).filter(|v| !v.is_null());
                    let fits = got.map_or(level == "2", |got| got == value);
                    assert!(fits, "{name}, level {level}: {seen:?}");
                }
            }
        }
    }
}

/// The environment of a closure comes before its parameters, whether it is listed or not: by its
/// address, or as what it is when it is called once.
#[test]
fn environments_of_closures_come_first() {
    let bench = Bench::new();
    bench.rust(
        "use std::hint::black_box as bb;
        fn one(f: impl Fn(i32) -> i32, n: i32) { bb(f(n)); }
        fn two(f: impl Fn(i32, &str) -> String, n: i32) { bb(f(n, \"two\")); }
        fn changing(mut f: impl FnMut(i32), n: i32) { f(n) }
        fn once<R>(f: impl FnOnce(i32, f64) -> R, n: i32) { bb(f(n, 2.5)); }
        fn dynamic(f: &dyn Fn(i32) -> i32, n: i32) { bb(f(n)); }
        fn main() { let k = bb(5); let (l, d) = (bb(6u64), bb(1.5)); let mut t = 0; let s = String::from(\"s\");
          one(|x| bb(x * k), 4);
          two(|x, t| format!(\"{x}{t}{k}\"), 5);
          changing(|x| { t += x; bb(&t); }, 6);
          once(move |x, y| { let q = s; bb(q.len() as f64 + x as f64 + y) }, 7);
          dynamic(&|x| bb(x + k), 8);
          one(|x| bb(x + 1), 9);
          once(move |x, y| { bb((k, l)); bb(y + x as f64) }, 10);
          once(move |x, y| { bb(d); bb((x, y)); }, 11);
          once(|x, y| { bb((x, y)); }, 12); }",
    );
    let events = [
        "after event 'crate::main::{closure#0}'(x, ret)",
        "event 'crate::main::{closure#1}'(x, t : str)",
        "event 'crate::main::{closure#2}'(x)",
        "event 'crate::main::{closure#3}'(x, y)",
        "event 'crate::main::{closure#4}'(x)",
        "event 'crate::main::{closure#5}'(x)",
        "event 'crate::main::{closure#6}'(x, y)",
        "event 'crate::main::{closure#7}'(x, y)",
        "event 'crate::main::{closure#8}'(x, y)",
    ];
    assert_eq!(
        seen(&bench, &events),
        [
            json!({"x": 4, "ret": 20}),
            json!({"x": 5, "t": "two"}),
            json!({"x": 6}),
            json!({"x": 7, "y": 2.5}),
            json!({"x": 8}),
            json!({"x": 9}),
            json!({"x": 10, "y": 2.5}),
            json!({"x": 11, "y": 2.5}),
            json!({"x": 12, "y": 2.5}),
        ]
    );
}
