//! The frozen copies that this thread has made and not dropped. They share open
//! files with the program, so one may have to let go of a file for the sake of
//! another one that is restored.

use crate::Result;
use crate::leader::Leader;
use std::cell::RefCell;
use std::os::fd::RawFd;
use verde_engine::{Addr, Scratch, Tid};
use verde_sys::remote::Remote;

thread_local! {
    static ALL: RefCell<Vec<Copy>> = const { RefCell::new(Vec::new()) };
}

/// A frozen process, and what it takes to make it call.
#[derive(Clone)]
pub(crate) struct Copy {
    pub pid: Tid,
    pub instruction: Addr,
    pub scratch: Scratch,
    pub namespaced: bool,
    pub filtered: bool,
    /// Numbers of the files that it shares and with which somebody may hold locks.
    pub lockable: Vec<RawFd>,
}

impl Copy {
    /// Borrows it for system calls.
    pub fn borrow(&self) -> Result<Leader> {
        let remote = Remote::begin(self.pid, self.instruction)?;
        let (namespaced, filtered) = (self.namespaced, self.filtered);
        Ok(Leader::new(remote, self.scratch, namespaced, filtered))
    }
}

/// Keeps a copy among all of them until it is dropped.
pub(crate) struct Listed(Tid);

impl Listed {
    pub fn new(copy: Copy) -> Listed {
        let pid = copy.pid;
        ALL.with_borrow_mut(|all| all.push(copy));
        Listed(pid)
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        // At the end of the thread there may be no list any more.
        let _ = ALL.try_with(|all| all.borrow_mut().retain(|c| c.pid != self.0));
    }
}

/// Those that share files with which somebody may hold locks.
pub(crate) fn with_lockable() -> Vec<Copy> {
    let has_some = |c: &&Copy| !c.lockable.is_empty();
    ALL.with_borrow(|all| all.iter().filter(has_some).cloned().collect())
}
