//! What a transfer through a descriptor may wait for.

use crate::{Result, descriptors, sockets};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Something that a call moves bytes through in parts, and waits for in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// A pipe or FIFO.
    Pipe,
    /// A terminal.
    Terminal,
    /// A connected socket without bounds of messages, over a network.
    Stream,
    /// One between processes of this machine.
    Local,
}

/// Which file is behind a descriptor, as long as somebody has it open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileId {
    device: u64,
    node: u64,
}

impl FileId {
    pub fn of(fd: &OwnedFd) -> Option<FileId> {
        stat(fd).map(|about| FileId {
            device: about.st_dev,
            node: about.st_ino,
        })
    }
}

fn stat(fd: &OwnedFd) -> Option<libc::stat> {
    // SAFETY: the call fills the structure, for which all zero is valid.
    unsafe {
        let mut about: libc::stat = std::mem::zeroed();
        (libc::fstat(fd.as_raw_fd(), &mut about) == 0).then_some(about)
    }
}

/// An error waits at a socket for its next call. It is left there.
pub fn has_error(fd: &OwnedFd) -> bool {
    let mut asked = libc::pollfd {
        fd: fd.as_raw_fd(),
        events: 0,
        revents: 0,
    };
    let is_socket = stat(fd).is_some_and(|s| s.st_mode & libc::S_IFMT == libc::S_IFSOCK);
    // SAFETY: there is one structure, and the call does not wait.
    is_socket && unsafe { libc::poll(&mut asked, 1, 0) } == 1 && asked.revents & libc::POLLERR != 0
}

/// The channel behind a descriptor if calls there wait, and without a limit, until all is moved.
pub fn waiting(fd: &OwnedFd, receives: bool) -> Result<Option<Channel>> {
    // SAFETY: no memory is involved.
    let flags = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) };
    if flags < 0 || flags & libc::O_NONBLOCK != 0 {
        return Ok(None);
    }
    let Some(about) = stat(fd) else {
        return Ok(None);
    };
    match about.st_mode & libc::S_IFMT {
        libc::S_IFIFO => Ok(Some(Channel::Pipe)),
        // SAFETY: no memory is involved.
        libc::S_IFCHR if unsafe { libc::isatty(fd.as_raw_fd()) } == 1 => {
            Ok(Some(Channel::Terminal))
        }
        libc::S_IFSOCK => {
            let option = |name| sockets::option::<libc::c_int>(fd.as_fd(), name);
            let channel = match option(libc::SO_DOMAIN)? {
                _ if option(libc::SO_TYPE)? != libc::SOCK_STREAM => None,
                libc::AF_UNIX => Some(Channel::Local),
                libc::AF_INET | libc::AF_INET6 => Some(Channel::Stream),
                _ => None,
            };
            let waits = channel.is_some() && descriptors::socket_limit(fd, receives)?.is_none();
            Ok(channel.filter(|_| waits))
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::net::{UnixDatagram, UnixStream};
    use std::time::Duration;

    #[test]
    fn channels_that_are_waited_for() {
        let of = |fd: OwnedFd, receives| waiting(&fd, receives).expect("known");
        let (_, pipe) = std::io::pipe().expect("a pipe");
        assert_eq!(of(pipe.into(), false), Some(Channel::Pipe));
        let file = File::open("/proc/self/maps").expect("a file");
        assert_eq!(of(file.into(), false), None);
        let (one, other) = UnixStream::pair().expect("a pair");
        one.set_read_timeout(Some(Duration::from_secs(1)))
            .expect("a limit");
        other.set_nonblocking(true).expect("set");
        let one: OwnedFd = one.into();
        assert_eq!(waiting(&one, false), Ok(Some(Channel::Local)));
        assert_eq!(waiting(&one, true), Ok(None));
        assert_eq!(of(other.into(), false), None);
        let (datagrams, _) = UnixDatagram::pair().expect("a pair");
        assert_eq!(of(datagrams.into(), false), None);
    }
}
