//! `verde replay` as a user runs it: exit codes, reports, bad input.

use crate::common::{Dir, command, root, verde};
use std::io::Write;
use std::process::Stdio;

const QUEUE: &str = include_str!("../../../../tests/listings/queue_long.prop");

fn trace(pushes: usize) -> String {
    let mut t = String::from("{\"event\":\"queue_new\",\"args\":{\"queue\":4096,\"size\":4}}\n");
    for i in 0..pushes {
        t += &format!(
            "{{\"event\":\"queue_push\",\"args\":{{\"queue\":4096,\"prod_id\":{i}}},\"tid\":7,\"loc\":\"queue.c:41\"}}\n"
        );
    }
    t
}

#[test]
fn the_papers_queue_overflows_or_not() {
    for listing in ["queue_long.prop", "queue_short.prop"] {
        let dir = Dir::new("queue");
        let prop = root().join("tests/listings").join(listing);
        let prop = prop.to_str().unwrap();
        dir.write("bad.jsonl", trace(4));
        dir.write("good.jsonl", trace(3));
        let bad = verde(dir.path(), &["replay", "-p", prop, "bad.jsonl"]);
        assert_eq!(bad.code, 100, "{}", bad.err);
        assert!(
            bad.out.contains("VIOLATION") && bad.out.contains("[verde] 3 made 4096 overflow!"),
            "{}",
            bad.out
        );
        assert!(
            bad.out.contains("queue_push(queue = 4096, prod_id = 3)")
                && bad.out.contains("queue.c:41")
        );
        let good = verde(dir.path(), &["replay", "-p", prop, "good.jsonl"]);
        assert_eq!(good.code, 0, "{}", good.err);
        assert!(good.out.contains("holds"));
        let other = verde(
            dir.path(),
            &["replay", "-p", prop, "--error-exitcode", "3", "bad.jsonl"],
        );
        assert_eq!(other.code, 3);
    }
}

#[test]
fn several_properties_see_the_same_events() {
    let dir = Dir::new("several");
    dir.write("q.prop", QUEUE);
    dir.write("count.prop", "initialization { n = 0 }\nstate init { transition { event queue_push(queue) success { n += 1 } init } }\nstate no non-accepting");
    dir.write("t.jsonl", trace(4));
    let args = [
        "replay",
        "-p",
        "q.prop",
        "-p",
        "q.prop",
        "-p",
        "count.prop",
        "--format",
        "jsonl",
        "--show",
        "final",
        "t.jsonl",
    ];
    let ran = verde(dir.path(), &args);
    assert_eq!(ran.code, 100);
    let last: serde_json::Value = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
    let names: Vec<&str> = last["properties"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["property"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["q", "q#2", "count"]);
    let verdicts: Vec<&str> = last["properties"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, ["false", "false", "true"]);
    assert_eq!(last["events"], 5);
    assert!(
        !ran.out.contains("\"type\":\"event\""),
        "--show final has no rows"
    );
}

#[test]
fn a_cut_trace_is_inconclusive() {
    let dir = Dir::new("cut");
    dir.write("q.prop", QUEUE);
    let whole = trace(3);
    // Wherever the last line is cut, what came before holds.
    let last = whole.trim_end().rfind('\n').unwrap();
    for n in last + 2..whole.trim_end().len() {
        dir.write("t.jsonl", &whole[..n]);
        let ran = verde(
            dir.path(),
            &[
                "replay", "-p", "q.prop", "--format", "jsonl", "--show", "final", "t.jsonl",
            ],
        );
        assert_eq!(ran.code, 101, "cut at {n}: {}", ran.err);
        assert!(
            ran.out.contains("\"complete\":false") && ran.out.contains("inconclusive"),
            "{}",
            ran.out
        );
        assert!(ran.err.contains("line 4 is cut"), "{}", ran.err);
    }
    // A whole last line needs no newline, and a violation stays one.
    dir.write("t.jsonl", whole.trim_end());
    assert_eq!(
        verde(dir.path(), &["replay", "-p", "q.prop", "t.jsonl"]).code,
        0
    );
    dir.write("t.jsonl", format!("{}{{\"eve", trace(4)));
    assert_eq!(
        verde(dir.path(), &["replay", "-p", "q.prop", "t.jsonl"]).code,
        100
    );
}

#[test]
fn wrong_traces_name_the_line() {
    let dir = Dir::new("wrong");
    dir.write("q.prop", QUEUE);
    for (bad, what) in [
        ("{\"args\":{}}", "missing field `event`"),
        ("{\"event\":7}", "expected"),
        (
            "{\"event\":\"queue_push\",\"args\":{\"queue\":4096}}",
            "no argument `prod_id`",
        ),
        (
            "{\"event\":\"queue_push\",\"args\":{\"prod_id\":1}}",
            "no argument `queue`",
        ),
        (
            "{\"event\":\"queue_new\",\"args\":{\"queue\":1,\"size\":\"big\"}}",
            "not of its declared type `int`",
        ),
        (
            "{\"event\":\"queue_push\",\"args\":[1]}",
            "object with the event's parameters",
        ),
        ("not json", "expected"),
        ("\u{0}\u{1}\u{2}", "expected value"),
    ] {
        dir.write("t.jsonl", format!("{}{bad}\n{}", trace(1), trace(1)));
        let ran = verde(dir.path(), &["replay", "-p", "q.prop", "t.jsonl"]);
        assert_eq!(ran.code, 1, "{bad}: {} {}", ran.out, ran.err);
        assert!(
            ran.err.contains("line 3") && ran.err.contains(what),
            "{bad}: {}",
            ran.err
        );
    }
}

#[test]
fn lines_of_no_property_are_counted() {
    let dir = Dir::new("skip");
    dir.write("q.prop", QUEUE);
    dir.write(
        "t.jsonl",
        format!(
            "{{\"event\":\"other\"}}\n\n{}{{\"kind\":\"write\",\"event\":\"queue_push\"}}\n",
            trace(1)
        ),
    );
    let ran = verde(dir.path(), &["replay", "-p", "q.prop", "t.jsonl"]);
    assert_eq!(ran.code, 0);
    assert!(ran.err.contains("2 of 5 lines skipped"), "{}", ran.err);
}

/// Who writes a trace by hand need not know how a property tells functions of C from methods.
#[test]
fn names_of_a_trace_need_no_scope() {
    let dir = Dir::new("scopes");
    dir.write(
        "p.prop",
        "state init { transition { event ::f() success bad } }\nstate bad non-accepting",
    );
    for name in ["f", "::f"] {
        dir.write(
            "t.jsonl",
            format!("{{\"event\":\"{name}\",\"args\":{{}}}}\n"),
        );
        let ran = verde(dir.path(), &["replay", "-p", "p.prop", "t.jsonl"]);
        assert_eq!(ran.code, 100, "{name}: {} {}", ran.out, ran.err);
    }
    // Nor need another property, which names it without.
    dir.write(
        "q.prop",
        "state init accepting { transition { event f() success init } }",
    );
    let both = ["replay", "-p", "q.prop", "-p", "p.prop", "t.jsonl"];
    dir.write("t.jsonl", "{\"event\":\"f\",\"args\":{}}\n");
    let ran = verde(dir.path(), &both);
    assert_eq!(ran.code, 100, "{} {}", ran.out, ran.err);
    dir.write("t.jsonl", "{\"event\":\"f\",\"scope\":\"any\"}\n");
    let ran = verde(dir.path(), &both);
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
    dir.write("t.jsonl", "{\"event\":\"f\",\"scope\":\"n\"}\n");
    let ran = verde(dir.path(), &both);
    assert!(ran.err.contains("`scope` is `n`"), "{}", ran.err);
    dir.write("t.jsonl", "{\"event\":\"n::f\",\"args\":{}}\n");
    let ran = verde(dir.path(), &["replay", "-p", "p.prop", "t.jsonl"]);
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
}

#[test]
fn usage_errors_exit_1() {
    let dir = Dir::new("usage");
    dir.write("q.prop", QUEUE);
    dir.write("t.jsonl", trace(1));
    for args in [
        &["replay", "t.jsonl"][..],
        &["replay", "-p", "missing.prop", "t.jsonl"],
        &["replay", "-p", "q.prop", "missing.jsonl"],
        &["replay", "-p", "q.prop", "."],
        &["replay", "-p", "q.prop", "--show", "some", "t.jsonl"],
        &["replay", "-p", "q.prop", "-f", "missing.py", "t.jsonl"],
        &["replay", "-p", "q.prop", "--block-timeout", "0", "t.jsonl"],
        &["graph", "q.prop", "-o", "q.png"],
        &["graph", "missing.prop", "-o", "q.svg"],
        &["lint", "missing.prop"],
        &["jump"],
        &[],
    ] {
        let ran = verde(dir.path(), args);
        assert_eq!(ran.code, 1, "{args:?}: {} {}", ran.out, ran.err);
        assert!(!ran.err.trim().is_empty(), "{args:?}");
    }
    assert_eq!(verde(dir.path(), &["--help"]).code, 0);
    assert!(
        verde(dir.path(), &["replay", "--help"])
            .out
            .contains("Examples:")
    );
    assert!(
        verde(dir.path(), &["completions", "bash"])
            .out
            .contains("complete")
    );
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let dir = Dir::new("pipe");
    dir.write("q.prop", QUEUE);
    dir.write("t.jsonl", trace(20_000));
    let mut child = command(dir.path())
        .args(["replay", "-p", "q.prop", "t.jsonl"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(100));
    assert!(
        !String::from_utf8_lossy(&out.stderr).contains("write"),
        "no complaint about the pipe"
    );
}

#[test]
fn an_interrupted_replay_exits_130() {
    let dir = Dir::new("interrupt");
    dir.write("q.prop", QUEUE);
    let mut child = command(dir.path())
        .args(["replay", "-p", "q.prop", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The trace does not end: the replay has its handler by the time it has read this much.
    let mut stdin = child.stdin.take().unwrap();
    stdin
        .write_all(
            "{\"event\":\"other\"}
"
            .repeat(20_000)
            .as_bytes(),
        )
        .unwrap();
    let killed = std::process::Command::new("sh")
        .args(["-c", &format!("kill -INT {}", child.id())])
        .status()
        .unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn standard_input() {
    let dir = Dir::new("stdin");
    dir.write("q.prop", QUEUE);
    let mut child = command(dir.path())
        .args([
            "replay", "-p", "q.prop", "--format", "jsonl", "--show", "changed", "-",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(trace(4).as_bytes()).unwrap();
    drop(stdin);
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(100));
    assert_eq!(
        String::from_utf8_lossy(&out.stdout)
            .matches("\"type\":\"event\"")
            .count(),
        5
    );
}
