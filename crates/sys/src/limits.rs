//! Limits of this process that are too low for it, and which a program that it
//! starts shall have nevertheless; and those of a program that are too low for
//! what we do in it.

use crate::Tid;
use crate::error::{Result, check};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many descriptors this process could have before it asked for more.
static DESCRIPTORS: AtomicU64 = AtomicU64::new(NOT_CHANGED);
const NOT_CHANGED: u64 = u64::MAX;
/// More are never needed, and some programs go through all that they could have.
const ENOUGH: u64 = 1 << 16;

/// Lets this process have as many descriptors as it may.
pub fn more_descriptors() {
    static RAISED: Once = Once::new();
    RAISED.call_once(|| {
        let mut limit = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // SAFETY: the call fills the structure.
        if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } != 0 {
            return;
        }
        let before = limit.rlim_cur;
        limit.rlim_cur = limit.rlim_max.min(ENOUGH).max(before);
        // SAFETY: the structure is read during the call.
        if limit.rlim_cur > before && unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) } == 0 {
            DESCRIPTORS.store(before, Ordering::Relaxed);
        }
    });
}

/// Gives a new program the limit that it would have without us.
///
/// # Safety
/// Only in a child between fork and exec. Safe for signal handlers.
pub(crate) unsafe fn restore() {
    let before = DESCRIPTORS.load(Ordering::Relaxed);
    if before == NOT_CHANGED {
        return;
    }
    // SAFETY: the structure is filled by the first call and read by the second.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 {
            limit.rlim_cur = before;
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}

/// A process may have so many descriptors as we need there, until this is dropped.
#[derive(Debug)]
pub struct Room {
    pid: Tid,
    /// What it may have by itself, if that is less.
    before: Option<libc::rlimit>,
}

impl Room {
    /// Room for descriptors with numbers less than this.
    pub fn below(pid: Tid, number: u64) -> Result<Room> {
        let mut before = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        limit_descriptors(pid, None, Some(&mut before))?;
        if before.rlim_cur >= number {
            return Ok(Room { pid, before: None });
        }
        let more = libc::rlimit {
            rlim_cur: number,
            rlim_max: before.rlim_max.max(number),
        };
        limit_descriptors(pid, Some(&more), None)?;
        Ok(Room {
            pid,
            before: Some(before),
        })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // It may be gone.
            let _ = limit_descriptors(self.pid, Some(before), None);
        }
    }
}

fn limit_descriptors(
    pid: Tid,
    new: Option<&libc::rlimit>,
    old: Option<&mut libc::rlimit>,
) -> Result<()> {
    let new = new.map_or(std::ptr::null(), |n| &raw const *n);
    let old = old.map_or(std::ptr::null_mut(), |o| &raw mut *o);
    // SAFETY: each leads nowhere or to a structure, of which the first is read and the second filled.
    let done = unsafe { libc::prlimit(pid.0, libc::RLIMIT_NOFILE, new, old) };
    check("prlimit", done.into()).map(drop)
}
