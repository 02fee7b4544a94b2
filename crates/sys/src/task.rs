//! What the kernel keeps for a thread besides its registers.

use crate::Tid;
use crate::error::{Result, SysError};
use crate::ptrace::request;

/// The restartable sequences area a thread has registered.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rseq {
    /// Its address; 0: none.
    pub at: u64,
    /// Its size.
    pub size: u32,
    /// The signature before abort handlers.
    pub signature: u32,
    flags: u32,
    pad: u32,
}

/// The restartable sequences area of a stopped tracee.
pub fn rseq(tid: Tid) -> Result<Rseq> {
    const GET_RSEQ_CONFIGURATION: libc::c_uint = 0x420f;
    let mut area = Rseq::default();
    request(
        "PTRACE_GET_RSEQ_CONFIGURATION",
        GET_RSEQ_CONFIGURATION,
        tid,
        size_of::<Rseq>(),
        (&raw mut area) as usize,
    )?;
    Ok(area)
}

/// Address of a thread's list of robust futexes (0: none) and the size of its
/// head.
pub fn robust_list(tid: Tid) -> Result<(u64, u64)> {
    let mut head: u64 = 0;
    let mut len: u64 = 0;
    // SAFETY: both are valid places for the words that the kernel writes.
    let done = unsafe {
        libc::syscall(
            libc::SYS_get_robust_list,
            tid.0,
            &raw mut head,
            &raw mut len,
        )
    };
    match done {
        0 => Ok((head, len)),
        _ => Err(SysError::last("get_robust_list")),
    }
}

/// How a thread is scheduled: policy, nice value, priority, deadline
/// parameters. Kept as the kernel's bytes (`struct sched_attr`).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheduling {
    words: [u64; 7],
}

impl Scheduling {
    /// Of a thread.
    pub fn of(tid: Tid) -> Result<Scheduling> {
        let mut attr = Scheduling { words: [0; 7] };
        let size = size_of::<Scheduling>();
        // SAFETY: `attr` has the size given.
        let done = unsafe { libc::syscall(libc::SYS_sched_getattr, tid.0, &raw mut attr, size, 0) };
        match done {
            0 => Ok(attr),
            _ => Err(SysError::last("sched_getattr")),
        }
    }

    /// Gives it to a thread.
    pub fn apply(&self, tid: Tid) -> Result<()> {
        // SAFETY: the structure says its own size in its first word.
        match unsafe { libc::syscall(libc::SYS_sched_setattr, tid.0, &raw const *self, 0) } {
            0 => Ok(()),
            _ => Err(SysError::last("sched_setattr")),
        }
    }
}

/// Moves a child that has not called exec into a process group of this
/// session; `None`: a group of its own.
pub fn set_group(pid: Tid, group: Option<Tid>) -> Result<()> {
    // SAFETY: no memory is involved.
    match unsafe { libc::setpgid(pid.0, group.map_or(0, |g| g.0)) } {
        0 => Ok(()),
        _ => Err(SysError::last("setpgid")),
    }
}

/// The process group of a process.
pub fn group(pid: Tid) -> Result<Tid> {
    // SAFETY: no memory is involved.
    match unsafe { libc::getpgid(pid.0) } {
        -1 => Err(SysError::last("getpgid")),
        group => Ok(Tid(group)),
    }
}

/// The session of a process.
pub fn session(pid: Tid) -> Result<Tid> {
    // SAFETY: no memory is involved.
    match unsafe { libc::getsid(pid.0) } {
        -1 => Err(SysError::last("getsid")),
        session => Ok(Tid(session)),
    }
}
