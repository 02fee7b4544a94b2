//! The present, kept by a restore that replaces it. Its memory need not be copied: it goes on in
//! a frozen process when the program ends.

use crate::loan::{self, Space, Words};
use crate::memory::Maps;
use crate::save::{self, Memory};
use crate::snapshot::{Options, Snapshot};
use crate::threads::ThreadState;
use crate::{Result, Warning};
use verde_engine::{Addr, Process, Tid};
use verde_sys::memory::Contents;

/// A process as it is now, for [`Snapshot::restore`] to keep. It shares the memory of the
/// process, so that it is worth nothing once that has gone on.
pub struct Present {
    snapshot: Snapshot,
    /// What the kernel changes in the memory when the process ends, as it is now.
    words: Words,
    /// Threads that ran, and would change the memory.
    stopped: Vec<Tid>,
}

impl Present {
    /// Saves a process. Threads that run are stopped for it, until the restore.
    pub fn take(process: &mut Process, options: &Options) -> Result<(Present, Vec<Warning>)> {
        let (taken, stopped) = save::take(process, options, Memory::Moved)?;
        if let Some(space) = Space::of(process.pid()).filter(|_| taken.snapshot.moved) {
            taken.snapshot.join(&space, taken.words.clone());
        }
        let present = Present {
            snapshot: taken.snapshot,
            words: taken.words,
            stopped,
        };
        Ok((present, taken.warnings))
    }

    /// It is not replaced after all.
    pub(crate) fn abandon(self, process: &mut Process) {
        drop(self.snapshot);
        for tid in self.stopped {
            if let Err(error) = process.resume(tid) {
                tracing::warn!(%tid, %error, "thread not resumed");
            }
        }
    }

    /// The memory of the process stays when it ends.
    pub(crate) fn has_memory(&self) -> bool {
        self.snapshot.moved
    }

    /// After the end of the process. `None`: it has ended as well.
    pub(crate) fn outlive(self) -> Option<Snapshot> {
        if !self.snapshot.moved {
            return Some(self.snapshot);
        }
        // Who shares memory shares this, too: not before.
        let frozen = self.snapshot.frozen_pid();
        self.snapshot.program.offer(frozen);
        loan::mend(frozen, &self.words).ok()?;
        let is_there = self.snapshot.body.borrow().frozen.alive();
        self.snapshot.is_present();
        is_there.then_some(self.snapshot)
    }
}

/// As many robust futexes of a thread the kernel looks at.
const MOST_FUTEXES: usize = 2048;
/// A futex is on the list by this address, plus one if it inherits priorities.
const INHERITS: u64 = 1;

/// The words that tell of ended threads, and that they held futexes. Not those that others have,
/// too, and wait for: they see the end.
pub(crate) fn words_of_ends(
    threads: &[ThreadState],
    maps: &Maps,
    memory: &Contents,
) -> Result<Words> {
    let mut words = Vec::new();
    for thread in threads {
        let mut futexes = Vec::new();
        // What cannot be read the kernel does not change either.
        let _ = robust_futexes(thread, memory, &mut futexes);
        let cleared = (thread.clear_tid != 0).then_some(Addr(thread.clear_tid));
        for at in cleared.into_iter().chain(futexes) {
            let mut word = [0; 4];
            if maps.is_own(at)? && memory.read(at, &mut word).is_ok() {
                words.push((at, word));
            }
        }
    }
    Ok(words)
}

/// Follows the list that a thread keeps of the robust futexes it holds.
fn robust_futexes(
    thread: &ThreadState,
    memory: &Contents,
    found: &mut Vec<Addr>,
) -> verde_sys::Result<()> {
    let (head, size) = thread.robust;
    if head == 0 || size == 0 {
        return Ok(());
    }
    let head = Addr(head);
    let futex = |entry: u64, offset: u64| Addr((entry & !INHERITS).wrapping_add(offset));
    let (mut entry, offset) = (memory.read_u64(head)?, memory.read_u64(head + 8)?);
    // One that the thread is about to take or to give back.
    let pending = memory.read_u64(head + 16)?;
    if pending != 0 {
        found.push(futex(pending, offset));
    }
    while entry & !INHERITS != head.0 && found.len() < MOST_FUTEXES {
        found.push(futex(entry, offset));
        entry = memory.read_u64(Addr(entry & !INHERITS))?;
    }
    Ok(())
}
