//! A process held by a descriptor: its id cannot come to mean another one.

use crate::error::{Result, SysError};
use crate::{Tid, departed, descriptors};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};

/// A process.
#[derive(Debug)]
pub struct PidFd {
    pid: Tid,
    fd: OwnedFd,
}

fn owned(call: &'static str, fd: libc::c_long) -> Result<OwnedFd> {
    if fd < 0 {
        return Err(SysError::last(call));
    }
    // SAFETY: the kernel just returned this descriptor, nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

impl PidFd {
    /// Holds a process.
    pub fn open(pid: Tid) -> Result<PidFd> {
        // SAFETY: no memory is involved.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid.0, 0) };
        Ok(PidFd {
            pid,
            fd: owned("pidfd_open", fd)?,
        })
    }

    /// Its id.
    pub fn pid(&self) -> Tid {
        self.pid
    }

    /// It has ended, whether or not somebody has waited for it.
    pub fn has_ended(&self) -> bool {
        descriptors::poll(self.fd.as_fd(), libc::POLLIN) != 0
    }

    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// A descriptor of the process, as one of ours.
    pub fn descriptor(&self, number: RawFd) -> Result<OwnedFd> {
        // SAFETY: no memory is involved.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_getfd, self.fd.as_raw_fd(), number, 0) };
        owned("pidfd_getfd", fd)
    }

    /// Kills the process, a child of this thread, whatever it is doing. Nobody
    /// has to wait for its end: see [`departed`](crate::departed).
    pub fn kill(&self) -> Result<()> {
        let info = std::ptr::null::<libc::siginfo_t>();
        // SAFETY: without an info the kernel makes its own.
        let done = unsafe {
            libc::syscall(
                libc::SYS_pidfd_send_signal,
                self.fd.as_raw_fd(),
                libc::SIGKILL,
                info,
                0,
            )
        };
        match done {
            0 => {
                departed::killed(self.pid);
                Ok(())
            }
            _ => Err(SysError::last("pidfd_send_signal")),
        }
    }
}
