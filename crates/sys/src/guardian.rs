//! Splitting a debugger into the process the user sees and the one that holds
//! the tracees, so that killing the first lets the second detach properly.
//!
//! Restoring an attached program after its tracer died is too late: a thread
//! stopped at an int3 gets its SIGTRAP the moment the tracer goes. So the
//! tracer must be a process that nobody kills: its own session, deaf to the
//! terminal's signals, ended by the loss of its peer.

use crate::error::{Result, SysError};
use crate::{Tid, procfs, signals};
use std::os::unix::net::UnixStream;

/// Which of the two processes the caller of [`split`] has become.
#[derive(Debug)]
pub enum Side {
    /// The one the user sees. The channel is at its end when the other ends.
    Visible {
        /// The process that will hold the tracees.
        session: Tid,
        /// The line to it.
        channel: UnixStream,
    },
    /// The one that holds the tracees. When its channel is at its end (a read
    /// gives 0 bytes) the visible process is gone: detach and exit.
    Session {
        /// The line to the visible process.
        channel: UnixStream,
    },
}

/// Splits this process in two. Must be called while the process has only one
/// thread (EAGAIN otherwise): a fork copies no other threads.
pub fn split() -> Result<Side> {
    if procfs::threads(signals::current_process())?.len() != 1 {
        return Err(SysError {
            call: "split of a threaded process",
            errno: libc::EAGAIN,
        });
    }
    let (here, there) = UnixStream::pair().map_err(|e| SysError::from_io("socketpair", &e))?;
    // SAFETY: the process has one thread, so the child may run any code.
    match unsafe { libc::fork() } {
        -1 => Err(SysError::last("fork")),
        0 => {
            drop(here);
            // SAFETY: no memory is involved; SIG_IGN is a valid disposition.
            unsafe {
                // A session of its own: neither the terminal's signals nor a
                // kill of the visible process's group reach it.
                libc::setsid();
                for signal in [
                    libc::SIGINT,
                    libc::SIGQUIT,
                    libc::SIGTSTP,
                    libc::SIGTTIN,
                    libc::SIGTTOU,
                    libc::SIGHUP,
                    libc::SIGTERM,
                    libc::SIGPIPE,
                ] {
                    libc::signal(signal, libc::SIG_IGN);
                }
            }
            Ok(Side::Session { channel: there })
        }
        pid => {
            drop(there);
            Ok(Side::Visible {
                session: Tid(pid),
                channel: here,
            })
        }
    }
}
