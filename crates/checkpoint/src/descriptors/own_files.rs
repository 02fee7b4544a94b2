//! Files in /proc that tell of the process itself. Those of the process of
//! then tell nothing any more, so they are opened again; a frozen copy has none,
//! for an epoll set would go on with those.

use super::Ids;
use super::numbers::{self, Numbers};
use crate::leader::Leader;
use crate::snapshot::{Item, Items};
use crate::{Error, Result, Warning};
use std::os::fd::RawFd;
use verde_engine::Tid;
use verde_sys::descriptor::Descriptor;
use verde_sys::number as n;
use verde_sys::overlay::same_open_file;
use verde_sys::remote::RemoteError;

/// The files of a process that tell of itself.
pub(super) struct OwnFiles {
    list: Vec<OwnFile>,
    above: u64,
}

struct OwnFile {
    numbers: Numbers,
    /// The thread it tells of, if it is not one of the whole process.
    thread: Option<Tid>,
    /// Its path in the directory of the process, or of the thread.
    path: String,
    flags: i32,
}

/// Flags of [`OwnFile`] that it is opened with again.
const KEPT: i32 = n::O_ACCMODE | n::O_NONBLOCK | n::O_DIRECTORY | n::O_PATH | n::O_NOFOLLOW;

/// Which thread a file tells of, and its path there.
fn part(pid: Tid, target: &str) -> Option<(Option<Tid>, &str)> {
    let rest = target.strip_prefix("/proc/")?;
    let rest = rest.strip_prefix(&pid.to_string())?;
    let rest = match rest.strip_prefix('/') {
        Some(rest) => rest,
        None => return rest.is_empty().then_some((None, "")),
    };
    let thread = rest.strip_prefix("task/").map(|rest| {
        let (tid, rest) = rest.split_once('/').unwrap_or((rest, ""));
        tid.parse().ok().map(|tid| (Some(Tid(tid)), rest))
    });
    thread.unwrap_or(Some((None, rest)))
}

fn own_part(pid: Tid, d: &Descriptor) -> Option<(Option<Tid>, &str)> {
    part(pid, d.may_be_made_up().then(|| d.target())?)
}

pub(super) fn is(pid: Tid, d: &Descriptor) -> bool {
    own_part(pid, d).is_some()
}

impl OwnFiles {
    pub fn save(pid: Tid, list: &[Descriptor]) -> OwnFiles {
        let mut own: Vec<OwnFile> = Vec::new();
        for d in list {
            let Some((thread, path)) = own_part(pid, d) else {
                continue;
            };
            if own.iter().any(|o| o.numbers.contain(d.number)) {
                continue;
            }
            let same = |o: &Descriptor| {
                o.number == d.number
                    || (o.target() == d.target() && same_open_file(pid, o.number, d.number))
            };
            own.push(OwnFile {
                numbers: Numbers::of(list, same),
                thread,
                path: path.to_owned(),
                flags: d.flags() & KEPT,
            });
        }
        OwnFiles {
            list: own,
            above: numbers::above(list),
        }
    }

    pub fn are_none(&self) -> bool {
        self.list.is_empty()
    }

    /// Such a one has this number.
    pub fn are_new(&self, number: RawFd) -> bool {
        self.list.iter().any(|o| o.numbers.contain(number))
    }

    /// Closes them in a frozen copy.
    pub fn close(&self, frozen: &mut Leader) -> Result<()> {
        self.list.iter().try_for_each(|o| o.numbers.close(frozen))
    }

    /// Opens them in a restored copy.
    pub fn make(
        &self,
        pid: Tid,
        leader: &mut Leader,
        ids: &impl Ids,
        without: &Items,
        warnings: &mut Vec<Warning>,
    ) -> Result<()> {
        let mut lost = Vec::new();
        for own in &self.list {
            let path = own.path_now(pid, ids);
            let opened = match without.contains(Item::OwnFiles) {
                true => None,
                false => open(leader, &path, own.flags)?,
            };
            let file = match opened {
                Some(file) => file,
                None => {
                    lost.push(path);
                    nothing(leader)?
                }
            };
            let file = numbers::move_away(leader, file, self.above)?;
            own.numbers.give(leader, file)?;
        }
        if !lost.is_empty() {
            warnings.push(Warning::LostFiles(lost));
        }
        Ok(())
    }
}

impl OwnFile {
    /// Where a restored copy has it.
    fn path_now(&self, pid: Tid, ids: &impl Ids) -> String {
        let part = self.thread.map(|tid| format!("task/{}/", ids.now(tid)));
        format!("/proc/{pid}/{}{}", part.unwrap_or_default(), self.path)
    }
}

/// `None`: the process may not open it any more.
fn open(leader: &mut Leader, path: &str, flags: i32) -> Result<Option<u64>> {
    let at = leader.place(0, format!("{path}\0").as_bytes())?;
    let args = [n::AT_FDCWD as u64, at, flags as u64, 0];
    match leader.call("openat", n::SYS_openat, &args) {
        Ok(file) => Ok(Some(file)),
        Err(Error::Remote(RemoteError::Refused(error))) => {
            tracing::debug!(path, %error, "not opened again");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// An empty file in the place of a lost one, so that no other file gets its number.
fn nothing(leader: &mut Leader) -> Result<u64> {
    let name = leader.place(0, b"lost\0")?;
    leader.call("memfd_create", n::SYS_memfd_create, &[name, 0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_process_and_of_threads() {
        let of = |target| part(Tid(12), target);
        assert_eq!(of("/proc/12/maps"), Some((None, "maps")));
        assert_eq!(of("/proc/12"), Some((None, "")));
        assert_eq!(of("/proc/12/task/13/stat"), Some((Some(Tid(13)), "stat")));
        assert_eq!(of("/proc/12/task/13"), Some((Some(Tid(13)), "")));
        assert_eq!(of("/proc/12/task"), Some((None, "task")));
        assert_eq!(of("/proc/123/maps"), None);
        assert_eq!(of("/proc/meminfo"), None);
        assert_eq!(of("/12/maps"), None);
    }
}
