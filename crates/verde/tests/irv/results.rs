//! What a call returned leads to.

use crate::bench::Bench;
use serde_json::json;

/// A reference that is returned is what it refers to, as one that is passed.
#[test]
fn references_of_cpp() {
    let bench = Bench::new();
    let source = "struct S { int a; S *n; }; S g{4, &g}; int gi = 7; int *gp = &gi;
        int &number() { return gi; } S &object() { return g; } S &&moved() { return (S &&)g; }
        int *&pointer() { return gp; }
        int main() { number(); object(); moved(); pointer(); return 0; }";
    bench.compile("g++", "prog.cpp", source, "prog", &["-w"]);
    let seen = bench.seen(&[
        "after event number(ret)",
        "after event object(ret.a as v, ret.n->a as w)",
        "after event moved(ret.a as v)",
        "after event pointer(*ret as v)",
    ]);
    let expected = [
        r#"call after number {"ret":7}"#,
        r#"call after object {"ret.a":4,"ret.n->a":4}"#,
        r#"call after moved {"ret.a":4}"#,
        r#"call after pointer {"*ret":7}"#,
    ];
    assert_eq!(seen, expected);
    let ran = bench.check_property(
        "state init { transition { after event number(*ret as v) success bad } }\nstate bad non-accepting",
        &[],
    );
    assert_eq!(ran.code, 1, "{}", ran.err);
    let says = "`*ret`: `ret` is a reference: write `ret` for what it refers to";
    assert!(ran.err.contains(says), "{}", ran.err);
}

/// What is behind a reference or a box of Rust.
#[test]
fn references_of_rust() {
    let bench = Bench::new();
    bench.rust(
        "pub struct It { pub id: i32, pub name: String }
        fn it(id: i32) -> It { It { id, name: format!(\"n{id}\") } }
        #[inline(never)] fn get(v: &[It]) -> &It { &v[1] }
        #[inline(never)] fn change(v: &mut [It]) -> &mut It { &mut v[0] }
        #[inline(never)] fn num(v: &[It]) -> &i32 { &v[0].id }
        #[inline(never)] fn boxed() -> Box<It> { Box::new(it(9)) }
        fn main() { let mut v = [it(3), it(4)]; get(&v); change(&mut v); num(&v); std::hint::black_box(boxed()); }",
    );
    let events = bench.events(&[
        "after event prog::get(ret.id as v, ret->id as w, ret.name as t : str)",
        "after event prog::change(ret.id as v)",
        "after event prog::num(*ret as v)",
        "after event prog::boxed(ret.id as v, *ret as w)",
    ]);
    let args: Vec<_> = events.iter().map(|e| e["args"].clone()).collect();
    assert_eq!(
        args,
        [
            json!({"ret.id": 4, "ret->id": 4, "ret.name": "n4"}),
            json!({"ret.id": 3}),
            json!({"*ret": 3}),
            json!({"ret.id": 9, "*ret": {"id": 9, "name": "\"n9\""}}),
        ]
    );
}

/// A reference of C++ is the object, so after the call it is what the call has made of it.
#[test]
fn what_references_refer_to_after_the_call() {
    let bench = Bench::new();
    let source = "#include <string>
        struct S { int v; };
        void f(int &r, S &s, S *p, std::string &t, int n) { r = 2; s.v = 2; p->v = 2; t = \"new\"; n = 9; }
        int main() { int r = 1; S s{1}, p{1}; std::string t = \"old\"; f(r, s, &p, t, 5); return r + s.v; }";
    bench.compile("g++", "prog.cpp", source, "prog", &["-O0"]);
    let seen = bench.events(&[
        "before event f(r, s.v, t : str)",
        "after event f(r, arg 0, entry(r) as r1, s.v, entry(s.v) as v1, p->v as pv, t : str, n)",
    ]);
    assert_eq!(seen[0]["args"], json!({"r": 1, "s.v": 1, "t": "old"}));
    let after = json!({
        "r": 2, "arg 0": 2, "entry(r)": 1, "s.v": 2, "entry(s.v)": 1, "p->v": 2, "t": "new", "n": 5,
    });
    assert_eq!(seen[1]["args"], after);
}
