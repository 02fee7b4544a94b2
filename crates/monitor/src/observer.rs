//! What the outside hears while an event is applied.

use crate::host::Failure;
use crate::slices::{Slices, SlotRef};
use verde_property::{StateId, Verdict};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branch {
    Success,
    Failure,
}

impl Branch {
    pub fn word(self) -> &'static str {
        match self {
            Branch::Success => "success",
            Branch::Failure => "failure",
        }
    }
}

/// How a slice breaks its property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// It can never become accepting again.
    Hopeless,
    /// It ended in a non-accepting state.
    Ended,
    /// It is in a non-accepting state at the end of the run.
    Leaked,
}

/// A transition that a slice took.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    pub slice: SlotRef,
    /// The slice came into being by it.
    pub created: bool,
    pub from: StateId,
    pub to: StateId,
    /// Index into the transitions of `from`.
    pub transition: usize,
    pub branch: Branch,
    /// The transition's action and the state's, in the order of their calls.
    pub actions: [Option<&'a str>; 2],
}

/// Hears the moments of each step, in this order: `transition_taken`,
/// `leaving`, (the state's action runs), `entering`, `state_changed`.
/// `slices` is the table at that moment.
pub trait Observer {
    fn transition_taken(&mut self, _slices: &Slices, _step: &Step) {}
    fn leaving(&mut self, _slices: &Slices, _step: &Step) {}
    fn entering(&mut self, _slices: &Slices, _step: &Step) {}
    /// Only when the state differs.
    fn state_changed(&mut self, _slices: &Slices, _step: &Step) {}
    /// The slice is still in the table, for the last time.
    fn ended(&mut self, _slices: &Slices, _slice: SlotRef, _verdict: Verdict) {}
    /// A slice that counts breaks the property. Without an event (at the
    /// start or the end of the run) `n` is `None`.
    fn violation(&mut self, _slices: &Slices, _slice: SlotRef, _how: Violation, _n: Option<u64>) {}
    /// A line that a block or an action printed.
    fn printed(&mut self, _line: &str) {}
    /// The action `stop()`.
    fn stop_requested(&mut self) {}
    fn failed(&mut self, _slices: &Slices, _failure: Failure) {}
}

/// Hears nothing.
impl Observer for () {}

/// The moments of a step before its state's action.
#[inline]
pub(crate) fn leave(observer: &mut dyn Observer, slices: &Slices, step: &Step) {
    observer.transition_taken(slices, step);
    observer.leaving(slices, step);
}

/// The moments after it.
#[inline]
pub(crate) fn enter(observer: &mut dyn Observer, slices: &Slices, step: &Step) {
    observer.entering(slices, step);
    if step.from != step.to {
        observer.state_changed(slices, step);
    }
}
