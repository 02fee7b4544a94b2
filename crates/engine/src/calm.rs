//! Bringing a stopped world to rest: every thread outside of the kernel,
//! nobody about to be born, to end or to become another program.

use crate::thread::{Happening, State};
use crate::{Error, Process, Result, StopGuard, Tid, loans};
use verde_sys::wait;

impl StopGuard<'_> {
    /// Makes every thread fit for system calls of the debugger's, and the
    /// thread table complete: threads that were just ending have ended. What
    /// has to be decided for that is kept for `wait`.
    pub fn calm(&mut self) -> Result<()> {
        loop {
            self.hear_of_ended_loans()?;
            self.check_calm()?;
            self.end_frames()?;
            let Some(tid) = self.restless() else {
                break;
            };
            self.let_happen(tid)?;
            let stopped = self.stop_threads(None)?;
            self.also_stopped(stopped);
        }
        let before = std::mem::replace(&mut self.stopping, true);
        let tids = self.threads();
        let result = tids.into_iter().try_for_each(|tid| self.leave_kernel(tid));
        self.stopping = before;
        result?;
        self.check_calm()?;
        // Whatever ran in them has lost the kernel's copy of their signals.
        for thread in self.threads.values_mut() {
            thread.disturbed = true;
        }
        Ok(())
    }
}

impl Process {
    fn check_calm(&self) -> Result<()> {
        if self.end.is_some() || self.is_ending() {
            return Err(Error::Gone);
        }
        if !self.borrowers.is_empty() || self.threads.values().any(|t| t.vforking) {
            return Err(Error::NotNow(loans::UNTIL_EXEC));
        }
        let leader = self.threads.get(&self.pid);
        if self.threads.values().any(|t| t.killed) {
            return Err(Error::Gone);
        }
        if leader.is_none_or(|t| t.exiting || t.state == State::Exiting) {
            return Err(Error::NotNow("the program's first thread has ended"));
        }
        Ok(())
    }

    /// A thread with something behind it that cannot be kept.
    fn restless(&self) -> Option<Tid> {
        let mut all = self.threads.values();
        let decisive = |h: &Happening| {
            matches!(
                h,
                Happening::Fork(..) | Happening::Exec | Happening::Exit(_)
            )
        };
        all.find(|t| {
            t.exiting || t.state == State::Exiting || t.happening.is_some_and(|h| decisive(&h))
        })
        .map(|t| t.tid)
    }

    fn let_happen(&mut self, tid: Tid) -> Result<()> {
        if let Some(i) = self.queue.iter().position(|t| *t == tid) {
            self.queue.remove(i);
            if let Some(stop) = self.report(tid)? {
                self.ready.push_back(stop);
            }
        }
        let Some(thread) = self.threads.get(&tid).filter(|t| t.exiting) else {
            return Ok(());
        };
        if thread.state == State::Stopped {
            self.go(tid)?;
        }
        // Its last words to the others are said when it is gone.
        match wait::task(tid) {
            Ok(status) => self.arrived(tid, status),
            Err(_) => {
                self.threads.remove(&tid);
                Ok(())
            }
        }
    }

    pub(crate) fn leave_kernel(&mut self, tid: Tid) -> Result<()> {
        let Ok(thread) = self.stopped_mut(tid) else {
            return Ok(());
        };
        if thread.at_entry {
            let told = !matches!(thread.happening, Some(Happening::Syscall(_)));
            if !told {
                // It stopped by itself, and is among those to decide about: so it stays, for
                // nobody else would let it go.
                thread.happening = Some(Happening::TakenBack);
            }
            match self.is_by_record(tid) {
                true => self.call_anew(tid)?,
                false => self.take_syscall_back(tid)?,
            }
            if let Some(thread) = self.threads.get_mut(&tid) {
                thread.entry_told |= told;
            }
        }
        if self.is_by_record(tid) {
            // A copy would not have that record.
            self.call_anew(tid)?;
        }
        if self.is_stopped(tid) {
            self.settle(tid)?;
        }
        Ok(())
    }
}
