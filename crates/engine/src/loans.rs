//! The program's memory in other processes: which children have it on loan,
//! and how they are let go.

use crate::arrive::unless_gone;
use crate::fork::Borrower;
use crate::relocate::{Passage, Undo};
use crate::slots::Position;
use crate::{Addr, Process, Regs, Result, Tid};
use verde_sys::{WaitStatus, number, ptrace, wait};

/// Why something cannot be done now.
pub(crate) const UNTIL_EXEC: &str =
    "a child shares the program's memory until its exec; let it run on a little";

/// Whether the child that a thread has just made, by a call with these
/// registers, has its memory or a copy. `None`: by no call that is known.
pub(crate) fn shares_memory(regs: &Regs, word: impl Fn(Addr) -> Option<u64>) -> Option<bool> {
    let flags = match regs.orig_rax.cast_signed() {
        number::SYS_clone => regs.rdi,
        number::SYS_clone3 => word(Addr(regs.rdi))?,
        number::SYS_fork => 0,
        number::SYS_vfork => number::CLONE_VM as u64,
        _ => return None,
    };
    Some(flags & number::CLONE_VM as u64 != 0)
}

impl Process {
    /// Waits until no thread waits for a child that has the memory: it cannot
    /// be let go before. Other such children are stopped; `let_borrowers_go`
    /// lets them go on when the memory is the program's own again.
    pub(crate) fn finish_loans(&mut self) -> Result<()> {
        let before = std::mem::replace(&mut self.stopping, true);
        let result = self.await_or_stop_borrowers();
        self.stopping = before;
        result
    }

    fn await_or_stop_borrowers(&mut self) -> Result<()> {
        while self.end.is_none() && !self.borrowers.is_empty() {
            if !self.threads.values().any(|t| t.vforking) {
                let mut all = self.borrowers.iter_mut();
                while let Some((child, borrower)) = all.find(|(_, b)| !b.leaving) {
                    borrower.leaving = true;
                    unless_gone(ptrace::interrupt(*child))?;
                }
                if self.borrowers.values().all(|b| b.stopped.is_some()) {
                    break;
                }
            }
            self.take_one_status()?;
        }
        Ok(())
    }

    /// Children that have given the memory back, which their parent tells of,
    /// say so themselves at once, by their exec or end.
    pub(crate) fn hear_of_ended_loans(&mut self) -> Result<()> {
        let is_over = |b: &Borrower| b.is_over && !b.follow;
        while let Some(child) = self.borrowers.iter().find(|(_, b)| is_over(b)) {
            let child = *child.0;
            match wait::task(child) {
                Ok(status) => self.arrived(child, status)?,
                // Somebody else has heard of its end.
                Err(_) => drop(self.loan_ends(child)),
            }
        }
        Ok(())
    }

    /// A child that is to leave has stopped: whether it can be let go there,
    /// and then the signal that it gets.
    pub(crate) fn can_leave(&self, child: Tid, status: WaitStatus) -> Result<Option<i32>> {
        Ok(match status {
            WaitStatus::Signal(number::SIGTRAP) => Some(self.signal_of_trap(child)?),
            WaitStatus::Signal(number::SIGSEGV) => {
                let guarded = self.watches.pages.guards(&ptrace::siginfo(child)?);
                Some(if guarded { 0 } else { number::SIGSEGV })
            }
            WaitStatus::Signal(signal) => Some(signal),
            // Behind an int3, perhaps: its signal comes first.
            WaitStatus::Interrupt if ptrace::has_pending_fault(child)? => None,
            WaitStatus::Interrupt | WaitStatus::GroupStop(_) | WaitStatus::Syscall => Some(0),
            _ => None,
        })
    }

    /// A trap of ours is not the child's: it is put back before it.
    fn signal_of_trap(&self, child: Tid) -> Result<i32> {
        let regs = ptrace::regs(child)?;
        let at = Addr(regs.rip.wrapping_sub(1));
        match self.sites.get(at) {
            Some(site) if site.passage != Passage::OwnInt3 => {
                ptrace::set_pc(child, at)?;
                Ok(0)
            }
            _ => Ok(number::SIGTRAP),
        }
    }

    /// Lets the children go that were stopped with the memory on loan. It is
    /// as the program has it.
    pub(crate) fn let_borrowers_go(&mut self) -> Result<()> {
        for (child, borrower) in std::mem::take(&mut self.borrowers) {
            let let_go = self
                .lead_out_of_slot(child)
                .and_then(|()| ptrace::detach(child, borrower.stopped.unwrap_or(0)));
            unless_gone(let_go)?;
        }
        Ok(())
    }

    /// Puts a child where it would be without slots.
    pub(crate) fn lead_out_of_slot(&self, child: Tid) -> verde_sys::Result<()> {
        let mut regs = ptrace::regs(child)?;
        match self.slots.position(regs.pc()) {
            None => return Ok(()),
            Some(Position::After(next)) => regs.rip = next.0,
            Some(Position::Before(origin, undo)) => {
                undo.apply(&mut regs);
                regs.rip = origin.0;
            }
        }
        ptrace::set_regs(child, &regs)
    }
}

impl Undo {
    /// Takes back what a slot has done to the registers.
    pub(crate) fn apply(self, regs: &mut Regs) {
        match self {
            Undo::Nothing => {}
            Undo::Pop => regs.rsp = regs.rsp.wrapping_add(8),
            Undo::CountBack => regs.rcx = regs.rcx.wrapping_add(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_call_says_whether_memory_is_shared() {
        let by = |call: i64, first: u64| {
            let regs = Regs {
                orig_rax: call.cast_unsigned(),
                rdi: first,
                ..Regs::default()
            };
            shares_memory(&regs, |at| (at == Addr(0x50)).then_some(0x100))
        };
        assert_eq!(by(number::SYS_clone, 17), Some(false));
        assert_eq!(by(number::SYS_clone, 0x111), Some(true));
        assert_eq!(by(number::SYS_clone3, 0x50), Some(true));
        assert_eq!(by(number::SYS_clone3, 0x60), None, "not readable");
        assert_eq!(by(number::SYS_fork, 0x100), Some(false));
        assert_eq!(by(number::SYS_vfork, 0), Some(true));
        assert_eq!(by(number::SYS_getpid, 0), None);
    }
}
