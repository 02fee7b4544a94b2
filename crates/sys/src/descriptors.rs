//! Open descriptors of another process: what /proc says of them, and what can
//! be asked and set through a duplicate of ours.

use crate::error::{Result, SysError, check};
use crate::{Tid, procfs, sockets};
use std::cell::OnceCell;
use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// One descriptor.
#[derive(Clone, Debug)]
pub struct Descriptor {
    /// Its number.
    pub number: RawFd,
    /// What it leads to: a path, `pipe:[1234]`, `anon_inode:[eventfd]`.
    pub target: String,
    /// Its fdinfo file.
    info: String,
    pid: Tid,
    about: OnceCell<Option<fs::Metadata>>,
}

/// The open descriptors of a process.
pub fn of_process(pid: Tid) -> Result<Vec<Descriptor>> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd"))
        .map_err(|e| SysError::from_io("list /proc/pid/fd", &e))?;
    let mut list = Vec::new();
    for entry in entries.flatten() {
        let number = entry.file_name().to_str().and_then(|n| n.parse().ok());
        // Others close theirs at any moment.
        list.extend(number.and_then(|number| one(pid, number).ok()));
    }
    list.sort_by_key(|d| d.number);
    Ok(list)
}

/// What the open descriptors of a process lead to.
pub fn targets(pid: Tid) -> Result<Vec<String>> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd"))
        .map_err(|e| SysError::from_io("list /proc/pid/fd", &e))?;
    let links = entries
        .flatten()
        .filter_map(|e| fs::read_link(e.path()).ok());
    Ok(links.map(|l| l.to_string_lossy().into_owned()).collect())
}

/// One of them.
pub fn one(pid: Tid, number: RawFd) -> Result<Descriptor> {
    let target = fs::read_link(place(pid, number));
    let target = target.map_err(|e| SysError::from_io("read /proc/pid/fd", &e))?;
    Ok(Descriptor {
        number,
        target: target.to_string_lossy().into_owned(),
        info: info(pid, number)?,
        pid,
        about: OnceCell::new(),
    })
}

fn info(pid: Tid, number: RawFd) -> Result<String> {
    let info = procfs::text(format!("/proc/{pid}/fdinfo/{number}"));
    info.map_err(|e| SysError::from_io("read /proc/pid/fdinfo", &e))
}

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
    let Ok(path) = std::ffi::CString::new(place(pid, number)) else {
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

/// Where a descriptor of a process is found as a file.
pub fn place(pid: Tid, number: RawFd) -> String {
    format!("/proc/{pid}/fd/{number}")
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

impl Descriptor {
    /// What the file behind it was when this was first asked.
    pub fn about(&self) -> Option<&fs::Metadata> {
        let look = || fs::metadata(place(self.pid, self.number)).ok();
        self.about.get_or_init(look).as_ref()
    }

    /// A line `name: value` of its fdinfo.
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut lines = self.info.lines();
        lines.find_map(|l| Some(l.strip_prefix(name)?.strip_prefix(':')?.trim()))
    }

    /// Every line of its fdinfo that begins with this.
    pub fn fields<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let lines = self.info.lines();
        lines.filter_map(move |l| Some(l.strip_prefix(name)?.strip_prefix(':')?.trim()))
    }

    /// The flags it was opened with.
    pub fn flags(&self) -> i32 {
        let flags = self.field("flags");
        flags
            .and_then(|f| i32::from_str_radix(f, 8).ok())
            .unwrap_or(0)
    }

    /// It can be read.
    pub fn reads(&self) -> bool {
        matches!(
            self.flags() & libc::O_ACCMODE,
            libc::O_RDONLY | libc::O_RDWR
        )
    }

    /// It can be written.
    pub fn writes(&self) -> bool {
        matches!(
            self.flags() & libc::O_ACCMODE,
            libc::O_WRONLY | libc::O_RDWR
        )
    }

    /// The locks that its open file holds.
    pub fn locks(&self) -> Vec<Lock> {
        self.fields("lock").filter_map(Lock::of).collect()
    }

    /// The number of the inode in a target like `pipe:[1234]`, if it is of
    /// this kind.
    pub fn inode(&self, kind: &str) -> Option<u64> {
        let rest = self.target.strip_prefix(kind)?.strip_prefix(":[")?;
        rest.strip_suffix(']')?.parse().ok()
    }
}

/// Flags that can be changed after the open.
const CHANGEABLE: i32 = libc::O_APPEND | libc::O_NONBLOCK | libc::O_ASYNC | libc::O_DIRECT;

fn flags(fd: BorrowedFd<'_>) -> Result<i32> {
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

/// Moves the offset of an open file.
pub fn seek(fd: OwnedFd, offset: u64) -> Result<()> {
    let mut file = fs::File::from(fd);
    let done = file.seek(SeekFrom::Start(offset));
    done.map(drop).map_err(|e| SysError::from_io("lseek", &e))
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
    let mut poll = libc::pollfd {
        fd: read_end.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one structure is given, and filled in.
    unsafe { libc::poll(&mut poll, 1, 0) };
    Readable {
        data: poll.revents & libc::POLLIN != 0,
        closed: poll.revents & libc::POLLHUP != 0,
    }
}

/// A lock that an open file holds, whoever has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lock {
    /// For nobody else.
    pub exclusive: bool,
    /// First byte and number of bytes (0: to the end) of a part of the file
    /// (`F_OFD_SETLK`); `None`: all of it (`flock`).
    pub part: Option<(i64, i64)>,
}

impl Lock {
    /// Reads a line `lock` of an fdinfo, such as
    /// `1: FLOCK  ADVISORY  WRITE 4711 08:01:42 0 EOF`. `None`: it is a lock of
    /// the process, or something else.
    fn of(line: &str) -> Option<Lock> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, kind, _, mode, _, _, first, last] = words[..] else {
            return None;
        };
        let part = match kind {
            "FLOCK" => None,
            "OFDLCK" => {
                let first: i64 = first.parse().ok()?;
                let last = last.parse().ok();
                Some((first, last.map_or(0, |last: i64| last - first + 1)))
            }
            _ => return None,
        };
        Some(Lock {
            exclusive: mode == "WRITE",
            part,
        })
    }

    /// Takes it if nobody is in the way. It is the open file's, so that all
    /// who share that have it.
    pub fn take(&self, file: BorrowedFd<'_>) -> Result<()> {
        let done = match self.part {
            None => {
                let kind = if self.exclusive {
                    libc::LOCK_EX
                } else {
                    libc::LOCK_SH
                };
                // SAFETY: no memory is involved.
                unsafe { libc::flock(file.as_raw_fd(), kind | libc::LOCK_NB) }
            }
            Some((start, len)) => {
                let kind = if self.exclusive {
                    libc::F_WRLCK
                } else {
                    libc::F_RDLCK
                };
                let lock = libc::flock {
                    l_type: kind as libc::c_short,
                    l_whence: libc::SEEK_SET as libc::c_short,
                    l_start: start,
                    l_len: len,
                    l_pid: 0,
                };
                // SAFETY: the structure is read during the call only.
                unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) }
            }
        };
        check("lock", done.into()).map(drop)
    }
}

/// The locks that the open file of a descriptor holds.
pub fn locks(pid: Tid, number: RawFd) -> Result<Vec<Lock>> {
    let info = info(pid, number)?;
    let lines = info.lines().filter_map(|l| l.strip_prefix("lock:"));
    Ok(lines.filter_map(Lock::of).collect())
}

/// Frees every such lock of an open file.
pub fn unlock(file: BorrowedFd<'_>) -> Result<()> {
    let all = libc::flock {
        l_type: libc::F_UNLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    // SAFETY: the structure is read during the call only.
    unsafe {
        let done = libc::flock(file.as_raw_fd(), libc::LOCK_UN);
        check("unlock", done.into())?;
        let done = libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const all);
        check("unlock", done.into()).map(drop)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_as_the_kernel_writes_them() {
        let whole = Lock::of("1: FLOCK  ADVISORY  WRITE 4711 08:01:42 0 EOF").expect("a lock");
        assert_eq!((whole.exclusive, whole.part), (true, None));
        let part = Lock::of("1: OFDLCK ADVISORY  READ -1 00:2d:77 10 19").expect("a lock");
        assert_eq!((part.exclusive, part.part), (false, Some((10, 10))));
        let rest = Lock::of("2: OFDLCK ADVISORY  WRITE -1 00:2d:77 5 EOF").expect("a lock");
        assert_eq!(rest.part, Some((5, 0)));
        assert_eq!(
            Lock::of("1: POSIX  ADVISORY  WRITE 4711 08:01:42 0 EOF"),
            None
        );
    }
}
