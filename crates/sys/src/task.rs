//! What the kernel keeps for a thread besides its registers.

use crate::Tid;
use crate::error::{Result, SysError, check};
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

/// Whether we are the user who may do everything.
pub fn is_root() -> bool {
    // SAFETY: no memory is involved.
    unsafe { libc::geteuid() == 0 }
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
/// parameters, and its priority for input and output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheduling {
    /// The kernel's bytes (`struct sched_attr`).
    words: [u64; 7],
    /// The nice value that a thread with a real-time policy will have without.
    nice: Option<i32>,
    /// Class and priority for input and output, where the kernel has them.
    io: Option<i64>,
}

const IOPRIO_WHO_PROCESS: libc::c_int = 1;

impl Scheduling {
    /// Of a thread.
    pub fn of(tid: Tid) -> Result<Scheduling> {
        let mut words = [0; 7];
        // SAFETY: `words` has the size given.
        let done = unsafe {
            let size = size_of_val(&words);
            libc::syscall(libc::SYS_sched_getattr, tid.0, &raw mut words, size, 0)
        };
        check("sched_getattr", done)?;
        // SAFETY: no memory is involved.
        let io = unsafe { libc::syscall(libc::SYS_ioprio_get, IOPRIO_WHO_PROCESS, tid.0) };
        let mut scheduling = Scheduling {
            words,
            nice: None,
            io: check("ioprio_get", io).ok(),
        };
        if scheduling.is_real_time() {
            // SAFETY: no memory is involved.
            let nice = unsafe { libc::syscall(libc::SYS_getpriority, libc::PRIO_PROCESS, tid.0) };
            // The kernel answers with 20 minus the value.
            scheduling.nice = Some(20 - check("getpriority", nice)? as i32);
        }
        Ok(scheduling)
    }

    fn is_real_time(&self) -> bool {
        // In the first word, above the size.
        let policy = (self.words[0] >> 32) as libc::c_int;
        matches!(
            policy,
            libc::SCHED_FIFO | libc::SCHED_RR | libc::SCHED_DEADLINE
        )
    }

    /// What the thread creates starts with another one (`SCHED_RESET_ON_FORK`).
    pub fn is_not_inherited(&self) -> bool {
        self.words[1] & libc::SCHED_FLAG_RESET_ON_FORK as u64 != 0
    }

    /// Gives it to a thread.
    pub fn apply(&self, tid: Tid) -> Result<()> {
        // SAFETY: the structure says its own size in its first word.
        let done = unsafe { libc::syscall(libc::SYS_sched_setattr, tid.0, self.words.as_ptr(), 0) };
        check("sched_setattr", done)?;
        if let Some(nice) = self.nice {
            // SAFETY: no memory is involved.
            let done = unsafe { libc::setpriority(libc::PRIO_PROCESS, tid.0 as libc::id_t, nice) };
            check("setpriority", done.into())?;
        }
        let Some(io) = self.io else {
            return Ok(());
        };
        // SAFETY: no memory is involved.
        let done = unsafe { libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, tid.0, io) };
        check("ioprio_set", done).map(drop)
    }
}

/// Whether a thread has a working directory or descriptors that another one does not share
/// (`unshare`). Where the kernel cannot tell: no.
pub fn is_apart(tid: Tid, other: Tid) -> bool {
    const KCMP_FILES: i32 = 2;
    const KCMP_FS: i32 = 3;
    // SAFETY: no memory is involved.
    let differ = |what: i32| unsafe { libc::syscall(libc::SYS_kcmp, tid.0, other.0, what) > 0 };
    differ(KCMP_FILES) || differ(KCMP_FS)
}

/// Whether two processes have one memory, as far as the kernel tells: else they may have.
pub fn shares_memory(pid: Tid, other: Tid) -> bool {
    const KCMP_VM: i32 = 1;
    // SAFETY: no memory is involved.
    unsafe { libc::syscall(libc::SYS_kcmp, pid.0, other.0, KCMP_VM) <= 0 }
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
