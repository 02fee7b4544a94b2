//! Limits of this process that are too low for it, and which a program that it
//! starts shall have nevertheless.

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
