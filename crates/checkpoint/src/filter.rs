//! Seccomp filters of the program. Calls that we make in it must not be asked:
//! a filter may kill the program for one that it does not expect.

use crate::{Error, Result};
use verde_engine::Tid;
use verde_sys::procfs;
use verde_sys::ptrace::{self, IfTracerDies};

/// Filters that are off for a while.
pub(crate) struct Suspended {
    tids: Vec<Tid>,
}

/// Whether the process has filters. A copy inherits those of the first thread,
/// so all must have the same.
pub(crate) fn is_filtered(pid: Tid, tids: &[Tid]) -> Result<bool> {
    let first = procfs::seccomp(pid, pid);
    let mut others = tids.iter().filter(|tid| **tid != pid);
    if others.any(|tid| procfs::seccomp(pid, *tid) != first) {
        return Err(Error::Unsupported(
            "a seccomp filter in some of its threads",
        ));
    }
    Ok(first.is_some_and(|(mode, _)| !matches!(mode.as_str(), "0" | "")))
}

impl Suspended {
    /// Switches the filters of these threads off until this is dropped.
    pub fn new(tids: Vec<Tid>) -> Result<Suspended> {
        let suspended = Suspended { tids };
        for tid in &suspended.tids {
            ptrace::suspend_seccomp(*tid, IfTracerDies::Kill, true).map_err(|e| {
                match e.is_gone() {
                    true => e.into(),
                    false => Error::Unsupported(
                        "a seccomp filter, which only root can let our calls pass",
                    ),
                }
            })?;
        }
        Ok(suspended)
    }
}

impl Drop for Suspended {
    fn drop(&mut self) {
        for tid in &self.tids {
            // It may be gone.
            let _ = ptrace::suspend_seccomp(*tid, IfTracerDies::Kill, false);
        }
    }
}
