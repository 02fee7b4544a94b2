//! The order of what happens inside one event, checkpoints, and memory that comes back.

use std::sync::Arc;
use verde_monitor::*;
use verde_property::{Functions, Property, SpecId, Verdict, load_property};

fn property(text: &str) -> Arc<Property> {
    let l = load_property("p.prop", text.as_bytes(), &Functions::default());
    Arc::new(
        l.model
            .unwrap_or_else(|| panic!("{}", verde_property::render(&l.source, &l.found, false))),
    )
}

fn apply(
    m: &mut Monitor,
    n: u64,
    name: &str,
    args: &[Arg],
    host: &mut dyn Host,
    o: &mut dyn Observer,
) -> bool {
    let i = m
        .property()
        .events
        .iter()
        .position(|e| e.name == name)
        .unwrap();
    let args: Vec<Option<Arg>> = args.iter().map(|a| Some(*a)).collect();
    let event = Event {
        n,
        spec: SpecId(i as u16),
        args: &args,
        tid: None,
        time: None,
        loc: None,
    };
    m.apply(&event, host, o)
}

/// Writes down every moment.
#[derive(Default)]
struct Log(Vec<String>);

impl Observer for Log {
    fn transition_taken(&mut self, s: &Slices, step: &Step) {
        self.0.push(format!(
            "taken {} {:?}",
            s.property().state(s.state(step.slice)).name,
            s.bindings(step.slice)
        ));
    }
    fn leaving(&mut self, s: &Slices, step: &Step) {
        self.0
            .push(format!("leaving {}", s.property().state(step.from).name));
    }
    fn entering(&mut self, s: &Slices, step: &Step) {
        self.0
            .push(format!("entering {}", s.property().state(step.to).name));
    }
    fn state_changed(&mut self, _: &Slices, _: &Step) {
        self.0.push("changed".into());
    }
    fn ended(&mut self, _: &Slices, _: SlotRef, v: Verdict) {
        self.0.push(format!("ended {}", v.word()));
    }
    fn violation(&mut self, _: &Slices, _: SlotRef, how: Violation, n: Option<u64>) {
        self.0.push(format!("violation {how:?} {n:?}"));
    }
    fn printed(&mut self, line: &str) {
        self.0.push(format!("print {line}"));
    }
    fn stop_requested(&mut self) {
        self.0.push("stop".into());
    }
}

const PROPERTY: &str = "slice on q
state init { transition { event f(q, x) { print(\"guard\"); return x > 0 } success { print(\"code\") } stop() s } }
state s stop() { transition { event f(q, x) success { print(\"loop\") } s } transition { event g(q) success bad } }
state bad non-accepting final
";

#[test]
fn moments_come_in_the_stated_order() {
    let mut m = Monitor::new(
        property(PROPERTY),
        Options::default(),
        &mut NoPython,
        &mut (),
    )
    .unwrap();
    let mut log = Log::default();
    apply(
        &mut m,
        1,
        "f",
        &[Arg::Int(7), Arg::Int(1)],
        &mut NoPython,
        &mut log,
    );
    assert_eq!(
        log.0,
        [
            "print guard",
            "print code",
            "stop",
            "taken s [(\"q\", Int(7))]",
            "leaving init",
            "stop",
            "entering s",
            "changed"
        ]
    );
    log.0.clear();
    apply(
        &mut m,
        2,
        "f",
        &[Arg::Int(7), Arg::Int(1)],
        &mut NoPython,
        &mut log,
    );
    assert_eq!(
        log.0,
        [
            "print loop",
            "taken s [(\"q\", Int(7))]",
            "leaving s",
            "stop",
            "entering s"
        ],
        "a self-loop leaves and enters"
    );
    log.0.clear();
    apply(&mut m, 3, "g", &[Arg::Int(7)], &mut NoPython, &mut log);
    assert_eq!(
        log.0,
        [
            "taken bad [(\"q\", Int(7))]",
            "leaving s",
            "entering bad",
            "changed",
            "violation Hopeless Some(3)",
            "ended false"
        ]
    );
}

#[test]
fn slices_of_one_event_go_in_creation_order() {
    let p = property(
        "slice on a, b
state init { transition { event f(a, b) success s } }
state s { transition { event g(a) success t } }
state t non-accepting",
    );
    let mut m = Monitor::new(p, Options::default(), &mut NoPython, &mut ()).unwrap();
    let created = [5, 3, 9, 1, 7];
    for (n, b) in created.iter().enumerate() {
        apply(
            &mut m,
            n as u64,
            "f",
            &[Arg::Int(1), Arg::Int(*b)],
            &mut NoPython,
            &mut (),
        );
    }
    let mut log = Log::default();
    apply(&mut m, 9, "g", &[Arg::Int(1)], &mut NoPython, &mut log);
    let seen: Vec<String> = log
        .0
        .into_iter()
        .filter(|l| l.starts_with("taken"))
        .collect();
    let want: Vec<String> = created
        .iter()
        .map(|b| format!("taken t [(\"a\", Int(1)), (\"b\", Int({b}))]"))
        .collect();
    assert_eq!(seen, want);
}

#[test]
fn a_snapshot_is_untouched_by_what_follows() {
    let p = property(
        "slice on q
initialization { n = 0 }
state init { transition { event f(q) success { n = n + 1 } s } }
state s { transition { event f(q) success { n = n + 1 } s } transition { event g(q) success bad } }
state bad non-accepting",
    );
    let mut m = Monitor::new(p, Options::default(), &mut NoPython, &mut ()).unwrap();
    let state = |m: &Monitor| -> Vec<String> {
        let s = m.slices();
        s.iter()
            .map(|r| format!("{:?} {:?} {:?}", s.bindings(r), s.state(r), s.env(r, 0)))
            .collect()
    };
    for q in 0..50 {
        apply(
            &mut m,
            q,
            "f",
            &[Arg::Int(q as i64)],
            &mut NoPython,
            &mut (),
        );
    }
    let saved = m.snapshot(&mut NoPython).unwrap();
    let before = state(&m);
    for q in 0..100 {
        apply(
            &mut m,
            q,
            "f",
            &[Arg::Int(q as i64)],
            &mut NoPython,
            &mut (),
        );
        apply(
            &mut m,
            q,
            "g",
            &[Arg::Int(q as i64)],
            &mut NoPython,
            &mut (),
        );
    }
    assert_ne!(state(&m), before);
    assert_eq!(state(&saved), before);
    assert_eq!(saved.slices().verdict(), Verdict::CurrentlyTrue);
    assert_eq!(m.slices().verdict(), Verdict::False);
}

#[test]
fn slots_and_strings_are_used_again() {
    let p = property(
        "slice on name ends close(name)
state init { transition { event open(name) success s } }
state s { transition { event use(name) success s } }",
    );
    let mut m = Monitor::new(p, Options::default(), &mut NoPython, &mut ()).unwrap();
    let mut bytes = 0;
    for round in 0..1000u64 {
        for k in 0..20 {
            let name = format!("file{}", round * 20 + k);
            apply(
                &mut m,
                round,
                "open",
                &[Arg::Str(&name)],
                &mut NoPython,
                &mut (),
            );
            assert!(apply(
                &mut m,
                round,
                "use",
                &[Arg::Str(&name)],
                &mut NoPython,
                &mut ()
            ));
        }
        assert_eq!(m.slices().live(), 20);
        for k in 0..20 {
            let name = format!("file{}", round * 20 + k);
            apply(
                &mut m,
                round,
                "close",
                &[Arg::Str(&name)],
                &mut NoPython,
                &mut (),
            );
        }
        assert_eq!(m.slices().live(), 0);
        if round == 10 {
            bytes = m.slices().bytes();
        }
    }
    assert_eq!(
        m.slices().bytes(),
        bytes,
        "the tables do not grow with the objects that came and went"
    );
    assert_eq!(m.slices().ended(), 20_000);
}
