//! The monitor against two references on random chain properties.
//!
//! The declarative one projects the trace on each full instance and runs the
//! automaton over it: the most specific slice of an instance must be in the
//! state of that run. It has no notion of a slice's life, so it is asked only
//! where nothing ends.
//!
//! The other one keeps the set of instances in the words of the semantics
//! (compatible, joined, nobody between), without tables, levels or plans.

use std::collections::BTreeMap;
use verde_monitor::{Arg, Event, Monitor, NoPython, Options, SlotRef};
use verde_property::{Functions, Property, SpecId, load_property};

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n
    }
}

/// An event of the random alphabet: its name and the slice parameters it binds.
struct Spec {
    name: String,
    binds: Vec<usize>,
}

/// What a transition does: add to the counter, and go where the guard says.
#[derive(Clone)]
struct Rule {
    event: usize,
    /// The guard is `n % modulus != 0`; 0 for no guard.
    modulus: i64,
    add: i64,
    success: Option<usize>,
    failure: Option<usize>,
}

struct Case {
    text: String,
    events: Vec<Spec>,
    rules: Vec<Vec<Rule>>,
    finals: Vec<bool>,
    ends: Option<usize>,
    params: usize,
}

fn generate(r: &mut Random) -> Case {
    let params = 1 + r.below(3);
    let n_states = 2 + r.below(4);
    let n_events = 2 + r.below(4);
    let names = ["a", "b", "c"];
    let events: Vec<Spec> = (0..n_events)
        .map(|i| Spec {
            name: format!("e{i}"),
            binds: (0..params).filter(|_| r.below(2) == 0).collect(),
        })
        .collect();
    let ends = (r.below(3) == 0)
        .then(|| r.below(n_events))
        .filter(|e| !events[*e].binds.is_empty());
    let finals: Vec<bool> = (0..n_states).map(|i| i > 0 && r.below(6) == 0).collect();
    let rules: Vec<Vec<Rule>> = (0..n_states)
        .map(|_| {
            (0..r.below(5))
                .map(|_| {
                    let modulus = if r.below(2) == 0 {
                        0
                    } else {
                        2 + r.below(3) as i64
                    };
                    Rule {
                        event: r.below(n_events),
                        modulus,
                        add: r.below(4) as i64,
                        success: (r.below(5) > 0).then(|| r.below(n_states)),
                        failure: (modulus > 0 && r.below(2) == 0).then(|| r.below(n_states)),
                    }
                })
                .collect()
        })
        .collect();
    let mut text = format!("slice on {}", names[..params].join(", "));
    let bind = |e: usize| {
        let list: Vec<&str> = events[e].binds.iter().map(|i| names[*i]).collect();
        list.join(", ")
    };
    if let Some(e) = ends {
        text += &format!(" ends {}({})", events[e].name, bind(e));
    }
    text += "\ninitialization { n = 1 }\n";
    let state = |i: usize| {
        if i == 0 {
            "init".to_string()
        } else {
            format!("s{i}")
        }
    };
    for (i, rules) in rules.iter().enumerate() {
        let accepting = if i % 2 == 1 { " non-accepting" } else { "" };
        let last = if finals[i] { " final" } else { "" };
        text += &format!("state {}{accepting}{last} {{\n", state(i));
        for t in rules {
            text += &format!(
                "  transition {{ event {}({})",
                events[t.event].name,
                bind(t.event)
            );
            if t.modulus > 0 {
                text += &format!(" {{ return n % {} != 0 }}", t.modulus);
            }
            if let Some(to) = t.success {
                text += &format!(" success {{ n = n + {} }} {}", t.add, state(to));
            }
            if let Some(to) = t.failure {
                text += &format!(" failure {{ n = n + {} }} {}", t.add + 1, state(to));
            }
            text += " }\n";
        }
        text += "}\n";
    }
    Case {
        text,
        events,
        rules,
        finals,
        ends,
        params,
    }
}

type Instance = BTreeMap<usize, i64>;

#[derive(Clone, Debug, PartialEq)]
struct Life {
    state: usize,
    n: i64,
}

/// All existing instances, by the definition: compatible, joined, most specific.
struct Reference<'a> {
    p: &'a Case,
    alive: BTreeMap<Instance, Life>,
    root_ended: bool,
}

fn within(x: &Instance, y: &Instance) -> bool {
    x.iter().all(|(k, v)| y.get(k) == Some(v))
}

impl Reference<'_> {
    fn step(&self, life: &Life, event: usize) -> Option<Life> {
        for t in self.p.rules[life.state].iter().filter(|t| t.event == event) {
            let holds = t.modulus == 0 || life.n % t.modulus != 0;
            let (to, add) = if holds {
                (t.success, t.add)
            } else {
                (t.failure, t.add + 1)
            };
            if let Some(state) = to {
                return Some(Life {
                    state,
                    n: life.n + add,
                });
            }
        }
        None
    }

    fn has_rule(&self, life: &Life, event: usize) -> bool {
        self.p.rules[life.state].iter().any(|t| t.event == event)
    }

    fn apply(&mut self, event: usize, t: &Instance) {
        let before = self.alive.clone();
        let mut after = before.clone();
        for (x, life) in &before {
            let compatible = t.iter().all(|(k, v)| x.get(k).is_none_or(|w| w == v));
            if !compatible || !self.has_rule(life, event) {
                continue;
            }
            let mut y = x.clone();
            y.extend(t);
            if y != *x {
                // Every slice other than `x` at or below `y` and above `x` is responsible instead.
                let other = before
                    .keys()
                    .any(|z| z != x && within(x, z) && within(z, &y));
                if other || self.p.ends == Some(event) {
                    continue;
                }
            }
            if let Some(new) = self.step(life, event) {
                after.insert(y, new);
            }
        }
        if self.p.ends == Some(event) {
            after.retain(|x, _| x.is_empty() || !within(t, x));
        }
        self.root_ended |= after
            .get(&Instance::new())
            .is_some_and(|l| self.p.finals[l.state]);
        after.retain(|_, l| !self.p.finals[l.state]);
        self.alive = after;
    }
}

fn instance(m: &Monitor, p: &Case, r: SlotRef) -> (Instance, Life) {
    let names = ["a", "b", "c"];
    let key = m
        .slices()
        .bindings(r)
        .into_iter()
        .map(|(n, v)| {
            let i = names[..p.params].iter().position(|x| *x == n).unwrap();
            let Arg::Int(v) = v else {
                panic!("keys are integers")
            };
            (i, v)
        })
        .collect();
    let state = m.slices().state(r).index();
    let n = m.slices().env(r, 0).bits as i64;
    (key, Life { state, n })
}

fn full_instances(params: usize) -> Vec<Instance> {
    (0..params).fold(vec![Instance::new()], |list, p| {
        list.iter()
            .flat_map(|i| {
                (0..3).map(move |v| {
                    let mut i = i.clone();
                    i.insert(p, v);
                    i
                })
            })
            .collect()
    })
}

/// Whether the declarative reference was asked too.
fn compare(p: &Case, property: Property, r: &mut Random, seed: u64) -> bool {
    // States of the model are in the order of the text.
    let specs: Vec<Option<SpecId>> = p
        .events
        .iter()
        .map(|e| {
            property
                .events
                .iter()
                .position(|x| x.name == e.name)
                .map(|i| SpecId(i as u16))
        })
        .collect();
    let lives_on = p.ends.is_none() && !p.finals.contains(&true);
    let mut projected: BTreeMap<Instance, Life> = full_instances(p.params)
        .into_iter()
        .map(|i| (i, Life { state: 0, n: 1 }))
        .collect();
    let mut m = Monitor::new(property.into(), Options::default(), &mut NoPython, &mut ()).unwrap();
    let mut reference = Reference {
        p,
        alive: BTreeMap::from([(Instance::new(), Life { state: 0, n: 1 })]),
        root_ended: false,
    };
    for n in 0..40 {
        let e = r.below(p.events.len());
        let Some(spec) = specs[e] else { continue };
        let t: Instance = p.events[e]
            .binds
            .iter()
            .map(|i| (*i, r.below(3) as i64))
            .collect();
        let args: Vec<Option<Arg>> = m
            .property()
            .event(spec)
            .params
            .iter()
            .map(|param| {
                let i = ["a", "b", "c"]
                    .iter()
                    .position(|x| *x == param.text)
                    .unwrap();
                Some(Arg::Int(t[&i]))
            })
            .collect();
        let event = Event {
            n,
            spec,
            args: &args,
            tid: None,
            time: None,
            loc: None,
        };
        m.apply(&event, &mut NoPython, &mut ());
        reference.apply(e, &t);
        let ours: BTreeMap<Instance, Life> =
            m.slices().iter().map(|r| instance(&m, p, r)).collect();
        assert_eq!(
            ours, reference.alive,
            "seed {seed}, event {n}: e{e} {t:?}\n{}",
            p.text
        );
        if lives_on {
            for (i, life) in &mut projected {
                if within(&t, i)
                    && let Some(new) = reference.step(life, e)
                {
                    *life = new;
                }
                let most_specific = ours
                    .iter()
                    .filter(|(x, _)| within(x, i))
                    .max_by_key(|(x, _)| x.len());
                assert_eq!(
                    most_specific.map(|(_, l)| l),
                    Some(&*life),
                    "seed {seed}, event {n}: instance {i:?}\n{}",
                    p.text
                );
            }
        }
        // `enabled` is exactly: some slice has a transition, or can be ended.
        for (k, spec) in specs.iter().enumerate() {
            let Some(spec) = spec else { continue };
            let wanted = reference.alive.values().any(|l| reference.has_rule(l, k))
                || (p.ends == Some(k)
                    && reference.alive.keys().any(|x| {
                        !x.is_empty() && p.events[k].binds.iter().all(|b| x.contains_key(b))
                    }));
            assert_eq!(
                m.enabled(*spec),
                wanted,
                "seed {seed}, event {n}: e{k}\n{}",
                p.text
            );
        }
    }
    lives_on
}

#[test]
fn random_chain_properties_agree_with_the_declarative_reference() {
    let (mut chains, mut refused, mut declarative) = (0, 0, 0);
    for seed in 0..6000 {
        let mut r = Random(seed);
        let p = generate(&mut r);
        let loaded = load_property("random.prop", p.text.as_bytes(), &Functions::default());
        match loaded.model {
            Some(property) => {
                chains += 1;
                declarative += usize::from(compare(&p, property, &mut r, seed));
            }
            None => refused += 1,
        }
    }
    assert!(
        chains > 500 && refused > 500 && declarative > 200,
        "{chains} chains ({declarative} declarative), {refused} refused"
    );
}
