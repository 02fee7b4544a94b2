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
    /// A connected socket without bounds of messages.
    Stream,
}

/// The channel behind a descriptor if calls there wait, and without a limit, until all is moved.
pub fn waiting(fd: &OwnedFd, receives: bool) -> Result<Option<Channel>> {
    // SAFETY: no memory is involved.
    let flags = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) };
    if flags < 0 || flags & libc::O_NONBLOCK != 0 {
        return Ok(None);
    }
    // SAFETY: the call fills the structure.
    let kind = unsafe {
        let mut about: libc::stat = std::mem::zeroed();
        match libc::fstat(fd.as_raw_fd(), &mut about) {
            0 => about.st_mode & libc::S_IFMT,
            _ => return Ok(None),
        }
    };
    match kind {
        libc::S_IFIFO => Ok(Some(Channel::Pipe)),
        // SAFETY: no memory is involved.
        libc::S_IFCHR if unsafe { libc::isatty(fd.as_raw_fd()) } == 1 => {
            Ok(Some(Channel::Terminal))
        }
        libc::S_IFSOCK => {
            let option = |name| sockets::option::<libc::c_int>(fd.as_fd(), name);
            let known = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6];
            let is_stream = option(libc::SO_TYPE)? == libc::SOCK_STREAM
                && known.contains(&option(libc::SO_DOMAIN)?);
            let waits = is_stream && descriptors::socket_limit(fd, receives)?.is_none();
            Ok(waits.then_some(Channel::Stream))
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
        assert_eq!(waiting(&one, false), Ok(Some(Channel::Stream)));
        assert_eq!(waiting(&one, true), Ok(None));
        assert_eq!(of(other.into(), false), None);
        let (datagrams, _) = UnixDatagram::pair().expect("a pair");
        assert_eq!(of(datagrams.into(), false), None);
    }
}
