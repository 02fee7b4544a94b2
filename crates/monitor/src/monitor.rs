//! A property at work: applies events to its slices.

use crate::cell::{Arg, Cell, Tag};
use crate::direct::Went;
use crate::env::{Scratch, bit};
use crate::flat::Undo;
use crate::history::{Change, Entry, History};
use crate::host::{Assigned, Failure, FailureKind, Host, Raised, Truth};
use crate::interp::{self, Bail, Params};
use crate::observer::{Branch, Observer, Step, Violation, enter, leave};
use crate::plan::{Plan, Then};
use crate::slices::{Key, Slices, SlotRef};
use crate::view::{Coming, View};
use std::sync::Arc;
use verde_property::ir::Types;
use verde_property::{
    BlockId, Outcome, Property, Span, SpecId, State, StateId, Tier, Transition, Verdict,
};

/// An event, with the values of its parameters in the order of its [`verde_property::EventSpec`].
#[derive(Clone, Copy)]
pub struct Event<'a> {
    pub n: u64,
    pub spec: SpecId,
    pub args: &'a [Option<Arg<'a>>],
    pub tid: Option<u64>,
    pub time: Option<u64>,
    pub loc: Option<&'a str>,
}

#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Size of the history ring, in words.
    pub history_words: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            history_words: 1 << 18,
        }
    }
}

/// The verdict at the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinalVerdict {
    True,
    False,
    /// The stream was cut before anything was definitely false.
    Inconclusive,
}

/// What to do with one slice for the event at hand.
#[derive(Clone, Copy)]
struct Work {
    created: u64,
    slice: SlotRef,
    variant: u16,
    then: Then,
}

pub struct Monitor {
    property: Arc<Property>,
    plan: Arc<Plan>,
    core: Core,
    // Reused from event to event, so that applying one allocates nothing.
    work: Vec<Work>,
}

/// What changes while the property and its plan stay.
pub(crate) struct Core {
    pub(crate) slices: Slices,
    pub(crate) history: History,
    scratch: Scratch,
    undo: Vec<(u16, Cell)>,
    pub(crate) slot_undo: Undo,
    out: String,
}

/// An event on its way through the slices.
struct Passing<'a, 'h> {
    property: &'a Property,
    plan: &'a Plan,
    event: &'a Event<'a>,
    host: &'h mut dyn Host,
    observer: &'h mut dyn Observer,
}

impl Monitor {
    /// Starts with the root slice in `init`, after the initialization block.
    pub fn new(
        property: Arc<Property>,
        options: Options,
        host: &mut dyn Host,
        observer: &mut dyn Observer,
    ) -> Result<Monitor, Box<Failure>> {
        let plan = Arc::new(Plan::new(&property));
        let mut core = Core {
            slices: Slices::new(property.clone(), plan.clone()),
            history: History::new(options.history_words),
            scratch: Scratch::default(),
            undo: Vec::new(),
            slot_undo: Undo::new(),
            out: String::new(),
        };
        let n = core.slices.beside() + 1;
        core.scratch.load_empty(n);
        // It is there for the code of the initialization, which may ask about it.
        let unset = vec![Cell::UNSET; n];
        let root = core
            .slices
            .create(0, &Key::EMPTY, property.init, 0, &unset, 0);
        if let Some(block) = property.init_block {
            let ran = core.run_block(&property, block, Params::NONE, Some(root), host);
            flush(&mut core.out, observer);
            if let Err(failure) = ran {
                core.scratch.abandon(host);
                return Err(failure);
            }
        }
        for (i, cell) in core.scratch.take(host).iter().enumerate() {
            core.slices.set_env(root, i, *cell);
        }
        if property.state(property.init).is_final {
            core.end(&property, root, None, host, observer);
        } else if property.state(property.init).verdict == Verdict::False
            && core.slices.counts(root)
            && core.slices.mark_reported(root)
        {
            observer.violation(&core.slices, root, Violation::Hopeless, None);
        }
        Ok(Monitor {
            property,
            plan,
            core,
            work: Vec::new(),
        })
    }

    pub fn property(&self) -> &Arc<Property> {
        &self.property
    }

    pub fn slices(&self) -> &Slices {
        &self.core.slices
    }

    /// Whether the event can have an effect now. In O(1).
    pub fn enabled(&self, event: SpecId) -> bool {
        self.core.slices.enabled(event)
    }

    /// The last events that the slice saw, its ancestors' before its own.
    /// `place` is [`Slices::history`] of the slice, now or when it ended.
    pub fn history(&self, place: u64, most: usize) -> Vec<Entry> {
        self.core.history.read(place, most)
    }

    /// Announces some of the events that come next, by their numbers and arguments.
    /// It changes nothing, but the slices that they concern are then on their way
    /// from memory together, and not one after the other. With millions of
    /// slices that is most of the time.
    pub fn expect<'a>(&'a self, events: impl Iterator<Item = (SpecId, &'a [Option<Arg<'a>>])>) {
        let direct = |(spec, args): (SpecId, _)| {
            let direct = self.plan.events[spec.index()].direct.as_ref()?;
            Some((direct, args))
        };
        self.core.expect(events.filter_map(direct));
    }

    /// Applies an event to every slice that it concerns. What goes wrong is told
    /// to the observer, and the other slices see the event all the same.
    /// Returns whether some slice had a candidate transition.
    pub fn apply(
        &mut self,
        event: &Event,
        host: &mut dyn Host,
        observer: &mut dyn Observer,
    ) -> bool {
        if let Some(direct) = &self.plan.events[event.spec.index()].direct
            && self.core.slices.has_candidates(event.spec)
        {
            match self.core.direct(direct, event) {
                Went::Nowhere => return true,
                Went::Stepped { step, quiet: true } => {
                    leave(observer, &self.core.slices, &step);
                    enter(observer, &self.core.slices, &step);
                    return true;
                }
                Went::Stepped { step, quiet: false } => {
                    self.announce(step, event, host, observer);
                    return true;
                }
                Went::Astray => {}
            }
        }
        self.apply_all(event, host, observer)
    }

    /// Any event, in every detail.
    #[inline(never)]
    fn apply_all(
        &mut self,
        event: &Event,
        host: &mut dyn Host,
        observer: &mut dyn Observer,
    ) -> bool {
        let relevant = self.core.slices.has_candidates(event.spec);
        let mut p = Passing {
            property: &self.property,
            plan: &self.plan,
            event,
            host,
            observer,
        };
        if relevant {
            self.work.clear();
            if let Err(failure) = self.core.collect(&p, &mut self.work) {
                p.observer.failed(&self.core.slices, *failure);
            }
            if self.work.len() > 1 {
                self.work.sort_unstable_by_key(|w| w.created);
            }
            for w in &self.work {
                self.core.step(w, &mut p);
            }
        }
        if !p.plan.events[event.spec.index()].ends.is_empty() {
            self.core.apply_ends(&mut p);
        }
        relevant
    }

    #[inline(never)]
    fn announce(
        &mut self,
        step: Step,
        event: &Event,
        host: &mut dyn Host,
        observer: &mut dyn Observer,
    ) {
        let state = self.property.state(step.to);
        let step = Step {
            actions: [None, state.action.as_deref()],
            ..step
        };
        let mut p = Passing {
            property: &self.property,
            plan: &self.plan,
            event,
            host,
            observer,
        };
        self.core.announce(&step, state, &mut p);
    }

    /// The end of the run. When the stream was complete, every slice that
    /// counts and is in a non-accepting state is a violation (a leak).
    pub fn finish(&mut self, complete: bool, observer: &mut dyn Observer) -> FinalVerdict {
        let slices = &mut self.core.slices;
        if complete {
            let mut leaks: Vec<(u64, SlotRef)> = slices
                .iter()
                .filter(|r| slices.counts(*r) && !self.property.state(slices.state(*r)).accepting)
                .map(|r| (slices.created(r), r))
                .collect();
            leaks.sort_unstable_by_key(|(created, _)| *created);
            for (_, r) in leaks {
                if slices.mark_reported(r) {
                    observer.violation(slices, r, Violation::Leaked, None);
                }
            }
        }
        if slices.definitely_false() || (complete && slices.fails()) {
            FinalVerdict::False
        } else if complete {
            FinalVerdict::True
        } else {
            FinalVerdict::Inconclusive
        }
    }

    /// Gives a name of a slice's environment another value, on somebody's word.
    /// The cell is a reference of the monitor's from now on.
    pub fn set_env(&mut self, slice: SlotRef, name: usize, value: Cell, host: &mut dyn Host) {
        self.core.set_env(slice, name, value, host);
    }

    /// Puts a slice into a state on somebody's word: no block runs. A slice that breaks its
    /// property by it is a violation as any other (at event `n`), and what one that is put
    /// back does from then on is judged anew.
    pub fn set_state(
        &mut self,
        slice: SlotRef,
        state: StateId,
        n: Option<u64>,
        observer: &mut dyn Observer,
    ) {
        let slices = &mut self.core.slices;
        slices.set_state(slice, state);
        if self.property.state(state).verdict != Verdict::False {
            slices.forget_reported(slice);
        } else if slices.counts(slice) && slices.mark_reported(slice) {
            observer.violation(slices, slice, Violation::Hopeless, n);
        }
    }

    /// A copy for a checkpoint: nothing that happens to one shows in the other.
    pub fn snapshot(&self, host: &mut dyn Host) -> Result<Monitor, Raised> {
        let mut core = Core {
            slices: self.core.slices.clone(),
            history: self.core.history.clone(),
            scratch: Scratch::default(),
            undo: Vec::new(),
            slot_undo: Undo::new(),
            out: String::new(),
        };
        let n = core.slices.beside() + 1;
        let all: Vec<SlotRef> = core.slices.iter().collect();
        for (done, r) in all.iter().enumerate() {
            let mut cells: Vec<Cell> = (0..n).map(|i| self.core.slices.env(*r, i)).collect();
            if !cells.iter().any(|c| c.tag == Tag::Other) {
                continue;
            }
            if let Err(raised) = host.copy(&mut cells) {
                all[..done].iter().for_each(|r| core.release_env(*r, host));
                return Err(raised);
            }
            for (i, c) in cells.into_iter().enumerate() {
                core.slices.set_env(*r, i, c);
            }
        }
        Ok(Monitor {
            property: self.property.clone(),
            plan: self.plan.clone(),
            core,
            work: Vec::new(),
        })
    }

    /// Gives the host's values back; the monitor is not used after it.
    pub fn discard(self, host: &mut dyn Host) {
        for r in self.core.slices.iter() {
            self.core.release_env(r, host);
        }
    }
}

impl Core {
    /// What the event does to whom, against the table as it is before the event.
    fn collect(&self, p: &Passing, work: &mut Vec<Work>) -> Result<(), Box<Failure>> {
        let spec = p.event.spec;
        let plan = &p.plan.events[spec.index()];
        let slices = &self.slices;
        let mut key = Key::EMPTY;
        for probe in &plan.probes {
            let binding = &plan.bindings[probe.variant as usize];
            if let Err(arg) = slices.key_of(binding, p.event.args, &mut key) {
                // Only a slice that waits for the event needs its parameters.
                if let Some(span) = self.waits(p, probe.variant) {
                    return Err(missing(p, arg, span));
                }
                continue;
            }
            slices.find(probe.level, probe.find, &key, |slice| {
                let c = p.plan.of(slices.state(slice), spec);
                if c.is_none_or(|c| c.variant != probe.variant) {
                    return;
                }
                if let Then::Create(to) = probe.then {
                    // Whoever lies between the slice and its child is responsible instead.
                    let child = slices.join(slice, binding.mask, &key);
                    if (probe.level + 1..=to)
                        .any(|level| slices.find_exact(level, &child).is_some())
                    {
                        return;
                    }
                }
                work.push(Work {
                    created: slices.created(slice),
                    slice,
                    variant: probe.variant,
                    then: probe.then,
                });
            });
        }
        Ok(())
    }

    /// A transition on the event, of a state that a slice is in.
    fn waits(&self, p: &Passing, variant: u16) -> Option<Span> {
        let mut states = p.plan.states_of(p.event.spec, variant);
        let state = states.find(|s| self.slices.in_state(*s) > 0)?;
        let first = *p.plan.of(state, p.event.spec)?.transitions.first()?;
        Some(p.property.state(state).transitions[first as usize].span)
    }

    /// The event that ends a slice belongs to its history, unless it is there already.
    fn note_end(&mut self, p: &Passing, r: SlotRef) {
        let place = self.slices.history(r);
        let last = self.history.read(place, 1).pop();
        if last.is_none_or(|e| e.n != p.event.n) {
            let state = self.slices.state(r);
            let place = self.history.push(place, p.event, Change::none(state));
            self.slices.set_history(r, place);
        }
    }

    fn step(&mut self, w: &Work, p: &mut Passing) {
        if !self.slices.is_live(w.slice) {
            return;
        }
        let from = self.slices.state(w.slice);
        let plan = p.plan;
        let Some(candidates) = plan.of(from, p.event.spec) else {
            return;
        };
        if candidates.variant != w.variant {
            return;
        }
        let transitions = &p.property.state(from).transitions;
        let copy = matches!(w.then, Then::Create(_));
        if let Err(raised) = self.scratch.load(&self.slices, w.slice, copy, p.host) {
            let span = transitions[candidates.transitions[0] as usize].span;
            p.observer
                .failed(&self.slices, *raised_failure(raised, span, None));
            return;
        }
        for &i in &candidates.transitions {
            let t = &transitions[i as usize];
            match self.try_transition(t, w, p) {
                Ok(None) => self.scratch.reset(&self.slices, w.slice, p.host),
                Ok(Some((branch, outcome))) => {
                    self.take(w, (from, i as usize), branch, outcome, p);
                    return;
                }
                Err(failure) => {
                    flush(&mut self.out, p.observer);
                    p.observer.failed(&self.slices, *failure);
                    break;
                }
            }
        }
        self.scratch.abandon(p.host);
        flush(&mut self.out, p.observer);
        if !copy {
            let before = self.slices.history(w.slice);
            let place = self.history.push(before, p.event, Change::none(from));
            self.slices.set_history(w.slice, place);
        }
    }

    /// Guard, outcome's code and transition's action. `None`: not taken.
    fn try_transition<'a>(
        &mut self,
        t: &'a Transition,
        w: &Work,
        p: &mut Passing,
    ) -> Result<Option<(Branch, &'a Outcome)>, Box<Failure>> {
        check_arguments(t, p)?;
        let params = Params {
            uses: &t.params,
            args: p.event.args,
        };
        let own = (w.then == Then::Step).then_some(w.slice);
        let truth = match t.guard {
            None => Truth::True,
            Some(g) => {
                let ran = self.run_block(p.property, g, params, own, p.host)?;
                if p.property.block(g).has_return {
                    ran
                } else {
                    Truth::True
                }
            }
        };
        let Some((branch, outcome)) = outcome_of(t, truth) else {
            return Ok(None);
        };
        if let Some(block) = outcome.block {
            self.run_block(p.property, block, params, own, p.host)?;
        }
        if let Some(action) = &outcome.action {
            flush(&mut self.out, p.observer);
            let slices = &self.slices;
            let (slice, new) = match w.then {
                Then::Step => (w.slice, None),
                Then::Create(to) => {
                    let bindings = child_bindings(slices, t, w.slice, to, p);
                    (slices.next(to), Some(bindings))
                }
            };
            let coming = Coming {
                slice,
                new,
                state: slices.state(w.slice),
                env: &self.scratch.cells,
                blocks: [t.guard, outcome.block],
            };
            let view = View::with(slices, &coming);
            let assigned = call_action(view, action, slice, &mut self.out, p)
                .map_err(|r| raised_failure(r, t.span, None))?;
            for (name, value) in assigned {
                self.scratch.assign(name, value, p.host);
            }
        }
        Ok(Some((branch, outcome)))
    }

    /// The transition is taken: the environment is kept, the state changes, the outside hears.
    fn take(
        &mut self,
        w: &Work,
        (from, index): (StateId, usize),
        branch: Branch,
        outcome: &Outcome,
        p: &mut Passing,
    ) {
        let t = &p.property.state(from).transitions[index];
        let to = outcome.to;
        let before = self.slices.history(w.slice);
        let place = self.history.push(before, p.event, Change::taken(from, to));
        let slice = match w.then {
            Then::Step => {
                self.scratch.commit(&mut self.slices, w.slice, p.host);
                self.slices.set_state(w.slice, to);
                self.slices.set_history(w.slice, place);
                w.slice
            }
            Then::Create(level) => {
                // The arguments were checked before the guard ran.
                let mut bound = Key::EMPTY;
                let _ = self.slices.key_of(&t.binding, p.event.args, &mut bound);
                let mut key = self.slices.join(w.slice, t.binding.mask, &bound);
                let mask = self.slices.level_mask(level);
                self.slices
                    .hold_texts(&mut key, mask, &t.binding, p.event.args);
                let env = self.scratch.take(p.host);
                self.slices
                    .create(level, &key, to, w.slice.level, env, place)
            }
        };
        flush(&mut self.out, p.observer);
        let state = p.property.state(to);
        let step = Step {
            slice,
            created: w.then != Then::Step,
            from,
            to,
            transition: index,
            branch,
            actions: [outcome.action.as_deref(), state.action.as_deref()],
        };
        self.announce(&step, state, p);
    }

    /// Tells the outside about a step, runs the state's action, ends the slice in a final state.
    fn announce(&mut self, step: &Step, state: &State, p: &mut Passing) {
        leave(p.observer, &self.slices, step);
        if let Some(action) = &state.action {
            let view = View::of(&self.slices, Some(step.slice));
            match call_action(view, action, step.slice, &mut self.out, p) {
                Ok(assigned) => {
                    for (name, value) in assigned {
                        self.set_env(step.slice, name, value, p.host);
                    }
                }
                Err(raised) => p
                    .observer
                    .failed(&self.slices, *raised_failure(raised, state.span, None)),
            }
        }
        enter(p.observer, &self.slices, step);
        if state.verdict == Verdict::False
            && self.slices.counts(step.slice)
            && self.slices.mark_reported(step.slice)
        {
            p.observer.violation(
                &self.slices,
                step.slice,
                Violation::Hopeless,
                Some(p.event.n),
            );
        }
        if state.is_final {
            self.end(p.property, step.slice, Some(p.event.n), p.host, p.observer);
        }
    }

    fn apply_ends(&mut self, p: &mut Passing) {
        let mut ending = Vec::new();
        for probe in &p.plan.events[p.event.spec.index()].ends {
            let binding = &p.property.ends[probe.ends as usize].binding;
            let mut key = Key::EMPTY;
            match self.slices.key_of(binding, p.event.args, &mut key) {
                Ok(()) => {
                    let slices = &self.slices;
                    slices.find(probe.level, probe.find, &key, |r| {
                        ending.push((slices.created(r), r))
                    });
                }
                Err(arg) if self.slices.live() > 0 => {
                    let failure = missing(p, arg, Span::default());
                    p.observer.failed(&self.slices, *failure);
                    return;
                }
                Err(_) => {}
            }
        }
        ending.sort_unstable_by_key(|(created, _)| *created);
        ending.dedup();
        for (_, r) in ending {
            if self.slices.is_live(r) {
                self.note_end(p, r);
                self.end(p.property, r, Some(p.event.n), p.host, p.observer);
            }
        }
    }

    fn end(
        &mut self,
        property: &Property,
        r: SlotRef,
        n: Option<u64>,
        host: &mut dyn Host,
        observer: &mut dyn Observer,
    ) {
        let accepting = property.state(self.slices.state(r)).accepting;
        let verdict = if accepting {
            Verdict::True
        } else {
            Verdict::False
        };
        observer.ended(&self.slices, r, verdict);
        if !accepting && self.slices.counts(r) && self.slices.mark_reported(r) {
            observer.violation(&self.slices, r, Violation::Ended, n);
        }
        self.release_env(r, host);
        self.slices.remove(r);
    }

    fn set_env(&mut self, slice: SlotRef, name: usize, value: Cell, host: &mut dyn Host) {
        let old = self.slices.env(slice, name);
        self.slices.set_env(slice, name, value);
        if old.tag == Tag::Other {
            host.release(old);
        }
    }

    fn release_env(&self, r: SlotRef, host: &mut dyn Host) {
        for i in 0..=self.slices.beside() {
            let c = self.slices.env(r, i);
            if c.tag == Tag::Other {
                host.release(c);
            }
        }
    }

    fn run_block(
        &mut self,
        property: &Property,
        id: BlockId,
        params: Params,
        own: Option<SlotRef>,
        host: &mut dyn Host,
    ) -> Result<Truth, Box<Failure>> {
        let block = property.block(id);
        let s = &mut self.scratch;
        let why = match &block.tier {
            Tier::Empty => return Ok(Truth::True),
            Tier::Typed(code) => {
                self.undo.clear();
                match interp::run(
                    code,
                    params,
                    &mut s.cells[..],
                    &mut self.undo,
                    &mut self.out,
                ) {
                    Ok(truth) => {
                        for (i, _) in &self.undo {
                            s.written |= bit(*i as usize);
                        }
                        if s.python {
                            // A name that had a value of Python's now has a plain one.
                            for (i, old) in self.undo.drain(..) {
                                if old.tag == Tag::Other && std::mem::take(&mut s.owned[i as usize])
                                {
                                    host.release(old);
                                }
                            }
                        }
                        return Ok(truth);
                    }
                    Err(bail) => match *bail {
                        Bail::Raise { error, span } => {
                            return Err(raised_failure(Raised::new(error), span, Some(id)));
                        }
                        Bail::Python { why, span } => Some((why, span)),
                    },
                }
            }
            Tier::Python(_) => None,
        };
        s.written = u64::MAX;
        s.python = true;
        let names = self.slices.beside();
        host.run(
            View::of(&self.slices, own),
            id,
            params,
            &mut s.cells[..names],
            &mut s.owned[..names],
            &mut self.out,
        )
        .map_err(|mut raised| {
            let span = why.map_or(block.span, |(_, span)| span);
            if let Some((why, _)) = why
                && raised.traceback.is_empty()
            {
                raised.error = format!("{} ({why})", raised.error);
            }
            raised_failure(raised, span, Some(id))
        })
    }
}

/// What a guard's word means; nothing when the transition is not taken.
fn outcome_of(t: &Transition, truth: Truth) -> Option<(Branch, &Outcome)> {
    match truth {
        Truth::True => t.success.as_ref().map(|o| (Branch::Success, o)),
        Truth::False => t.failure.as_ref().map(|o| (Branch::Failure, o)),
        Truth::None => None,
    }
}

#[cold]
fn missing(p: &Passing, arg: u16, span: Span) -> Box<Failure> {
    let spec = p.property.event(p.event.spec);
    Box::new(Failure {
        kind: FailureKind::MissingArgument(spec.params[arg as usize].text.clone()),
        span,
        block: None,
    })
}

/// The bindings of a slice that is not there yet.
fn child_bindings<'a>(
    slices: &'a Slices,
    t: &Transition,
    parent: SlotRef,
    level: u8,
    p: &Passing<'a, '_>,
) -> Vec<(&'a str, Arg<'a>)> {
    let key = slices.key(parent);
    let mask = slices.level_mask(level);
    mask.iter()
        .map(|i| {
            let value = match t.binding.mask.iter().position(|b| b == i) {
                Some(k) => {
                    let arg = p.event.args[t.binding.args[k] as usize];
                    slices.as_key(arg.unwrap_or(Arg::None))
                }
                None => slices.value(key.cell(i)),
            };
            (p.property.slice_on[i].as_str(), value)
        })
        .collect()
}

fn check_arguments(t: &Transition, p: &Passing) -> Result<(), Box<Failure>> {
    for u in &t.params {
        let Some(value) = p.event.args.get(u.arg as usize).copied().flatten() else {
            return Err(missing(p, u.arg, t.span));
        };
        if u.types != Types::ANY && !fits(value, u.types) {
            let param = &p.property.event(p.event.spec).params[u.arg as usize];
            return Err(Box::new(Failure {
                kind: FailureKind::WrongType {
                    param: param.text.clone(),
                    declared: u.ty.clone().unwrap_or_default(),
                },
                span: t.span,
                block: None,
            }));
        }
    }
    Ok(())
}

/// Hands what was printed to the observer, line by line.
fn flush(out: &mut String, observer: &mut dyn Observer) {
    if out.is_empty() {
        return;
    }
    for line in out.lines() {
        observer.printed(line);
    }
    out.clear();
}

fn call_action(
    view: View,
    name: &str,
    slice: SlotRef,
    out: &mut String,
    p: &mut Passing,
) -> Result<Assigned, Raised> {
    if name == "stop" {
        p.observer.stop_requested();
        return Ok(Assigned::new());
    }
    if !p.host.has_action(name) {
        return Ok(Assigned::new());
    }
    let mut text = std::mem::take(out);
    let result = p.host.action(view, name, slice, &mut text);
    flush(&mut text, p.observer);
    *out = text;
    result
}

#[cold]
fn raised_failure(raised: Raised, span: Span, block: Option<BlockId>) -> Box<Failure> {
    Box::new(Failure {
        kind: FailureKind::Raised(raised),
        span,
        block,
    })
}

/// Whether a value can be of a declared type; `None` stands for one that could not be read.
pub(crate) fn fits(value: Arg, declared: Types) -> bool {
    match value {
        Arg::None => true,
        Arg::Bool(_) | Arg::Int(_) | Arg::UInt(_) => {
            declared.has(Types::INT.union(Types::BOOL).union(Types::FLOAT))
        }
        Arg::Float(_) => declared.has(Types::FLOAT),
        Arg::Str(_) => declared.has(Types::OTHER),
        Arg::Json(_) => declared.has(Types::OTHER),
    }
}
