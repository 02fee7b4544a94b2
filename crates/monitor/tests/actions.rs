//! What actions find of their slice, and what becomes of what they give it.

use std::collections::HashMap;
use std::sync::Arc;
use verde_monitor::*;
use verde_property::{BlockId, Functions, Property, SpecId, load_property};

fn property(text: &str) -> Arc<Property> {
    let l = load_property("p.prop", text.as_bytes(), &Functions::default());
    Arc::new(
        l.model
            .unwrap_or_else(|| panic!("{}", verde_property::render(&l.source, &l.found, false))),
    )
}

fn start(text: &str, host: &mut Ledger) -> Monitor {
    Monitor::new(property(text), Options::default(), host, &mut ()).unwrap()
}

/// How often something went wrong.
#[derive(Default)]
struct Failures(usize);

impl Observer for Failures {
    fn failed(&mut self, _: &Slices, _: Failure) {
        self.0 += 1;
    }
}

fn apply(m: &mut Monitor, name: &str, args: &[Arg], host: &mut Ledger) -> usize {
    let known = m.property().events.iter().position(|e| e.name == name);
    let args: Vec<Option<Arg>> = args.iter().map(|a| Some(*a)).collect();
    let event = Event {
        n: 1,
        spec: SpecId(known.unwrap() as u16),
        args: &args,
        tid: None,
        time: None,
        loc: None,
    };
    let mut failures = Failures::default();
    m.apply(&event, host, &mut failures);
    failures.0
}

/// Counts the references to its values, and writes down what actions see.
#[derive(Default)]
struct Ledger {
    counts: HashMap<u64, u32>,
    given: u64,
    /// What blocks do next; without it they succeed, with other values for all names.
    random: Option<u64>,
    seen: Vec<String>,
    assigns: Vec<(usize, Cell)>,
    raises: bool,
}

impl Ledger {
    fn give(&mut self) -> Cell {
        self.given += 1;
        self.counts.insert(self.given, 1);
        Cell {
            bits: self.given,
            tag: Tag::Other,
        }
    }

    fn below(&mut self, n: u64) -> u64 {
        let Some(random) = &mut self.random else {
            return n - 1;
        };
        *random = random
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (*random >> 33) % n
    }

    fn any(&mut self) -> Cell {
        match self.below(4) {
            0 => Cell::UNSET,
            1 => Cell::int(5),
            _ => self.give(),
        }
    }

    fn held(&self) -> usize {
        self.counts.values().map(|n| *n as usize).sum()
    }
}

/// The slices, one after the other, with states and environments.
fn text(view: View) -> String {
    let property = view.property();
    let one = |r| {
        let env: Vec<String> = (0..property.env.len())
            .map(|i| match view.env(r, i) {
                c if c.tag == Tag::Other => "other".into(),
                c => format!("{}", c.bits as i64),
            })
            .collect();
        let state = &property.state(view.state(r)).name;
        format!("{:?} {state} {env:?}", view.bindings(r))
    };
    view.iter().map(one).collect::<Vec<_>>().join("; ")
}

impl Host for Ledger {
    fn run(
        &mut self,
        _: View,
        _: BlockId,
        _: Params,
        env: &mut [Cell],
        owned: &mut [bool],
        _: &mut String,
    ) -> Result<Truth, Raised> {
        for (cell, owned) in env.iter_mut().zip(owned) {
            if self.below(2) != 0 {
                let new = self.any();
                let old = std::mem::replace(cell, new);
                if std::mem::replace(owned, new.tag == Tag::Other) {
                    self.release(old);
                }
            }
        }
        match self.below(8) {
            0 => Err(Raised::new("block")),
            1 => Ok(Truth::None),
            2 | 3 => Ok(Truth::False),
            _ => Ok(Truth::True),
        }
    }

    fn has_action(&mut self, _: &str) -> bool {
        true
    }

    fn action(
        &mut self,
        view: View,
        name: &str,
        slice: SlotRef,
        _: &mut String,
    ) -> Result<Assigned, Raised> {
        let (bindings, number) = (view.bindings(slice), view.created(slice));
        self.seen
            .push(format!("{name} {bindings:?} #{number}: {}", text(view)));
        if self.raises {
            return Err(Raised::new("action"));
        }
        Ok(std::mem::take(&mut self.assigns))
    }

    fn copy(&mut self, cells: &mut [Cell]) -> Result<(), Raised> {
        for c in cells.iter_mut().filter(|c| c.tag == Tag::Other) {
            *c = self.give();
        }
        Ok(())
    }

    fn release(&mut self, cell: Cell) {
        if cell.tag == Tag::Other {
            let count = self.counts.get_mut(&cell.bits).expect("a known value");
            *count = count.checked_sub(1).expect("a value that is held");
        }
    }

    fn json(&mut self, _: Cell) -> String {
        "null".into()
    }
}

const COUNTED: &str = "slice on q
initialization { n = 10; m = 0 }
state init { transition { event f(q, x) { n = n + x } success { m = 1 } made() s } }
state s entered() { transition { event f(q, x) success { n = n + x } stepped() t } }
state t non-accepting
";

#[test]
fn an_action_finds_its_slice_as_its_blocks_have_left_it() {
    let mut host = Ledger::default();
    let mut m = start(COUNTED, &mut host);
    host.assigns = vec![(1, Cell::int(7)), (1, Cell::int(8))];
    apply(&mut m, "f", &[Arg::Float(4.0), Arg::Int(2)], &mut host);
    apply(&mut m, "f", &[Arg::Int(4), Arg::Int(3)], &mut host);
    // 4.0 is the key 4, before there is a slice as well as after.
    let root = "[] init [\"10\", \"0\"]";
    let q = "[(\"q\", Int(4))]";
    assert_eq!(
        host.seen,
        [
            format!("made {q} #1: {root}; {q} init [\"12\", \"1\"]"),
            format!("entered {q} #1: {root}; {q} s [\"12\", \"8\"]"),
            format!("stepped {q} #1: {root}; {q} s [\"15\", \"8\"]"),
        ]
    );
    let left = text(m.slices().into());
    assert_eq!(left, format!("{root}; {q} t [\"15\", \"8\"]"));
}

#[test]
fn a_new_slice_is_where_its_action_saw_it() {
    let mut host = Ledger::default();
    let closing = "slice on q ends close(q)\nstate init { transition { event open(q) success made() s } }\nstate s";
    let mut m = start(closing, &mut host);
    for name in ["a", "b", "c"] {
        apply(&mut m, "open", &[Arg::Str(name)], &mut host);
    }
    // The next one takes the place of one that ended.
    apply(&mut m, "close", &[Arg::Str("b")], &mut host);
    apply(&mut m, "open", &[Arg::Str("d")], &mut host);
    let last = host.seen.pop().unwrap_or_default();
    assert!(
        last.starts_with("made [(\"q\", Str(\"d\"))] #4: "),
        "{last}"
    );
    assert!(last.ends_with("; [(\"q\", Str(\"d\"))] init []"), "{last}");
    let slices = m.slices();
    let numbers: Vec<u64> = slices.iter().map(|r| slices.created(r)).collect();
    assert_eq!(numbers, [0, 1, 4, 3]);
}

#[test]
fn an_action_that_raises_has_changed_nothing() {
    let mut host = Ledger::default();
    let mut m = start(COUNTED, &mut host);
    let event = [Arg::Int(4), Arg::Int(2)];
    host.raises = true;
    let before = text(m.slices().into());
    assert_eq!(apply(&mut m, "f", &event, &mut host), 1);
    assert_eq!(text(m.slices().into()), before, "no slice was made");
    host.raises = false;
    assert_eq!(apply(&mut m, "f", &event, &mut host), 0);
    let made = text(m.slices().into());
    host.raises = true;
    assert_eq!(apply(&mut m, "f", &event, &mut host), 1);
    assert_eq!(text(m.slices().into()), made);
    let all: Vec<&str> = host.seen.iter().map(String::as_str).collect();
    assert_eq!(all[0], all[1], "the number is that of the next slice still");
}

#[test]
fn what_an_action_gives_replaces_what_a_block_gave() {
    let mut host = Ledger::default();
    let mut m = start(
        "slice on q
initialization { a = [] }
state init { transition { event f(q) success { a = [1] } act() s } }
state s { transition { event f(q) success act() s } }",
        &mut host,
    );
    for round in 0..3 {
        let given = host.give();
        host.assigns = vec![(0, host.give()), (0, given)];
        assert_eq!(apply(&mut m, "f", &[Arg::Int(1)], &mut host), 0);
        let slices = m.slices();
        let slice = slices.iter().nth(1).expect("the slice was made");
        assert_eq!(slices.env(slice, 0), given, "round {round}");
        assert_eq!(host.held(), 2, "its own and the root's");
    }
    m.discard(&mut host);
    assert_eq!(host.held(), 0);
}

/// The cell beside the names is copied, saved and given back as those of names are.
#[test]
fn what_is_kept_beside_the_names_lives_as_they_do() {
    let mut host = Ledger::default();
    let property = "slice on a, b ends end(b)
initialization { n = 0 }
state init { transition { event f(a) success act() one } }
state one { transition { event g(a, b) success act() two } }
state two";
    let mut m = start(property, &mut host);
    let kept = |m: &Monitor| {
        let slices = m.slices();
        let all = slices.iter().map(|r| slices.env(r, slices.beside()));
        all.collect::<Vec<Cell>>()
    };
    let given = host.give();
    host.assigns = vec![(1, given)];
    apply(&mut m, "f", &[Arg::Int(1)], &mut host);
    assert_eq!(kept(&m), [Cell::UNSET, given]);
    apply(&mut m, "g", &[Arg::Int(1), Arg::Int(2)], &mut host);
    let child = kept(&m)[2];
    assert!(child != given && child.tag == Tag::Other, "a copy");
    let saved = m.snapshot(&mut host).unwrap();
    assert_eq!(host.held(), 4);
    assert!(!kept(&saved).contains(&child));
    apply(&mut m, "end", &[Arg::Int(2)], &mut host);
    assert_eq!(kept(&m), [Cell::UNSET, given]);
    assert_eq!(host.held(), 3);
    // The place is used again, by a slice that has nothing to do with it.
    let last = m.slices().iter().last().unwrap();
    m.set_env(last, 1, Cell::UNSET, &mut host);
    apply(&mut m, "g", &[Arg::Int(1), Arg::Int(2)], &mut host);
    assert_eq!(kept(&m), [Cell::UNSET; 3]);
    m.discard(&mut host);
    assert_eq!(kept(&saved).len(), 3);
    saved.discard(&mut host);
    assert_eq!(host.held(), 0);
}

/// Every reference is given back once, whatever blocks and actions do.
#[test]
fn no_reference_is_lost_or_given_back_twice() {
    const PROPERTY: &str = "slice on a, b ends end(b)
initialization { x = []; y = [] }
state init { transition { event f(a) { x = [] } success { y = [] } act() one failure one } }
state one entered() {
    transition { event f(a) { x = 1; return y == [] } success act() one failure { x = 2 } act() one }
    transition { event g(a, b) { y = [] } success { x = 3 } act() two }
}
state two entered() {
    transition { event g(a, b) success { x = 4 } act() two }
    transition { event h(b) { x = [] } success { y = [] } act() one }
    transition { event over(a) success act() done }
}
state done final
";
    for seed in 1..200 {
        let mut host = Ledger {
            random: Some(seed),
            ..Ledger::default()
        };
        let started = Monitor::new(
            property(PROPERTY),
            Options::default(),
            &mut host,
            &mut Failures::default(),
        );
        let Ok(mut m) = started else {
            assert_eq!(host.held(), 0, "seed {seed}");
            continue;
        };
        for _ in 0..60 {
            let (a, b) = (host.below(3) as i64, host.below(3) as i64);
            let (a, b) = (Arg::Int(a), Arg::Int(b));
            host.raises = host.below(4) == 0;
            if !host.raises && host.assigns.is_empty() {
                host.assigns = (0..host.below(5))
                    .map(|i| (i as usize % 3, host.any()))
                    .collect();
            }
            let (name, args) = match host.below(5) {
                0 => ("f", vec![a]),
                1 => ("g", vec![a, b]),
                2 => ("h", vec![b]),
                3 => ("over", vec![a]),
                _ => ("end", vec![b]),
            };
            apply(&mut m, name, &args, &mut host);
            host.seen.clear();
            let slices = m.slices();
            let cells = slices
                .iter()
                .flat_map(|r| (0..=slices.beside()).map(move |i| slices.env(r, i)));
            let waiting = host.assigns.iter().map(|(_, c)| *c);
            let all: Vec<Cell> = cells
                .chain(waiting)
                .filter(|c| c.tag == Tag::Other)
                .collect();
            assert_eq!(host.held(), all.len(), "seed {seed}");
            assert!(all.iter().all(|c| host.counts[&c.bits] == 1), "seed {seed}");
        }
        m.discard(&mut host);
        for (_, cell) in std::mem::take(&mut host.assigns) {
            host.release(cell);
        }
        assert_eq!(host.held(), 0, "seed {seed}");
    }
}
