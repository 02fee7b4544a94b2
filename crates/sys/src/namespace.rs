//! A user and PID namespace for a program: there it may choose the ids of its
//! tasks, which an ordinary user's program may not elsewhere.
//!
//! The namespace's first process does nothing but exist; the program is
//! another one, so that its end is not everybody's.

use crate::Tid;
use crate::error::{Result, SysError, check};
use crate::launch::pipe;
use crate::pidfd::PidFd;
use std::fs::{self, File};
use std::os::fd::{AsRawFd, RawFd};

/// A namespace. Dropping it kills every process in it.
#[derive(Debug)]
pub struct Namespace {
    init: PidFd,
    /// Its closing, with the debugger's end, is the first process's end.
    _life: File,
}

const CREATE: &str = "create namespaces";
const MAP: &str = "map the user into a namespace";

/// The calls that fail where users may have no namespaces of their own.
pub const REFUSED: [&str; 2] = [CREATE, MAP];

const CAP_CHECKPOINT_RESTORE: u32 = 40;

/// A fork with more flags; 0 in the child.
///
/// # Safety
/// As `fork`: in the child only async-signal-safe calls are allowed.
unsafe fn fork_with(flags: i32) -> libc::c_long {
    let flags = (flags | libc::SIGCHLD) as libc::c_ulong;
    // SAFETY: without a stack of its own the child has a copy of ours.
    unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) }
}

impl Namespace {
    /// Makes one, with the user mapped to itself.
    pub fn new() -> Result<Namespace> {
        let (end, life) = pipe()?;
        // SAFETY: the child only makes async-signal-safe calls, for ever.
        let pid = unsafe {
            let pid = fork_with(libc::CLONE_NEWUSER | libc::CLONE_NEWPID);
            if pid == 0 {
                first_process(end.as_raw_fd());
            }
            pid
        };
        check(CREATE, pid)?;
        let init = PidFd::open(Tid(pid as i32))?;
        let namespace = Namespace { init, _life: life };
        // SAFETY: no memory is involved.
        let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
        let write = |name: &str, text: String| {
            fs::write(format!("/proc/{pid}/{name}"), text).map_err(|e| SysError::from_io(MAP, &e))
        };
        write("uid_map", format!("{uid} {uid} 1\n"))?;
        write("setgroups", "deny".to_owned())?;
        write("gid_map", format!("{gid} {gid} 1\n"))?;
        Ok(namespace)
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.init.fd().as_raw_fd()
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // Gone already when somebody killed it.
        let _ = self.init.kill();
    }
}

/// What the first process of a namespace does: adopt orphans, until nobody has the writing end of
/// a pipe any more.
///
/// # Safety
/// Only in a fresh child.
unsafe fn first_process(end: RawFd) -> ! {
    // SAFETY: the byte to read into is a local.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::setsid();
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
        // Descriptors of the debugger's must not live on here, the writing end above all.
        libc::dup2(end, 0);
        libc::syscall(libc::SYS_close_range, 1, libc::c_uint::MAX, 0);
        // A signal tells of no death that was before it was asked for.
        let mut byte = 0u8;
        while libc::read(0, (&raw mut byte).cast(), 1) < 0
            && *libc::__errno_location() == libc::EINTR
        {}
        libc::_exit(0);
    }
}

/// In a fresh child: becomes a process in the namespace, still a child of the
/// debugger. The process in between tells its id and ends.
///
/// # Safety
/// Only in a fresh child of fork.
pub(crate) unsafe fn enter(namespace: RawFd, tell: RawFd) -> std::result::Result<(), i32> {
    // SAFETY: all pointers lead to locals.
    unsafe {
        let errno = || *libc::__errno_location();
        if libc::setns(namespace, libc::CLONE_NEWUSER | libc::CLONE_NEWPID) != 0 {
            return Err(errno());
        }
        let pid = fork_with(libc::CLONE_PARENT) as i32;
        if pid < 0 {
            return Err(errno());
        }
        if pid != 0 {
            libc::write(tell, (&raw const pid).cast(), 4);
            libc::_exit(0);
        }
        keep_capability()?;
        // Changing capabilities has closed it to its own debugger.
        libc::prctl(libc::PR_SET_DUMPABLE, 1);
        Ok(())
    }
}

/// Takes the capability to choose ids through the exec.
///
/// # Safety
/// Only in a fresh child of fork.
unsafe fn keep_capability() -> std::result::Result<(), i32> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    const VERSION_3: u32 = 0x2008_0522;
    let mut header = Header {
        version: VERSION_3,
        pid: 0,
    };
    // Effective, permitted and inheritable; low words, then high ones.
    let mut sets = [[0u32; 3]; 2];
    // SAFETY: the structures are those of version 3.
    unsafe {
        let errno = || *libc::__errno_location();
        if libc::syscall(libc::SYS_capget, &raw mut header, sets.as_mut_ptr()) != 0 {
            return Err(errno());
        }
        sets[1][2] |= 1 << (CAP_CHECKPOINT_RESTORE - 32);
        if libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr()) != 0 {
            return Err(errno());
        }
        let raise = libc::PR_CAP_AMBIENT_RAISE as libc::c_ulong;
        let capability = libc::c_ulong::from(CAP_CHECKPOINT_RESTORE);
        if libc::prctl(libc::PR_CAP_AMBIENT, raise, capability, 0, 0) != 0 {
            return Err(errno());
        }
    }
    Ok(())
}
