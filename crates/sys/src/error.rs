//! One error for a failed system call: which call, and the kernel's reason.

use std::io;

/// A system call that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{call}: {}", io::Error::from_raw_os_error(*.errno))]
pub struct SysError {
    /// The call as a person would name it.
    pub call: &'static str,
    /// The kernel's error number.
    pub errno: i32,
}

/// Result of a call in this crate.
pub type Result<T> = std::result::Result<T, SysError>;

impl SysError {
    /// The error left in `errno` by the last failed call of this thread.
    pub fn last(call: &'static str) -> SysError {
        let errno = io::Error::last_os_error().raw_os_error().unwrap_or(0);
        SysError { call, errno }
    }

    /// The same from a standard library error.
    pub fn from_io(call: &'static str, error: &io::Error) -> SysError {
        SysError {
            call,
            errno: error.raw_os_error().unwrap_or(libc::EIO),
        }
    }

    /// The task does not exist, or is not in a ptrace stop (it was killed, or
    /// is being killed), or was reaped. Normal at any moment of a process's life.
    pub fn is_gone(&self) -> bool {
        matches!(self.errno, libc::ESRCH | libc::ECHILD)
    }
}

/// Turns the -1 convention into a `Result`.
pub(crate) fn check(call: &'static str, value: libc::c_long) -> Result<libc::c_long> {
    if value == -1 {
        Err(SysError::last(call))
    } else {
        Ok(value)
    }
}
