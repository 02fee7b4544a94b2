//! The frozen copies that this thread has made and not dropped. They share open
//! files with the program, so one may have to let go of a file for the sake of
//! another one that is restored.

use crate::Result;
use crate::leader::Leader;
use std::cell::RefCell;
use std::os::fd::RawFd;
use verde_engine::{Addr, Scratch, Tid};
use verde_sys::overlay::is_same_open_file;
use verde_sys::remote::Remote;

thread_local! {
    static ALL: RefCell<All> = const { RefCell::new(All::new()) };
}

struct All {
    copies: Vec<Copy>,
    files: Vec<SharedFile>,
}

/// A frozen process, and what it takes to make it call.
#[derive(Clone)]
pub(crate) struct Copy {
    pub pid: Tid,
    pub instruction: Addr,
    pub scratch: Scratch,
    pub namespaced: bool,
    pub filtered: bool,
}

impl Copy {
    /// Borrows it for system calls.
    pub fn borrow(&self) -> Result<Leader> {
        let remote = Remote::begin(self.pid, self.instruction)?;
        let (namespaced, filtered) = (self.namespaced, self.filtered);
        Ok(Leader::new(remote, self.scratch, namespaced, filtered))
    }
}

/// An open file with which somebody may hold locks, and the copies that share it under one number.
/// That does not change, for copies do not run: it is enough to ask one of them. One file may be
/// several of these.
#[derive(Clone)]
pub(crate) struct SharedFile {
    pub number: RawFd,
    pub sharers: Vec<Tid>,
}

impl All {
    const fn new() -> All {
        All {
            copies: Vec::new(),
            files: Vec::new(),
        }
    }

    /// Most copies share their files with the one before.
    fn join(&mut self, pid: Tid, number: RawFd) {
        let last = self.files.iter_mut().rev().find(|f| f.number == number);
        let shares = |file: &&mut SharedFile| {
            let other = file.sharers.last();
            other.is_some_and(|other| is_same_open_file((*other, number), (pid, number)))
        };
        match last.filter(shares) {
            Some(file) => file.sharers.push(pid),
            None => self.files.push(SharedFile {
                number,
                sharers: vec![pid],
            }),
        }
    }

    /// The numbers under which it shared files.
    fn leave(&mut self, pid: Tid) -> Vec<RawFd> {
        let mut numbers = Vec::new();
        self.files.retain_mut(|file| {
            if let Some(i) = file.sharers.iter().rposition(|sharer| *sharer == pid) {
                file.sharers.remove(i);
                numbers.push(file.number);
            }
            !file.sharers.is_empty()
        });
        numbers
    }
}

/// Keeps a copy among all of them until it is dropped.
pub(crate) struct Listed(Tid);

impl Listed {
    /// `lockable`: the numbers of the files that it shares and with which somebody may hold locks.
    pub fn new(copy: Copy, lockable: &[RawFd]) -> Listed {
        let pid = copy.pid;
        ALL.with_borrow_mut(|all| {
            for number in lockable {
                all.join(pid, *number);
            }
            all.copies.push(copy);
        });
        Listed(pid)
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        // At the end of the thread there may be no list any more.
        let _ = ALL.try_with(|all| {
            let mut all = all.borrow_mut();
            all.copies.retain(|c| c.pid != self.0);
            all.leave(self.0);
        });
    }
}

/// The open files that copies share and with which somebody may hold locks.
pub(crate) fn shared_files() -> Vec<SharedFile> {
    ALL.with_borrow(|all| all.files.clone())
}

/// The copy with this id.
pub(crate) fn get(pid: Tid) -> Option<Copy> {
    ALL.with_borrow(|all| all.copies.iter().find(|c| c.pid == pid).cloned())
}

/// A copy has got open files that it shares with nobody yet, perhaps all of them.
pub(crate) fn has_parted(pid: Tid) {
    ALL.with_borrow_mut(|all| {
        for number in all.leave(pid) {
            all.join(pid, number);
        }
    });
}
