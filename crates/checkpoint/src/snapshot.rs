//! A saved process.

use crate::copies::{Copy, Listed};
use crate::descriptors::Descriptors;
use crate::fork::Frozen;
use crate::layers::{Layers, Saved};
use crate::loan::Loan;
use crate::memory::{Range, Shared};
use crate::save::Memory;
use crate::signals::Pending;
use crate::threads::ThreadState;
use crate::timers::Timers;
use crate::{Error, Present, Result, Warning};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;
use std::time::Duration;
use verde_engine::{Addr, Knowledge, Process, Scratch, Tid};
use verde_sys::signals::current_process;
use verde_sys::{descriptor, huge_pages, inherited, procfs, sizes, task};

/// Choices for a checkpoint.
#[derive(Clone, Default)]
pub struct Options {
    /// Directories whose files are saved, too.
    pub layers: Option<Rc<Layers>>,
    /// The debugger reads its standard input, which the program may have, too:
    /// its offset stays.
    pub keep_input: bool,
}

/// One thing that a checkpoint holds, to leave out in tests: each must be
/// missed by some program.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    Ids,
    Vectors,
    Mask,
    Robust,
    Rseq,
    AltStack,
    ClearTid,
    Affinity,
    Scheduling,
    Name,
    Restart,
    Offsets,
    Nameless,
    Pipes,
    Pairs,
    Counters,
    SignalSets,
    Timers,
    Modes,
    Epoll,
    PosixTimers,
    Signals,
    Ranges,
    Files,
    Locks,
    Leases,
    PidFds,
    OwnFiles,
    Owners,
    Shared,
    Attributes,
}

/// Items to leave out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Items<'a>(pub &'a [Item]);

impl Items<'_> {
    pub fn contains(&self, item: Item) -> bool {
        self.0.contains(&item)
    }
}

/// A process saved with all its threads. It can be restored any number of
/// times; dropping it frees its memory.
pub struct Snapshot(pub(crate) Rc<Kept>);

/// What is kept of it.
pub struct Kept {
    pub(crate) body: RefCell<Body>,
    pub(crate) program: Program,
    pub(crate) threads: Vec<ThreadState>,
    pub(crate) knowledge: Knowledge,
    pub(crate) beyond: Beyond,
    pub(crate) scratch: Scratch,
    /// Processes that the program had started.
    pub(crate) children: Vec<Tid>,
    pub(crate) saved_in: Duration,
    /// Its frozen process was made with the memory of the program, and has no rseq therefore.
    pub(crate) moved: bool,
    /// It is restored as a large one in any case.
    pub(crate) as_large: Cell<bool>,
}

impl Deref for Snapshot {
    type Target = Kept;

    fn deref(&self) -> &Kept {
        &self.0
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("Snapshot");
        text.field("pid", &self.pid()).finish_non_exhaustive()
    }
}

/// Who has the memory of a snapshot.
pub(crate) struct Body {
    pub frozen: Frozen,
    /// Its place among all frozen copies.
    pub listed: Listed,
    /// What copies of it must have changed. `None`: it has the memory of the program itself,
    /// and what a fork leaves out of that is not known yet.
    pub ranges: Option<Vec<Range>>,
    /// Others may have its memory, too.
    pub loan: Option<Loan>,
}

/// State besides threads and private memory.
pub(crate) struct Beyond {
    pub descriptors: Descriptors,
    pub timers: Timers,
    pub pending: Pending,
    pub shared: Shared,
    pub files: Option<Saved>,
}

/// A process group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// Led by the program itself.
    Own,
    /// The debugger's.
    Ours,
    /// Another one, in which copies stay.
    Other,
}

impl Group {
    pub fn of(pid: Tid) -> Result<Group> {
        Ok(Group::among(pid, task::group(pid)?, task::group(Tid(0))?))
    }

    fn among(pid: Tid, group: Tid, ours: Tid) -> Group {
        match group {
            // Outside of our PID namespace, as any number of groups are.
            Tid(0) => Group::Other,
            group if group == pid => Group::Own,
            group if group == ours => Group::Ours,
            _ => Group::Other,
        }
    }
}

/// The process that was saved.
pub(crate) struct Program {
    pub pid: Tid,
    /// It has a PID namespace of its own.
    pub namespaced: bool,
    /// The process group that a copy has left.
    pub group: Group,
    /// It led a session of its own.
    pub own_session: bool,
    /// Orphans among its descendants became its children.
    pub adopts_orphans: bool,
    /// It may have a seccomp filter, which is off while we make calls.
    pub filtered: bool,
    /// Who shares its memory gets other shadow stacks.
    pub has_shadow_stacks: bool,
    /// How soon it is killed where memory runs out (`oom_score_adj`), if its copies go before it.
    pub oom_score: Option<i32>,
}

impl Program {
    /// One without anything of its own that would have to be looked after.
    pub fn plain(pid: Tid) -> Program {
        Program {
            pid,
            namespaced: false,
            group: Group::Other,
            own_session: false,
            adopts_orphans: false,
            filtered: false,
            has_shadow_stacks: false,
            oom_score: None,
        }
    }

    /// Puts a frozen copy among all of them. `place`: where it makes calls, and with which memory.
    pub fn listed(
        &self,
        frozen: &Frozen,
        place: (Addr, Scratch),
        descriptors: &Descriptors,
    ) -> Listed {
        let copy = Copy {
            pid: frozen.pid,
            instruction: place.0,
            scratch: place.1,
            namespaced: self.namespaced,
            filtered: self.filtered,
        };
        Listed::new(copy, &descriptors.lockable())
    }

    /// Where memory runs out a frozen copy goes first.
    pub fn offer(&self, frozen: Tid) {
        if self.oom_score.is_some() {
            give_oom_score(frozen, procfs::FIRST_TO_GO);
        }
    }

    /// A restored one goes when the program would have gone.
    pub fn spare(&self, restored: Tid) {
        if let Some(score) = self.oom_score {
            give_oom_score(restored, score);
        }
    }
}

fn give_oom_score(pid: Tid, score: i32) {
    if let Err(error) = procfs::set_oom_score(pid, score) {
        tracing::debug!(%pid, %error, "oom_score_adj stays");
    }
}

impl Snapshot {
    /// Asks the system for what is the same for all checkpoints: the first one takes much less
    /// time then.
    pub fn prepare() {
        inherited::shared();
        descriptor::learn_devices();
        huge_pages::are_none();
        sizes::count_every_page();
        procfs::has_namespace_for_children(current_process());
    }

    /// Whether nobody but the debugger would notice the replacement of a
    /// process, so that it can be saved and restored at all.
    pub fn check(process: &Process) -> Result<()> {
        match (process.is_launched(), process.is_followed()) {
            (false, _) => Err(Error::Attached),
            (_, true) => Err(Error::Followed),
            _ => Ok(()),
        }
    }

    /// Why there can be no checkpoint of a process as it is now, as far as that can be seen
    /// beforehand. Its threads are stopped.
    pub fn refusal(process: &Process) -> Option<Error> {
        crate::save::look(process).err()
    }

    /// Saves a process. Threads that run are stopped for it and go on after.
    pub fn take(process: &mut Process, options: &Options) -> Result<(Snapshot, Vec<Warning>)> {
        let (taken, _) = crate::save::take(process, options, Memory::Copied)?;
        Ok((taken.snapshot, taken.warnings))
    }

    /// Makes the process what it was; the present one is killed. All threads
    /// are stopped then, as at the checkpoint. `present`: it is kept as a snapshot,
    /// and restored itself if this fails half-way, and the error says so.
    pub fn restore(
        &self,
        process: &mut Process,
        present: Option<Present>,
    ) -> Result<crate::Restored> {
        self.restore_without(process, present, &[])
    }

    /// Restores it in the way of large programs, for tests with small ones.
    #[doc(hidden)]
    pub fn treat_as_large(&self) {
        self.as_large.set(true);
    }

    /// The same without some items.
    #[doc(hidden)]
    pub fn restore_without(
        &self,
        process: &mut Process,
        present: Option<Present>,
        without: &[Item],
    ) -> Result<crate::Restored> {
        crate::restore::restore(self, process, present, &Items(without))
    }

    /// The id of the process that was saved.
    pub fn pid(&self) -> Tid {
        self.program.pid
    }

    /// The id of the frozen copy.
    pub fn frozen_pid(&self) -> Tid {
        self.body.borrow().frozen.pid
    }

    /// Somebody has its memory.
    pub(crate) fn is_alive(&self) -> bool {
        self.body.borrow().frozen.alive()
    }

    /// How many threads it has.
    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// How long it took.
    pub fn saved_in(&self) -> Duration {
        self.saved_in
    }

    /// Bytes of memory that this snapshot costs: its share of what it has in
    /// common with the program and other snapshots (Pss), without page tables;
    /// contents of saved files likewise.
    pub fn memory_cost(&self) -> Result<u64> {
        if self.body.borrow().loan.is_some() {
            // What others have, too, would be counted as its own.
            self.settle()?;
        }
        if !self.is_alive() {
            return Err(Error::Lost);
        }
        let memory = procfs::proportional_size(self.frozen_pid())?;
        Ok(memory + self.files_cost())
    }

    /// The part of that for contents of saved files, which is quickly said.
    pub fn files_cost(&self) -> u64 {
        self.beyond.files.as_ref().map_or(0, Saved::cost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_without_a_number_is_not_ours() {
        let of = |group, ours| Group::among(Tid(5), Tid(group), Tid(ours));
        assert_eq!(of(5, 3), Group::Own);
        assert_eq!(of(3, 3), Group::Ours);
        assert_eq!(of(4, 3), Group::Other);
        assert_eq!(of(0, 0), Group::Other);
    }
}
