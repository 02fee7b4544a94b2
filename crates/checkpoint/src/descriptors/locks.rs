//! Files that hold locks (`flock`, locks of open files). A frozen copy must not
//! hold them too: the program, and who waits for it, would find a file locked
//! that the program has closed. So it gets open files of its own, and a restored
//! one again, which takes the locks. Open files that hold none stay shared, and a
//! lock that was taken since with them.

use super::files::our_own;
use super::numbers::Numbers;
use crate::copies::{self, SharedFile};
use crate::leader::Leader;
use crate::snapshot::{Item, Items};
use crate::{Error, Result, Warning};
use std::collections::BTreeSet;
use std::os::fd::{AsFd, RawFd};
use std::os::unix::fs::MetadataExt;
use verde_engine::Tid;
use verde_sys::descriptor::{self, Descriptor, target};
use verde_sys::file_locks::{self, Lock};
use verde_sys::number as n;
use verde_sys::overlay::{is_same_open_file, same_open_file};
use verde_sys::pidfd::PidFd;
use verde_sys::remote::RemoteError;

/// The locks of a process's open files.
pub(super) struct Locks {
    /// Files that hold locks, and are opened anew.
    held: Vec<Held>,
    /// The others that could hold locks.
    shared: Vec<Shared>,
}

struct Held {
    numbers: Numbers,
    locks: Vec<Lock>,
}

struct Shared {
    number: RawFd,
    /// It is not the kernel's own.
    is_file: bool,
    locks: Vec<Lock>,
}

impl Locks {
    pub fn save(pid: Tid, list: &[Descriptor]) -> Locks {
        let mut held: Vec<Held> = Vec::new();
        let mut shared = Vec::new();
        for d in list.iter().filter(|d| d.may_be_locked()) {
            let locks = d.locks();
            if held.iter().any(|l| l.numbers.contain(d.number)) {
                continue;
            }
            if locks.is_empty() || !can_be_opened_anew(d) {
                shared.push(Shared {
                    number: d.number,
                    is_file: is_file(d),
                    locks,
                });
                continue;
            }
            let same = |o: &Descriptor| {
                o.number == d.number
                    || (o.target() == d.target() && same_open_file(pid, o.number, d.number))
            };
            held.push(Held {
                numbers: Numbers::of(list, same),
                locks,
            });
        }
        Locks { held, shared }
    }

    /// None was held by a file that can be opened anew.
    pub fn are_none(&self) -> bool {
        self.held.is_empty()
    }

    /// Numbers of shared files that may hold locks later.
    pub fn lockable(&self) -> Vec<RawFd> {
        let files = self.shared.iter().filter(|s| s.is_file);
        files.map(|s| s.number).collect()
    }

    /// Gives a copy open files that it shares with nobody.
    pub fn part(&self, copy: &mut Leader) -> Result<()> {
        for locked in &self.held {
            match open_anew(copy, &locked.numbers) {
                // It may not open it any more, and keeps what it has.
                Err(Error::Remote(RemoteError::Refused(error))) => {
                    let (number, _) = locked.numbers.first().unwrap_or_default();
                    tracing::debug!(number, %error, "a locked file stays shared");
                }
                other => other?,
            }
        }
        Ok(())
    }

    /// Frees what a restored copy holds with the open files that it shares and did not hold
    /// then, and takes what it held. Files that were opened anew hold nothing yet.
    pub fn restore(
        &self,
        handle: &PidFd,
        without: &Items,
        warnings: &mut Vec<Warning>,
    ) -> Result<()> {
        if without.contains(Item::Locks) {
            return Ok(());
        }
        let now: Vec<(&Shared, Vec<Lock>)> = self
            .shared
            .iter()
            // What is not there has a warning of its own.
            .filter_map(|s| Some((s, file_locks::of(handle.pid(), s.number).ok()?)))
            .collect();
        let is_free = |number| {
            now.iter()
                .any(|(s, now)| s.number == number && now.is_empty())
        };
        part_copies(handle.pid(), is_free);
        let changed: Vec<&Shared> = now
            .iter()
            .filter(|(s, now)| s.locks != *now)
            .map(|(s, _)| *s)
            .collect();
        // All of them first: one may be in the way of another.
        for file in &changed {
            let fd = handle.descriptor(file.number);
            if let Err(error) = fd.and_then(|fd| file_locks::unlock(fd.as_fd())) {
                tracing::debug!(number = file.number, %error, "locks are not freed");
            }
        }
        let changed = changed.iter().filter(|s| !s.locks.is_empty());
        let changed = changed.map(|s| (s.number, &s.locks));
        let anew = self.held.iter().filter_map(|locked| {
            let (number, _) = locked.numbers.first()?;
            Some((number, &locked.locks))
        });
        let mut lost = Vec::new();
        for (number, locks) in changed.chain(anew) {
            let file = handle.descriptor(number)?;
            if locks.iter().any(|lock| lock.take(file.as_fd()).is_err()) {
                lost.push(target(handle.pid(), number).unwrap_or_default());
            }
        }
        if !lost.is_empty() {
            warnings.push(Warning::LostLocks(lost));
        }
        Ok(())
    }
}

/// Frozen copies let go of files with which the program has taken locks since. `is_free`: the open
/// file of `pid` with this number holds none.
fn part_copies(pid: Tid, is_free: impl Fn(RawFd) -> bool) {
    let is_held = |file: &SharedFile| {
        let number = file.number;
        let free = is_free(number);
        let is_known = |sharer| free && is_same_open_file((pid, number), (sharer, number));
        let locks = |sharer| file_locks::of(sharer, number);
        // Of one that was killed nothing is known, and another one tells the same.
        let told = file.sharers.iter().rev().find_map(|sharer| {
            let is_free = is_known(*sharer) || locks(*sharer).ok()?.is_empty();
            Some(!is_free)
        });
        told == Some(true)
    };
    let held = copies::shared_files().into_iter().filter(is_held);
    // Who lets go of one file does so of all that are held.
    let holders: BTreeSet<Tid> = held.flat_map(|file| file.sharers).collect();
    holders.into_iter().for_each(part_copy);
}

/// One that is there still.
fn part_copy(pid: Tid) {
    let Some(copy) = copies::get(pid) else { return };
    let part = || {
        let list = descriptor::of_process(&PidFd::open(pid)?)?;
        Locks::save(pid, &list).part(&mut copy.borrow()?)
    };
    if let Err(error) = part() {
        tracing::debug!(%pid, %error, "a frozen process may keep locks");
    }
    copies::has_parted(pid);
}

/// A file that is not the kernel's own.
fn is_file(d: &Descriptor) -> bool {
    d.is_on_disk() || !(d.is_device() || d.target().starts_with("/proc/"))
}

/// Pipes and devices would wait for somebody, or do something. And the files that we write
/// ourselves keep their offset.
fn can_be_opened_anew(d: &Descriptor) -> bool {
    d.about().is_some_and(|meta| {
        (meta.is_file() || meta.is_dir()) && !our_own(true).contains(&(meta.dev(), meta.ino()))
    })
}

/// Opens a file again for all its numbers.
fn open_anew(leader: &mut Leader, numbers: &Numbers) -> Result<()> {
    let Some((number, flags)) = numbers.first() else {
        return Ok(());
    };
    let kept = n::O_ACCMODE | n::O_APPEND | n::O_DIRECT | n::O_NONBLOCK | n::O_SYNC;
    let path = format!("/proc/self/fd/{number}\0");
    let path = leader.place(0, path.as_bytes())?;
    let args = [n::AT_FDCWD as u64, path, (flags & kept) as u64, 0];
    let file = leader.call("openat", n::SYS_openat, &args)?;
    numbers.give(leader, file)
}
