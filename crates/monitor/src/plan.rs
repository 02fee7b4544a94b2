//! What an event does to the table, worked out once when the property is
//! loaded: which levels to look at, how to find the slices there, and whether
//! they step or give birth.

use verde_property::{Binding, Mask, Property, SpecId, StateId};

/// How the slices of a level that are compatible with an event are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Find {
    /// The event binds every parameter of the level: at most one slice.
    Exact,
    /// It binds only those of this group of the level.
    Group(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The slice is at least as specific as the event.
    Step,
    /// The event knows more: a slice of this level may come into being.
    Create(u8),
}

#[derive(Clone, Copy, Debug)]
pub struct Probe {
    pub level: u8,
    pub find: Find,
    pub then: Then,
    /// Index into [`EventPlan::bindings`].
    pub variant: u8,
}

#[derive(Clone, Copy, Debug)]
pub struct EndProbe {
    pub level: u8,
    pub find: Find,
    /// Index into the property's `ends`.
    pub ends: u8,
}

#[derive(Clone, Debug, Default)]
pub struct EventPlan {
    /// States bind an event in one way each, but not all in the same.
    pub bindings: Vec<Binding>,
    pub probes: Vec<Probe>,
    pub ends: Vec<EndProbe>,
}

/// The transitions of one state on one event.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    pub transitions: Vec<u16>,
    pub variant: u8,
}

#[derive(Clone, Debug)]
pub struct Plan {
    pub events: Vec<EventPlan>,
    /// By state, then event.
    candidates: Vec<Candidates>,
    n_events: usize,
    /// The events that each state has transitions on.
    pub state_events: Vec<Vec<SpecId>>,
    /// The `ends` events that slices of each level wait for.
    pub level_ends: Vec<Vec<SpecId>>,
    /// The groups that the slots of each level are linked in.
    pub groups: Vec<Vec<Mask>>,
}

impl Plan {
    pub fn new(p: &Property) -> Plan {
        let n_events = p.events.len();
        let mut plan = Plan {
            events: vec![EventPlan::default(); n_events],
            candidates: vec![Candidates::default(); n_events * p.states.len()],
            n_events,
            state_events: vec![Vec::new(); p.states.len()],
            level_ends: vec![Vec::new(); p.chain.len()],
            groups: vec![Vec::new(); p.chain.len()],
        };
        plan.candidates(p);
        for e in 0..n_events {
            plan.probes(p, e);
        }
        plan.ends(p);
        plan
    }

    pub fn of(&self, state: StateId, event: SpecId) -> &Candidates {
        &self.candidates[state.index() * self.n_events + event.index()]
    }

    fn candidates(&mut self, p: &Property) {
        for (s, state) in p.states.iter().enumerate() {
            for (i, t) in state.transitions.iter().enumerate() {
                let bindings = &mut self.events[t.event.index()].bindings;
                let variant = bindings
                    .iter()
                    .position(|b| *b == t.binding)
                    .unwrap_or_else(|| {
                        bindings.push(t.binding.clone());
                        bindings.len() - 1
                    });
                let c = &mut self.candidates[s * self.n_events + t.event.index()];
                c.variant = variant as u8;
                c.transitions.push(i as u16);
                if !self.state_events[s].contains(&t.event) {
                    self.state_events[s].push(t.event);
                }
            }
        }
    }

    fn probes(&mut self, p: &Property, event: usize) {
        let ends_here = p.ends.iter().any(|e| e.event.index() == event);
        for variant in 0..self.events[event].bindings.len() {
            let bound = self.events[event].bindings[variant].mask;
            // Levels at which a slice can be in a state that has this variant.
            let levels = (0..p.states.len())
                .filter(|s| {
                    let c = &self.candidates[s * self.n_events + event];
                    !c.transitions.is_empty() && c.variant as usize == variant
                })
                .fold(0u32, |m, s| m | p.levels[s]);
            for level in (0..p.chain.len()).filter(|l| levels & (1 << l) != 0) {
                let mask = p.chain[level];
                let then = if bound.within(mask) {
                    Then::Step
                } else {
                    let Some(to) = p.chain.iter().position(|m| *m == mask.union(bound)) else {
                        continue;
                    };
                    // An event of `ends` creates no slice.
                    if ends_here {
                        continue;
                    }
                    Then::Create(to as u8)
                };
                let find = self.find(level, mask, mask.meet(bound));
                self.events[event].probes.push(Probe {
                    level: level as u8,
                    find,
                    then,
                    variant: variant as u8,
                });
            }
        }
    }

    fn ends(&mut self, p: &Property) {
        for (i, e) in p.ends.iter().enumerate() {
            // The root binds nothing, so no event names it.
            for level in 1..p.chain.len() {
                let mask = p.chain[level];
                if !e.binding.mask.within(mask) {
                    continue;
                }
                let find = self.find(level, mask, e.binding.mask);
                self.events[e.event.index()].ends.push(EndProbe {
                    level: level as u8,
                    find,
                    ends: i as u8,
                });
                if !self.level_ends[level].contains(&e.event) {
                    self.level_ends[level].push(e.event);
                }
            }
        }
    }

    fn find(&mut self, level: usize, mask: Mask, known: Mask) -> Find {
        if known == mask {
            return Find::Exact;
        }
        let groups = &mut self.groups[level];
        let i = groups.iter().position(|g| *g == known).unwrap_or_else(|| {
            groups.push(known);
            groups.len() - 1
        });
        Find::Group(i as u8)
    }
}
