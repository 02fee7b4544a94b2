//! One parameter, declared with several types.

use crate::bench::Bench;
use serde_json::json;

const SOURCE: &str = "int mix(int v, const char *s, double d) { return v + (s != 0) + (int)d; }
    int main(void) { return mix(3, \"txt\", 2.5) + mix(4, \"two\", 3.5) == 0; }";

/// Of one event: each is read by its own type, and what differs has a key of its own.
#[test]
fn in_one_event() {
    let bench = Bench::c(SOURCE, &[]);
    let seen = &bench.events(&["event mix(s : str, s as p)"])[0]["args"];
    assert_eq!(seen["s : str"], "txt");
    assert!(seen["s"].as_u64() > Some(4096), "{seen}");
    let bench = Bench::c(SOURCE, &["-g0"]);
    let seen = &bench.events(&["event mix(arg 0 as i : int, arg 0 as d : double)"])[0]["args"];
    assert_eq!(*seen, json!({"arg 0": 3, "arg 0 : double": 2.5}));
}

/// Of two transitions, live and from the trace.
#[test]
fn in_two_transitions() {
    let bench = Bench::c(SOURCE, &["-g0"]);
    let property =
        "state init { transition { event mix(arg 0 as i : int) { print(i) } success next } }
        state next { transition { event mix(arg 0 as d : double) { print(d) } success bad } }
        state bad non-accepting";
    let ran = bench.check_property(property, &[]);
    assert_eq!(ran.printed(), ["3", "3.5"], "{}", ran.err);
    let mut record = bench.command("record");
    record.args(["-p", "p.prop", "-o", "t.jsonl", "./prog"]);
    assert!(record.status().is_ok());
    let mut replay = bench.command("replay");
    let done = replay.args(["-p", "p.prop", "t.jsonl"]).output();
    let done = done.expect("verde runs");
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(text.contains("3.5"), "{text}");
    assert_eq!(done.status.code(), Some(100));
}

/// What a `void *` points to is what the property declares, whoever describes the function.
#[test]
fn behind_a_pointer_to_anything() {
    let source = "void cb(void *ctx) { *(int *)ctx += 1; }
        int main(void) { int n = 41; cb(&n); return 0; }";
    for (options, event) in [
        (&[][..], "*ctx as c : int"),
        (&[], "*arg 0 as c : int"),
        (&["-g0"], "*arg 0 as c : int"),
    ] {
        let bench = Bench::c(source, options);
        let events = [
            format!("event cb({event})"),
            format!("after event cb({event})"),
        ];
        let seen = bench.events(&[&events[0], &events[1]]);
        let values: Vec<_> = seen
            .iter()
            .map(|e| e["args"].as_object().unwrap().values().next())
            .collect();
        assert_eq!(values, [Some(&json!(41)), Some(&json!(42))], "{event}");
    }
}

/// A declared integer type makes of a number what a cast of C does, whoever describes the function.
#[test]
fn integers_are_cast() {
    let source = "int f(unsigned long u, int i, long l, unsigned char c, int n) { return u + i + l + c + n; }
        int main(void) { f(~0UL, 300, -1, 200, -2); return 0; }";
    let types = [
        (
            "int",
            "unsigned char",
            "unsigned int",
            "signed char",
            "uint64_t",
        ),
        ("long", "i16", "u8", "long", "int"),
    ];
    let wanted = [
        json!([-1, 44, 4294967295u64, -56, 18446744073709551614u64]),
        json!([-1, 300, 255, 200, -2]),
    ];
    for ((u, i, l, c, n), wanted) in types.iter().zip(wanted) {
        let named = format!("u : {u}, i : {i}, l : {l}, c : {c}, n : {n}");
        let bench = Bench::c(source, &[]);
        let seen = &bench.events(&[&format!("event f({named})")])[0]["args"];
        let seen = ["u", "i", "l", "c", "n"].map(|name| seen[name].clone());
        assert_eq!(json!(seen), wanted);
        // Four of them by position: what is behind an `int` in its register is not its sign.
        let placed = format!("arg 0 : {u}, arg 1 : {i}, arg 2 : {l}, arg 3 : {c}");
        let bench = Bench::c(source, &["-g0"]);
        let seen = &bench.events(&[&format!("event f({placed})")])[0]["args"];
        let seen = ["arg 0", "arg 1", "arg 2", "arg 3"].map(|name| seen[name].clone());
        assert_eq!(
            json!(seen).as_array(),
            wanted.as_array().map(|w| w[..4].to_vec()).as_ref()
        );
    }
    let bench = Bench::c(source, &[]);
    let seen = bench.events(&["after event f(ret : unsigned char, ret as s : signed char)"]);
    assert_eq!(
        seen[0]["args"],
        json!({"ret": 240, "ret : signed char": -16})
    );
}
