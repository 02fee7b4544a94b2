//! Stopping threads: all of them, or one.

use crate::arrive::unless_gone;
use crate::reach::EXECS;
use crate::thread::{State, Thread};
use crate::{Error, Process, Result, Tid};
use std::ops::{Deref, DerefMut};
use std::time::Duration;
use verde_sys::procfs::{self, Stat};
use verde_sys::{WaitStatus, number, ptrace, wait};

/// How often to look whether an exec waits for a thread that is kept.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// All threads are stopped while this lives: the only way to consistent reads
/// of several threads. Dropping it lets go the threads that it stopped.
pub struct StopGuard<'a> {
    process: &'a mut Process,
    stopped: Vec<Tid>,
}

impl StopGuard<'_> {
    /// Leaves the world stopped, and says which threads were running before.
    pub fn release(mut self) -> Vec<Tid> {
        std::mem::take(&mut self.stopped)
    }

    /// Leaves the world stopped, until `resume` or `resume_all`. Our own thread may run anywhere
    /// meanwhile: what it starts inherits its CPUs, and the scheduler may know a better one.
    pub fn keep(mut self) {
        self.stopped.clear();
        self.process.pin.undo();
    }
}

impl StopGuard<'_> {
    /// Threads that were stopped later: they go on with the others.
    pub(crate) fn also_stopped(&mut self, tids: Vec<Tid>) {
        self.stopped.extend(tids);
    }
}

impl Deref for StopGuard<'_> {
    type Target = Process;
    fn deref(&self) -> &Process {
        self.process
    }
}

impl DerefMut for StopGuard<'_> {
    fn deref_mut(&mut self) -> &mut Process {
        self.process
    }
}

impl Drop for StopGuard<'_> {
    fn drop(&mut self) {
        for tid in std::mem::take(&mut self.stopped) {
            if let Err(error) = self.process.go(tid) {
                tracing::warn!(%tid, %error, "thread not resumed");
            }
        }
    }
}

impl Process {
    /// Stops every thread. What they report meanwhile is kept for `wait`.
    pub fn stop_all(&mut self) -> Result<StopGuard<'_>> {
        self.part_in_stop();
        let stopped = self.stop_threads(None);
        let stopped = self.or_gone(stopped)?;
        Ok(StopGuard {
            process: self,
            stopped,
        })
    }

    /// Stops every thread but one; the threads that were running.
    pub(crate) fn stop_threads(&mut self, except: Option<Tid>) -> Result<Vec<Tid>> {
        self.stop_those(|thread| Some(thread.tid) != except)
    }

    /// Stops who could touch a page that is opened for one thread. The others
    /// stop by themselves before they can, and are let sleep: woken, they would
    /// make their calls again and have pages opened in their turn, for ever.
    pub(crate) fn stop_users_of_pages(&mut self, except: Tid) -> Result<Vec<Tid>> {
        self.stop_those(|thread| thread.tid != except && !thread.is_away())
    }

    fn stop_those(&mut self, which: impl Fn(&Thread) -> bool) -> Result<Vec<Tid>> {
        let before = std::mem::replace(&mut self.stopping, true);
        let result = self.stop_those_now(which);
        self.stopping = before;
        result
    }

    fn stop_those_now(&mut self, which: impl Fn(&Thread) -> bool) -> Result<Vec<Tid>> {
        let mut stopped = Vec::new();
        self.let_queued_end()?;
        loop {
            let mut waiting = false;
            for thread in self.threads.values_mut() {
                // Actual state against wanted state, until they agree. One
                // that waits for its vfork child stops by itself, later.
                if !is_moving(thread) || thread.vforking || !which(thread) {
                    continue;
                }
                waiting = true;
                if !thread.interrupted {
                    thread.interrupted = true;
                    stopped.push(thread.tid);
                    unless_gone(ptrace::interrupt(thread.tid))?;
                }
            }
            if !waiting {
                self.part_all();
                stopped.append(&mut self.parked);
                return Ok(stopped);
            }
            self.take_one_status_or_end()?;
        }
    }

    /// The same as `take_one_status`. But the end of a thread that was told,
    /// and is kept for whoever wants to look, is let happen if an exec waits
    /// for it: the thread that executes could not stop before.
    fn take_one_status_or_end(&mut self) -> Result<()> {
        let kept = |t: &&Thread| t.exiting && t.idle();
        let Some(kept) = self.threads.values().find(kept).map(|t| t.tid) else {
            return self.take_one_status();
        };
        match wait::any(false) {
            Ok(None) if self.is_executing() => self.go(kept),
            Ok(None) => {
                std::thread::sleep(LOOK_AGAIN);
                Ok(())
            }
            result => self.noted(result),
        }
    }

    /// A thread is within an exec that waits for others to end.
    fn is_executing(&self) -> bool {
        let mut moving = self.threads.values().filter(|t| is_moving(t));
        moving.any(|t| {
            let state = Stat::open(self.pid, t.tid).ok().and_then(|s| s.state());
            let call = || procfs::blocked_in(self.pid, t.tid);
            state == Some('D') && call().is_some_and(|c| EXECS.contains(&c))
        })
    }

    /// Stops some thread, preferably one that runs; its id.
    pub(crate) fn stop_one(&mut self) -> Result<Tid> {
        let before = std::mem::replace(&mut self.stopping, true);
        let result = self.stop_one_now();
        self.stopping = before;
        result
    }

    fn stop_one_now(&mut self) -> Result<Tid> {
        self.let_queued_end()?;
        loop {
            let candidate = self
                .threads
                .values()
                .filter(|t| is_moving(t) && !t.vforking)
                .min_by_key(|t| t.tid);
            let Some(thread) = candidate else {
                let stopped = self.threads.values().filter(|t| t.state == State::Stopped);
                return stopped.map(|t| t.tid).min().ok_or(Error::Gone);
            };
            let tid = thread.tid;
            self.halt(tid)?;
            if self.threads.contains_key(&tid) {
                return Ok(tid);
            }
            if self.end.is_some() {
                return Err(Error::Gone);
            }
        }
    }

    /// Stops a thread, or sees it go.
    pub(crate) fn halt(&mut self, tid: Tid) -> Result<()> {
        if let Some(thread) = self.threads.get_mut(&tid)
            && is_moving(thread)
            && !thread.interrupted
        {
            thread.interrupted = true;
            unless_gone(ptrace::interrupt(tid))?;
        }
        while self.threads.get(&tid).is_some_and(is_moving) {
            self.take_one_status_or_end()?;
        }
        Ok(())
    }

    /// Waits for one wait status and takes note of it.
    pub(crate) fn take_one_status(&mut self) -> Result<()> {
        self.noted(wait::any(true))
    }

    /// Takes note of what a wait has brought.
    pub(crate) fn noted(
        &mut self,
        result: verde_sys::Result<Option<(Tid, WaitStatus)>>,
    ) -> Result<()> {
        match result {
            Ok(Some((tid, status))) => self.arrived(tid, status),
            Ok(None) => Ok(()),
            Err(e) if e.errno == number::EINTR => Ok(()),
            Err(e) if e.errno == number::ECHILD => Err(Error::Gone),
            Err(e) => Err(e.into()),
        }
    }
}

fn is_moving(thread: &Thread) -> bool {
    matches!(thread.state, State::Running | State::Listening)
}
