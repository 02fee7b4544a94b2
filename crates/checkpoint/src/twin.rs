//! A second frozen process with the memory of a snapshot: a restore goes on in its memory instead
//! of copying that of the first.

use crate::copies::Listed;
use crate::fork::{self, Copy, Frozen};
use crate::leader::Leader;
use crate::snapshot::Snapshot;
use crate::{Error, Result};
use std::cell::{Cell, RefCell};
use verde_engine::Tid;
use verde_sys::limits;

/// A frozen process, among all frozen copies.
pub(crate) struct Twin {
    pub frozen: Frozen,
    /// Its place among them.
    pub _listed: Listed,
}

thread_local! {
    static SECONDS: RefCell<Vec<(u64, Twin)>> = const { RefCell::new(Vec::new()) };
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

/// Where room is missing all second ones give way, which are for speed only. `false`: there are
/// none.
pub(crate) fn give_way() -> bool {
    let all = SECONDS.take();
    !all.is_empty()
}

/// The second one of a snapshot, as long as there is room for it.
pub(crate) struct Second(u64);

impl Second {
    pub fn new(twin: Twin) -> Second {
        let number = NEXT.get();
        NEXT.set(number + 1);
        SECONDS.with_borrow_mut(|all| all.push((number, twin)));
        Second(number)
    }

    /// Its process, if it has not ended.
    pub fn pid(&self) -> Option<Tid> {
        SECONDS.with_borrow(|all| {
            let (_, twin) = all.iter().find(|(number, _)| *number == self.0)?;
            twin.frozen.alive().then_some(twin.frozen.pid)
        })
    }

    /// The process itself, if it has not ended.
    fn take(self) -> Option<Twin> {
        self.remove().filter(|twin| twin.frozen.alive())
    }

    fn remove(&self) -> Option<Twin> {
        // At the end of the thread there may be no list any more.
        let removed = SECONDS.try_with(|all| {
            let mut all = all.borrow_mut();
            let at = all.iter().position(|(number, _)| *number == self.0)?;
            Some(all.swap_remove(at).1)
        });
        removed.ok().flatten()
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        drop(self.remove());
    }
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
        let twin = self.program.listed(frozen, place, descriptors);
        body.second = Some(Second::new(twin));
        Ok(())
    }

    /// [`Snapshot::make_ready`] would make the next restore much quicker, and takes nothing that
    /// the program may need.
    pub fn can_be_readier(&self) -> bool {
        !self.is_ready() && self.is_worth_it() && !limits::are_processes_few(self.frozen_pid())
    }

    /// The next restore copies no memory.
    pub fn is_ready(&self) -> bool {
        let body = self.body.borrow();
        body.second.as_ref().and_then(Second::pid).is_some()
    }

    /// The next restore copies its memory as usual.
    pub fn make_unready(&self) {
        self.body.borrow_mut().second = None;
    }

    /// Who is used up by a restore that begins now.
    pub(crate) fn take_twin(&self) -> Option<Twin> {
        self.body.borrow_mut().second.take()?.take()
    }

    /// Somebody has its memory. Who was killed is replaced by its twin.
    pub(crate) fn is_alive(&self) -> bool {
        let mut body = self.body.borrow_mut();
        // What a fork leaves out of moved memory is known of its copy only.
        if !body.first.frozen.alive()
            && !self.moved
            && let Some(twin) = body.second.take().and_then(Second::take)
        {
            body.first = twin;
        }
        body.first.frozen.alive()
    }
}
