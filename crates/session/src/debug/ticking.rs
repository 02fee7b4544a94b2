//! Time that passes while the program runs and nothing else happens.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;
use verde_engine::Interrupter;

/// Wakes whoever waits for the program, again and again. Dropping it ends that.
pub(super) struct Ticker {
    due: Arc<AtomicBool>,
    _running: Sender<()>,
}

impl Ticker {
    pub fn start(every: Duration, program: Interrupter) -> std::io::Result<Ticker> {
        let due = Arc::new(AtomicBool::new(false));
        let theirs = due.clone();
        let (running, over) = channel::<()>();
        let tick = move || {
            while over.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                theirs.store(true, Ordering::Release);
                program.wake();
            }
        };
        std::thread::Builder::new()
            .name("checkpoints".into())
            .spawn(tick)?;
        Ok(Ticker {
            due,
            _running: running,
        })
    }

    /// Whether the time has passed since this was last asked.
    pub fn is_due(&self) -> bool {
        self.due.swap(false, Ordering::Acquire)
    }
}
