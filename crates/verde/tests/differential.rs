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

/// All that code can ask its monitor and tell it, and what it gets of structures.
#[test]
fn monitors_answer_over_a_trace_as_on_the_program() -> Fallible {
    const PROGRAM: &str = r#"
        struct in { short a; char b; };
        struct point { int y, x; struct in in; float f; char name[4]; int arr[2]; void *p; _Bool ok; };
        union word { unsigned i; float f; };
        void make(int q, struct point *p) { (void)q, (void)p; }
        void push(int q, struct point v) { (void)q, (void)v; }
        void word(union word w, struct in key) { (void)w, (void)key; }
        void over(int q) { (void)q; }
        int main(void) {
            struct point p = {1, -2, {3, 4}, 0.1f, "ab", {5, 6}, (void *)16, 1};
            make(1, &p); make(2, &p);
            for (int i = 0; i < 4; i++) { p.x = i; push(1 + i % 2, p); }
            for (unsigned i = 0; i < 4; i++) { union word w = {.i = 7 + i}; word(w, (struct in){i % 2, 1}); }
            over(1); over(2);
            return 0;
        }
    "#;
    const FUNCTIONS: &str = r#"
def entered(m, s):
    print("entered", s, sorted(m.get_current_states()), m.get_env(s))

def changed(states):
    print("changed", sorted(states))

def taken(t, branch):
    print(t, branch)

def applied():
    print("applied", monitor.get_slices(), monitor.get_slice_bindings())

def not_taken(name):
    print("not taken:", name)
"#;
    const QUEUE: &str = r#"
slice on q
initialization {
    n = 0
    seen = []
    print(sorted(monitor.get_states()), sorted(monitor.get_current_states()))
    monitor.set_globals(globals())
    monitor.register_event("state_changed", changed)
    monitor.register_event("transition_taken", "taken")
    monitor.register_event("event_applied", applied)
}
state init { transition { event make(q, *p as v) { print(list(v), v["in"], v) } success ready } }
state ready entered() {
    transition {
        event push(q, v, v.x as x, v.in as inner, v.name as name : str) {
            s = {"q": q}
            print(v["x"] == x, v["in"] == inner, v == dict(v), inner, name)
            print(monitor.get_env(s), list(monitor.get_env_keys(s)), monitor.get_env_value(s, "n"))
            monitor.set_env_value(s, "n", x * 10)
            monitor.set_env_value(s, "other", [x])
            print(monitor.get_env(s), monitor.get_env_dict())
            monitor.print_monitor_state()
            if x == 1:
                monitor.set_current_state("odd", s)
            if x == 2:
                monitor.unregister_event("state_changed", changed)
            seen = seen + [x]
        } success ready }
    transition { event over(q) success closed }
}
state odd {
    transition { event push(q) {
        monitor.set_env_dict({"q": q}, {"n": 5, "seen": (1, 2)})
        monitor.set_quiet()
        monitor.step_by_step(False)
        print(sorted(monitor.get_current_states()))
    } success ready }
    transition { event over(q) success closed }
}
state closed non-accepting final
"#;
    const WORDS: &str = r#"
slice on key
initialization { monitor.set_transition_debug_function("not_taken") }
state init { transition { event word(w, key) { print(w, key) } success one } }
state one { transition { event word(w, key) { print(w["f"], monitor.get_slices()) } success two } }
state two
"#;
    let program = Program::of_text(PROGRAM, &[])?;
    let dir = tempfile::tempdir()?;
    let functions = dir.path().join("functions.py");
    std::fs::write(&functions, FUNCTIONS)?;
    let mut monitors: Vec<OsString> = vec!["-f".into(), functions.into()];
    for (name, text) in [("queue.prop", QUEUE), ("words.prop", WORDS)] {
        let path = dir.path().join(name);
        std::fs::write(&path, text)?;
        monitors.extend(["-p".into(), path.into()]);
    }
    assert!(program.same_offline(&monitors)? >= 8);
    Ok(())
}

/// Actions of transitions and states, with both forms of functions.
#[test]
fn actions_find_the_same_over_a_trace_as_on_the_program() -> Fallible {
    const FUNCTIONS: &str = r#"
def look(m, s):
    print(s, m.get_env(s), sorted(m.get_current_states()), m.get_slices(), m.get_slice_bindings())
    m.print_monitor_state()
    m.set_env_value(s, "k", m.get_env_value(s, "k") + 100)
    m.set_env_value(s, "seen", m.get_env_value(s, "seen") + ["look"])
    m.set_env_value(s, "calls", m.get_env(s).get("calls", 0) + 1)
    print(m.get_env(s), m.get_env())

def all_of_them():
    for s in monitor.get_slices():
        if s and monitor.get_env_value(s, "k") > 300:
            monitor.set_env_dict(s, {"k": len(s), "seen": []})
            monitor.set_current_state("one", s)
"#;
    let (mut events, mut printed) = (0, 0);
    for seed in 21..=24 {
        let mut random = Random(seed);
        let program = Program::of_text(&program(&mut random)?, &[])?;
        // Every outcome calls one of them, and so do some states.
        let text = valid_property(&mut random)?;
        let text = text.replace(" success ", " success look() ");
        let text = text.replace("{ k = 0 } ", "{ k = 0 } all_of_them() ");
        let text = text.replace("state two accepting", "state two accepting all_of_them()");
        let text = text.replace("state three accepting", "state three accepting look()");
        let dir = tempfile::tempdir()?;
        let (property, functions) = (dir.path().join("p.prop"), dir.path().join("f.py"));
        std::fs::write(&property, text)?;
        std::fs::write(&functions, FUNCTIONS)?;
        let monitors = ["-p".into(), property.into(), "-f".into(), functions.into()];
        events += program.same_offline(&monitors)?;
        let (_, rows) = program.check(&monitors, &[])?;
        printed += rows.iter().filter(|r| r["type"] == "print").count();
        let last = live::outcome(&rows)?;
        assert!(
            last["properties"][0]["error"].is_null(),
            "seed {seed}: {last}"
        );
    }
    assert!(
        events > 50 && printed > 100,
        "{events} events, {printed} lines"
    );
    Ok(())
}
