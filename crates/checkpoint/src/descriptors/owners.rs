//! Whom the kernel tells by a signal that a file is ready (`F_SETOWN`,
//! `O_ASYNC`), or that urgent data have come, and which signal that is
//! (`F_SETSIG`). It was told the process of then, which is gone; and files that
//! are made anew know nobody.

use super::Ids;
use crate::leader::Leader;
use crate::snapshot::{Item, Items};
use crate::{Error, Result};
use std::os::fd::{AsFd, RawFd};
use verde_sys::descriptor::Descriptor;
use verde_sys::descriptors::Owner;
use verde_sys::number as n;
use verde_sys::pidfd::PidFd;
use verde_sys::remote::RemoteError;

/// Whom the files of a process tell.
pub(super) struct Owners(Vec<Owned>);

struct Owned {
    number: RawFd,
    flags: i32,
    owner: Owner,
}

impl Owners {
    pub fn save(list: &[Descriptor], handle: &PidFd) -> Owners {
        let owned = list.iter().filter_map(|d| {
            let owner = match d.open_file() {
                Some(file) => Owner::of(file)?,
                None => Owner::of(handle.descriptor(d.number).ok()?.as_fd())?,
            };
            Some(Owned {
                number: d.number,
                flags: d.flags(),
                owner,
            })
        });
        Owners(owned.collect())
    }

    /// Some signal tells the number of its descriptor.
    pub fn tell_numbers(&self) -> bool {
        self.0.iter().any(|o| o.flags & n::O_ASYNC != 0)
    }

    /// The kernel tells the number by which it was asked to tell: so the process itself asks.
    pub fn tell(&self, leader: &mut Leader, without: &Items) -> Result<()> {
        if without.contains(Item::Owners) {
            return Ok(());
        }
        // Of several numbers the first is the most likely to be meant.
        for owned in self.0.iter().rev().filter(|o| o.flags & n::O_ASYNC != 0) {
            for flags in [owned.flags & !n::O_ASYNC, owned.flags] {
                let args = [owned.number as u64, n::F_SETFL as u64, flags as u64];
                match leader.call("fcntl", n::SYS_fcntl, &args) {
                    // What was not made again has a warning of its own.
                    Err(Error::Remote(RemoteError::Refused(error))) => {
                        tracing::debug!(number = owned.number, %error, "nobody is told");
                    }
                    done => done.map(drop)?,
                }
            }
        }
        Ok(())
    }

    pub fn restore(&self, handle: &PidFd, ids: &impl Ids, without: &Items) -> Result<()> {
        if without.contains(Item::Owners) {
            return Ok(());
        }
        for owned in &self.0 {
            // What was not made again has a warning of its own.
            let Ok(fd) = handle.descriptor(owned.number) else {
                continue;
            };
            let mut owner = owned.owner;
            // Those of others stay theirs.
            owner.id = ids.now(owner.id);
            if Owner::of(fd.as_fd()) != Some(owner)
                && let Err(error) = owner.set(fd.as_fd())
            {
                // Somebody else, who has ended since.
                tracing::debug!(number = owned.number, %error, "nobody is told");
            }
        }
        Ok(())
    }
}
