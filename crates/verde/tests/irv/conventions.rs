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
