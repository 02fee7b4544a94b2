//! Snapshots that have the memory of the program itself, of before a restore or of after it, until
//! they get a copy.

use crate::leader::Leader;
use crate::loan::Loan;
use crate::memory::{self, Maps};
use crate::snapshot::Snapshot;
use crate::together::Together;
use crate::{Error, Result};
use verde_sys::affinity::CpuSet;
use verde_sys::before_change::Pause;

impl Snapshot {
    /// Gives it a copy of the memory as all others have: one that nobody else has, with what forks
    /// leave out, and it is known what that was.
    pub(crate) fn settle(&self) -> Result<()> {
        if self.is_settled() {
            return Ok(());
        }
        let settled = self.settle_body();
        match settled.is_err() && !self.is_alive() {
            true => Err(Error::Lost),
            false => settled,
        }
    }

    fn is_settled(&self) -> bool {
        let body = self.body.borrow();
        body.ranges.is_some() && body.loan.is_none()
    }

    fn settle_body(&self) -> Result<()> {
        // The memory stays as it is.
        let _pause = Pause::new();
        let loan = self.body.borrow().loan.clone();
        let anywhere = CpuSet::of(self.frozen_pid()).ok();
        let mut together = Together::new(anywhere);
        together.with_frozen(&self.body.borrow().frozen);
        self.copy_body(loan.as_ref())?;
        together.with_frozen(&self.body.borrow().frozen);
        self.leave_space();
        Ok(())
    }

    fn copy_body(&self, loan: Option<&Loan>) -> Result<()> {
        let mut body = self.body.borrow_mut();
        let instruction = self.knowledge.syscall_instruction().ok_or(Error::Lost)?;
        let pid = body.frozen.pid;
        let mut leader = Leader::borrow(pid, instruction, self.scratch, &self.program)?;
        let maps = Maps::of_frozen(pid);
        let (frozen, mut ranges) = memory::fork_all(&mut leader, self.program.group, &maps, None)?;
        drop(leader);
        // A restore that failed may not have come to giving them back.
        for range in body.ranges.iter().flatten() {
            if !ranges.contains(range) {
                ranges.push(*range);
            }
        }
        if let Some(loan) = loan {
            loan.mend(frozen.pid)?;
            self.program.offer(frozen.pid);
        }
        let place = (instruction, self.scratch);
        let descriptors = &self.beyond.descriptors;
        let listed = self.program.listed(&frozen, place, descriptors);
        // First who is listed, then where.
        body.frozen = frozen;
        body.listed = listed;
        body.ranges = Some(ranges);
        Ok(())
    }

    /// Its memory is no longer what was saved.
    pub(crate) fn lose(&self) {
        self.leave_space();
        self.body.borrow().frozen.end();
    }
}
