//! Whom the kernel tells by a signal that a file is ready (`F_SETOWN`,
//! `O_ASYNC`). It was told the process of then, which is gone.

use super::Ids;
use crate::Result;
use crate::snapshot::{Item, Items};
use std::os::fd::{AsFd, RawFd};
use verde_engine::Tid;
use verde_sys::descriptors::{Descriptor, Owner};
use verde_sys::number as n;
use verde_sys::pidfd::PidFd;
use verde_sys::procfs;

/// The files of a process that send signals to it.
pub(super) struct Owners(Vec<Owned>);

struct Owned {
    number: RawFd,
    flags: i32,
    owner: Owner,
}

impl Owners {
    pub fn save(pid: Tid, list: &[Descriptor], handle: &PidFd) -> Owners {
        let asking = list.iter().filter(|d| d.flags() & n::O_ASYNC != 0);
        let owned = asking.filter_map(|d| {
            let owner = Owner::of(handle.descriptor(d.number).ok()?.as_fd())?;
            let own = owner.id == pid || procfs::is_thread_of(pid, owner.id);
            own.then(|| Owned {
                number: d.number,
                flags: d.flags(),
                owner,
            })
        });
        Owners(owned.collect())
    }

    pub fn restore(&self, handle: &PidFd, ids: &impl Ids, without: &Items) -> Result<()> {
        if without.contains(Item::Owners) {
            return Ok(());
        }
        for owned in &self.0 {
            let fd = handle.descriptor(owned.number)?;
            let mut owner = owned.owner;
            owner.id = ids.now(owner.id);
            owner.set(fd.as_fd())?;
            super::set_flags_of(&fd, owned.flags)?;
        }
        Ok(())
    }
}
