//! Keeps what a monitor says about one event until the rows are made.

use crate::json::Object;
use crate::report::{EndedRow, TakenRow};
use verde_monitor::{Branch, Failure, Observer, Raised, Slices, SlotRef, Step, Violation};
use verde_property::{StateId, Verdict};
use verde_pyhost::FailedCallback;

#[derive(Default)]
pub struct Recorder {
    /// Rows are wanted, not only violations.
    pub rows: bool,
    pub taken: Vec<TakenRow>,
    /// Slices that took a transition and may still be there, with their creation numbers.
    pub touched: Vec<(SlotRef, u64)>,
    pub ended: Vec<EndedRow>,
    pub violations: Vec<Found>,
    pub printed: Vec<String>,
    pub failures: Vec<Failure>,
    /// After the first one that raises no callback of this event is called any more.
    pub callback: Option<Box<CallbackFailure>>,
    /// The transition that was taken last, at whatever event.
    pub last: Option<Taken>,
}

/// A callback that raised.
#[derive(Debug)]
pub struct CallbackFailure {
    /// ``callback `f` for event_applied``.
    pub what: String,
    pub raised: Raised,
}

impl CallbackFailure {
    pub fn new(moment: &str, FailedCallback { name, raised }: FailedCallback) -> CallbackFailure {
        let what = match moment {
            "debug" => format!("transition debug function `{name}`"),
            _ => format!("callback `{name}` for {moment}"),
        };
        CallbackFailure { what, raised }
    }
}

/// In one line.
impl std::fmt::Display for CallbackFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} failed: {}", self.what, self.raised.error)
    }
}

/// A transition that a slice took.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    pub slice: SlotRef,
    pub created: u64,
    pub from: StateId,
    pub to: StateId,
    pub transition: usize,
    pub branch: Branch,
}

/// A violation, with all that must be noted before the slice may be gone.
pub struct Found {
    pub slice: Object,
    pub state: String,
    pub n: Option<u64>,
    pub how: Violation,
    pub history: u64,
}

impl Recorder {
    /// Nothing that is reported without rows.
    pub fn is_quiet(&self) -> bool {
        self.violations.is_empty() && self.printed.is_empty() && self.failures.is_empty()
    }

    pub fn clear(&mut self) {
        self.taken.clear();
        self.touched.clear();
        self.ended.clear();
        self.violations.clear();
        self.printed.clear();
        self.failures.clear();
        self.callback = None;
    }
}

impl Observer for Recorder {
    fn transition_taken(&mut self, slices: &Slices, step: &Step) {
        self.last = Some(Taken {
            slice: step.slice,
            created: slices.created(step.slice),
            from: step.from,
            to: step.to,
            transition: step.transition,
            branch: step.branch,
        });
        if !self.rows {
            return;
        }
        let property = slices.property();
        self.touched.push((step.slice, slices.created(step.slice)));
        self.taken.push(TakenRow {
            slice: Object::of(&slices.bindings(step.slice)),
            created: step.created,
            from: property.state(step.from).name.clone(),
            to: property.state(step.to).name.clone(),
            branch: step.branch.word(),
            actions: step
                .actions
                .iter()
                .flatten()
                .map(|a| a.to_string())
                .collect(),
        });
    }

    fn ended(&mut self, slices: &Slices, slice: SlotRef, verdict: Verdict) {
        if self.rows {
            self.ended.push(EndedRow {
                slice: Object::of(&slices.bindings(slice)),
                state: slices.property().state(slices.state(slice)).name.clone(),
                verdict: verdict.word(),
            });
        }
    }

    fn violation(&mut self, slices: &Slices, slice: SlotRef, how: Violation, n: Option<u64>) {
        self.violations.push(Found {
            slice: Object::of(&slices.bindings(slice)),
            state: slices.property().state(slices.state(slice)).name.clone(),
            n,
            how,
            history: slices.history(slice),
        });
    }

    fn printed(&mut self, line: &str) {
        self.printed.push(line.to_string());
    }

    fn failed(&mut self, _: &Slices, failure: Failure) {
        self.failures.push(failure);
    }
}
