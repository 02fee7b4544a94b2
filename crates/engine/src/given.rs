//! Signals that a thread is to get by the user's will.
//!
//! One is only noted while the thread is stopped, so that another can take its
//! place, and is sent when the thread goes on: only some stops let the tracer
//! put a signal in. It is reported to nobody when it arrives.

use crate::arrive::unless_gone;
use crate::thread::{Happening, Thread};
use crate::{Process, Result, SigInfo, Tid};
use verde_sys::{number, signals};

fn bit(signal: i32) -> u64 {
    1u64.checked_shl((signal - 1).cast_unsigned()).unwrap_or(0)
}

impl Thread {
    /// Whether a signal that arrives is one that the debugger has sent.
    pub fn take_given(&mut self, signal: i32) -> bool {
        let is_given = self.given & bit(signal) != 0;
        self.given &= !bit(signal);
        is_given
    }
}

impl Process {
    /// The signal that stopped a thread, if the thread gets it when it goes on.
    pub fn pending_signal(&self, tid: Tid) -> Result<Option<SigInfo>> {
        Ok(self.stopped(tid)?.signal)
    }

    /// Cancels the signal a stopped thread would get.
    pub fn cancel_signal(&mut self, tid: Tid) -> Result<()> {
        let thread = self.stopped_mut(tid)?;
        let had = (thread.signal.take(), thread.queued.take());
        if had.0.is_some() || had.1.is_some() {
            self.make_again(tid)?;
        }
        Ok(())
    }

    /// Lets a stopped thread go on with this signal instead of the one it
    /// would get, whatever the policy; it is not reported.
    pub fn give_signal(&mut self, tid: Tid, signal: i32) -> Result<()> {
        let thread = self.stopped_mut(tid)?;
        thread.signal = None;
        thread.queued = Some(signal);
        Ok(())
    }

    /// Ends a stop by job control, as a shell does that lets the program go on.
    /// For when the world is stopped.
    pub fn leave_group_stop(&mut self) -> Result<()> {
        let mut stopped = None;
        for thread in self.threads.values_mut() {
            if std::mem::take(&mut thread.group_stop) {
                stopped = Some(thread.tid);
            }
            // Others have heard of the same stop.
            if matches!(thread.happening, Some(Happening::GroupStop(_))) {
                thread.happening = None;
                let tid = thread.tid;
                self.queue.retain(|t| *t != tid);
            }
        }
        match stopped {
            // Whoever gets it, the whole process goes on.
            Some(tid) => self.send_given(tid, number::SIGCONT),
            None => Ok(()),
        }
    }

    /// A thread goes on: now it gets the signal that was noted for it.
    pub(crate) fn send_queued(&mut self, tid: Tid) -> Result<()> {
        let thread = self.threads.get_mut(&tid);
        match thread.and_then(|t| t.queued.take()) {
            Some(signal) => self.send_given(tid, signal),
            None => Ok(()),
        }
    }

    fn send_given(&mut self, tid: Tid, signal: i32) -> Result<()> {
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.given |= bit(signal);
        }
        unless_gone(signals::send_to_thread(self.pid, tid, signal))
    }
}
