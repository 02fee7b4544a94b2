//! A second frozen process with the memory of a snapshot: a restore goes on in its memory instead
//! of copying that of the first.

use crate::copies::Listed;
use crate::fork::{self, Copy, Frozen};
use crate::leader::Leader;
use crate::snapshot::Snapshot;
use crate::{Error, Result, memory};
use verde_sys::limits;
use verde_sys::sizes::Sizes;

/// A frozen process, among all frozen copies.
pub(crate) struct Twin {
    pub frozen: Frozen,
    /// Its place among them.
    pub _listed: Listed,
}

impl Snapshot {
    /// Copies its memory beforehand, so that the next restore need not: for when nobody waits.
    /// It costs page tables.
    pub fn make_ready(&self) -> Result<()> {
        self.settle()?;
        if !self.is_alive() {
            return Err(Error::Lost);
        }
        if self.is_ready() || self.program.has_shadow_stacks {
            return Ok(());
        }
        let mut body = self.body.borrow_mut();
        let pid = body.first.frozen.pid;
        let instruction = self.knowledge.syscall_instruction().ok_or(Error::Lost)?;
        let mut leader = Leader::borrow(pid, instruction, self.scratch, &self.program)?;
        let copy = fork::fork(&mut leader, Copy::default())?;
        drop(leader);
        let (group, filtered) = (self.program.group, self.program.filtered);
        let mut frozen = Frozen::new(copy, group, filtered)?;
        frozen.is_small = body.first.frozen.is_small;
        let place = (instruction, self.scratch);
        let descriptors = &self.beyond.descriptors;
        body.second = Some(self.program.listed(frozen, place, descriptors));
        Ok(())
    }

    /// [`Snapshot::make_ready`] would make the next restore much quicker, and takes nothing that
    /// the program may need.
    pub fn can_be_readier(&self) -> bool {
        let body = self.body.borrow();
        let frozen = &body.first.frozen;
        let is_small = || {
            let sizes = Sizes::of(frozen.pid);
            frozen.is_small || sizes.is_none_or(|sizes| memory::is_small(&sizes))
        };
        let can_be = !self.program.has_shadow_stacks && !self.is_ready();
        can_be && !is_small() && !limits::are_processes_few(frozen.pid)
    }

    /// The next restore copies no memory.
    pub fn is_ready(&self) -> bool {
        let body = self.body.borrow();
        let second = body.second.as_ref();
        second.is_some_and(|twin| twin.frozen.alive())
    }

    /// The next restore copies its memory as usual. `false`: it would anyway.
    pub fn make_unready(&self) -> bool {
        self.body.borrow_mut().second.take().is_some()
    }

    /// Who is used up by a restore that begins now.
    pub(crate) fn take_twin(&self) -> Option<Twin> {
        let twin = self.body.borrow_mut().second.take();
        twin.filter(|twin| twin.frozen.alive())
    }

    /// Somebody has its memory. Who was killed is replaced by its twin.
    pub(crate) fn is_alive(&self) -> bool {
        let mut body = self.body.borrow_mut();
        // What a fork leaves out of moved memory is known of its copy only.
        if !body.first.frozen.alive()
            && !self.moved
            && let Some(twin) = body.second.take()
        {
            body.first = twin;
        }
        body.first.frozen.alive()
    }
}
