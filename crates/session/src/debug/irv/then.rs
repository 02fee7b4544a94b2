//! Monitors in checkpoints: saved and restored with the program.

use super::super::Debugger;
use super::begun::Begun;
use super::reported::Mark;
use super::saved_calls::SavedCalls;
use super::{Irv, MonitorId, Moved, Tally, TraceFile};
use crate::board::Marks;
use crate::recorder::Taken;
use verde_engine::{Cause, Tid};
use verde_monitor::Monitor;
use verde_pyhost::PythonHost;

/// The monitors as they were at a checkpoint. The scenario's memory is not among it: it must
/// remember that it went back.
pub(in super::super) struct Then {
    monitors: Vec<OneThen>,
    saved: SavedCalls,
    begun: Begun,
    deferred: Vec<(Tid, Cause)>,
    n: u64,
    relevant: u64,
    /// How long the trace was that is being written.
    trace: Option<u64>,
    /// What watchers saw of the past.
    marks: Option<Marks>,
}

/// A monitor as it was.
struct OneThen {
    id: MonitorId,
    monitor: Monitor,
    tally: Tally,
    /// What was reported until then.
    reported: Mark,
    last: Option<Taken>,
}

impl Debugger {
    /// A copy of every monitor's state.
    pub(in super::super) fn monitors_then(&mut self) -> Result<Option<Then>, String> {
        let marks = self.watched.as_ref().map(|w| w.marks());
        let Some(irv) = &mut self.irv else {
            return Ok(None);
        };
        irv.forget_unfollowed(&self.live);
        let mut monitors = Vec::new();
        for one in &irv.ones {
            if let Some(m) = &one.monitor {
                monitors.push(OneThen {
                    id: one.id,
                    monitor: m.snapshot(&mut irv.python).map_err(|r| r.error)?,
                    tally: one.tally,
                    reported: one.reported.mark(),
                    last: one.recorder.last,
                });
            }
        }
        Ok(Some(Then {
            monitors,
            saved: irv.saved.clone(),
            begun: irv.begun.clone(),
            deferred: irv.deferred.clone(),
            n: irv.n,
            relevant: irv.relevant,
            trace: irv.trace.as_ref().map(TraceFile::len),
            marks,
        }))
    }

    /// Puts the monitors back to where they were; their traps follow.
    pub(in super::super) fn monitors_back(
        &mut self,
        then: &Then,
        id_now: impl Fn(Tid) -> Tid,
    ) -> Result<(), String> {
        let Some(mut irv) = self.irv.take() else {
            return Ok(());
        };
        let done = irv.go_back(then, id_now);
        if let Some(watched) = &mut self.watched {
            watched.go_back_to(&irv, then.n, then.marks.as_ref());
        }
        // Where data are now is another question than where they were a moment ago.
        for index in 0..irv.alphabet.sources.len() {
            irv.unwatch_datum(index, &mut self.live);
        }
        let tid = self.live.as_ref().map(|l| l.tid);
        self.follow_as_then(&mut irv, tid);
        for index in 0..irv.alphabet.sources.len() {
            let source = &irv.alphabet.sources[index];
            if source.wanted > 0 && source.datum.is_some() {
                self.watch_datum(&mut irv, index, tid);
            }
        }
        self.say_complaints(&mut irv);
        self.irv = Some(irv);
        done
    }

    /// A checkpoint is forgotten: Python's values in it go.
    pub(in super::super) fn forget_then(&mut self, then: Then) {
        if let Some(irv) = &mut self.irv {
            then.discard(&mut irv.python);
        }
    }
}

impl Then {
    /// Number of the last event that the monitors had seen.
    pub fn event(&self) -> u64 {
        self.n
    }

    /// When that event was, if somebody watched.
    pub fn time(&self) -> Option<u64> {
        self.marks.as_ref().map(|m| m.time)
    }

    fn discard(self, python: &mut PythonHost) {
        for one in self.monitors {
            one.monitor.discard(python);
        }
    }
}

impl Irv {
    fn go_back(&mut self, then: &Then, id_now: impl Fn(Tid) -> Tid) -> Result<(), String> {
        for OneThen {
            id,
            monitor,
            tally,
            reported,
            last,
        } in &then.monitors
        {
            // A monitor that was deleted since stays deleted; one that has another property
            // now keeps that.
            let Some(index) = self.position(*id) else {
                continue;
            };
            let same = |m: &Monitor| m.property().uid == monitor.property().uid;
            if !self.ones[index].monitor.as_ref().is_some_and(same) {
                continue;
            }
            let copy = monitor
                .snapshot(&mut self.python)
                .map_err(|r| r.error.clone())?;
            let one = &mut self.ones[index];
            if let Some(old) = one.monitor.replace(copy) {
                old.discard(&mut self.python);
            }
            one.tally = *tally;
            one.reported.go_to(*reported);
            one.outcome = None;
            one.version = u64::MAX;
            one.recorder.clear();
            one.recorder.last = *last;
        }
        // What they tell of has not happened yet.
        self.fallen.clear();
        if let Some((_, Moved::Ended(_))) = self.moved {
            self.moved = None;
        }
        self.saved.clone_from(&then.saved);
        self.at_end.clear();
        self.begun = then.begun.with_threads(&id_now);
        self.deferred = then
            .deferred
            .iter()
            .map(|(tid, cause)| (id_now(*tid), *cause))
            .collect();
        self.n = then.n;
        self.relevant = then.relevant;
        if let (Some(trace), Some(len)) = (&mut self.trace, then.trace) {
            trace.cut(len);
        }
        Ok(())
    }
}
