//! Corners of the language and of reports that once were wrong.

use crate::common::{Dir, Ran, verde};
use serde_json::Value;

fn replay(name: &str, prop: &str, trace: &str) -> (Ran, Vec<Value>) {
    let dir = Dir::new(name);
    dir.write("p.prop", prop);
    dir.write("t.jsonl", trace);
    let ran = verde(
        dir.path(),
        &["replay", "-p", "p.prop", "--format", "jsonl", "t.jsonl"],
    );
    let rows = ran
        .out
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    (ran, rows)
}

fn violations(rows: &[Value]) -> Vec<&Value> {
    rows.iter().filter(|r| r["type"] == "violation").collect()
}

#[test]
fn hundreds_of_ways_to_bind_one_event() {
    let mut prop =
        String::from("slice on q\nstate init { transition { event f(a0 as q) success s1 } }\n");
    for i in 1..300 {
        prop += &format!(
            "state s{i} {{ transition {{ event f(a{i} as q) success s{} }} }}\n",
            i + 1
        );
    }
    prop += "state s300 non-accepting\n";
    let args: Vec<String> = (0..300).map(|i| format!("\"a{i}\":9")).collect();
    let line = format!("{{\"event\":\"f\",\"args\":{{{}}}}}\n", args.join(","));
    let (ran, rows) = replay("bindings", &prop, &line.repeat(300));
    assert_eq!(ran.code, 100, "{}", ran.err);
    assert_eq!(violations(&rows).len(), 1);
    assert_eq!(violations(&rows)[0]["n"], 300);
}

#[test]
fn a_failing_block_does_not_hide_a_violation_of_the_same_event() {
    let (ran, rows) = replay(
        "hidden",
        "slice on q
initialization { k = 0 }
state init { transition { event new(q, v) success { k = v } s } }
state s { transition { event all(x) { return 10 // k > 0 } success bad } }
state bad non-accepting",
        "{\"event\":\"new\",\"args\":{\"q\":1,\"v\":5}}\n{\"event\":\"new\",\"args\":{\"q\":2,\"v\":0}}\n{\"event\":\"all\",\"args\":{\"x\":1}}\n",
    );
    assert_eq!(ran.code, 100, "{}", ran.err);
    assert_eq!(violations(&rows).len(), 1);
    assert!(
        ran.err.contains("ZeroDivisionError") && ran.err.contains("line 3"),
        "{}",
        ran.err
    );
}

#[test]
fn a_property_that_begins_broken_says_so() {
    for init in [
        "state init non-accepting final",
        "state init non-accepting { transition { event f() success init } }",
    ] {
        let (ran, rows) = replay("begins", init, "{\"event\":\"f\"}\n");
        assert_eq!(ran.code, 100, "{}", ran.err);
        assert_eq!(violations(&rows).len(), 1, "{}", ran.out);
        assert_eq!(violations(&rows)[0]["n"], Value::Null);
        assert_eq!(rows.last().unwrap()["properties"][0]["violations"], 1);
    }
}

#[test]
fn the_event_that_ends_a_slice_is_in_its_history() {
    let prop = "slice on q ends free(arg 0 as q)
state init { transition { event lock(q) success held } }
state held non-accepting { transition { event unlock(q) success init } }
";
    let trace =
        "{\"event\":\"lock\",\"args\":{\"q\":7}}\n{\"event\":\"free\",\"args\":{\"arg 0\":7}}\n";
    let (ran, rows) = replay("ended", prop, trace);
    assert_eq!(ran.code, 100);
    let history = violations(&rows)[0]["history"].as_array().unwrap().clone();
    assert_eq!(
        history
            .iter()
            .map(|h| h["event"].as_str().unwrap())
            .collect::<Vec<_>>(),
        ["lock", "free"]
    );
    let dir = Dir::new("ended-human");
    dir.write("p.prop", prop);
    dir.write("t.jsonl", trace);
    let human = verde(dir.path(), &["replay", "-p", "p.prop", "t.jsonl"]);
    assert!(
        human.out.contains("ended in `held` at event 2"),
        "{}",
        human.out
    );
}

#[test]
fn a_slot_that_is_used_again_in_one_event_shows_once() {
    // The event ends the slice of one key and creates that of another.
    let prop = "slice on a, b
state init { transition { event f(a) success s } }
state s { transition { event g(a, b) success t } }
state t { transition { event g(a) success gone } }
state gone final";
    let trace = "{\"event\":\"f\",\"args\":{\"a\":1}}\n{\"event\":\"g\",\"args\":{\"a\":1,\"b\":4}}\n{\"event\":\"g\",\"args\":{\"a\":1,\"b\":5}}\n";
    let (ran, rows) = replay("reuse", prop, trace);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let last = rows.iter().rfind(|r| r["type"] == "event").unwrap();
    let mut shown: Vec<String> = last["slices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["slice"].to_string())
        .collect();
    let all = shown.len();
    shown.sort();
    shown.dedup();
    assert_eq!(shown.len(), all, "{last}");
}

#[test]
fn each_transition_has_its_own_types() {
    let (ran, _) = replay(
        "types",
        "slice on q
state init { transition { event f(q, x : int) success s } }
state s { transition { event f(q, x : double) success s } }
state bad non-accepting",
        "{\"event\":\"f\",\"args\":{\"q\":1,\"x\":3}}\n{\"event\":\"f\",\"args\":{\"q\":1,\"x\":1.5}}\n",
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
}

#[test]
fn code_that_no_function_body_can_have_is_an_error() {
    let dir = Dir::new("forbidden");
    for code in [
        "yield 1",
        "n = yield",
        "await x",
        "nonlocal n",
        "from __future__ import annotations",
    ] {
        dir.write(
            "p.prop",
            format!("initialization {{ n = 0 }}\nstate init {{ transition {{ event f(x) {{ {code} }} success init }} }}\nstate bad non-accepting"),
        );
        let ran = verde(dir.path(), &["lint", "p.prop"]);
        assert!(
            ran.code == 1 && ran.out.contains("is not allowed in a block"),
            "{code}: {}",
            ran.out
        );
    }
}

#[test]
fn byte_order_marks_and_carriage_returns_are_no_mistake() {
    let dir = Dir::new("bom");
    let prop = include_str!("../../../../tests/listings/queue_long.prop");
    dir.write("p.prop", format!("\u{feff}{}", prop.replace('\n', "\r\n")));
    dir.write(
        "t.jsonl",
        "\u{feff}{\"event\":\"queue_new\",\"args\":{\"queue\":1,\"size\":2}}\r\n{\"event\":\"queue_pop\",\"args\":{\"queue\":1,\"prod_id\":1}}\r\n",
    );
    let ran = verde(dir.path(), &["replay", "-p", "p.prop", "t.jsonl"]);
    assert_eq!(ran.code, 100, "{}", ran.err);
}

#[test]
fn equal_structures_are_equal_keys() {
    let (ran, rows) = replay(
        "structs",
        "slice on o\nstate init { transition { event f(o) success s } }\nstate s { transition { event f(o) success bad } }\nstate bad non-accepting",
        "{\"event\":\"f\",\"args\":{\"o\":{\"a\":1,\"b\":2}}}\n{\"event\":\"f\",\"args\":{\"o\":{ \"b\": 2, \"a\": 1 }}}\n",
    );
    assert_eq!(ran.code, 100, "{}", ran.err);
    assert_eq!(violations(&rows).len(), 1);
}

#[test]
fn endless_input_is_refused_in_bounded_memory() {
    let dir = Dir::new("zero");
    for args in [
        &["lint", "/dev/zero"][..],
        &["graph", "/dev/zero", "-o", "x.svg"],
        &["replay", "-p", "/dev/zero", "/dev/null"],
    ] {
        let ran = verde(dir.path(), args);
        assert_eq!(ran.code, 1, "{args:?}");
        assert!(
            (ran.out + &ran.err).contains("at most 16777216 are read"),
            "{args:?}"
        );
    }
    dir.write(
        "p.prop",
        "state init { transition { event f() success init } }",
    );
    let ran = verde(dir.path(), &["replay", "-p", "p.prop", "/dev/zero"]);
    assert!(
        ran.code == 1 && ran.err.contains("longer than 16 MiB"),
        "{}",
        ran.err
    );
}
