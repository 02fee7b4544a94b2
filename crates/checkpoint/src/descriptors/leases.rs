//! Leases of files (`F_SETLEASE`). They are the open file's, which copies
//! share: one that was given up since is taken again, one that was taken since
//! is given up. Whom it tells comes back with the owners of files, which must be
//! set later.

use crate::snapshot::{Item, Items};
use crate::{Result, Warning};
use std::os::fd::{AsFd, RawFd};
use verde_sys::descriptor::{Descriptor, target};
use verde_sys::file_control::Lease;
use verde_sys::pidfd::PidFd;

/// The leases of a process's open files.
pub(super) struct Leases(Vec<Leased>);

struct Leased {
    number: RawFd,
    lease: Lease,
}

impl Leases {
    pub fn save(list: &[Descriptor], handle: &PidFd) -> Leases {
        let kernels = |d: &Descriptor| {
            let known = ["/dev/", "/proc/", "/sys/"];
            d.may_be_made_up() && known.iter().any(|at| d.target().starts_with(at))
        };
        let files = list.iter().filter(|d| {
            let is_file = d.about().is_some_and(|meta| meta.is_file());
            is_file && d.has_path() && !kernels(d)
        });
        let leased = files.filter_map(|d| {
            let has = d.lock_lines().any(|l| l.contains(" LEASE "));
            let lease = match has {
                true => Lease::of(handle.descriptor(d.number).ok()?.as_fd()),
                false => Lease::NONE,
            };
            Some(Leased {
                number: d.number,
                lease,
            })
        });
        Leases(leased.collect())
    }

    pub fn restore(
        &self,
        handle: &PidFd,
        without: &Items,
        warnings: &mut Vec<Warning>,
    ) -> Result<()> {
        if without.contains(Item::Leases) {
            return Ok(());
        }
        let mut lost = Vec::new();
        for leased in &self.0 {
            // What was not made again has a warning of its own.
            let Ok(file) = handle.descriptor(leased.number) else {
                continue;
            };
            if Lease::of(file.as_fd()) != leased.lease
                && let Err(error) = leased.lease.take(file.as_fd())
            {
                let path = target(handle.pid(), leased.number).unwrap_or_default();
                tracing::debug!(path, %error, "a lease is lost");
                lost.push(path);
            }
        }
        if !lost.is_empty() {
            warnings.push(Warning::LostLeases(lost));
        }
        Ok(())
    }
}
