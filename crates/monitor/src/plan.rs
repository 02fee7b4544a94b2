//! What an event does to the table, worked out once when the property is
//! loaded: which levels to look at, how to find the slices there, and whether
//! they step or give birth.

use crate::direct::Direct;
use crate::layout::Layout;
use verde_property::{Binding, Mask, Property, SpecId, StateId};

/// How the slices of a level that are compatible with an event are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Find {
    /// The event binds every parameter of the level: at most one slice.
    Exact,
    /// It binds only those of this group of the level.
    Group(u16),
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
    pub variant: u16,
}

#[derive(Clone, Copy, Debug)]
pub struct EndProbe {
    pub level: u8,
    pub find: Find,
    /// Index into the property's `ends`.
    pub ends: u16,
}

#[derive(Clone, Debug, Default)]
pub struct EventPlan {
    /// States bind an event in one way each, but not all in the same.
    pub bindings: Vec<Binding>,
    /// The states that have transitions on it, with their variant.
    states: Vec<(StateId, u16)>,
    pub probes: Vec<Probe>,
    pub ends: Vec<EndProbe>,
    /// When all that the event can do is to step the one slice of its key.
    pub direct: Option<Direct>,
}

/// The transitions of one state on one event.
#[derive(Clone, Debug)]
pub struct Candidates {
    pub event: SpecId,
    pub transitions: Vec<u16>,
    pub variant: u16,
}

#[derive(Clone, Debug)]
pub struct Plan {
    pub events: Vec<EventPlan>,
    /// For each state the events that it has transitions on, by their number.
    states: Vec<Vec<Candidates>>,
    /// The `ends` events that slices of each level wait for.
    pub level_ends: Vec<Vec<SpecId>>,
    /// The groups that the slots of each level are linked in.
    pub groups: Vec<Vec<Mask>>,
    /// How the slots of each level lie in memory.
    pub layouts: Vec<Layout>,
}

impl Plan {
    pub fn new(p: &Property) -> Plan {
        let mut plan = Plan {
            events: vec![EventPlan::default(); p.events.len()],
            states: vec![Vec::new(); p.states.len()],
            level_ends: vec![Vec::new(); p.chain.len()],
            groups: vec![Vec::new(); p.chain.len()],
            layouts: Vec::new(),
        };
        plan.candidates(p);
        for event in 0..p.events.len() {
            plan.probes(p, event);
        }
        plan.ends(p);
        let levels = p.chain.iter().zip(&plan.groups);
        plan.layouts = levels
            .map(|(mask, groups)| Layout::new(groups.len(), mask.len(), p.env.len()))
            .collect();
        for event in 0..p.events.len() {
            plan.events[event].direct = Direct::new(p, &plan, SpecId(event as u16));
        }
        plan
    }

    #[inline]
    pub fn of(&self, state: StateId, event: SpecId) -> Option<&Candidates> {
        let list = &self.states[state.index()];
        let i = list.binary_search_by_key(&event, |c| c.event).ok()?;
        Some(&list[i])
    }

    /// The events that a state has transitions on.
    pub fn events_of(&self, state: StateId) -> impl Iterator<Item = SpecId> + '_ {
        self.states[state.index()].iter().map(|c| c.event)
    }

    /// The states with transitions that bind the event in this way.
    pub fn states_of(&self, event: SpecId, variant: u16) -> impl Iterator<Item = StateId> + '_ {
        let states = self.events[event.index()].states.iter();
        states.filter(move |(_, v)| *v == variant).map(|(s, _)| *s)
    }

    fn candidates(&mut self, p: &Property) {
        for (s, state) in p.states.iter().enumerate() {
            let list = &mut self.states[s];
            for (i, t) in state.transitions.iter().enumerate() {
                match list.binary_search_by_key(&t.event, |c| c.event) {
                    Ok(k) => list[k].transitions.push(i as u16),
                    Err(k) => {
                        let event = &mut self.events[t.event.index()];
                        let known = event.bindings.iter().position(|b| *b == t.binding);
                        let variant = known.unwrap_or_else(|| {
                            event.bindings.push(t.binding.clone());
                            event.bindings.len() - 1
                        }) as u16;
                        event.states.push((StateId(s as u16), variant));
                        list.insert(
                            k,
                            Candidates {
                                event: t.event,
                                transitions: vec![i as u16],
                                variant,
                            },
                        );
                    }
                }
            }
        }
    }

    fn probes(&mut self, p: &Property, event: usize) {
        let ends_here = p.ends.iter().any(|e| e.event.index() == event);
        // Levels at which a slice can be in a state that has each variant.
        let mut levels = vec![0u32; self.events[event].bindings.len()];
        for (state, variant) in &self.events[event].states {
            levels[*variant as usize] |= p.levels[state.index()];
        }
        for (variant, levels) in levels.into_iter().enumerate() {
            let bound = self.events[event].bindings[variant].mask;
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
                    variant: variant as u16,
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
                    ends: i as u16,
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
        Find::Group(i as u16)
    }
}
