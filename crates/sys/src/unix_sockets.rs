//! Which Unix sockets are connected to each other, by the kernel's socket
//! diagnosis.

use crate::error::{Result, check};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// What to tell: the name, the peer.
const SHOW: u32 = 1 | 4;
const NAME: u16 = 0;
const PEER: u16 = 2;
const SHUTDOWN: u16 = 6;
/// Length of a netlink header, and of the answer before its attributes.
const HEADER: usize = 16;
const ANSWER: usize = 16;

/// What the kernel says of a Unix socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnixSocket {
    /// `SOCK_STREAM`, `SOCK_DGRAM` or `SOCK_SEQPACKET`.
    pub kind: u8,
    /// It is bound to a name.
    pub named: bool,
    /// The inode of the socket that it is connected to; 0: that was closed, or
    /// has not been accepted yet.
    pub peer: Option<u64>,
    /// Closed directions: 1 to receive, 2 to send.
    pub shut: u8,
}

impl UnixSocket {
    /// Bytes without bounds between messages.
    pub fn is_stream(&self) -> bool {
        i32::from(self.kind) == libc::SOCK_STREAM
    }

    /// Who receives gets nothing for ever, not an error, when all was received.
    pub fn ends_with_empty(&self) -> bool {
        self.is_stream() || (i32::from(self.kind) == libc::SOCK_SEQPACKET && self.shut & 1 != 0)
    }

    /// The other end was closed.
    pub fn is_left(&self) -> bool {
        self.peer == Some(0) && self.shut == 3
    }
}

/// Asks about Unix sockets.
pub struct UnixSockets {
    netlink: OwnedFd,
}

impl UnixSockets {
    /// Opens the way to the kernel.
    pub fn open() -> Result<UnixSockets> {
        const SOCK_DIAG: i32 = 4;
        // SAFETY: no memory is involved.
        let fd = unsafe {
            libc::socket(
                libc::AF_NETLINK,
                libc::SOCK_RAW | libc::SOCK_CLOEXEC,
                SOCK_DIAG,
            )
        };
        check("netlink socket", fd.into())?;
        // SAFETY: the kernel just returned this descriptor.
        let netlink = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(UnixSockets { netlink })
    }

    /// The socket with this inode; `None` if it is no Unix socket.
    pub fn get(&self, inode: u64) -> Result<Option<UnixSocket>> {
        let Ok(inode) = u32::try_from(inode) else {
            return Ok(None);
        };
        let mut request = Vec::with_capacity(40);
        request.extend(40u32.to_ne_bytes());
        request.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        request.extend((libc::NLM_F_REQUEST as u16).to_ne_bytes());
        request.extend([0; 8]);
        // family, protocol, padding; states; inode; what to show; any cookie
        request.extend([libc::AF_UNIX as u8, 0, 0, 0]);
        request.extend(u32::MAX.to_ne_bytes());
        request.extend(inode.to_ne_bytes());
        request.extend(SHOW.to_ne_bytes());
        request.extend([0xff; 8]);
        // SAFETY: the request is a live buffer of the length given.
        let sent = unsafe {
            libc::send(
                self.netlink.as_raw_fd(),
                request.as_ptr().cast(),
                request.len(),
                0,
            )
        };
        check("ask for a socket", sent as libc::c_long)?;
        let mut answer = [0u8; 1024];
        // SAFETY: as above.
        let got = unsafe {
            libc::recv(
                self.netlink.as_raw_fd(),
                answer.as_mut_ptr().cast(),
                answer.len(),
                0,
            )
        };
        check("ask for a socket", got as libc::c_long)?;
        Ok(decode(&answer[..got as usize]))
    }
}

fn decode(answer: &[u8]) -> Option<UnixSocket> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    if kind != SOCK_DIAG_BY_FAMILY {
        return None;
    }
    let mut socket = UnixSocket {
        kind: *answer.get(HEADER + 1)?,
        named: false,
        peer: None,
        shut: 0,
    };
    let mut rest = answer.get(HEADER + ANSWER..)?;
    while rest.len() >= 4 {
        let len = u16::from_ne_bytes([rest[0], rest[1]]) as usize;
        match u16::from_ne_bytes([rest[2], rest[3]]) {
            NAME => socket.named = true,
            PEER => {
                let inode = rest.get(4..8)?.try_into().ok()?;
                socket.peer = Some(u32::from_ne_bytes(inode).into());
            }
            SHUTDOWN => socket.shut = *rest.get(4)?,
            _ => {}
        }
        rest = rest.get(len.max(4).next_multiple_of(4)..).unwrap_or(&[]);
    }
    Some(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::Descriptor;
    use crate::signals::current_process;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    fn inode(s: &UnixStream) -> u64 {
        let mine = Descriptor::of(current_process(), s.as_raw_fd()).expect("a descriptor");
        mine.socket().expect("a socket")
    }

    #[test]
    fn finds_the_other_end_of_a_pair() {
        let (a, b) = UnixStream::pair().expect("a pair");
        let sockets = UnixSockets::open().expect("socket diagnosis");
        let get = |s| sockets.get(inode(s)).expect("an answer").expect("a socket");
        assert_eq!(get(&a).peer, Some(inode(&b)));
        assert_eq!(get(&b).peer, Some(inode(&a)));
        assert!(get(&a).is_stream() && !get(&a).named);
        a.shutdown(std::net::Shutdown::Write).expect("shut");
        assert_eq!((get(&a).shut, get(&b).shut), (2, 1));
    }

    #[test]
    fn knows_that_the_other_end_was_closed() {
        let (a, b) = UnixStream::pair().expect("a pair");
        let inode = inode(&a);
        drop(b);
        let sockets = UnixSockets::open().expect("socket diagnosis");
        let get = || sockets.get(inode).expect("an answer").expect("a socket");
        // A process that another test starts has the other end, too, until its exec.
        let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while !get().is_left() && std::time::Instant::now() < until {
            std::thread::yield_now();
        }
        let left = get();
        assert!(left.is_left(), "{left:?}");
    }
}
