//! Time that passes while the program runs and nothing else happens.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;
use verde_engine::Interrupter;

/// Wakes whoever waits for the program, again and again. Dropping it ends that.
pub(super) struct Ticker {
    due: Arc<AtomicBool>,
    every: Duration,
    /// How long until the next time.
    pause: Sender<Duration>,
}

impl Ticker {
    pub fn start(every: Duration, program: Interrupter) -> std::io::Result<Ticker> {
        let due = Arc::new(AtomicBool::new(false));
        let theirs = due.clone();
        let (pause, pauses) = channel();
        let tick = move || {
            let mut pause = every;
            loop {
                match pauses.recv_timeout(pause) {
                    Ok(other) => pause = other,
                    Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) => {
                        theirs.store(true, Ordering::Release);
                        program.wake();
                    }
                }
            }
        };
        std::thread::Builder::new()
            .name("checkpoints".into())
            .spawn(tick)?;
        Ok(Ticker { due, every, pause })
    }

    /// Whether the time has passed.
    pub fn is_due(&self) -> bool {
        self.due.load(Ordering::Acquire)
    }

    /// What was due is done and took so long: the time begins anew, and is as long at least, so
    /// that the program always has half of it.
    pub fn begin_anew(&self, took: Duration) {
        // If nobody listens any more, nobody tells the time either.
        let _ = self.pause.send(took.max(self.every));
        self.due.store(false, Ordering::Release);
    }
}
