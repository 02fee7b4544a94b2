//! Which Unix sockets are connected to each other, by the kernel's socket
//! diagnosis.

use crate::error::{Result, check};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const SHOW_PEER: u32 = 4;
const ATTRIBUTE_PEER: u16 = 2;
/// Length of a netlink header, and of the answer before its attributes.
const HEADER: usize = 16;
const ANSWER: usize = 16;

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

    /// The inode of the socket that the one with this inode is connected to;
    /// `None` if it is no connected Unix socket.
    pub fn peer(&self, inode: u64) -> Result<Option<u64>> {
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
        request.extend(SHOW_PEER.to_ne_bytes());
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
        check("ask for a socket's peer", sent as libc::c_long)?;
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
        check("ask for a socket's peer", got as libc::c_long)?;
        Ok(find_peer(&answer[..got as usize]))
    }
}

fn find_peer(answer: &[u8]) -> Option<u64> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    if kind != SOCK_DIAG_BY_FAMILY {
        return None;
    }
    let mut rest = answer.get(HEADER + ANSWER..)?;
    while rest.len() >= 4 {
        let len = u16::from_ne_bytes([rest[0], rest[1]]) as usize;
        let kind = u16::from_ne_bytes([rest[2], rest[3]]);
        if kind == ATTRIBUTE_PEER {
            let inode = rest.get(4..8)?.try_into().ok()?;
            return Some(u32::from_ne_bytes(inode).into());
        }
        rest = rest.get(len.max(4).next_multiple_of(4)..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptors;
    use crate::signals::current_process;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn finds_the_other_end_of_a_pair() {
        let (a, b) = UnixStream::pair().expect("a pair");
        let all = descriptors::of_process(current_process()).expect("descriptors");
        let inode = |s: &UnixStream| {
            let number = s.as_raw_fd();
            let mine = all.iter().find(|d| d.number == number);
            mine.and_then(|d| d.inode("socket")).expect("a socket")
        };
        let sockets = UnixSockets::open().expect("socket diagnosis");
        assert_eq!(sockets.peer(inode(&a)).expect("an answer"), Some(inode(&b)));
        assert_eq!(sockets.peer(inode(&b)).expect("an answer"), Some(inode(&a)));
    }
}
