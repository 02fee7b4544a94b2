//! What happened, decoded once from the kernel.

use crate::{Addr, FrameRef, Tid, TrapId};
use smallvec::SmallVec;

/// One thread stopped, for one or more reasons at once. The thread stays
/// stopped until it is resumed; the others are not affected.
#[derive(Clone, Debug)]
pub struct Stop {
    /// The thread.
    pub tid: Tid,
    /// Why, in the order things happened.
    pub causes: SmallVec<[Cause; 4]>,
}

impl Stop {
    pub(crate) fn new(tid: Tid, cause: Cause) -> Stop {
        let mut causes = SmallVec::new();
        causes.push(cause);
        Stop { tid, causes }
    }

    /// How the process ended, if this is its end.
    pub fn ended(&self) -> Option<End> {
        self.causes.iter().find_map(|c| match c {
            Cause::Ended(end) => Some(*end),
            _ => None,
        })
    }

    /// The traps that were set off, whatever their kind.
    pub fn traps(&self) -> impl Iterator<Item = TrapId> {
        self.causes.iter().filter_map(|c| match c {
            Cause::Trap { id }
            | Cause::Entry { id, .. }
            | Cause::Return { id, .. }
            | Cause::Abandoned { id, .. }
            | Cause::Cut { id, .. }
            | Cause::Watch { id, .. }
            | Cause::Syscall { id, .. } => Some(*id),
            _ => None,
        })
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// It was let go.
    Detached,
}

/// Names one call of a function, to join its entry and its return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub u64);

/// Kind of a new process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkKind {
    /// A copy.
    Fork,
    /// A child that borrows the memory until its exec.
    Vfork,
}

/// One reason of a stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cause {
    /// An `Exec` trap, and the instruction has not run; or a `Start` trap.
    Trap {
        /// Which trap.
        id: TrapId,
    },
    /// A function with a `Call` trap was entered.
    Entry {
        /// Which trap.
        id: TrapId,
        /// This call.
        call: CallId,
    },
    /// A function with a `Return` or `Call` trap returned; the thread is at
    /// the return address, the result in its registers.
    Return {
        /// Which trap.
        id: TrapId,
        /// The call that returned.
        call: CallId,
    },
    /// A call was left without returning: by longjmp, or by an exception.
    Abandoned {
        /// Which trap.
        id: TrapId,
        /// The call that ended.
        call: CallId,
    },
    /// The thread ended in the middle of a call.
    Cut {
        /// Which trap.
        id: TrapId,
        /// The call that ended.
        call: CallId,
    },
    /// A watched datum was accessed; the access is done.
    Watch {
        /// Which trap.
        id: TrapId,
        /// It was a store.
        write: bool,
        /// Address of the watched range.
        at: Addr,
    },
    /// What was watched is gone, and the watch with it.
    WatchEnded {
        /// The trap that was removed.
        id: TrapId,
        /// The frame of a local; `None`: the program has unmapped its memory, or the thread whose
        /// registers were watched has ended.
        frame: Option<FrameRef>,
    },
    /// A step is complete.
    StepDone,
    /// A step is complete where an exception was caught: in the middle of a line, whose beginning
    /// it has not come by.
    StepCaught,
    /// Somebody asked the process to stop.
    Interrupted,
    /// The threads that were to run have ended, all others are kept stopped.
    Left,
    /// A system call begins or ends.
    Syscall {
        /// Which trap.
        id: TrapId,
        /// Call number.
        number: u64,
        /// Its value when it ends, `None` when it begins.
        value: Option<i64>,
    },
    /// A signal is about to be delivered, as the policy says.
    Signal {
        /// Number.
        signal: i32,
        /// `si_code`.
        code: i32,
        /// Fault address, for signals that have one.
        at: Addr,
    },
    /// Job control stopped the thread.
    GroupStop(i32),
    /// A new process, which is held until the thread that made it goes on.
    Fork {
        /// Its id.
        child: Tid,
        /// How it was made.
        kind: ForkKind,
    },
    /// The engine has gone on with a forked child and let the parent go: this
    /// is the only thread. Traps of other threads are gone.
    Followed {
        /// The thread that made the child.
        maker: Tid,
    },
    /// The process replaced its program. Every trap on an address is gone.
    Exec,
    /// A thread was created (reported by its creator).
    Clone(Tid),
    /// This thread ends.
    ThreadExit(i32),
    /// Libraries were loaded.
    Loaded,
    /// Libraries were unloaded; traps in them are gone.
    Unloaded,
    /// The process ended.
    Ended(End),
}
