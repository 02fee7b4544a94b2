//! Leases and seals of an open file.

use crate::error::{Result, check};
use std::os::fd::{AsRawFd, BorrowedFd};

/// What an open file is promised to hear of before others get to the file (`F_SETLEASE`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease(libc::c_int);

impl Lease {
    /// Nothing.
    pub const NONE: Lease = Lease(libc::F_UNLCK);

    /// That of an open file. Only files have any.
    pub fn of(file: BorrowedFd<'_>) -> Lease {
        // SAFETY: no memory is involved.
        let kind = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLEASE) };
        match kind {
            libc::F_RDLCK | libc::F_WRLCK => Lease(kind),
            _ => Lease::NONE,
        }
    }

    /// Gives it to an open file. The signals that it means come to us until the file is told
    /// whom to tell.
    pub fn take(self, file: BorrowedFd<'_>) -> Result<()> {
        // SAFETY: no memory is involved.
        let done = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, self.0) };
        check("F_SETLEASE", done.into()).map(drop)
    }
}

/// What can never be done to a file again (`F_ADD_SEALS`); none where there are no seals.
pub fn seals(file: BorrowedFd<'_>) -> i32 {
    // SAFETY: no memory is involved.
    let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
    seals.max(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::{AsFd, FromRawFd};

    #[test]
    fn seals_are_read() {
        // SAFETY: the name is a string, and the descriptor is new.
        let file = unsafe {
            let fd = libc::memfd_create(
                c"sealed".as_ptr(),
                libc::MFD_ALLOW_SEALING | libc::MFD_CLOEXEC,
            );
            assert!(fd >= 0);
            File::from_raw_fd(fd)
        };
        assert_eq!(seals(file.as_fd()), 0);
        // SAFETY: no memory is involved.
        let done = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_GROW) };
        assert_eq!((done, seals(file.as_fd())), (0, libc::F_SEAL_GROW));
        let other = File::open("/proc/self/maps").expect("a file");
        assert_eq!(seals(other.as_fd()), 0);
        assert_eq!(Lease::of(other.as_fd()), Lease::NONE);
    }
}
