//! Stopping the program from another thread than the debugger's, and by ^C.

use super::Debugger;
use super::failure::Result;
use super::stops::Reason;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use verde_engine::{Interrupter, SigInfo};
use verde_sys::number::SIGINT;
use verde_sys::siginfo::SI_KERNEL;

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

/// Whether a signal is the terminal's ^C. A SIGINT that another process or the program itself sent
/// is the program's affair.
pub(super) fn is_typed(info: &SigInfo) -> bool {
    info.signal() == SIGINT && info.code() == SI_KERNEL
}

impl Debugger {
    /// The program is about to be replaced by what it was, or to be killed. With it would go a ^C
    /// that it was sent and has not got; those that follow are ours, until it is there again.
    pub(super) fn leave_present(&mut self) {
        self.terminal.take();
        if !self.signals.get(SIGINT).stop {
            return;
        }
        // One that ends meanwhile has been sent nothing that counts.
        if let Some(live) = &mut self.live
            && let Ok(world) = live.process.stop_all()
        {
            if world.has_waiting(is_typed).unwrap_or(false) {
                self.interrupts.seen();
            }
            world.keep();
        }
    }

    /// The program goes on from where a scenario has brought it back to, unless the user wants it
    /// to stop: a scenario may go back for ever.
    pub(super) fn go_on_from_then(&mut self) -> Result<Option<Reason>> {
        match &self.live {
            Some(live) if self.interrupts.is_asked() => {
                self.stop_for(live.tid, Reason::Interrupted)
            }
            _ => self.let_go(),
        }
    }
}
