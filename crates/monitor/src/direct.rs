//! The common case without detours: an event steps the one slice of its key,
//! where it is, by flat code.
//!
//! With a million slices an event is two waits for memory: for the index, then
//! for the slot. The processor can wait for several events at once, but only
//! while few instructions lie between them. That is why this way is short, and
//! why everything that it needs was worked out before the first event.

use crate::cell::Arg;
use crate::flat::{Flat, Undo, roll_back};
use crate::history::Change;
use crate::host::Truth;
use crate::layout::{HISTORY, Layout, META};
use crate::monitor::{Core, Event, fits};
use crate::observer::{Branch, Step};
use crate::plan::{Find, Plan, Then};
use std::hint::black_box;
use verde_property::ir::Types;
use verde_property::{BlockId, Property, SpecId, StateId, Tier, Transition, Verdict};

/// What an event does that can only step the one slice of its key.
#[derive(Clone, Debug)]
pub struct Direct {
    level: u8,
    /// The event's parameters that make the key.
    key: Box<[u16]>,
    /// The states with transitions on the event, ordered.
    states: Box<[(StateId, Choices)]>,
}

/// The transitions to try in their order; `None` when one of them needs the long way.
type Choices = Option<Box<[Choice]>>;

#[derive(Clone, Debug)]
struct Choice {
    /// Index into the state's transitions.
    transition: u16,
    /// The parameters that must be there.
    needs: Box<[(u16, Types)]>,
    guard: Guard,
    success: Option<Target>,
    failure: Option<Target>,
}

#[derive(Clone, Debug)]
enum Guard {
    True,
    /// Its word counts.
    Asks(Flat),
    /// Without a `return` it counts as True.
    Runs(Flat),
}

#[derive(Clone, Debug)]
struct Target {
    code: Option<Flat>,
    to: StateId,
    /// The state has no action, ends no slice and is no violation.
    quiet: bool,
}

impl Direct {
    pub fn new(p: &Property, plan: &Plan, event: SpecId) -> Option<Direct> {
        let e = &plan.events[event.index()];
        let probe = match e.probes[..] {
            [p] if p.find == Find::Exact && p.then == Then::Step => p,
            _ => return None,
        };
        if !e.ends.is_empty() {
            return None;
        }
        let layout = &plan.layouts[probe.level as usize];
        let mut states: Vec<(StateId, Choices)> = plan
            .states_of(event, probe.variant)
            .map(|s| {
                let of = plan.of(s, event).map_or(&[][..], |c| &c.transitions);
                let choices = of.iter().map(|i| Choice::new(p, layout, s, *i));
                (s, choices.collect())
            })
            .collect();
        states.sort_by_key(|(s, _)| *s);
        Some(Direct {
            level: probe.level,
            key: e.bindings[probe.variant as usize].args.clone().into(),
            states: states.into(),
        })
    }

    #[inline]
    fn of(&self, state: StateId) -> Option<&Choices> {
        // Few states wait for the same event.
        if let [(s, choices)] = &self.states[..] {
            return (*s == state).then_some(choices);
        }
        let i = self.states.binary_search_by_key(&state, |(s, _)| *s).ok()?;
        Some(&self.states[i].1)
    }
}

impl Choice {
    fn new(p: &Property, layout: &Layout, state: StateId, transition: u16) -> Option<Choice> {
        let t: &Transition = &p.state(state).transitions[transition as usize];
        // The outer `None`: there is code, but not flat.
        let flat = |b: BlockId| match &p.block(b).tier {
            Tier::Empty => Some(None),
            Tier::Typed(code) => Flat::compile(code, &t.params, layout).map(Some),
            Tier::Python(_) => None,
        };
        let guard = match t.guard {
            None => Guard::True,
            Some(g) => match flat(g)? {
                None => Guard::True,
                Some(code) if p.block(g).has_return => Guard::Asks(code),
                Some(code) => Guard::Runs(code),
            },
        };
        let mut targets = [None, None];
        for (target, outcome) in targets.iter_mut().zip([&t.success, &t.failure]) {
            let Some(o) = outcome else { continue };
            // An action may look at the slice.
            if o.action.is_some() {
                return None;
            }
            let state = p.state(o.to);
            *target = Some(Target {
                code: match o.block {
                    Some(b) => flat(b)?,
                    None => None,
                },
                to: o.to,
                quiet: state.action.is_none() && !state.is_final && state.verdict != Verdict::False,
            });
        }
        let [success, failure] = targets;
        Some(Choice {
            transition,
            needs: t.params.iter().map(|u| (u.arg, u.types)).collect(),
            guard,
            success,
            failure,
        })
    }

    /// Guard and code on the slot; `undo` has what must be taken back unless the
    /// transition is taken. The outer `None`: it cannot be done so.
    #[inline]
    fn try_on(
        &self,
        slot: &mut [u64],
        event: &Event,
        undo: &mut Undo,
    ) -> Option<(Option<&Target>, Branch)> {
        let args = event.args;
        if !self.has_arguments(args) {
            return None;
        }
        let truth = match &self.guard {
            Guard::True => Truth::True,
            Guard::Asks(code) => code.run(args, slot, undo, code.stores())?,
            Guard::Runs(code) => {
                code.run(args, slot, undo, code.stores())?;
                Truth::True
            }
        };
        let (target, branch) = match truth {
            Truth::True => (self.success.as_ref(), Branch::Success),
            Truth::False => (self.failure.as_ref(), Branch::Failure),
            Truth::None => (None, Branch::Failure),
        };
        if let Some(code) = target.and_then(|t| t.code.as_ref()) {
            code.run(args, slot, undo, false)?;
        }
        Some((target, branch))
    }

    #[inline]
    fn has_arguments(&self, args: &[Option<Arg>]) -> bool {
        self.needs
            .iter()
            .all(|(arg, types)| match args.get(*arg as usize) {
                Some(Some(value)) => *types == Types::ANY || fits(*value, *types),
                _ => false,
            })
    }
}

/// What came of an event on the direct way.
pub enum Went<'a> {
    /// It concerned no slice, or changed nothing.
    Nowhere,
    /// The slice took a transition. Into a state where nothing is to be done, when `quiet`.
    Stepped { step: Step<'a>, quiet: bool },
    /// Nothing happened: take the long way.
    Astray,
}

/// Most events that [`Core::expect`] looks at together: more do not fit into
/// what a processor can wait for at once.
const TOGETHER: usize = 16;
/// So few slices are in the caches anyway.
const FEW: u64 = 1 << 14;

impl Core {
    /// Reads what the events will need, without a wait between one and the next.
    pub(crate) fn expect<'a>(
        &self,
        events: impl Iterator<Item = (&'a Direct, &'a [Option<Arg<'a>>])>,
    ) {
        if self.slices.live() < FEW {
            return;
        }
        let mut expected = [(0, 0); TOGETHER];
        let mut n = 0;
        let hash = |(d, args): (&Direct, _)| {
            let hash = self.slices.hash_bound(d.level, &d.key, args).ok()?;
            Some((d.level, hash))
        };
        for (place, event) in expected.iter_mut().zip(events.filter_map(hash)) {
            *place = event;
            n += 1;
        }
        let expected = &expected[..n];
        // A loop for each read: then no read has to wait for the one before it,
        // and the few instructions of many fit into the processor's window.
        let touch = |all, (level, hash): &(u8, u64)| all ^ self.slices.touch(*level, *hash);
        black_box(expected.iter().fold(0, touch));
        let mut slots = [None; TOGETHER];
        for (slot, (level, hash)) in slots.iter_mut().zip(expected) {
            *slot = self.slices.guess(*level, *hash);
        }
        let slots = black_box(&slots).iter().flatten();
        black_box(slots.fold(0, |all, r| all ^ self.slices.state(*r).0));
    }

    #[inline]
    pub(crate) fn direct(&mut self, d: &Direct, event: &Event) -> Went<'static> {
        let slice = match self.slices.find_bound(d.level, &d.key, event.args) {
            Ok(Some(slice)) => slice,
            Ok(None) => return Went::Nowhere,
            Err(_) => return Went::Astray,
        };
        let slot = self.slices.slot_mut(slice);
        let from = StateId(slot[META] as u16);
        let choices = match d.of(from) {
            None => return Went::Nowhere,
            Some(None) => return Went::Astray,
            Some(Some(choices)) => choices,
        };
        let undo = &mut self.slot_undo;
        for choice in choices {
            let Some((target, branch)) = choice.try_on(slot, event, undo) else {
                roll_back(slot, undo);
                return Went::Astray;
            };
            let Some(target) = target else {
                roll_back(slot, undo);
                continue;
            };
            undo.clear();
            let to = target.to;
            let change = Change::taken(from, to);
            slot[HISTORY] = self.history.push(slot[HISTORY], event, change);
            if from != to {
                self.slices.set_state(slice, to);
            }
            return Went::Stepped {
                step: Step {
                    slice,
                    created: false,
                    from,
                    to,
                    transition: choice.transition as usize,
                    branch,
                    actions: [None, None],
                },
                quiet: target.quiet,
            };
        }
        slot[HISTORY] = self.history.push(slot[HISTORY], event, Change::none(from));
        Went::Nowhere
    }
}
