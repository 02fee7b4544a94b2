//! Files that hold locks (`flock`, locks of open files). A frozen copy must not
//! hold them too: the program, and who waits for it, would find a file locked
//! that the program has closed. So it gets open files of its own, and a restored
//! one again, which takes the locks.

use super::files::{our_own, stat};
use super::numbers::Numbers;
use crate::leader::Leader;
use crate::snapshot::{Item, Items};
use crate::{Error, Result, Warning};
use std::os::fd::{AsFd, RawFd};
use std::os::unix::fs::MetadataExt;
use verde_engine::Tid;
use verde_sys::descriptors::{Descriptor, Lock};
use verde_sys::number as n;
use verde_sys::overlay::same_open_file;
use verde_sys::pidfd::PidFd;
use verde_sys::remote::RemoteError;

/// The open files of a process that hold locks.
pub(super) struct Locks(Vec<Locked>);

struct Locked {
    numbers: Numbers,
    path: String,
    locks: Vec<Lock>,
}

impl Locks {
    pub fn save(pid: Tid, list: &[Descriptor]) -> Locks {
        let mut all: Vec<Locked> = Vec::new();
        for d in list {
            let locks = d.locks();
            if locks.is_empty()
                || all.iter().any(|l| l.numbers.contain(d.number))
                || !can_be_opened_anew(pid, d.number)
            {
                continue;
            }
            let same = |o: &Descriptor| {
                o.number == d.number
                    || (o.target == d.target && same_open_file(pid, o.number, d.number))
            };
            all.push(Locked {
                numbers: Numbers::of(list, same),
                path: d.target.clone(),
                locks,
            });
        }
        Locks(all)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Gives a copy open files that it shares with nobody.
    pub fn part(&self, copy: &mut Leader) -> Result<()> {
        for locked in &self.0 {
            match open_anew(copy, &locked.numbers) {
                // It may not open it any more, and keeps what it has.
                Err(Error::Remote(RemoteError::Refused(error))) => {
                    tracing::debug!(path = locked.path, %error, "a locked file stays shared");
                }
                other => other?,
            }
        }
        Ok(())
    }

    /// Takes the locks again in a restored copy.
    pub fn restore(
        &self,
        copy: &mut Leader,
        handle: &PidFd,
        without: &Items,
        warnings: &mut Vec<Warning>,
    ) -> Result<()> {
        if without.contains(Item::Locks) {
            return Ok(());
        }
        self.part(copy)?;
        let mut lost = Vec::new();
        for Locked {
            numbers,
            path,
            locks,
        } in &self.0
        {
            let Some((number, _)) = numbers.first() else {
                continue;
            };
            let file = handle.descriptor(number)?;
            if locks.iter().any(|lock| lock.take(file.as_fd()).is_err()) {
                lost.push(path.clone());
            }
        }
        if !lost.is_empty() {
            warnings.push(Warning::LostLocks(lost));
        }
        Ok(())
    }
}

/// Pipes and devices would wait for somebody, or do something. And the files that we write
/// ourselves keep their offset.
fn can_be_opened_anew(pid: Tid, number: RawFd) -> bool {
    stat(pid, number).is_some_and(|meta| {
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
