//! Save and restore of a stopped process, threads included, in the time of a
//! fork.
//!
//! A [`Snapshot`] is a frozen copy of the process: its first thread forked by
//! a system call that the debugger makes it execute, never run since, and
//! tables of what the kernel keeps for the other threads. Restoring kills the
//! present process, forks the frozen one to the freed process id and creates
//! the threads again with their ids. The snapshot stays as it is, so it can
//! be restored any number of times. Frozen processes are children of the
//! debugger and die with it; the program's own waits never see them.
//!
//! The engine's [`Process`](verde_engine::Process) goes on with the restored
//! process as if nothing had happened: the traps of now are set in the
//! program of then.

mod copies;
mod descriptors;
mod error;
mod filter;
mod fork;
mod layers;
mod leader;
mod loan;
mod memory;
mod present;
mod restore;
mod save;
mod settle;
mod signals;
mod snapshot;
mod threads;
mod timers;
mod together;
mod unfinished;
mod warning;

pub use error::{Error, Result};
pub use layers::Layers;
pub use loan::{Loss, copy_now, is_copy_due, losses};
pub use present::Present;
pub use restore::Restored;
pub use snapshot::{Item, Options, Snapshot};
pub use warning::{Warning, WhyNewIds};
