//! Stopping the program from another thread than the debugger's.

use std::sync::{Arc, Mutex, PoisonError};
use verde_engine::Interrupter;

/// Stops whatever program the debugger has running at the moment.
#[derive(Clone, Default)]
pub struct Interrupts {
    now: Arc<Mutex<Option<Interrupter>>>,
}

impl Interrupts {
    /// The program that runs now.
    pub(super) fn of(&self, interrupter: Interrupter) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = Some(interrupter);
    }

    /// Stops the program: its stop is announced as one by SIGINT. Without one
    /// that runs the next to run stops.
    pub fn interrupt(&self) {
        if let Some(interrupter) = self.program() {
            interrupter.interrupt();
        }
    }

    /// Ends a call of one of the program's functions, nothing else.
    pub fn give_up_call(&self) {
        if let Some(interrupter) = self.program() {
            interrupter.give_up_call();
        }
    }

    fn program(&self) -> Option<Interrupter> {
        let now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        now.clone()
    }
}
