//! What monitors see of the session while an event is applied: Python, the
//! scenario, the program.

use super::super::Debugger;
use super::react::Running;
use super::{Irv, Known, Latch, One, Output, Stands};
use crate::board::Past;
use crate::code_host::Surroundings;
use crate::inquiry::{Switches, changed_args, taken_args};
use crate::json::{Json, Object};
use crate::recorder::{CallbackFailure, Recorder};
use crate::writes::Writes;
use std::cell::RefCell;
use verde_engine::Tid;
use verde_monitor::{
    Failure, Host as MonitorHost, Monitor, Observer, Raised, Slices, SlotRef, Step, Violation,
};
use verde_property::{Moment, Verdict};
use verde_pyhost::{Asking, PythonHost, Services};

/// Slices of one event that are kept for the prompt when they end badly.
const MOST_FALLEN: usize = 100;

/// Whoever code of monitors can ask and tell.
pub(super) struct Desk<'a> {
    pub debugger: &'a mut Debugger,
    pub output: &'a mut Output,
    pub latch: &'a mut Latch,
    pub switches: &'a mut Switches,
    pub writes: &'a mut Writes,
    /// The monitor's name.
    pub name: &'a str,
    /// The thread whose event it is.
    pub tid: Option<Tid>,
    /// Where it is at its event.
    pub stands: Stands,
    /// The slice that the scenario reacts to.
    pub slice: Option<SlotRef>,
}

/// All that an event needs besides the slices. Host and observer share it, each for the time of a
/// call, and never at the same time.
pub(super) struct Context<'a> {
    pub python: &'a mut PythonHost,
    pub scenario: &'a mut Option<Running>,
    pub recorder: &'a mut Recorder,
    pub known: &'a Option<Known>,
    pub desk: Desk<'a>,
}

/// What a context is made of: the session's parts, and those of the monitor whose code runs.
pub(super) struct Parts<'a> {
    pub python: &'a mut PythonHost,
    pub scenario: &'a mut Option<Running>,
    pub output: &'a mut Output,
    pub latch: &'a mut Latch,
    pub recorder: &'a mut Recorder,
    pub switches: &'a mut Switches,
    pub name: &'a str,
    pub known: &'a Option<Known>,
    pub stands: Stands,
}

impl Irv {
    /// A monitor, and what its code may use beside it.
    pub(super) fn parts(&mut self, index: usize) -> (&mut Option<Monitor>, Parts<'_>) {
        let One {
            monitor,
            recorder,
            switches,
            name,
            ..
        } = &mut self.ones[index];
        let parts = Parts {
            python: &mut self.python,
            scenario: &mut self.scenario,
            output: &mut self.output,
            latch: &mut self.latch,
            recorder,
            switches,
            name,
            known: &self.known,
            stands: self.stands,
        };
        (monitor, parts)
    }
}

impl Parts<'_> {
    /// For an event of a thread, or for none. `writes`: what code asks to be changed after it.
    pub fn context<'b>(
        &'b mut self,
        debugger: &'b mut Debugger,
        writes: &'b mut Writes,
        tid: Option<Tid>,
    ) -> Context<'b> {
        Context {
            python: self.python,
            scenario: self.scenario,
            recorder: self.recorder,
            known: self.known,
            desk: Desk {
                debugger,
                output: self.output,
                latch: self.latch,
                switches: self.switches,
                writes,
                name: self.name,
                tid,
                stands: self.stands,
                slice: None,
            },
        }
    }
}

impl Parts<'_> {
    /// Changes slices as code asked for, at an event or at none.
    pub fn carry_out(&mut self, writes: Writes, monitor: &mut Monitor, n: Option<u64>) {
        let known = self.recorder.violations.len();
        writes.carry_out(monitor, n, self.python, self.recorder);
        // What remains of an event that is given up does not count.
        if self.latch.restore.is_some() && self.recorder.violations.len() > known {
            self.recorder.violations.truncate(known);
            self.latch.taken_back = true;
        }
    }
}

impl Surroundings for Context<'_> {
    fn is_abandoned(&self) -> bool {
        self.desk.latch.restore.is_some()
    }

    fn parts(&mut self) -> (&mut PythonHost, &mut dyn Services) {
        (self.python, &mut self.desk)
    }

    fn writes(&mut self) -> &mut Writes {
        self.desk.writes
    }
}

pub(super) struct Watcher<'c, 'a>(pub &'c RefCell<Context<'a>>);

impl Observer for Watcher<'_, '_> {
    fn transition_taken(&mut self, slices: &Slices, step: &Step) {
        let context = &mut *self.0.borrow_mut();
        if context.desk.latch.restore.is_some() {
            return;
        }
        context.recorder.transition_taken(slices, step);
        context.desk.latch.moved = Some(step.slice);
        if !context.desk.switches.quiet && context.desk.output.says_states() {
            let text = state_text(slices, step.slice, context.python);
            context.desk.say_state(&text);
        }
        if context.desk.switches.callbacks {
            let args = taken_args(slices, step);
            context.fire(slices, "transition_taken", &args);
        }
    }

    fn leaving(&mut self, slices: &Slices, step: &Step) {
        self.0.borrow_mut().react(slices, step, &[Moment::Leaving]);
    }

    fn entering(&mut self, slices: &Slices, step: &Step) {
        let context = &mut *self.0.borrow_mut();
        match step.from == step.to {
            true => context.react(slices, step, &[Moment::Entering]),
            false => context.react(slices, step, &[Moment::Entering, Moment::Changing]),
        }
    }

    fn state_changed(&mut self, slices: &Slices, _: &Step) {
        let context = &mut *self.0.borrow_mut();
        context.desk.latch.changed = true;
        if context.desk.switches.callbacks && context.desk.latch.restore.is_none() {
            context.fire(slices, "state_changed", &changed_args(slices));
        }
    }

    fn ended(&mut self, slices: &Slices, slice: SlotRef, verdict: Verdict) {
        let context = &mut *self.0.borrow_mut();
        context.recorder.ended(slices, slice, verdict);
        let latch = &mut context.desk.latch;
        let history = slices.history(slice);
        latch.gone = Some((slice, history));
        let is_shown = matches!(context.desk.output, Output::Prompt)
            && verdict == Verdict::False
            && latch.fallen.len() < MOST_FALLEN;
        if is_shown && slices.counts(slice) {
            let past = Past::of(slices, slice, context.python);
            latch.fallen.push((past, history));
        }
    }

    fn violation(&mut self, slices: &Slices, slice: SlotRef, how: Violation, n: Option<u64>) {
        let context = &mut *self.0.borrow_mut();
        if context.desk.latch.restore.is_none() {
            context.recorder.violation(slices, slice, how, n);
            context.verdict_changed(slices, slice);
        } else {
            context.desk.latch.taken_back = true;
        }
    }

    fn printed(&mut self, line: &str) {
        let desk = &mut self.0.borrow_mut().desk;
        // What remains of this event belongs to an abandoned future.
        if desk.latch.restore.is_none() {
            desk.print(line);
        }
    }

    fn stop_requested(&mut self) {
        self.0.borrow_mut().desk.latch.stop = true;
    }

    fn failed(&mut self, slices: &Slices, failure: Failure) {
        self.0.borrow_mut().recorder.failed(slices, failure);
    }
}

impl Context<'_> {
    /// Calls the Python functions that were registered for a moment.
    pub fn fire(&mut self, slices: &Slices, moment: &str, args: &str) {
        if self.recorder.callback.is_some() {
            return;
        }
        let mut out = String::new();
        let asking = Asking {
            services: &mut self.desk,
            view: Some(slices.into()),
        };
        let uid = slices.property().uid;
        let fired = self.python.fire(uid, moment, args, Some(asking), &mut out);
        self.desk.print_all(&out);
        if let Err(failed) = fired {
            let failure = CallbackFailure::new(moment, failed);
            self.recorder.callback = Some(Box::new(failure));
        }
    }
}

impl Desk<'_> {
    /// A line that code printed.
    pub fn print(&mut self, line: &str) {
        self.output.print(&mut self.debugger.out, self.name, line);
    }

    pub fn print_all(&mut self, text: &str) {
        for line in text.lines() {
            self.print(line);
        }
    }

    fn say_state(&mut self, text: &str) {
        self.output.state(&mut self.debugger.out, self.name, text);
    }

    /// Code of the scenario raised: it is shown, and the session goes on.
    pub fn report(&mut self, raised: &Raised) {
        self.latch.raised = true;
        let text = match raised.traceback.trim_end() {
            "" => &raised.error,
            whole => whole,
        };
        for line in text.lines() {
            self.output.remark(&mut self.debugger.out, line);
        }
    }
}

/// `[queue = 0x55..] Current state: queue_ready (N = 1)`.
pub(super) fn state_text(slices: &Slices, slice: SlotRef, host: &mut dyn MonitorHost) -> String {
    let bindings = Object::of(&slices.bindings(slice));
    let head = match bindings.is_empty() {
        true => String::new(),
        false => format!("[{bindings}] "),
    };
    let state = &slices.property().state(slices.state(slice)).name;
    let env = env_object(slices, slice, host);
    match env.is_empty() {
        true => format!("{head}Current state: {state}"),
        false => format!("{head}Current state: {state} ({env})"),
    }
}

/// The environment of a slice.
pub(super) fn env_object(slices: &Slices, slice: SlotRef, host: &mut dyn MonitorHost) -> Object {
    let names = slices.property().env.iter().enumerate();
    let known = names
        .filter_map(|(i, n)| Some((n.clone(), Json::of_cell(slices.env(slice, i), host)?)))
        .collect();
    Object(known)
}

impl Debugger {
    /// Calls what a monitor registered for `event_applied`.
    pub(super) fn event_applied(&mut self, irv: &mut Irv, index: usize, tid: Tid) {
        let one = &irv.ones[index];
        if !one.switches.callbacks || !one.listens() || irv.latch.restore.is_some() {
            return;
        }
        let at = (Some(tid), Some(irv.n));
        self.with_context(irv, index, at, |context, slices| {
            context.fire(slices, "event_applied", "[]");
        });
    }

    /// Runs something for a monitor besides its blocks, and carries out what it asked for. `n`: the
    /// event that it belongs to; without one, `report_found` is for the caller to do.
    pub(super) fn with_context<T>(
        &mut self,
        irv: &mut Irv,
        index: usize,
        (tid, n): (Option<Tid>, Option<u64>),
        f: impl FnOnce(&mut Context, &Slices) -> T,
    ) -> Option<T> {
        let (monitor, mut parts) = irv.parts(index);
        let monitor = monitor.as_mut()?;
        let mut writes = Writes::default();
        let mut context = parts.context(self, &mut writes, tid);
        let result = f(&mut context, monitor.slices());
        parts.carry_out(writes, monitor, n);
        Some(result)
    }
}
