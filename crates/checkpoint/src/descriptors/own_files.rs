//! Files in /proc that tell of the process itself. Those of the process of
//! then tell nothing any more.

use super::Ids;
use super::numbers::{self, Numbers};
use crate::Result;
use crate::leader::Leader;
use crate::snapshot::{Item, Items};
use verde_engine::Tid;
use verde_sys::descriptors::Descriptor;
use verde_sys::number as n;
use verde_sys::overlay::same_open_file;

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

pub(super) fn is(pid: Tid, d: &Descriptor) -> bool {
    part(pid, &d.target).is_some()
}

impl OwnFiles {
    pub fn save(pid: Tid, list: &[Descriptor]) -> OwnFiles {
        let mut own: Vec<OwnFile> = Vec::new();
        for d in list {
            let Some((thread, path)) = part(pid, &d.target) else {
                continue;
            };
            if own.iter().any(|o| o.numbers.contain(d.number)) {
                continue;
            }
            let same = |o: &Descriptor| {
                o.number == d.number
                    || (o.target == d.target && same_open_file(pid, o.number, d.number))
            };
            own.push(OwnFile {
                numbers: Numbers::of(list, same),
                thread,
                path: path.to_owned(),
                flags: d.flags() & (n::O_ACCMODE | n::O_NONBLOCK | n::O_DIRECTORY | n::O_PATH),
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

    /// Opens them in a restored copy.
    pub fn open(
        &self,
        pid: Tid,
        leader: &mut Leader,
        ids: &impl Ids,
        without: &Items,
    ) -> Result<()> {
        if without.contains(Item::OwnFiles) {
            return Ok(());
        }
        for own in &self.list {
            let part = own.thread.map(|tid| format!("task/{}/", ids.now(tid)));
            let path = format!("/proc/{pid}/{}{}\0", part.unwrap_or_default(), own.path);
            let path = leader.place(0, path.as_bytes())?;
            let args = [n::AT_FDCWD as u64, path, own.flags as u64, 0];
            match leader.call("openat", n::SYS_openat, &args) {
                Ok(file) => {
                    let file = numbers::move_away(leader, file, self.above)?;
                    own.numbers.give(leader, file)?;
                }
                // It will be found that it cannot be set back.
                Err(error) => tracing::debug!(path = own.path, %error, "not opened again"),
            }
        }
        Ok(())
    }
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
