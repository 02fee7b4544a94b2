//! Unix sockets of another process, through a duplicate of ours: what waits in
//! them to be received, and the options that a new one must get.

use crate::error::{Result, SysError, check};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// What a socket has not yet given to its reader.
#[derive(Clone, Debug, Default)]
pub struct Unread {
    /// One entry each, also for empty ones; of a stream one for all.
    pub messages: Vec<Vec<u8>>,
    /// Descriptors travel with them.
    pub descriptors: bool,
    /// There are urgent data (`MSG_OOB`).
    pub urgent: bool,
}

/// Looks at what a Unix socket holds, which it keeps. `longest`: no message is
/// longer; `ends_with_empty`: at the end it gives empty messages for ever.
pub fn unread(
    socket: BorrowedFd<'_>,
    stream: bool,
    longest: usize,
    ends_with_empty: bool,
) -> Result<Unread> {
    let before: i32 = option(socket, libc::SO_PEEK_OFF)?;
    set_option(socket, libc::SO_PEEK_OFF, &0i32)?;
    let mut found = Unread {
        urgent: stream && has_urgent(socket),
        ..Unread::default()
    };
    let mut buffer = vec![0; longest];
    while let Some(length) = peek(socket, &mut buffer, &mut found.descriptors) {
        let message = &buffer[..length];
        match found.messages.last_mut().filter(|_| stream) {
            _ if length == 0 && (stream || ends_with_empty) => break,
            Some(all) => all.extend_from_slice(message),
            None => found.messages.push(message.to_vec()),
        }
    }
    set_option(socket, libc::SO_PEEK_OFF, &before)?;
    Ok(found)
}

/// A byte was sent with `MSG_OOB` and not received.
fn has_urgent(socket: BorrowedFd<'_>) -> bool {
    let mut byte = [0u8; 1];
    let flags = libc::MSG_PEEK | libc::MSG_OOB | libc::MSG_DONTWAIT;
    // SAFETY: the buffer has the length given.
    let got = unsafe { libc::recv(socket.as_raw_fd(), byte.as_mut_ptr().cast(), 1, flags) };
    got == 1
}

/// More than the descriptors that can travel with one message.
const CONTROL: usize = 2048;

/// The next message that was not looked at; `None`: there is none.
fn peek(socket: BorrowedFd<'_>, buffer: &mut [u8], descriptors: &mut bool) -> Option<usize> {
    let mut control = [0u64; CONTROL / 8];
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: msghdr is plain data; buffers and lengths belong together. The
    // walk over the control data is that of the C library's macros, and the
    // descriptors found in it were made for us by this call.
    unsafe {
        let mut header: libc::msghdr = std::mem::zeroed();
        header.msg_iov = &mut part;
        header.msg_iovlen = 1;
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = CONTROL;
        let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
        let got = libc::recvmsg(socket.as_raw_fd(), &mut header, flags);
        let got = usize::try_from(got).ok()?;
        let mut at = libc::CMSG_FIRSTHDR(&header);
        while let Some(head) = at.as_ref() {
            const PIDFD: i32 = 4;
            if head.cmsg_level == libc::SOL_SOCKET
                && [libc::SCM_RIGHTS, PIDFD].contains(&head.cmsg_type)
            {
                *descriptors |= head.cmsg_type == libc::SCM_RIGHTS;
                let count = (head.cmsg_len - libc::CMSG_LEN(0) as usize) / size_of::<RawFd>();
                let numbers = libc::CMSG_DATA(at).cast::<RawFd>();
                for i in 0..count {
                    drop(OwnedFd::from_raw_fd(numbers.add(i).read_unaligned()));
                }
            }
            at = libc::CMSG_NXTHDR(&header, at);
        }
        Some(got)
    }
}

/// Sends a message, or all bytes to a stream, if there is room.
pub fn send(socket: BorrowedFd<'_>, message: &[u8]) -> Result<()> {
    let mut rest = message;
    loop {
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: the message is a live buffer of the length given.
        let sent =
            unsafe { libc::send(socket.as_raw_fd(), rest.as_ptr().cast(), rest.len(), flags) };
        rest = &rest[check("send", sent as libc::c_long)? as usize..];
        if rest.is_empty() {
            return Ok(());
        }
    }
}

/// Takes out everything that can be received.
pub fn discard(socket: BorrowedFd<'_>, ends_with_empty: bool) {
    let mut byte = [0u8; 1 << 12];
    loop {
        // SAFETY: the buffer has the length given.
        let got = unsafe {
            libc::recv(
                socket.as_raw_fd(),
                byte.as_mut_ptr().cast(),
                byte.len(),
                libc::MSG_DONTWAIT,
            )
        };
        if got < 0 || (got == 0 && ends_with_empty) {
            return;
        }
    }
}

/// Closes directions of a socket: 1 to receive, 2 to send, 3 both.
pub fn shut(socket: BorrowedFd<'_>, directions: u8) -> Result<()> {
    if directions == 0 {
        return Ok(());
    }
    // SAFETY: no memory is involved.
    let done = unsafe { libc::shutdown(socket.as_raw_fd(), i32::from(directions) - 1) };
    check("shutdown", done.into()).map(drop)
}

/// Choices made for a socket.
#[derive(Clone, Copy)]
pub struct SocketOptions {
    send_buffer: i32,
    receive_buffer: i32,
    passes_credentials: i32,
    peek_offset: i32,
    receive_limit: libc::timeval,
    send_limit: libc::timeval,
}

impl SocketOptions {
    /// Those of a Unix socket.
    pub fn of(socket: BorrowedFd<'_>) -> Result<SocketOptions> {
        Ok(SocketOptions {
            send_buffer: option(socket, libc::SO_SNDBUF)?,
            receive_buffer: option(socket, libc::SO_RCVBUF)?,
            passes_credentials: option(socket, libc::SO_PASSCRED)?,
            peek_offset: option(socket, libc::SO_PEEK_OFF)?,
            receive_limit: option(socket, libc::SO_RCVTIMEO)?,
            send_limit: option(socket, libc::SO_SNDTIMEO)?,
        })
    }

    /// No message that it sends can be longer.
    pub fn longest_message(&self) -> usize {
        self.send_buffer.max(1 << 18) as usize
    }

    /// Who receives learns who has sent.
    pub fn passes_credentials(&self) -> bool {
        self.passes_credentials != 0
    }

    /// Gives them to a socket.
    pub fn apply(&self, socket: BorrowedFd<'_>) -> Result<()> {
        // The kernel says double of what it is told.
        set_option(socket, libc::SO_SNDBUF, &(self.send_buffer / 2))?;
        set_option(socket, libc::SO_RCVBUF, &(self.receive_buffer / 2))?;
        set_option(socket, libc::SO_PASSCRED, &self.passes_credentials)?;
        set_option(socket, libc::SO_PEEK_OFF, &self.peek_offset)?;
        set_option(socket, libc::SO_RCVTIMEO, &self.receive_limit)?;
        set_option(socket, libc::SO_SNDTIMEO, &self.send_limit)
    }
}

/// As much room to send as a socket can have.
pub fn widen(socket: BorrowedFd<'_>) -> Result<()> {
    set_option(socket, libc::SO_SNDBUF, &(i32::MAX / 2))
}

/// A value of plain numbers.
pub(crate) fn option<T: Copy>(socket: BorrowedFd<'_>, name: i32) -> Result<T> {
    let mut value = std::mem::MaybeUninit::<T>::zeroed();
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to the value.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            name,
            value.as_mut_ptr().cast(),
            &mut length,
        )
    };
    check("getsockopt", done.into())?;
    // SAFETY: all types used are numbers, which any bytes make.
    Ok(unsafe { value.assume_init() })
}

fn set_option<T: Copy>(socket: BorrowedFd<'_>, name: i32, value: &T) -> Result<()> {
    // SAFETY: the value has the length given.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            name,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(SysError::last("setsockopt")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::os::unix::net::{UnixDatagram, UnixStream};

    #[test]
    fn looking_takes_nothing_away() {
        let (a, b) = UnixDatagram::pair().expect("a pair");
        for message in ["one", "", "three"] {
            a.send(message.as_bytes()).expect("sent");
        }
        let found = unread(b.as_fd(), false, 100, false).expect("messages");
        let lengths: Vec<usize> = found.messages.iter().map(Vec::len).collect();
        assert_eq!((lengths, found.descriptors), (vec![3, 0, 5], false));
        let mut buffer = [0; 9];
        assert_eq!(b.recv(&mut buffer).expect("the first"), 3);
        assert_eq!(b.recv(&mut buffer).expect("the second"), 0);
        assert_eq!(b.recv(&mut buffer).expect("the third"), 5);
    }

    #[test]
    fn a_stream_is_one_message() {
        let (a, b) = UnixStream::pair().expect("a pair");
        for message in ["one", "two"] {
            send(a.as_fd(), message.as_bytes()).expect("sent");
        }
        shut(a.as_fd(), 2).expect("shut");
        for _ in 0..2 {
            let found = unread(b.as_fd(), true, 4, true).expect("bytes");
            assert_eq!(found.messages, [b"onetwo"]);
        }
        discard(b.as_fd(), true);
        let found = unread(b.as_fd(), true, 4, true).expect("bytes");
        assert!(found.messages.is_empty());
    }
}
