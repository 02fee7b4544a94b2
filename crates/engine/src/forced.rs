//! SIGSEGV of a guarded page, which the kernel forces on the thread: where the
//! thread blocks the signal or the program ignores it, the kernel unblocks it
//! and takes the program's handler away. Both are put back.
//!
//! While pages are guarded every system call stops and every handler is entered
//! by a step, so it is known of each thread that runs what it blocks, and of
//! the program what its action is. Between a fault and its stop other threads
//! may find the handler gone: what they ask for or set there counts, and is
//! told, as if it were not.

use crate::{Addr, Process, Result, SigInfo, Tid};
use verde_sys::{number, ptrace};

const SEGV: u64 = 1 << (number::SIGSEGV - 1);
const BY_DEFAULT: u64 = 0;
const IGNORED: u64 = 1;

/// What the program wants done with a signal, as the kernel has it: the handler
/// comes first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Action([u64; 4]);

impl Action {
    const SIZE: u64 = 32;

    fn handler(self) -> u64 {
        self.0[0]
    }
}

fn blocks_faults(mask: Option<u64>) -> bool {
    mask.is_some_and(|mask| mask & SEGV != 0)
}

impl Process {
    /// Pages are about to be guarded, and none was. All threads are stopped.
    pub(crate) fn learn_action(&mut self) {
        for thread in self.threads.values_mut() {
            thread.mask = None;
        }
        self.know_action();
    }

    /// The action is what the kernel has.
    pub(crate) fn know_action(&mut self) {
        let action = self.read_action();
        if let Err(error) = &action {
            tracing::debug!(%error, "what becomes of SIGSEGV is not known");
        }
        self.watches.pages.action = action.ok();
    }

    /// Pages are guarded, and a thread is about to run code of its own.
    pub(crate) fn learn_mask(&mut self, tid: Tid) {
        if let Some(thread) = self.threads.get_mut(&tid)
            && thread.mask.is_none()
            && thread.idle()
        {
            thread.mask = ptrace::signal_mask(tid).ok();
        }
    }

    /// A thread has come out of a system call, or may have made one, while pages are guarded.
    pub(crate) fn follow_signals(&mut self, tid: Tid) -> Result<()> {
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(());
        };
        thread.mask = None;
        let regs = thread.regs;
        let sets = regs.orig_rax.cast_signed() == number::SYS_rt_sigaction
            && regs.rdi as i32 == number::SIGSEGV
            && regs.rax == 0;
        match self.watches.pages.action {
            Some(before) if sets && !thread.at_entry => {
                self.follow_action(before, Addr(regs.rsi), Addr(regs.rdx))
            }
            _ => Ok(()),
        }
    }

    /// The program has set its action, or asked for it.
    #[cold]
    fn follow_action(&mut self, before: Action, new: Addr, old: Addr) -> Result<()> {
        if old.0 != 0 && self.memory.read_u64(old)? == BY_DEFAULT {
            self.memory.write(old, &before.handler().to_ne_bytes())?;
        }
        if new.0 != 0 {
            let action = self.action_at(new)?;
            self.watches.pages.action = Some(action);
            // Another may have been put back after it was set.
            self.set_action(action)?;
        }
        Ok(())
    }

    /// A SIGSEGV has come to a thread: if it is of our making, its traces are removed. `true`: the
    /// fault is still to come.
    pub(crate) fn unforce(&mut self, tid: Tid, info: &SigInfo) -> Result<bool> {
        if !self.is_forced(tid) {
            return Ok(false);
        }
        let mask = self.threads.get(&tid).and_then(|t| t.mask);
        // One that was sent and blocked is all that the kernel shows of a fault: it keeps one of
        // several signals.
        let hides = blocks_faults(mask) && info.code() <= 0;
        if !hides && !self.is_of_guard(tid, info)? {
            return Ok(false);
        }
        if let Some(mask) = mask
            && ptrace::signal_mask(tid)? | SEGV == mask
        {
            ptrace::set_signal_mask(tid, mask)?;
        }
        self.put_action_back()?;
        if let Some(thread) = self.threads.get_mut(&tid) {
            match hides {
                true => thread.before_fault = Some(*info),
                false => thread.behind = thread.before_fault.take().or(thread.behind),
            }
        }
        Ok(hides)
    }

    /// A thread is about to get a SIGSEGV, and nobody else runs. The fault of another may have
    /// taken the handler away.
    pub(crate) fn before_handler(&mut self, tid: Tid) -> Result<()> {
        match self.is_forced(tid) {
            // It has come although it is blocked or ignored, and ends the program.
            true => Ok(()),
            false => self.put_action_back(),
        }
    }

    /// The kernel changes something when a thread faults.
    fn is_forced(&self, tid: Tid) -> bool {
        let action = self.watches.pages.action;
        action.is_some_and(|a| a.handler() == IGNORED)
            || blocks_faults(self.threads.get(&tid).and_then(|t| t.mask))
    }

    fn put_action_back(&mut self) -> Result<()> {
        let Some(known) = self.watches.pages.action else {
            return Ok(());
        };
        // The program may have set another meanwhile, which counts.
        if known.handler() == BY_DEFAULT || self.read_action()?.handler() != BY_DEFAULT {
            return Ok(());
        }
        self.set_action(known)
    }

    fn read_action(&mut self) -> Result<Action> {
        let at = self.scratch(Action::SIZE)?.data;
        self.call_sigaction(Addr(0), at)?;
        self.action_at(at)
    }

    fn action_at(&self, at: Addr) -> Result<Action> {
        let mut words = [[0; 8]; 4];
        self.read(at, words.as_flattened_mut())?;
        Ok(Action(words.map(u64::from_ne_bytes)))
    }

    fn set_action(&mut self, action: Action) -> Result<()> {
        let at = self.scratch(Action::SIZE)?.data;
        let bytes = action.0.map(u64::to_ne_bytes);
        self.memory.write(at, bytes.as_flattened())?;
        self.call_sigaction(at, Addr(0))
    }

    fn call_sigaction(&mut self, new: Addr, old: Addr) -> Result<()> {
        let args = [number::SIGSEGV as u64, new.0, old.0, 8, 0, 0];
        self.remote_call("rt_sigaction", number::SYS_rt_sigaction, args)?;
        Ok(())
    }
}
