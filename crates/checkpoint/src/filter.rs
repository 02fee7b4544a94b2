//! What threads may do, and seccomp filters of the program. Calls that we make in it must not be asked:
//! a filter may kill the program for one that it does not expect. What else is in their way.

use crate::save::has_ended;
use crate::{Error, Result};
use verde_engine::{Process, Tid};
use verde_sys::procfs;
use verde_sys::ptrace::{self, IfTracerDies};

/// Filters that are off for a while.
pub(crate) struct Suspended {
    tids: Vec<Tid>,
}

/// What the threads of a process may do.
pub(crate) struct Looked {
    /// They have filters that we are not under ourselves.
    pub filtered: bool,
    /// Threads with other users, groups or capabilities than the first one.
    pub others: Vec<Tid>,
}

/// Looks at all threads. A copy inherits the filters of the first one, so all must have the same.
pub(crate) fn look(process: &Process, tids: &[Tid]) -> Result<Looked> {
    let pid = process.pid();
    let first = procfs::rights(pid, pid);
    let seccomp = |rights: &Option<procfs::Rights>| rights.as_ref().map(|r| r.seccomp.clone());
    let mut others = Vec::new();
    for tid in tids.iter().filter(|tid| **tid != pid) {
        let rights = procfs::rights(pid, *tid);
        if rights == first {
            continue;
        }
        if seccomp(&rights) != seccomp(&first) {
            return Err(Error::Unsupported(
                "a seccomp filter in some of its threads",
            ));
        }
        others.push(*tid);
    }
    let mode = first.map(|rights| rights.seccomp.0);
    let filtered = mode.is_some_and(|mode| !matches!(mode.as_str(), "0" | ""));
    Ok(Looked {
        filtered: filtered && !process.has_our_filters(pid),
        others,
    })
}

/// What threads may do, with their filters off if they have any.
pub(crate) struct Passage {
    /// For as long as we make calls in them.
    pub open: Option<Suspended>,
    /// Threads with other users, groups or capabilities than the first one.
    pub others: Vec<Tid>,
}

/// Lets our calls pass in all threads, or fails before anything was done to them.
pub(crate) fn pass(process: &Process, tids: Vec<Tid>) -> Result<Passage> {
    if tids.iter().any(|tid| ptrace::dispatches_calls(*tid)) {
        return Err(Error::Unsupported(
            "system calls that go to a handler of its own (PR_SET_SYSCALL_USER_DISPATCH)",
        ));
    }
    // The copy would be the first process there, and the namespace end with it.
    if procfs::has_namespace_for_children(process.pid()) {
        // One that has ended has none that could be seen.
        if has_ended(process.pid()) {
            return Err(Error::Ended);
        }
        return Err(Error::Unsupported(
            "a pid namespace for its children (unshare(CLONE_NEWPID))",
        ));
    }
    // One thread differs from nobody. Where it is allowed, a filter that may be there is switched
    // off in less time than it takes to look for it.
    if let [_] = tids[..]
        && let Ok(open) = Suspended::new(tids.clone())
    {
        return Ok(Passage {
            open: Some(open),
            others: Vec::new(),
        });
    }
    let Looked { filtered, others } = look(process, &tids)?;
    let open = filtered.then(|| Suspended::new(tids)).transpose()?;
    Ok(Passage { open, others })
}

impl Suspended {
    /// Switches the filters of these threads off until this is dropped.
    pub fn new(tids: Vec<Tid>) -> Result<Suspended> {
        let suspended = Suspended { tids };
        suspended.renew()?;
        Ok(suspended)
    }

    /// Once more, after somebody else has switched them on.
    pub fn renew(&self) -> Result<()> {
        for tid in &self.tids {
            ptrace::suspend_seccomp(*tid, IfTracerDies::Kill, true).map_err(|e| {
                match e.is_gone() {
                    true => e.into(),
                    false => Error::Unsupported(
                        "a seccomp filter, which only root can let our calls pass",
                    ),
                }
            })?;
        }
        Ok(())
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
