//! Signals that the program was sent and has not got.

use crate::thread::Happening;
use crate::world::StopGuard;
use crate::{Result, SigInfo};
use verde_sys::ptrace;

impl StopGuard<'_> {
    /// Whether such a signal waits: with the kernel, or with a thread that was stopped on its way
    /// to it.
    pub fn has_waiting(&self, is_it: impl Fn(&SigInfo) -> bool) -> Result<bool> {
        for tid in self.threads() {
            let thread = self.stopped(tid)?;
            let arrived = match thread.happening {
                Some(Happening::Signal(info)) => Some(info),
                _ => thread.signal,
            };
            if arrived.as_ref().is_some_and(&is_it)
                || ptrace::pending(tid, false)?.iter().any(&is_it)
            {
                return Ok(true);
            }
        }
        match self.threads().first() {
            Some(tid) => Ok(ptrace::pending(*tid, true)?.iter().any(is_it)),
            None => Ok(false),
        }
    }
}
