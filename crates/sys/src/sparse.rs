//! Holes of files: where nothing was ever written.

use crate::error::{Result, SysError};
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};

/// The next part of a file that holds something, from an offset on. `None`: only holes follow.
pub fn next_data(file: BorrowedFd<'_>, from: u64) -> Result<Option<Range<u64>>> {
    let find = |offset: u64, what| {
        // SAFETY: no memory is involved.
        match unsafe { libc::lseek(file.as_raw_fd(), offset.cast_signed(), what) } {
            -1 => Err(SysError::last("lseek")),
            found => Ok(found.cast_unsigned()),
        }
    };
    let begin = match find(from, libc::SEEK_DATA) {
        Err(e) if e.errno == libc::ENXIO => return Ok(None),
        found => found?,
    };
    Ok(Some(begin..find(begin, libc::SEEK_HOLE)?))
}

/// Makes a hole of a part of a file; its length stays.
pub fn punch(file: BorrowedFd<'_>, hole: Range<u64>) -> Result<()> {
    let len = hole.end - hole.start;
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    let (at, len) = (hole.start.cast_signed(), len.cast_signed());
    // SAFETY: no memory is involved.
    match unsafe { libc::fallocate(file.as_raw_fd(), mode, at, len) } {
        0 => Ok(()),
        _ => Err(SysError::last("fallocate")),
    }
}
