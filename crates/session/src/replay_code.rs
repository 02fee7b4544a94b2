//! What monitors' code sees of a replay: its monitor, and no program.

use crate::code_host::{CodeHost, Surroundings};
use crate::inquiry::{Inquiry, Switches, changed_args, taken_args};
use crate::recorder::{CallbackFailure, Recorder};
use crate::writes::Writes;
use serde_json::Value;
use std::cell::RefCell;
use std::sync::Arc;
use verde_monitor::{
    Event, Failure, Monitor, Observer, Options, Slices, SlotRef, Step, View, Violation,
};
use verde_property::{Property, Verdict};
use verde_pyhost::{Asking, NoProgram, PythonHost, Services};

/// Who answers the code of one monitor.
struct Desk<'a> {
    recorder: &'a mut Recorder,
    switches: &'a mut Switches,
    writes: Writes,
}

struct Around<'a> {
    python: &'a mut PythonHost,
    desk: Desk<'a>,
}

/// What code of a monitor uses beside it.
pub(crate) struct Code<'a> {
    pub python: &'a mut PythonHost,
    pub recorder: &'a mut Recorder,
    pub switches: &'a mut Switches,
}

impl Services for Desk<'_> {
    fn request(
        &mut self,
        owner: u64,
        view: Option<View>,
        what: &str,
        text: &str,
    ) -> Result<String, String> {
        let args: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
        if self.switches.set(what, &args) {
            return Ok(Value::Null.to_string());
        }
        match view {
            Some(view) if !NoProgram::is_asked(what) => {
                let mut inquiry = Inquiry {
                    writes: &mut self.writes,
                    slice: None,
                };
                Ok(inquiry.ask(owner, view, what, &args)?.to_string())
            }
            _ => NoProgram.request(owner, view, what, text),
        }
    }

    fn printed(&mut self, text: &str) {
        let lines = text.lines().map(str::to_owned);
        self.recorder.printed.extend(lines);
    }
}

impl Surroundings for Around<'_> {
    fn parts(&mut self) -> (&mut PythonHost, &mut dyn Services) {
        (self.python, &mut self.desk)
    }

    fn writes(&mut self) -> &mut Writes {
        &mut self.desk.writes
    }
}

impl Around<'_> {
    /// Calls the functions that were registered for a moment.
    fn fire(&mut self, slices: &Slices, moment: &str, args: &str) {
        if self.desk.recorder.callback.is_some() {
            return;
        }
        let mut out = String::new();
        let asking = Asking {
            services: &mut self.desk,
            view: Some(slices.into()),
        };
        let uid = slices.property().uid;
        let fired = self.python.fire(uid, moment, args, Some(asking), &mut out);
        self.desk.printed(&out);
        if let Err(failed) = fired {
            let failure = CallbackFailure::new(moment, failed);
            self.desk.recorder.callback = Some(Box::new(failure));
        }
    }
}

struct Watcher<'c, 'a>(&'c RefCell<Around<'a>>);

impl Observer for Watcher<'_, '_> {
    fn transition_taken(&mut self, slices: &Slices, step: &Step) {
        let around = &mut *self.0.borrow_mut();
        around.desk.recorder.transition_taken(slices, step);
        if around.desk.switches.callbacks {
            around.fire(slices, "transition_taken", &taken_args(slices, step));
        }
    }

    fn state_changed(&mut self, slices: &Slices, _: &Step) {
        let around = &mut *self.0.borrow_mut();
        if around.desk.switches.callbacks {
            around.fire(slices, "state_changed", &changed_args(slices));
        }
    }

    fn ended(&mut self, slices: &Slices, slice: SlotRef, verdict: Verdict) {
        let recorder = &mut *self.0.borrow_mut().desk.recorder;
        recorder.ended(slices, slice, verdict);
    }

    fn violation(&mut self, slices: &Slices, slice: SlotRef, how: Violation, n: Option<u64>) {
        let recorder = &mut *self.0.borrow_mut().desk.recorder;
        recorder.violation(slices, slice, how, n);
    }

    fn printed(&mut self, line: &str) {
        self.0.borrow_mut().desk.recorder.printed(line);
    }

    fn failed(&mut self, slices: &Slices, failure: Failure) {
        self.0.borrow_mut().desk.recorder.failed(slices, failure);
    }
}

impl Code<'_> {
    fn around(&mut self) -> RefCell<Around<'_>> {
        RefCell::new(Around {
            python: self.python,
            desk: Desk {
                recorder: self.recorder,
                switches: self.switches,
                writes: Writes::default(),
            },
        })
    }

    /// A monitor in its first state.
    pub fn start(mut self, property: Arc<Property>) -> Result<Monitor, Box<Failure>> {
        let around = self.around();
        let started = Monitor::new(
            property,
            Options::default(),
            &mut CodeHost(&around),
            &mut Watcher(&around),
        );
        let Around { python, desk, .. } = around.into_inner();
        let mut monitor = started?;
        desk.carry_out(&mut monitor, None, python);
        Ok(monitor)
    }

    /// The monitor sees an event. Whether some slice could take it.
    pub fn apply(mut self, monitor: &mut Monitor, event: &Event) -> bool {
        if self.switches.halted {
            return false;
        }
        let around = self.around();
        let relevant = monitor.apply(event, &mut CodeHost(&around), &mut Watcher(&around));
        let mut around = around.into_inner();
        if !relevant && around.desk.switches.all_events {
            let name = &monitor.property().event(event.spec).name;
            let args = serde_json::json!([name]).to_string();
            around.fire(monitor.slices(), "debug", &args);
        }
        around.desk.carry_out(monitor, Some(event.n), around.python);
        relevant
    }

    /// Every property has seen the event.
    pub fn applied(mut self, monitor: &mut Monitor, n: u64) {
        if !self.switches.callbacks || self.switches.halted {
            return;
        }
        let mut around = self.around().into_inner();
        around.fire(monitor.slices(), "event_applied", "[]");
        around.desk.carry_out(monitor, Some(n), around.python);
    }
}

impl Desk<'_> {
    /// Changes slices as code asked for, at an event or at none.
    fn carry_out(self, monitor: &mut Monitor, n: Option<u64>, python: &mut PythonHost) {
        self.writes.carry_out(monitor, n, python, self.recorder);
    }
}
