//! Waking a thread that is blocked in waitpid.
//!
//! A signal handler installed without SA_RESTART makes the wait return EINTR.
//! A signal that arrives just before the wait begins would be lost, so the
//! ringer repeats it until the waiter has noticed.

use crate::error::{Result, SysError};
use crate::{Tid, signals};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Once};
use std::time::Duration;

/// The waiting thread's end.
#[derive(Debug)]
pub struct Doorbell {
    shared: Arc<Shared>,
}

/// The other end: any thread may keep one and ring.
#[derive(Clone, Debug)]
pub struct Button {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Reasons not yet taken by the waiter, as bits.
    reasons: AtomicU32,
    waiting: AtomicBool,
    pid: Tid,
    waiter: Tid,
}

/// A signal that programs do not use and whose handler does nothing.
fn signal() -> i32 {
    libc::SIGRTMAX() - 2
}

extern "C" fn on_ring(_: i32) {}

impl Doorbell {
    /// A doorbell for the calling thread.
    pub fn new() -> Result<Doorbell> {
        static INSTALL: Once = Once::new();
        let mut failed = None;
        INSTALL.call_once(|| {
            // SAFETY: sigaction is plain data; the handler does nothing, so it
            // is async-signal-safe.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = on_ring as extern "C" fn(i32) as usize;
                if libc::sigaction(signal(), &action, std::ptr::null_mut()) != 0 {
                    failed = Some(SysError::last("sigaction"));
                }
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        let shared = Shared {
            reasons: AtomicU32::new(0),
            waiting: AtomicBool::new(false),
            pid: signals::current_process(),
            waiter: signals::current_thread(),
        };
        Ok(Doorbell {
            shared: Arc::new(shared),
        })
    }

    /// A button for this doorbell.
    pub fn button(&self) -> Button {
        Button {
            shared: Arc::clone(&self.shared),
        }
    }

    /// Takes the reasons rung since the last call (0: none).
    pub fn take(&self) -> u32 {
        // A plain load first: the usual answer needs no bus lock.
        if self.shared.reasons.load(Ordering::SeqCst) == 0 {
            return 0;
        }
        self.shared.reasons.swap(0, Ordering::SeqCst)
    }

    /// Runs `wait` unless somebody rang; `None` then. From the moment this is
    /// entered a ring interrupts it.
    pub fn guard<T>(&self, wait: impl FnOnce() -> T) -> Option<T> {
        self.shared.waiting.store(true, Ordering::SeqCst);
        let result = (self.shared.reasons.load(Ordering::SeqCst) == 0).then(wait);
        self.shared.waiting.store(false, Ordering::SeqCst);
        result
    }
}

impl Button {
    /// Rings for the reasons given as bits; returns when the waiter has been
    /// woken or was not waiting. Never blocks on the program being debugged.
    pub fn ring(&self, reasons: u32) {
        self.shared.reasons.fetch_or(reasons, Ordering::SeqCst);
        while self.shared.waiting.load(Ordering::SeqCst)
            && self.shared.reasons.load(Ordering::SeqCst) != 0
        {
            if signals::send_to_thread(self.shared.pid, self.shared.waiter, signal()).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}
