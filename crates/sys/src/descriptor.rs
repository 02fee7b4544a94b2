//! One open descriptor of another process. What is asked of it is read then: most things are told
//! by a duplicate of ours in a fraction of the time that /proc takes, which a checkpoint has for
//! each descriptor.

use crate::descriptors::flags;
use crate::error::{Result, SysError};
use crate::file_locks::Lock;
use crate::pidfd::PidFd;
use crate::{Tid, limits, procfs};
use std::cell::OnceCell;
use std::fs::{self, File, Metadata};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;

/// A descriptor of a stopped process.
#[derive(Debug)]
pub struct Descriptor {
    /// Its number.
    pub number: RawFd,
    pid: Tid,
    /// One of ours with the same open file, where we may have one.
    file: Option<File>,
    about: OnceCell<Option<Metadata>>,
    flags: OnceCell<i32>,
    target: OnceCell<String>,
    info: OnceCell<String>,
}

/// Of so many descriptors we have duplicates at a time. Few processes have more.
const MOST_DUPLICATES: usize = 64;
/// So many numbers of ours stay free, for everything else that is to be opened meanwhile.
const RESERVE: u64 = 64;

/// The open descriptors of a process.
pub fn of_process(process: &PidFd) -> Result<Vec<Descriptor>> {
    if let Some(list) = in_a_row(process) {
        return Ok(list);
    }
    let pid = process.pid();
    let highest = highest_duplicate();
    let mut list = Vec::new();
    for number in numbers(pid)? {
        let file = match list.len() < MOST_DUPLICATES {
            true => duplicate(process, number, highest),
            false => None,
        };
        // Others close theirs at any moment.
        list.extend(match file {
            Some(file) => Some(Descriptor::new(pid, number, Some(file))),
            None => Descriptor::of(pid, number).ok(),
        });
    }
    Ok(list)
}

/// The same for a process that has not many and hardly any gaps between their numbers, as most:
/// the kernel tells how many there are (Linux 6.2) faster than which.
fn in_a_row(process: &PidFd) -> Option<Vec<Descriptor>> {
    const MOST_GAPS: usize = 8;
    let pid = process.pid();
    let count = fs::metadata(format!("/proc/{pid}/fd")).ok()?.len() as usize;
    if !(1..=MOST_DUPLICATES).contains(&count) {
        return None;
    }
    let highest = highest_duplicate();
    let mut list = Vec::with_capacity(count);
    for number in 0..(count + MOST_GAPS) as RawFd {
        let file = duplicate(process, number, highest);
        list.extend(file.map(|file| Descriptor::new(pid, number, Some(file))));
        if list.len() == count {
            return Some(list);
        }
    }
    None
}

/// Duplicates have numbers below this.
fn highest_duplicate() -> u64 {
    limits::own_descriptors().saturating_sub(RESERVE)
}

/// One of ours with the same open file, if there is such a one and we have numbers enough.
fn duplicate(process: &PidFd, number: RawFd, highest: u64) -> Option<OwnedFd> {
    let file = process.descriptor(number).ok()?;
    ((file.as_raw_fd() as u64) < highest).then_some(file)
}

/// The numbers of a process's open descriptors, in order.
pub fn numbers(pid: Tid) -> Result<Vec<RawFd>> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd"))
        .map_err(|e| SysError::from_io("list /proc/pid/fd", &e))?;
    let numbers = entries.flatten().map(|entry| entry.file_name());
    let mut numbers: Vec<RawFd> = numbers.filter_map(|n| n.to_str()?.parse().ok()).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// What the open descriptors of a process lead to.
pub fn targets(pid: Tid) -> Result<Vec<String>> {
    let numbers = numbers(pid)?.into_iter();
    Ok(numbers.filter_map(|number| target(pid, number)).collect())
}

/// What a descriptor leads to, if it is open: a path, `pipe:[1234]`, `anon_inode:[eventfd]`.
pub fn target(pid: Tid, number: RawFd) -> Option<String> {
    let target = fs::read_link(place(pid, number)).ok()?;
    Some(target.to_string_lossy().into_owned())
}

/// Where a descriptor of a process is found as a file.
pub fn place(pid: Tid, number: RawFd) -> String {
    format!("/proc/{pid}/fd/{number}")
}

pub(crate) fn info(pid: Tid, number: RawFd) -> Result<String> {
    let info = procfs::piece(format!("/proc/{pid}/fdinfo/{number}"));
    info.map_err(|e| SysError::from_io("read /proc/pid/fdinfo", &e))
}

impl Descriptor {
    fn new(pid: Tid, number: RawFd, file: Option<OwnedFd>) -> Descriptor {
        Descriptor {
            number,
            pid,
            file: file.map(File::from),
            about: OnceCell::new(),
            flags: OnceCell::new(),
            target: OnceCell::new(),
            info: OnceCell::new(),
        }
    }

    /// One of a process, as it is now.
    pub fn of(pid: Tid, number: RawFd) -> Result<Descriptor> {
        let descriptor = Descriptor::new(pid, number, None);
        let info = info(pid, number)?;
        Ok(Descriptor {
            info: OnceCell::from(info),
            ..descriptor
        })
    }

    /// One of ours with the same open file.
    pub fn open_file(&self) -> Option<BorrowedFd<'_>> {
        self.file.as_ref().map(AsFd::as_fd)
    }

    /// What it leads to: a path, `pipe:[1234]`, `anon_inode:[eventfd]`.
    pub fn target(&self) -> &str {
        let look = || target(self.pid, self.number).unwrap_or_default();
        self.target.get_or_init(look)
    }

    /// What the file behind it was when this was first asked.
    pub fn about(&self) -> Option<&Metadata> {
        let look = || match &self.file {
            Some(file) => file.metadata().ok(),
            None => fs::metadata(place(self.pid, self.number)).ok(),
        };
        self.about.get_or_init(look).as_ref()
    }

    fn info(&self) -> &str {
        let look = || info(self.pid, self.number).unwrap_or_default();
        self.info.get_or_init(look)
    }

    /// A line `name: value` of its fdinfo.
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut lines = self.info().lines();
        lines.find_map(|l| Some(l.strip_prefix(name)?.strip_prefix(':')?.trim()))
    }

    /// Every line of its fdinfo that begins with this.
    pub fn fields<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let lines = self.info().lines();
        lines.filter_map(move |l| Some(l.strip_prefix(name)?.strip_prefix(':')?.trim()))
    }

    /// The flags of its open file, with that of the number itself (`O_CLOEXEC`).
    pub fn all_flags(&self) -> i32 {
        let flags = self.field("flags");
        flags
            .and_then(|f| i32::from_str_radix(f, 8).ok())
            .unwrap_or(0)
    }

    /// The flags that its open file had when this was first asked.
    pub fn flags(&self) -> i32 {
        *self.flags.get_or_init(|| {
            let told = self.file.as_ref().and_then(|f| flags(f.as_fd()).ok());
            told.unwrap_or_else(|| self.all_flags()) & !libc::O_CLOEXEC
        })
    }

    /// Where in its file it is. A duplicate could tell, but waits for others that read with it.
    pub fn offset(&self) -> Option<u64> {
        self.field("pos")?.parse().ok()
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

    /// Somebody may have locked it: not what has no path, nor what everybody has.
    pub fn may_be_locked(&self) -> bool {
        !self.is_plain_device() && self.has_path()
    }

    /// Lines of its fdinfo for the locks and leases of its open file, and of the process.
    pub fn lock_lines(&self) -> impl Iterator<Item = &str> {
        let lines = self.may_be_locked().then(|| self.fields("lock"));
        lines.into_iter().flatten()
    }

    /// The locks that its open file holds.
    pub fn locks(&self) -> Vec<Lock> {
        self.lock_lines().filter_map(Lock::of).collect()
    }

    /// The number of the pipe behind it, if it is one without a name.
    pub fn pipe(&self) -> Option<u64> {
        self.nameless("pipe", |kind| kind.is_fifo(), device_of_pipes())
    }

    /// The number of the socket behind it.
    pub fn socket(&self) -> Option<u64> {
        self.nameless("socket", |kind| kind.is_socket(), device_of_sockets())
    }

    /// The inode of a target like `pipe:[1234]`. All of a kind are in one file system.
    fn nameless(
        &self,
        kind: &str,
        is: impl Fn(fs::FileType) -> bool,
        device: Option<u64>,
    ) -> Option<u64> {
        if let (Some(about), Some(device)) = (self.about(), device) {
            return (is(about.file_type()) && about.dev() == device).then(|| about.ino());
        }
        let rest = self.target().strip_prefix(kind)?.strip_prefix(":[")?;
        rest.strip_suffix(']')?.parse().ok()
    }

    /// The kind of a file that is none elsewhere: `[eventfd]`, `inotify`.
    pub fn anonymous(&self) -> Option<&str> {
        match self.about() {
            Some(about) if about.mode() & libc::S_IFMT != 0 => None,
            _ => self.target().strip_prefix("anon_inode:"),
        }
    }

    /// A device that knows nothing of who uses it: `/dev/null`, `/dev/urandom`.
    pub fn is_plain_device(&self) -> bool {
        const MEMORY: u32 = 1;
        const PLAIN: [u32; 5] = [3, 5, 7, 8, 9];
        self.about().is_some_and(|about| {
            let device = about.rdev();
            about.file_type().is_char_device()
                && libc::major(device) == MEMORY
                && PLAIN.contains(&libc::minor(device))
        })
    }

    /// A file or directory of a disk, and of nothing that the kernel makes up.
    pub fn is_on_disk(&self) -> bool {
        self.about().is_some_and(|about| {
            (about.is_file() || about.is_dir()) && libc::major(about.dev()) != 0
        })
    }

    /// A device.
    pub fn is_device(&self) -> bool {
        let kind = self.about().map(Metadata::file_type);
        kind.is_some_and(|kind| kind.is_char_device() || kind.is_block_device())
    }

    /// It may be a file, a directory or a link that is on no disk: of /proc, in memory.
    pub fn may_be_made_up(&self) -> bool {
        let kind = self.about().map(Metadata::file_type);
        let is_other = kind.is_some_and(|kind| kind.is_fifo() || kind.is_socket());
        !is_other && !self.is_on_disk() && !self.is_device()
    }

    /// It leads to something with a path, if only one of a file that was deleted.
    pub fn has_path(&self) -> bool {
        if self.is_on_disk() || self.is_plain_device() {
            return true;
        }
        self.pipe().is_none() && self.socket().is_none() && self.target().starts_with('/')
    }
}

/// All pipes are there.
fn device_of_pipes() -> Option<u64> {
    static PIPES: OnceLock<Option<u64>> = OnceLock::new();
    *PIPES.get_or_init(|| device(std::io::pipe().ok()?.0.into()))
}

/// All sockets are there.
fn device_of_sockets() -> Option<u64> {
    static SOCKETS: OnceLock<Option<u64>> = OnceLock::new();
    *SOCKETS.get_or_init(|| device(UnixStream::pair().ok()?.0.into()))
}

/// Asks now for what is asked for once.
pub fn learn_devices() {
    device_of_pipes();
    device_of_sockets();
}

/// The device of one of our own files.
fn device(file: OwnedFd) -> Option<u64> {
    Some(File::from(file).metadata().ok()?.dev())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::current_process;

    /// What a descriptor of this process is told to be by a duplicate, and by /proc alone.
    fn both(number: RawFd) -> [Descriptor; 2] {
        let process = PidFd::open(current_process()).expect("this process");
        let all = of_process(&process).expect("descriptors");
        let quick = all.into_iter().find(|d| d.number == number);
        let slow = Descriptor::of(current_process(), number).expect("a descriptor");
        [quick.expect("a descriptor"), slow]
    }

    fn agree(number: RawFd) -> Descriptor {
        let [quick, slow] = both(number);
        assert!(quick.file.is_some() && slow.file.is_none());
        assert_eq!(quick.flags(), slow.flags(), "{number}");
        assert_eq!(quick.pipe(), slow.pipe());
        assert_eq!(quick.socket(), slow.socket());
        assert_eq!(quick.anonymous(), slow.anonymous());
        assert_eq!(quick.has_path(), slow.has_path());
        assert_eq!(quick.has_path(), slow.target().starts_with('/'));
        quick
    }

    #[test]
    fn a_duplicate_tells_what_proc_tells() {
        let (pipe, _writer) = std::io::pipe().expect("a pipe");
        let there = agree(pipe.as_raw_fd());
        assert_eq!(
            Some(there.target()),
            there.pipe().map(|n| format!("pipe:[{n}]")).as_deref()
        );
        let (socket, _other) = UnixStream::pair().expect("sockets");
        let there = agree(socket.as_raw_fd());
        let inode = there.socket().map(|n| format!("socket:[{n}]"));
        assert_eq!(Some(there.target()), inode.as_deref());
        let null = File::open("/dev/null").expect("a device");
        assert!(agree(null.as_raw_fd()).is_plain_device());
        let random = File::open("/dev/urandom").expect("a device");
        assert!(agree(random.as_raw_fd()).is_plain_device());
        let own = File::open("/proc/self/maps").expect("a file");
        assert!(!agree(own.as_raw_fd()).is_on_disk());
        // SAFETY: no memory is involved, and the descriptor is new.
        let event = unsafe {
            <OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(libc::eventfd(0, libc::EFD_CLOEXEC))
        };
        assert_eq!(agree(event.as_raw_fd()).anonymous(), Some("[eventfd]"));
        let process = PidFd::open(current_process()).expect("this process");
        assert_eq!(agree(process.fd().as_raw_fd()).anonymous(), Some("[pidfd]"));
    }
}
