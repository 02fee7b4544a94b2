//! Slices that somebody puts into a state: what they do from there on counts.

use crate::bench::Bench;
use serde_json::Value;

const BAD: &str = "state init accepting { transition { event bad() success sink } }
state sink non-accepting";

fn bench() -> Bench {
    let bench = Bench::c(
        "__attribute__((noinline)) void bad(int n) { asm volatile(\"\" :: \"r\"(n)); }
int main(void) {
    bad(1);
    bad(2);
    bad(3);
    return 0;
}",
        &["-O0"],
    );
    bench.write("p.prop", BAD);
    bench
}

/// The numbers of the events at which something was violated.
fn violations(rows: &[Value]) -> Vec<Value> {
    let found = rows.iter().filter(|r| r["type"] == "violation");
    found.map(|v| v["n"].clone()).collect()
}

#[test]
fn a_slice_that_was_put_back_can_fail_again() {
    let bench = bench();
    let text = bench.debug(
        &["-p", "p.prop"],
        &[
            "run",
            "verde exec set_current_state init",
            "continue",
            "print n",
            "verde exec set_current_state init",
            "continue",
            "print n",
            "continue",
        ],
    );
    assert!(text.contains("$1 = 2"), "{text}");
    assert!(text.contains("$2 = 3"), "{text}");
    assert!(text.contains("p: violated, 3 violations"), "{text}");
}

#[test]
fn a_scenario_puts_a_slice_back() {
    let bench = bench();
    bench.write("s.sc", "on entering state sink { set_state(\"init\") }\n");
    let ran = bench.check(&["-p", "p.prop", "-s", "s.sc"], &[]);
    assert_eq!(violations(&ran.rows), [1, 2, 3], "{}", ran.err);
    let last = ran.rows.last().expect("a final row");
    assert_eq!(last["properties"][0]["violations"], 3, "{last}");
}

#[test]
fn code_that_puts_a_slice_into_a_hopeless_state_breaks_the_property() {
    let bench = bench();
    let property =
        "state init accepting { transition { event bad(n) { give_up(n) } success init } }
state sink non-accepting";
    bench.write("p.prop", property);
    bench.write(
        "f.py",
        "def give_up(n):\n    if n == 2: monitor.set_current_state('sink')\n",
    );
    let options = ["-p", "p.prop", "-f", "f.py"];
    let ran = bench.check(&options, &[]);
    assert_eq!(violations(&ran.rows), [2], "{}", ran.err);
    let text = bench.debug(&options, &["run", "print n"]);
    assert!(text.contains("$1 = 2"), "{text}");
    // Over a trace, too.
    bench.write(
        "t.jsonl",
        "{\"event\":\"bad\",\"args\":{\"n\":1}}\n{\"event\":\"bad\",\"args\":{\"n\":2}}\n{\"event\":\"bad\",\"args\":{\"n\":3}}\n",
    );
    let mut replay = bench.command("replay");
    let replay = replay
        .args(options)
        .args(["--format", "jsonl", "--show", "final", "t.jsonl"]);
    let done = replay.output().expect("verde runs");
    let out = String::from_utf8_lossy(&done.stdout);
    let rows: Result<Vec<Value>, _> = out.lines().map(serde_json::from_str).collect();
    assert_eq!(violations(&rows.expect("rows")), [2], "{out}");
}

#[test]
fn a_slice_that_the_user_puts_into_a_hopeless_state_is_told_of_at_once() {
    let bench = bench();
    let text = bench.debug(
        &["-p", "p.prop"],
        &[
            "break main",
            "run",
            "verde exec set_current_state sink",
            "echo behind\\n",
            "continue",
        ],
    );
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
    assert!(at("violation: p reached sink") < at("behind"), "{text}");
    assert!(text.contains("p: violated, 1 violation"), "{text}");
}
