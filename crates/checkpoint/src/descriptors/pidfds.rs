//! Descriptors by which the process knows itself or a thread of its own
//! (pidfd). What they name ends with a restore, so they are opened again; a
//! frozen copy has none, for an epoll set would go on with those.

use super::Ids;
use super::numbers::{self, Numbers};
use crate::Result;
use crate::leader::Leader;
use crate::snapshot::{Item, Items};
use std::os::fd::RawFd;
use verde_engine::Tid;
use verde_sys::descriptor::Descriptor;
use verde_sys::number as n;
use verde_sys::overlay::same_open_file;
use verde_sys::procfs;

/// The descriptors of a process that name itself.
pub(super) struct PidFds {
    list: Vec<Named>,
    above: u64,
}

struct Named {
    numbers: Numbers,
    task: Tid,
    /// Those that it was opened with.
    flags: i32,
}

pub(super) fn is(d: &Descriptor) -> bool {
    d.anonymous() == Some("[pidfd]")
}

impl PidFds {
    pub fn save(pid: Tid, list: &[Descriptor]) -> PidFds {
        let mut named: Vec<Named> = Vec::new();
        for d in list.iter().filter(|d| is(d)) {
            let task = d.field("Pid").and_then(|id| id.parse().ok()).map(Tid);
            let Some(task) = task.filter(|task| procfs::is_thread_of(pid, *task)) else {
                // Of others; or of a child, which has a warning of its own.
                continue;
            };
            if named.iter().any(|n| n.numbers.contain(d.number)) {
                continue;
            }
            let same = |o: &Descriptor| {
                o.number == d.number || (is(o) && same_open_file(pid, o.number, d.number))
            };
            named.push(Named {
                numbers: Numbers::of(list, same),
                task,
                // A thread is asked for by the flag that once meant this.
                flags: d.flags() & (n::O_NONBLOCK | n::O_EXCL),
            });
        }
        PidFds {
            list: named,
            above: numbers::above(list),
        }
    }

    pub fn are_none(&self) -> bool {
        self.list.is_empty()
    }

    /// Such a one has this number.
    pub fn are_new(&self, number: RawFd) -> bool {
        self.list.iter().any(|n| n.numbers.contain(number))
    }

    /// Closes them in a frozen copy.
    pub fn close(&self, frozen: &mut Leader) -> Result<()> {
        self.list.iter().try_for_each(|n| n.numbers.close(frozen))
    }

    /// Opens them in a restored copy.
    pub fn make(&self, leader: &mut Leader, ids: &impl Ids, without: &Items) -> Result<()> {
        if without.contains(Item::PidFds) {
            return Ok(());
        }
        for named in &self.list {
            let args = [ids.inner(named.task).0 as u64, named.flags as u64];
            let file = leader.call("pidfd_open", n::SYS_pidfd_open, &args)?;
            let file = numbers::move_away(leader, file, self.above)?;
            named.numbers.give(leader, file)?;
        }
        Ok(())
    }
}
