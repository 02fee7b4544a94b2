//! What the debugger wants to hear about, as a value.

use crate::{Addr, Tid};
use rustc_hash::FxHashMap;

/// Names one trap for as long as it lives; never used again after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TrapId(pub u32);

/// On whose behalf a trap is set. Several owners share an address without
/// knowing of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// A breakpoint or watchpoint typed by the user.
    User,
    /// The end of a step.
    Step,
    /// An event of a property; the user does not see it.
    Monitor,
    /// The engine's own, to follow the dynamic loader.
    Loader,
}

/// What sets a trap off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum On {
    /// The instruction at this address is about to run.
    Exec(Addr),
    /// A call of the function that begins at this address returns, or is
    /// abandoned by longjmp, an exception or the thread's end.
    Return(Addr),
    /// As `Return`, and the entry is reported too, with the number of the
    /// call that the return will carry.
    Call(Addr),
    /// The function that begins at this address is called. Its own jumps
    /// back to its first instruction are no calls, see [`Process::note_loop`].
    ///
    /// [`Process::note_loop`]: crate::Process::note_loop
    Enter(Addr),
    /// A store to any of `len` bytes, after it was done.
    Write {
        /// First byte.
        at: Addr,
        /// Number of bytes.
        len: u64,
    },
    /// A load from any of `len` bytes.
    Read {
        /// First byte.
        at: Addr,
        /// Number of bytes.
        len: u64,
    },
    /// A load or a store.
    Access {
        /// First byte.
        at: Addr,
        /// Number of bytes.
        len: u64,
    },
    /// An instruction of the trap's thread was run, each one; a system call is
    /// one, too.
    Instruction,
    /// Entry and exit of a system call (of every one for `None`).
    Syscall(Option<u64>),
    /// A signal is about to be delivered, whatever the signal policy says.
    Signal(i32),
    /// Threads begin and end.
    Thread,
    /// A thread begins: it reports so itself, before its first instruction,
    /// and its end. For whoever sets traps for each thread.
    Start,
}

impl On {
    /// The function whose calls are followed to their ends.
    pub fn function(self) -> Option<Addr> {
        match self {
            On::Return(at) | On::Call(at) | On::Enter(at) => Some(at),
            _ => None,
        }
    }
}

/// A frame of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FrameRef {
    /// Its canonical frame address: the stack pointer after it returned.
    pub cfa: Addr,
    /// Where it returns to.
    pub return_to: Addr,
}

/// One thing to hear about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Trap {
    /// What sets it off.
    pub on: On,
    /// Who wants to know.
    pub owner: Owner,
    /// Only in this thread.
    pub thread: Option<Tid>,
    /// For data bound to a frame: accesses of every thread count, and `thread`
    /// is the one whose frame it is.
    pub by_all: bool,
    /// For `Exec`: only after this frame returned. For data and `Instruction`:
    /// only until this frame returns, which is reported once.
    pub frame: Option<FrameRef>,
}

impl Trap {
    /// A trap for every thread and frame.
    pub fn new(on: On, owner: Owner) -> Trap {
        Trap {
            on,
            owner,
            thread: None,
            by_all: false,
            frame: None,
        }
    }

    /// The same in one thread only.
    pub fn in_thread(self, tid: Tid) -> Trap {
        Trap {
            thread: Some(tid),
            ..self
        }
    }

    /// The same for data of a thread's frame, whichever thread accesses them.
    pub fn in_frame_of(self, tid: Tid, frame: FrameRef) -> Trap {
        Trap {
            by_all: true,
            ..self.in_thread(tid).in_frame(frame)
        }
    }

    /// The same bound to a frame.
    pub fn in_frame(self, frame: FrameRef) -> Trap {
        Trap {
            frame: Some(frame),
            ..self
        }
    }
}

/// A trap in a set, with how often it was asked for and set off.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The trap.
    pub trap: Trap,
    /// How many times it was inserted; none: it rests.
    pub references: u32,
    /// How many times it was reported.
    pub hits: u64,
}

/// A set of traps. Inserting an equal trap again counts a reference and gives
/// the same id; it goes, or rests, when every reference is released.
#[derive(Clone, Debug, Default)]
pub struct TrapSet {
    entries: FxHashMap<TrapId, Entry>,
    ids: FxHashMap<Trap, TrapId>,
    last: u32,
}

impl TrapSet {
    /// The empty set.
    pub fn new() -> TrapSet {
        TrapSet::default()
    }

    /// Adds a reference to a trap. `true`: it is the first, of a new trap or
    /// of one that rested.
    pub fn insert(&mut self, trap: Trap) -> (TrapId, bool) {
        if let Some(&id) = self.ids.get(&trap) {
            let Some(entry) = self.entries.get_mut(&id) else {
                return (id, false);
            };
            entry.references += 1;
            return (id, entry.references == 1);
        }
        self.last += 1;
        let id = TrapId(self.last);
        let entry = Entry {
            trap,
            references: 1,
            hits: 0,
        };
        self.ids.insert(trap, id);
        self.entries.insert(id, entry);
        (id, true)
    }

    /// Releases one reference. `Some(trap)`: it was the last, or the trap
    /// rested.
    pub fn release(&mut self, id: TrapId) -> Option<Trap> {
        let entry = self.entries.get_mut(&id)?;
        entry.references = entry.references.saturating_sub(1);
        if entry.references > 0 {
            return None;
        }
        self.discard(id)
    }

    /// Releases one reference and keeps the trap. `true`: it was the last,
    /// the trap rests.
    pub(crate) fn rest(&mut self, id: TrapId) -> bool {
        let Some(entry) = self.entries.get_mut(&id) else {
            return false;
        };
        let was_awake = entry.references > 0;
        entry.references = entry.references.saturating_sub(1);
        was_awake && entry.references == 0
    }

    /// The trap is in the set and nobody refers to it at present.
    pub fn is_resting(&self, id: TrapId) -> bool {
        self.entries.get(&id).is_some_and(|e| e.references == 0)
    }

    /// Takes a trap out whatever its references.
    pub fn discard(&mut self, id: TrapId) -> Option<Trap> {
        let entry = self.entries.remove(&id)?;
        self.ids.remove(&entry.trap);
        Some(entry.trap)
    }

    /// Binds a trap to another thread.
    pub(crate) fn rebind(&mut self, id: TrapId, tid: Tid) {
        if let Some(entry) = self.entries.get_mut(&id) {
            self.ids.remove(&entry.trap);
            entry.trap.thread = Some(tid);
            self.ids.insert(entry.trap, id);
        }
    }

    /// A trap by its id.
    pub fn get(&self, id: TrapId) -> Option<&Entry> {
        self.entries.get(&id)
    }

    /// The id of a trap that is in the set.
    pub fn id_of(&self, trap: &Trap) -> Option<TrapId> {
        self.ids.get(trap).copied()
    }

    /// Counts a hit.
    pub(crate) fn hit(&mut self, id: TrapId) -> Option<&Entry> {
        let entry = self.entries.get_mut(&id)?;
        entry.hits += 1;
        Some(entry)
    }

    /// Every trap.
    pub fn iter(&self) -> impl Iterator<Item = (TrapId, &Entry)> {
        self.entries.iter().map(|(id, entry)| (*id, entry))
    }

    /// How many different traps there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// There is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_traps_share_an_id_until_all_are_released() {
        let mut set = TrapSet::new();
        let trap = Trap::new(On::Exec(Addr(16)), Owner::User);
        let (id, new) = set.insert(trap);
        assert!(new);
        assert_eq!(set.insert(trap), (id, false));
        let (other, new) = set.insert(Trap::new(On::Exec(Addr(16)), Owner::Monitor));
        assert!(new && other != id);
        assert_eq!(set.release(id), None);
        assert_eq!(set.release(id), Some(trap));
        assert_eq!(set.release(id), None);
        assert!(set.insert(trap).0 > other, "ids are not used twice");
    }

    #[test]
    fn a_trap_that_rests_keeps_its_id() {
        let mut set = TrapSet::new();
        let trap = Trap::new(On::Call(Addr(16)), Owner::Monitor);
        let (id, _) = set.insert(trap);
        set.insert(trap);
        assert!(!set.rest(id), "somebody else refers to it");
        assert!(set.rest(id) && set.is_resting(id));
        assert!(!set.rest(id), "it rests already");
        assert_eq!(set.insert(trap), (id, true), "to be set up again");
        assert!(set.rest(id));
        assert_eq!(set.release(id), Some(trap));
        assert_eq!(set.id_of(&trap), None);
    }
}
