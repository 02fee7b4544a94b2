//! A second frozen process with the memory of a snapshot: a restore goes on in its memory instead
//! of copying that of the first.

use crate::copies::Listed;
use crate::fork::{self, Copy, Frozen};
use crate::leader::Leader;
use crate::snapshot::{Body, Snapshot};
use crate::{Error, Result, memory};
use verde_sys::sizes::Sizes;

/// A frozen process that one restore uses up.
pub(crate) struct Twin {
    pub frozen: Frozen,
    /// Its place among all frozen copies.
    _listed: Listed,
}

impl Twin {
    /// The process of a body that another one replaces.
    pub fn of(body: Body) -> Twin {
        Twin {
            frozen: body.frozen,
            _listed: body.listed,
        }
    }
}

impl Snapshot {
    /// Copies its memory beforehand, so that the next restore need not: for when nobody waits.
    /// It costs page tables.
    pub fn make_ready(&self) -> Result<()> {
        self.settle()?;
        if self.is_ready() || self.program.has_shadow_stacks {
            return Ok(());
        }
        let mut body = self.body.borrow_mut();
        if !body.frozen.alive() {
            return Err(Error::Lost);
        }
        let pid = body.frozen.pid;
        let instruction = self.knowledge.syscall_instruction().ok_or(Error::Lost)?;
        let mut leader = Leader::borrow(pid, instruction, self.scratch, &self.program)?;
        let copy = fork::fork(&mut leader, Copy::default())?;
        drop(leader);
        let (group, filtered) = (self.program.group, self.program.filtered);
        let mut frozen = Frozen::new(copy, group, filtered)?;
        frozen.is_small = body.frozen.is_small;
        self.program.offer(frozen.pid);
        let place = (instruction, self.scratch);
        let listed = self
            .program
            .list(frozen.pid, place, &self.beyond.descriptors);
        body.twin = Some(Twin {
            frozen,
            _listed: listed,
        });
        Ok(())
    }

    /// [`Snapshot::make_ready`] would make the next restore much quicker.
    pub fn can_be_readier(&self) -> bool {
        let body = self.body.borrow();
        let is_small = || Sizes::of(body.frozen.pid).is_none_or(|sizes| memory::is_small(&sizes));
        let can_be = !self.program.has_shadow_stacks && !body.frozen.is_small && !self.is_ready();
        can_be && !is_small()
    }

    /// The next restore copies no memory.
    pub fn is_ready(&self) -> bool {
        let body = self.body.borrow();
        body.twin.as_ref().is_some_and(|twin| twin.frozen.alive())
    }

    /// The next restore copies its memory as usual.
    pub fn make_unready(&self) {
        self.body.borrow_mut().twin = None;
    }

    /// Who is used up by a restore that begins now.
    pub(crate) fn take_twin(&self) -> Option<Twin> {
        let twin = self.body.borrow_mut().twin.take();
        twin.filter(|twin| twin.frozen.alive())
    }
}
