//! What is behind open descriptors of another process, asked and set through duplicates of ours.

use crate::descriptor;
use crate::error::{Result, SysError, check};
use crate::{Tid, sockets};
use std::fs;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// Whether a descriptor of a process is the file that an epoll instance of it waits for under the
/// number `on`; `nth`: of several such ones, in the order of its fdinfo.
pub fn is_waited_for(pid: Tid, number: RawFd, epoll: RawFd, on: RawFd, nth: u32) -> bool {
    const KCMP_EPOLL_TFD: i32 = 7;
    let slot = [epoll as u32, on as u32, nth];
    // SAFETY: the kernel reads the three words.
    unsafe {
        libc::syscall(
            libc::SYS_kcmp,
            pid.0,
            pid.0,
            KCMP_EPOLL_TFD,
            number,
            slot.as_ptr(),
        ) == 0
    }
}

/// Whether a descriptor of a process is a message queue (`mq_open`), which looks like a file.
pub fn is_queue(pid: Tid, number: RawFd) -> bool {
    const MQUEUE_MAGIC: i64 = 0x1980_0202;
    let Ok(path) = std::ffi::CString::new(descriptor::place(pid, number)) else {
        return false;
    };
    // SAFETY: the path is a string, and the call fills the structure.
    unsafe {
        let mut about: libc::statfs = std::mem::zeroed();
        libc::statfs(path.as_ptr(), &mut about) == 0 && about.f_type == MQUEUE_MAGIC
    }
}

/// How long a socket waits for data, or for room to send; `None`: without end.
pub fn socket_limit(socket: &OwnedFd, receives: bool) -> Result<Option<Duration>> {
    let option = match receives {
        true => libc::SO_RCVTIMEO,
        false => libc::SO_SNDTIMEO,
    };
    let time: libc::timeval = sockets::option(socket.as_fd(), option)?;
    let time = Duration::from_secs(time.tv_sec.unsigned_abs())
        + Duration::from_micros(time.tv_usec.unsigned_abs());
    Ok((!time.is_zero()).then_some(time))
}

/// Whether a socket is one for connections within the machine.
pub fn is_unix_socket(socket: &OwnedFd) -> bool {
    sockets::option::<libc::c_int>(socket.as_fd(), libc::SO_DOMAIN)
        .is_ok_and(|d| d == libc::AF_UNIX)
}

/// Which file one of this process's own descriptors leads to: device and inode.
pub fn identity(ours: impl AsFd) -> Option<(u64, u64)> {
    // SAFETY: the call fills the structure.
    unsafe {
        let mut about: libc::stat = std::mem::zeroed();
        let done = libc::fstat(ours.as_fd().as_raw_fd(), &mut about);
        (done == 0).then_some((about.st_dev, about.st_ino))
    }
}

/// Flags that can be changed after the open.
const CHANGEABLE: i32 = libc::O_APPEND | libc::O_NONBLOCK | libc::O_ASYNC | libc::O_DIRECT;

/// The flags of an open file.
pub fn flags(fd: BorrowedFd<'_>) -> Result<i32> {
    // SAFETY: no memory is involved.
    let flags = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) };
    check("F_GETFL", flags.into()).map(|flags| flags as i32)
}

/// Gives an open file the changeable ones of these flags.
pub fn set_flags(fd: BorrowedFd<'_>, wanted: i32) -> Result<()> {
    if (flags(fd)? ^ wanted) & CHANGEABLE == 0 {
        return Ok(());
    }
    // SAFETY: no memory is involved.
    let done = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, wanted) };
    check("F_SETFL", done.into()).map(drop)
}

/// Without waiting, whatever the open file's flags are.
fn at_once<T>(fd: OwnedFd, act: impl FnOnce(&mut fs::File) -> T) -> Result<T> {
    let before = flags(fd.as_fd())?;
    set_flags(fd.as_fd(), before | libc::O_NONBLOCK)?;
    let mut file = fs::File::from(fd);
    let result = act(&mut file);
    set_flags(file.as_fd(), before)?;
    Ok(result)
}

/// Takes out everything that can be read at once.
pub fn drain(fd: OwnedFd) -> Result<Vec<u8>> {
    at_once(fd, |file| {
        let mut all = Vec::new();
        // It ends with "would block".
        let _ = file.read_to_end(&mut all);
        all
    })
}

/// Takes out one message, record or counter; `None`: there is none.
pub fn take_message(fd: OwnedFd) -> Result<Option<Vec<u8>>> {
    at_once(fd, |file| {
        let mut message = vec![0; 1 << 18];
        match file.read(&mut message) {
            Ok(len) if len > 0 => {
                message.truncate(len);
                Some(message)
            }
            _ => None,
        }
    })
}

/// Writes bytes that there is room for.
pub fn fill(fd: OwnedFd, bytes: &[u8]) -> Result<()> {
    at_once(fd, |file| file.write_all(bytes))?.map_err(|e| SysError::from_io("write", &e))
}

/// How much a pipe can hold.
pub fn pipe_size(end: BorrowedFd<'_>) -> Result<i32> {
    // SAFETY: no memory is involved.
    let size = unsafe { libc::fcntl(end.as_raw_fd(), libc::F_GETPIPE_SZ) };
    check("F_GETPIPE_SZ", size.into()).map(|size| size as i32)
}

/// Changes how much a pipe can hold.
pub fn set_pipe_size(end: BorrowedFd<'_>, size: i32) -> Result<()> {
    if pipe_size(end)? == size {
        return Ok(());
    }
    // SAFETY: no memory is involved.
    let done = unsafe { libc::fcntl(end.as_raw_fd(), libc::F_SETPIPE_SZ, size) };
    check("F_SETPIPE_SZ", done.into()).map(drop)
}

/// The contents of a pipe, which keeps them: what was written as a packet
/// (`O_DIRECT`) is a piece of its own.
pub fn pipe_contents(read_end: BorrowedFd<'_>) -> Result<Vec<Vec<u8>>> {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for the two descriptors.
    let made = unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) };
    check("pipe", made.into())?;
    // SAFETY: both descriptors are new and ours.
    let (reader, writer) = unsafe {
        (
            fs::File::from_raw_fd(ends[0]),
            OwnedFd::from_raw_fd(ends[1]),
        )
    };
    let size = pipe_size(read_end)?;
    set_pipe_size(writer.as_fd(), size)?;
    // SAFETY: no memory is involved.
    let copied = unsafe {
        libc::tee(
            read_end.as_raw_fd(),
            writer.as_raw_fd(),
            size.max(0) as usize,
            libc::SPLICE_F_NONBLOCK,
        )
    };
    // An error: it is empty.
    let mut left = copied.max(0) as usize;
    let mut pieces = Vec::new();
    while left > 0 {
        let mut piece = vec![0; left];
        let got = (&reader).read(&mut piece);
        let got = got.map_err(|e| SysError::from_io("read pipe", &e))?;
        if got == 0 {
            break;
        }
        piece.truncate(got);
        left -= got;
        pieces.push(piece);
    }
    Ok(pieces)
}

/// What a pipe has for its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Readable {
    /// There are data.
    pub data: bool,
    /// Nobody can write to it any more.
    pub closed: bool,
}

/// Looks at a pipe without reading it.
pub fn readable(read_end: BorrowedFd<'_>) -> Readable {
    let events = poll(read_end, libc::POLLIN);
    Readable {
        data: events & libc::POLLIN != 0,
        closed: events & libc::POLLHUP != 0,
    }
}

/// Nobody has the other end of a pipe any more.
pub fn is_left(end: BorrowedFd<'_>) -> bool {
    let events = poll(end, 0);
    // Without writers, and without readers.
    events & (libc::POLLHUP | libc::POLLERR) != 0
}

/// What there is at the moment.
pub(crate) fn poll(fd: BorrowedFd<'_>, events: i16) -> i16 {
    let mut poll = libc::pollfd {
        fd: fd.as_raw_fd(),
        events,
        revents: 0,
    };
    // SAFETY: one structure is given, and filled in.
    unsafe { libc::poll(&mut poll, 1, 0) };
    poll.revents
}

/// Whom an open file tells by a signal that it is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Whether that is a thread, a process or a group.
    kind: i32,
    /// Its id; 0: it tells nobody.
    pub id: Tid,
    /// The signal; 0 for SIGIO.
    signal: i32,
}

// `libc` has no names for them.
const F_SETSIG: libc::c_int = 10;
const F_GETSIG: libc::c_int = 11;
const F_SETOWN_EX: libc::c_int = 15;
const F_GETOWN_EX: libc::c_int = 16;

impl Owner {
    /// `None`: it cannot tell anybody.
    pub fn of(file: BorrowedFd<'_>) -> Option<Owner> {
        let mut kind_and_id = [0; 2];
        // SAFETY: the first call writes the two words, the second none.
        let (done, signal) = unsafe {
            (
                libc::fcntl(file.as_raw_fd(), F_GETOWN_EX, kind_and_id.as_mut_ptr()),
                libc::fcntl(file.as_raw_fd(), F_GETSIG),
            )
        };
        let [kind, id] = kind_and_id;
        (done == 0 && signal >= 0).then_some(Owner {
            kind,
            id: Tid(id),
            signal,
        })
    }

    /// Makes it so.
    pub fn set(&self, file: BorrowedFd<'_>) -> Result<()> {
        let kind_and_id = [self.kind, self.id.0];
        // SAFETY: the first call reads the two words, the second none.
        unsafe {
            let done = libc::fcntl(file.as_raw_fd(), F_SETOWN_EX, kind_and_id.as_ptr());
            check("F_SETOWN_EX", done.into())?;
            let done = libc::fcntl(file.as_raw_fd(), F_SETSIG, self.signal);
            check("F_SETSIG", done.into()).map(drop)
        }
    }
}

/// Modes and window size of a terminal.
#[derive(Clone)]
pub struct TerminalModes(libc::termios, libc::winsize);

impl TerminalModes {
    /// Of a terminal that is not this process's own; `None` for other files.
    pub fn of(fd: BorrowedFd<'_>) -> Option<TerminalModes> {
        // SAFETY: both are plain data, filled in by the calls.
        unsafe {
            let mut modes: libc::termios = std::mem::zeroed();
            let mut window: libc::winsize = std::mem::zeroed();
            if libc::tcgetattr(fd.as_raw_fd(), &mut modes) != 0
                || libc::ioctl(fd.as_raw_fd(), libc::TIOCGWINSZ, &mut window) != 0
            {
                return None;
            }
            // Only a controlling terminal tells its foreground group.
            let foreign = libc::tcgetpgrp(fd.as_raw_fd()) == -1;
            foreign.then_some(TerminalModes(modes, window))
        }
    }

    /// Sets them.
    pub fn apply(&self, fd: BorrowedFd<'_>) -> Result<()> {
        // SAFETY: both were filled in by the kernel.
        unsafe {
            let done = libc::tcsetattr(fd.as_raw_fd(), libc::TCSANOW, &self.0);
            check("tcsetattr", done.into())?;
            let done = libc::ioctl(fd.as_raw_fd(), libc::TIOCSWINSZ, &self.1);
            check("TIOCSWINSZ", done.into()).map(drop)
        }
    }
}

/// Whether something can be read from a terminal.
pub fn has_unread(fd: BorrowedFd<'_>) -> bool {
    let mut count: libc::c_int = 0;
    // SAFETY: the call writes the number.
    let done = unsafe { libc::ioctl(fd.as_raw_fd(), libc::FIONREAD, &mut count) };
    done == 0 && count > 0
}

/// Chooses the signals that are read from a descriptor (signalfd), one bit each.
pub fn set_signals(fd: BorrowedFd<'_>, signals: u64) -> Result<()> {
    // SAFETY: the kernel reads the eight bytes of its own kind of set.
    let done = unsafe {
        let size = std::mem::size_of_val(&signals);
        libc::syscall(libc::SYS_signalfd4, fd.as_raw_fd(), &signals, size, 0)
    };
    check("signalfd4", done).map(drop)
}

/// A moment or a period: seconds and nanoseconds.
pub type Time = (i64, i64);

/// Sets a timer descriptor: time to its next expiration and its period.
pub fn set_timer(fd: BorrowedFd<'_>, value: Time, interval: Time) -> Result<()> {
    let time = |(tv_sec, tv_nsec): Time| libc::timespec { tv_sec, tv_nsec };
    let spec = libc::itimerspec {
        it_interval: time(interval),
        it_value: time(value),
    };
    // SAFETY: `spec` is valid; nothing is asked back.
    let done = unsafe { libc::timerfd_settime(fd.as_raw_fd(), 0, &spec, std::ptr::null_mut()) };
    check("timerfd_settime", done.into()).map(drop)
}

/// Lets a periodic timer descriptor count the expirations until now, which it
/// otherwise does when it is read.
pub fn count_expirations(fd: BorrowedFd<'_>) -> Result<()> {
    let mut spec = std::mem::MaybeUninit::<libc::itimerspec>::zeroed();
    // SAFETY: the call fills the value.
    let done = unsafe { libc::timerfd_gettime(fd.as_raw_fd(), spec.as_mut_ptr()) };
    check("timerfd_gettime", done.into()).map(drop)
}

/// Gives a timer descriptor expirations that were not read. `false`: this
/// kernel cannot.
pub fn set_expirations(fd: BorrowedFd<'_>, count: u64) -> bool {
    const TFD_IOC_SET_TICKS: libc::c_ulong = 0x4008_5400;
    // SAFETY: the call reads the number given.
    unsafe { libc::ioctl(fd.as_raw_fd(), TFD_IOC_SET_TICKS, &count) == 0 }
}
