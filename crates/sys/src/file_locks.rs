//! Locks that open files hold (`flock`, `F_OFD_SETLK`), whoever has them, and which files on this
//! machine are locked at all.

use crate::descriptor;
use crate::error::{Result, check};
use crate::{Tid, procfs};
use std::fs::{File, Metadata};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::OnceLock;

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
    pub(crate) fn of(line: &str) -> Option<Lock> {
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
pub fn of(pid: Tid, number: RawFd) -> Result<Vec<Lock>> {
    let info = descriptor::info(pid, number)?;
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

/// The files that somebody on this machine has locked or leased.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Locked {
    /// Numbers of their inodes. `None`: the kernel does not tell us of all.
    nodes: Option<Vec<u64>>,
}

impl Locked {
    /// As they are now. The kernel lists them much faster than it tells of one descriptor.
    pub fn now() -> Locked {
        // Elsewhere locks are not listed whose owner has ended or is outside.
        static ALL_ARE_LISTED: OnceLock<bool> = OnceLock::new();
        let listed = *ALL_ARE_LISTED.get_or_init(|| {
            std::fs::read_link("/proc/self/ns/pid").is_ok_and(|ns| ns == Path::new(FIRST_NAMESPACE))
        });
        let text = listed.then(|| procfs::text("/proc/locks".to_owned()).ok());
        Locked {
            nodes: text.flatten().and_then(|text| nodes(&text)),
        }
    }

    /// There are none at all.
    pub fn are_none(&self) -> bool {
        self.nodes.as_ref().is_some_and(Vec::is_empty)
    }

    /// Whether a file may be among them. `open`: it, or one of its kind in the same place.
    pub fn may_have(&self, about: &Metadata, open: &File) -> bool {
        match self.nodes.as_deref() {
            None => true,
            Some([]) => false,
            Some(nodes) => nodes.contains(&about.ino()) || !tells_its_nodes(open),
        }
    }
}

/// The namespace of process ids that a machine starts with; the kernel never gives this number to
/// another.
const FIRST_NAMESPACE: &str = "pid:[4026531836]";

/// The inodes in the kernel's list: `1: FLOCK  ADVISORY  WRITE 4711 08:01:42 0 EOF`. `None`: some
/// line is of another form.
fn nodes(text: &str) -> Option<Vec<u64>> {
    let node = |line: &str| {
        let file = line.split_whitespace().rev().nth(2)?;
        let mut parts = file.rsplit(':');
        let node = parts.next()?.parse().ok()?;
        (parts.count() == 2).then_some(node)
    };
    text.lines().map(node).collect()
}

/// File systems in which a file has the number that the list has. Others show the numbers of files
/// that are below or beside them.
fn tells_its_nodes(open: &File) -> bool {
    const FAITHFUL: [i64; 3] = [
        libc::EXT4_SUPER_MAGIC,
        libc::XFS_SUPER_MAGIC,
        libc::TMPFS_MAGIC,
    ];
    // SAFETY: the call fills the structure.
    unsafe {
        let mut about: libc::statfs = std::mem::zeroed();
        libc::fstatfs(open.as_raw_fd(), &mut about) == 0 && FAITHFUL.contains(&about.f_type)
    }
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
    #[test]
    fn inodes_in_the_list_of_all_locks() {
        let text = "1: FLOCK  ADVISORY  WRITE 4711 08:01:42 0 EOF\n\
                    1: -> FLOCK  ADVISORY  WRITE 4712 08:01:42 0 EOF\n\
                    2: LEASE  ACTIVE    READ 12 00:2d:77 0 EOF\n";
        assert_eq!(nodes(text), Some(vec![42, 42, 77]));
        assert_eq!(nodes(""), Some(vec![]));
        assert_eq!(
            nodes("1: FLOCK  ADVISORY  WRITE 4711 <none>:0 0 EOF\n"),
            None
        );
        assert_eq!(nodes("something else\n"), None);
    }

    #[test]
    fn a_locked_file_is_among_the_locked() {
        let path = std::env::temp_dir().join(format!("verde-locked-{}", std::process::id()));
        let file = File::create(&path).expect("a file");
        let about = file.metadata().expect("metadata");
        let lock = Lock {
            exclusive: true,
            part: None,
        };
        lock.take(std::os::fd::AsFd::as_fd(&file)).expect("a lock");
        assert!(Locked::now().may_have(&about, &file));
        let none = Locked {
            nodes: Some(Vec::new()),
        };
        assert!(!none.may_have(&about, &file));
        assert!(Locked::default().may_have(&about, &file));
        std::fs::remove_file(&path).expect("removed");
    }
}
