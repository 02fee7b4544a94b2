//! Random programs under random properties: what a live run says and what a
//! replay of its trace says are the same.

mod live;

use live::{Failure, Fallible, Program};
use std::ffi::OsString;
use std::fmt::Write;
use verde_property::{Functions, load_property};

/// A small generator of numbers: tests must repeat.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        let index = self.below(of.len() as u64);
        usize::try_from(index).map_or(of[0], |i| of[i])
    }
}

/// Calls in random order on several objects, with calls inside of calls.
fn program(random: &mut Random) -> Result<String, Failure> {
    let mut text = String::from(
        "struct thing { int held, uses; } things[4];\n\
         int total;\n\
         int acquire(struct thing *t) { t->held = 1; return t->held; }\n\
         int use(struct thing *t, int n) { t->uses += n; total = total + n; return t->uses % 7; }\n\
         void release(struct thing *t) { t->held = 0; }\n\
         int nested(struct thing *t, int depth) {\n\
             return depth > 0 ? nested(t, depth - 1) + use(t, depth) : acquire(t);\n\
         }\n\
         void reset(void) { total = 0; }\n\
         int main(void) {\n",
    );
    for _ in 0..40 {
        let thing = random.below(4);
        let n = random.below(9);
        match random.below(8) {
            0 | 1 => writeln!(text, "    acquire(&things[{thing}]);")?,
            2..=4 => writeln!(text, "    use(&things[{thing}], {n});")?,
            5 => writeln!(text, "    release(&things[{thing}]);")?,
            6 => writeln!(text, "    nested(&things[{thing}], {});", n % 4)?,
            _ => writeln!(text, "    reset();")?,
        }
    }
    text.push_str("    return 0;\n}\n");
    Ok(text)
}

fn property(random: &mut Random) -> Result<String, Failure> {
    const EVENTS: [&str; 8] = [
        "event acquire(t)",
        "after event acquire(t, ret as n)",
        "event use(t, n)",
        "after event use(t, ret as n)",
        "event release(t)",
        "event nested(t, depth as n)",
        "event reset()",
        "after event write total(ret as n)",
    ];
    const GUARDS: [&str; 4] = [
        "{ return n % 3 != 0 }",
        "{ k = k + n; return k < 12 }",
        "{ return None if n > 5 else n != 2 }",
        "{ seen = seen + [n]; return len(seen) % 4 != 0 }",
    ];
    const STATES: [&str; 4] = ["init", "one", "two", "three"];
    let mut text = String::from("slice on t\ninitialization { k = 0; seen = [] }\n");
    for state in STATES {
        let kind = random.pick(&["accepting", "non-accepting", "accepting"]);
        let kind = if state == "init" { "accepting" } else { kind };
        writeln!(text, "state {state} {kind} {{")?;
        for i in 0..2 + random.below(3) {
            // The first of `init` makes slices.
            let event = match (state, i) {
                ("init", 0) => EVENTS[0],
                _ => random.pick(&EVENTS),
            };
            let guard = match event.contains(" n)") || event.contains(", n)") {
                true if random.below(3) > 0 => random.pick(&GUARDS),
                _ => "",
            };
            let to = random.pick(&STATES);
            write!(text, "    transition {{ {event} {guard} success {to}")?;
            if !guard.is_empty() && random.below(2) == 0 {
                write!(text, " failure {{ k = 0 }} {}", random.pick(&STATES))?;
            }
            text.push_str(" }\n");
        }
        text.push_str("}\n");
    }
    Ok(text)
}

/// A property that can be loaded: of the random ones not all are chains.
fn valid_property(random: &mut Random) -> Result<String, Failure> {
    loop {
        let text = property(random)?;
        let loaded = load_property("p.prop", text.as_bytes(), &Functions::default());
        if loaded.model.is_some() {
            return Ok(text);
        }
    }
}

/// How many events were compared.
fn compare(seed: u64) -> Result<usize, Failure> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let dir = tempfile::tempdir()?;
    let program = Program::of_text(&program(&mut random)?, &[])?;
    let mut monitors: Vec<OsString> = Vec::new();
    for name in ["a.prop", "b.prop"] {
        let path = dir.path().join(name);
        std::fs::write(&path, valid_property(&mut random)?)?;
        monitors.extend(["-p".into(), path.into()]);
    }
    program.same_offline(&monitors).map_err(|e| {
        let a = std::fs::read_to_string(dir.path().join("a.prop")).unwrap_or_default();
        format!("seed {seed}: {e}\n{a}").into()
    })
}

fn compare_all(seeds: std::ops::RangeInclusive<u64>) -> Fallible {
    let mut events = 0;
    for seed in seeds {
        events += compare(seed)?;
    }
    assert!(events > 100, "{events} events are no test");
    Ok(())
}

#[test]
fn a_replay_says_what_the_live_run_said() -> Fallible {
    compare_all(1..=8)
}

#[test]
fn and_on_other_programs() -> Fallible {
    compare_all(9..=16)
}
