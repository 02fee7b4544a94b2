//! Traps on every instruction of a thread, for values that no slot or page can
//! watch.
//!
//! The thread is resumed by one instruction after the other, whatever else it
//! was resumed for. System calls are not stepped: whoever follows them hears of
//! them as always.

use crate::calls::Causes;
use crate::thread::Thread;
use crate::{Addr, Cause, Process, Result, Tid, Trap, TrapId, restart};
use smallvec::SmallVec;

const SYSCALL: [u8; 2] = [0x0f, 0x05];

impl Process {
    pub(crate) fn set_up_instructions(&mut self, id: TrapId, trap: Trap) -> Result<()> {
        if let Some(frame) = trap.frame {
            self.end_with_frame(id, trap.thread, frame)?;
        }
        self.instruction_traps.push(id);
        // Threads that run now were resumed for more than one.
        drop(self.stop_all()?);
        Ok(())
    }

    pub(crate) fn tear_down_instructions(&mut self, id: TrapId) -> Result<()> {
        self.instruction_traps.retain(|i| *i != id);
        self.forget_frame_end(id)
    }

    /// Somebody wants to hear of every instruction of a thread.
    pub(crate) fn tells_instructions(&self, tid: Tid) -> bool {
        let mut ids = self.instruction_traps.iter();
        ids.any(|id| self.is_about(*id, tid))
    }

    fn is_about(&self, id: TrapId, tid: Tid) -> bool {
        let trap = self.traps.get(id).map(|e| e.trap);
        self.calling != Some(tid) && trap.is_some_and(|trap| trap.thread.is_none_or(|t| t == tid))
    }

    /// A step of a thread goes by instructions at present.
    pub(crate) fn is_planned(&self, tid: Tid) -> bool {
        let plan = self.threads.get(&tid).and_then(|t| t.plan.as_ref());
        plan.is_some_and(|plan| plan.single_steps())
    }

    /// The thread is to be resumed for one instruction.
    pub(crate) fn is_stepped(&self, tid: Tid) -> bool {
        if self.is_planned(tid) {
            return true;
        }
        let thread = self
            .threads
            .get(&tid)
            .filter(|_| self.tells_instructions(tid));
        thread.is_some_and(|t| !self.is_in_call(t) && !self.makes_syscall(t.regs.pc()))
    }

    /// The thread is in a system call, or goes back to one without running anything before.
    fn is_in_call(&self, thread: &Thread) -> bool {
        let goes_back = || {
            restart::is_restarted(&thread.regs)
                && self.enters_handler(thread.tid).is_ok_and(|h| h.is_none())
        };
        thread.at_entry || thread.in_kernel || goes_back()
    }

    fn makes_syscall(&self, pc: Addr) -> bool {
        let mut code = [0; SYSCALL.len()];
        self.read(pc, &mut code).is_ok() && code == SYSCALL
    }

    /// A thread has run an instruction.
    pub(crate) fn instruction_run(&mut self, tid: Tid, causes: &mut Causes) -> Result<()> {
        let all = self.instruction_traps.iter().copied();
        let told: SmallVec<[TrapId; 2]> = all.filter(|id| self.is_about(*id, tid)).collect();
        for id in told {
            let Some(trap) = self.traps.get(id).map(|e| e.trap) else {
                continue;
            };
            if self.has_left_frame(tid, &trap) {
                self.end_watch(id, trap.frame, causes)?;
                continue;
            }
            self.traps.hit(id);
            causes.push(Cause::Trap { id });
        }
        Ok(())
    }
}
