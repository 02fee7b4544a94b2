//! Locks that open files hold (`flock`, `F_OFD_SETLK`), whoever has them. The kernel's list of all
//! locks (/proc/locks) is not read: it makes everybody wait who locks something, and may take
//! tens of milliseconds.

use crate::Tid;
use crate::descriptor::Descriptor;
use crate::error::{Result, check};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

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
    let descriptor = Descriptor::of(pid, number)?;
    Ok(descriptor.fields("lock").filter_map(Lock::of).collect())
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
