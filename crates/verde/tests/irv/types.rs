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
