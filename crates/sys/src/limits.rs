//! Limits of this process that are too low for it, and which a program that it
//! starts shall have nevertheless; and those of a program that are too low for
//! what we do in it.

use crate::error::{Result, SysError, check};
use crate::{Tid, procfs, task};
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

/// How many descriptors this process may have.
pub fn own_descriptors() -> u64 {
    // SAFETY: the call fills the structure.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        match libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) {
            0 => limit.rlim_cur,
            _ => 0,
        }
    }
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
        let before = descriptors_of(pid)?;
        if before.rlim_cur >= number {
            return Ok(Room { pid, before: None });
        }
        let more = libc::rlimit {
            rlim_cur: number,
            rlim_max: before.rlim_max.max(number),
        };
        limit_descriptors(pid, &more)?;
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
            let _ = limit_descriptors(self.pid, before);
        }
    }
}

/// Its user may have so few processes that it may want all of them.
pub fn are_processes_few(pid: Tid) -> bool {
    const FEW: u64 = 4096;
    let limit = resource(pid, libc::RLIMIT_NPROC);
    !task::is_root() && limit.is_none_or(|limit| limit.rlim_cur < FEW)
}

/// The system keeps all memory that it has promised: a copy may be refused though nobody uses it.
pub fn is_memory_promised() -> bool {
    const NEVER_TOO_MUCH: &str = "2";
    let mode = procfs::text("/proc/sys/vm/overcommit_memory".to_owned());
    mode.is_ok_and(|mode| mode.trim() == NEVER_TOO_MUCH)
}

/// How many descriptors a process may have.
pub fn descriptors(pid: Tid) -> Result<u64> {
    descriptors_of(pid).map(|limit| limit.rlim_cur)
}

/// The same with what it may be raised to. `prlimit` tells only who could also change it, which
/// is nobody without privileges once the process has another user; /proc tells everybody, but
/// takes longer.
fn descriptors_of(pid: Tid) -> Result<libc::rlimit> {
    if let Some(limit) = resource(pid, libc::RLIMIT_NOFILE) {
        return Ok(limit);
    }
    let call = "read /proc/pid/limits";
    let text = procfs::text(format!("/proc/{pid}/limits"));
    let text = text.map_err(|e| SysError::from_io(call, &e))?;
    descriptors_in(&text).ok_or(SysError {
        call,
        errno: libc::EIO,
    })
}

fn resource(pid: Tid, kind: libc::__rlimit_resource_t) -> Option<libc::rlimit> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: nothing is set, and the call fills the structure.
    let done = unsafe { libc::prlimit(pid.0, kind, std::ptr::null(), &mut limit) };
    (done == 0).then_some(limit)
}

/// `Max open files            1024                 524288               files`
fn descriptors_in(limits: &str) -> Option<libc::rlimit> {
    let mut lines = limits.lines();
    let line = lines.find_map(|l| l.strip_prefix("Max open files"))?;
    let mut numbers = line.split_whitespace().map(|word| match word {
        "unlimited" => Some(libc::RLIM_INFINITY),
        number => number.parse().ok(),
    });
    Some(libc::rlimit {
        rlim_cur: numbers.next()??,
        rlim_max: numbers.next()??,
    })
}

fn limit_descriptors(pid: Tid, new: &libc::rlimit) -> Result<()> {
    // SAFETY: the structure is read during the call, and nothing is told.
    let done = unsafe { libc::prlimit(pid.0, libc::RLIMIT_NOFILE, new, std::ptr::null_mut()) };
    check("prlimit", done.into()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_as_the_kernel_writes_them() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max processes             96343                96343                processes \n\
                    Max open files            1024                 unlimited            files     \n";
        let limit = descriptors_in(text).expect("a limit");
        assert_eq!(limit.rlim_cur, 1024);
        assert_eq!(limit.rlim_max, libc::RLIM_INFINITY);
    }
}
