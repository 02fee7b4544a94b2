//! The program can end at any moment, also in the middle of the engine's own
//! work on it: it is killed from outside, or by a thread that nobody had
//! stopped yet. Whatever failed then failed for that reason, and the end is
//! the next thing to report.

use crate::thread::State;
use crate::{Error, Process, Result};

impl Process {
    /// The threads are ending, or have ended, as far as they have said so.
    fn is_dying(&self) -> bool {
        self.end.is_some() || self.is_ending() || self.threads.values().any(|t| t.killed)
    }

    /// What the engine did of its own accord failed because the threads it
    /// did it with are gone.
    pub(crate) fn is_overtaken(&self, error: &Error) -> bool {
        let lives = |tid| {
            let thread = self.threads.get(tid);
            thread.is_some_and(|t| t.state != State::Exiting && !t.exiting)
        };
        match error {
            Error::NoThread(tid) | Error::Running(tid) => self.is_dying() || !lives(tid),
            error => error.is_gone() || self.is_dying(),
        }
    }

    /// The engine's own work: the end that was in its way is told by `wait`.
    pub(crate) fn unless_overtaken(&self, result: Result<()>) -> Result<()> {
        match result {
            Err(error) if self.is_overtaken(&error) => {
                tracing::debug!(%error, "overtaken by the end");
                Ok(())
            }
            other => other,
        }
    }

    /// Something that was asked for: one word for every way in which the end
    /// was in its way.
    pub(crate) fn or_gone<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| match error.is_gone() || self.is_dying() {
            true => Error::Gone,
            false => error,
        })
    }
}
