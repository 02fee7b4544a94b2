//! What can go wrong in the engine, in the words of its user.

use crate::{Addr, Tid, TrapId};
use verde_sys::SysError;
use verde_sys::remote::RemoteError;

/// An operation of the engine that failed. The process stays usable unless
/// the error says that it is gone.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call failed.
    #[error(transparent)]
    Sys(#[from] SysError),
    /// A system call injected into the program failed.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The process has ended or was detached.
    #[error("the process is gone")]
    Gone,
    /// No such thread.
    #[error("no thread {0}")]
    NoThread(Tid),
    /// The operation needs a stopped thread.
    #[error("thread {0} is running")]
    Running(Tid),
    /// No such trap.
    #[error("no trap {}", .0.0)]
    NoTrap(TrapId),
    /// There is no code at this address.
    #[error("no code at {0}")]
    NoCode(Addr),
    /// A watched range that no mechanism can watch.
    #[error("cannot watch {len} bytes at {at}: {why}")]
    CannotWatch {
        /// Start of the range.
        at: Addr,
        /// Its length.
        len: u64,
        /// The reason.
        why: &'static str,
    },
    /// A function called for the debugger got a signal.
    #[error("the called function received {}", verde_sys::signals::name(*.0))]
    CallFailed(i32),
    /// A function called for the debugger was interrupted before its return.
    #[error("the called function was interrupted before it returned; the program is where it was")]
    CallInterrupted,
    /// A seccomp filter would be asked about the system calls the engine must inject.
    #[error("the program has a seccomp filter, and only root can let our calls ({0}) pass it")]
    Seccomp(&'static str),
    /// The program may have no code but that of its files.
    #[error(
        "the program lets no memory become code that was none before (PR_SET_MDWE): \
         there is no room for ours"
    )]
    NoNewCode,
    /// The program is in a state that passes.
    #[error("{0}")]
    NotNow(&'static str),
    /// No place near the code for relocated instructions.
    #[error("no free address range near {0}")]
    NoRoom(Addr),
}

impl Error {
    /// The thread or process it was about is gone, or on its way out.
    pub(crate) fn is_gone(&self) -> bool {
        match self {
            Error::Gone | Error::Remote(RemoteError::Ended(_)) => true,
            Error::Sys(e) | Error::Remote(RemoteError::Sys(e)) => e.is_gone(),
            _ => false,
        }
    }
}

/// Result of an engine operation.
pub type Result<T> = std::result::Result<T, Error>;
