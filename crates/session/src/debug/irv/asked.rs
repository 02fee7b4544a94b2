//! Between the debugger's stops and the monitors: who sees what first, and
//! what becomes of what was asked for.

use super::super::Debugger;
use super::super::failure::{Failure, NOT_RUN, Result, failure};
use super::super::going_back::Occasion;
use super::super::settings::Locking;
use super::super::stops::Reason;
use super::feed::Target;
use super::{Irv, Output};
use verde_engine::{Cause, On, Tid};

/// What monitors and scenario want after they have seen a stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Asked {
    Nothing,
    /// All threads were stopped for them, and are to go on.
    Settled,
    /// The program is where it was before: nothing of this stop counts any more.
    Restored,
    /// The program is to stop; what is to be said.
    Stop(Vec<String>),
}

impl Irv {
    /// Nobody has to act before the program goes on.
    fn wants_nothing(&self) -> bool {
        self.latch.is_empty() && !self.refused && !self.is_stale()
    }
}

impl Debugger {
    /// The monitors see a stop. Where a breakpoint of the user's stops as well, the user comes
    /// before the event, which waits until the program goes on.
    pub(in super::super) fn show_to_monitors(
        &mut self,
        tid: Tid,
        causes: &[Cause],
        user_stops: bool,
    ) -> Asked {
        let Some(irv) = &mut self.irv else {
            return Asked::Nothing;
        };
        irv.fallen.clear();
        if !user_stops {
            self.feed(tid, causes);
            return self.what_was_asked();
        }
        let waits = |irv: &Irv, cause: &Cause| matches!(cause, Cause::Trap { id } if irv.targets.contains_key(id));
        let (later, now): (Vec<Cause>, Vec<Cause>) =
            causes.iter().copied().partition(|c| waits(irv, c));
        irv.deferred.extend(later.into_iter().map(|c| (tid, c)));
        self.feed(tid, &now);
        self.what_was_asked()
    }

    /// Obeys what was latched. After most events that is nothing.
    fn what_was_asked(&mut self) -> Asked {
        match &mut self.irv {
            None => Asked::Nothing,
            Some(irv) if irv.wants_nothing() && self.automation.often.is_none() => {
                irv.latch.changed = false;
                Asked::Nothing
            }
            Some(_) => self.obey(),
        }
    }

    #[inline(never)]
    fn obey(&mut self) -> Asked {
        let Some(mut irv) = self.irv.take() else {
            return Asked::Nothing;
        };
        let latch = irv.take_latch();
        if latch.reinstrument || irv.is_stale() {
            self.instrument(&mut irv, None);
            self.say_complaints(&mut irv);
        }
        let prompt = matches!(irv.output, Output::Prompt);
        irv.violated |= latch.violated;
        let refused = irv.refused;
        irv.errors += u64::from(latch.raised);
        self.irv = Some(irv);
        if let Some(monitor) = latch.zoom {
            let event = self.irv.as_ref().map_or(0, |irv| irv.n);
            self.zoom_in(monitor, event);
            return Asked::Restored;
        }
        let settled = latch.settled;
        let n = self.irv.as_ref().map_or(0, |irv| irv.n);
        if latch.restore.is_none() {
            let occasion = match latch.begun {
                true => Occasion::Start,
                false => Occasion::Event {
                    changed: latch.changed,
                    n,
                },
            };
            self.take_automatic(occasion);
        }
        for number in &latch.checkpoints {
            match self.checkpoint_as(*number) {
                Err(e) => self.tell_once(e),
                done => self.tell_of_checkpoint(done),
            }
        }
        if let Some(checkpoint) = latch.restore {
            let done = self.restore_for(checkpoint);
            self.tell_of_checkpoint(done);
            if latch.taken_back {
                self.remark_once(
                    "the scenario has gone back from a violation: it counts when it comes again",
                );
            }
            // What else was asked belongs to a future that is gone.
            return Asked::Restored;
        }
        let stop = match prompt {
            true => latch.stop || latch.raised,
            // Unattended, a violation is a stop for whoever wants to end there.
            false => latch.violated || refused,
        };
        if stop {
            let mut lines: Vec<String> = latch
                .lines
                .into_iter()
                .map(|l| format!("[verde] {l}"))
                .collect();
            lines.push("[Execution stopped.]".into());
            return Asked::Stop(lines);
        }
        for line in latch.lines {
            let _ = self.say(&format!("[verde] {line}"));
        }
        match settled {
            true => Asked::Settled,
            false => Asked::Nothing,
        }
    }

    /// Why there is no checkpoint is the same for every event.
    #[cold]
    pub(in super::super) fn tell_once(&mut self, e: Failure) {
        if self.checkpoints.is_news(&e) {
            self.tell_of_checkpoint(Err(e));
        }
    }

    /// Says something that is worth knowing once.
    pub(in super::super) fn remark_once(&mut self, text: &str) {
        if let Some(irv) = &mut self.irv
            && irv.once(text)
        {
            irv.output.remark(&mut self.out, text);
        }
    }

    #[cold]
    pub(in super::super) fn tell_of_checkpoint(&mut self, done: Result<String>) {
        let Some(mut irv) = self.irv.take() else {
            return;
        };
        match done {
            Ok(text) => {
                for line in text.lines() {
                    match line.starts_with("warning: ") {
                        true => irv.output.remark(&mut self.out, line),
                        false => irv.output.state(&mut self.out, "scenario", line),
                    }
                }
            }
            Err(e) => {
                irv.errors += 1;
                irv.output.remark(&mut self.out, &format!("error: {e}"));
            }
        }
        self.irv = Some(irv);
    }

    /// Applies the events that waited behind a breakpoint. `Some`: the program is to stay.
    pub(in super::super) fn apply_deferred(&mut self) -> Result<Option<Reason>> {
        let Some(irv) = &mut self.irv else {
            return Ok(None);
        };
        irv.fallen.clear();
        for (tid, cause) in std::mem::take(&mut irv.deferred) {
            if self.is_still_there(tid, &cause) {
                self.feed(tid, &[cause]);
            }
        }
        match self.what_was_asked() {
            Asked::Stop(lines) => Ok(Some(Reason::Monitor(lines))),
            Asked::Restored if self.interrupts.is_asked() => Ok(Some(Reason::Interrupted)),
            Asked::Nothing | Asked::Settled | Asked::Restored => Ok(None),
        }
    }

    /// The user has not moved the thread away from the event.
    fn is_still_there(&self, tid: Tid, cause: &Cause) -> bool {
        let (Some(irv), Some(live)) = (&self.irv, &self.live) else {
            return false;
        };
        let Cause::Trap { id } = cause else {
            return true;
        };
        let Ok(regs) = live.process.regs(tid) else {
            return false;
        };
        let targets = irv.targets.get(id).into_iter().flatten();
        targets.into_iter().any(|t| match t {
            Target::Site { source, site } => {
                let on = irv.alphabet.sources[*source].sites[*site].on;
                [On::Exec(regs.pc()), On::Enter(regs.pc())].contains(&on)
            }
            Target::Datum { .. } => false,
            Target::Birth { .. } => true,
        })
    }

    /// Lets everything go, unless an event that waited says otherwise.
    pub(in super::super) fn let_go(&mut self) -> Result<Option<Reason>> {
        if let Some(reason) = self.apply_deferred()? {
            return Ok(Some(reason));
        }
        self.give_terminal();
        let attended = self.is_attended();
        let Some(live) = &mut self.live else {
            return failure(NOT_RUN);
        };
        if attended {
            live.process.leave_group_stop()?;
        }
        match self.settings.locking {
            Locking::On => {
                live.process.tell_when_left(true);
                live.process.resume(live.tid)?;
            }
            Locking::Off | Locking::Step => {
                live.process.tell_when_left(false);
                live.process.resume_all()?;
            }
        }
        Ok(None)
    }

    /// Somebody is at a prompt, and wants to know what is looked at.
    pub(in super::super) fn is_attended(&self) -> bool {
        let irv = self.irv.as_ref();
        irv.is_none_or(|irv| matches!(irv.output, Output::Prompt))
    }

    /// The loader has not done its work yet.
    pub(in super::super) fn is_loading(&self) -> bool {
        self.irv.as_ref().is_some_and(|irv| irv.loading)
    }

    /// Some monitor has a property.
    pub(in super::super) fn has_property(&self) -> bool {
        self.irv.as_ref().is_some_and(|irv| !irv.is_empty())
    }

    /// The traps of the process are gone with it.
    pub(in super::super) fn monitors_lose_traps(&mut self) {
        if let Some(irv) = &mut self.irv {
            irv.forget_traps();
        }
    }
}
