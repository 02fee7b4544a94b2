//! Stopping the program from another thread than the debugger's.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use verde_engine::Interrupter;

/// Stops whatever program the debugger has running at the moment.
#[derive(Clone, Default)]
pub struct Interrupts {
    now: Arc<Mutex<Option<Interrupter>>>,
    /// Somebody has asked since the present command of the user's began.
    asked: Arc<AtomicBool>,
}

impl Interrupts {
    /// The program that runs now.
    pub(super) fn of(&self, interrupter: Interrupter) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = Some(interrupter);
    }

    /// Stops the program: its stop is announced as one by SIGINT. Without one
    /// that runs the next to run stops.
    pub fn interrupt(&self) {
        self.asked.store(true, Ordering::SeqCst);
        if let Some(interrupter) = self.program() {
            interrupter.interrupt();
        }
    }

    /// Ends a call of one of the program's functions, nothing else.
    pub fn give_up_call(&self) {
        self.asked.store(true, Ordering::SeqCst);
        if let Some(interrupter) = self.program() {
            interrupter.give_up_call();
        }
    }

    /// A stop of the program was the user's ^C, which the program got itself.
    pub(super) fn seen(&self) {
        self.asked.store(true, Ordering::SeqCst);
    }

    /// Whether somebody wants what is being done to end.
    pub(super) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }

    /// Something new is done: what was asked for before does not concern it.
    pub(super) fn begin(&self) {
        self.asked.store(false, Ordering::SeqCst);
    }

    fn program(&self) -> Option<Interrupter> {
        let now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        now.clone()
    }
}
