//! Which pages of a process's memory are there (`PAGEMAP_SCAN`, Linux 6.7).

use crate::error::{Result, SysError};
use crate::{Addr, Tid};
use std::fs::File;
use std::os::fd::AsRawFd;

/// The pages of a process.
#[derive(Debug)]
pub struct PageMap {
    file: File,
}

/// The kernel's `struct pm_scan_arg`.
#[repr(C)]
#[derive(Default)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    regions: u64,
    regions_len: u64,
    max_pages: u64,
    inverted: u64,
    all_of: u64,
    any_of: u64,
    returned: u64,
}

/// The kernel's `struct page_region`.
#[repr(C)]
#[derive(Default)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

const PAGEMAP_SCAN: libc::c_ulong = 0xc060_6610;
const PRESENT: u64 = 1 << 3;
const SWAPPED: u64 = 1 << 4;
const ZERO_PAGE: u64 = 1 << 5;

impl PageMap {
    /// Opens the pages of a process.
    pub fn open(pid: Tid) -> Result<PageMap> {
        let file = File::open(format!("/proc/{pid}/pagemap"));
        let file = file.map_err(|e| SysError::from_io("open /proc/pid/pagemap", &e))?;
        Ok(PageMap { file })
    }

    /// The first page of a range that the process has something in. An error:
    /// this kernel cannot tell.
    pub fn first_used(&self, start: Addr, end: Addr) -> Result<Option<Addr>> {
        let mut found = Region::default();
        let mut scan = Scan {
            size: size_of::<Scan>() as u64,
            start: start.0,
            end: end.0,
            regions: (&raw mut found) as u64,
            regions_len: 1,
            max_pages: 1,
            inverted: ZERO_PAGE,
            all_of: ZERO_PAGE,
            any_of: PRESENT | SWAPPED,
            returned: PRESENT | SWAPPED,
            ..Scan::default()
        };
        // SAFETY: the structure is the kernel's, and its one region is written while it lives.
        let count = unsafe { libc::ioctl(self.file.as_raw_fd(), PAGEMAP_SCAN, &raw mut scan) };
        match count {
            -1 => Err(SysError::last("PAGEMAP_SCAN")),
            0 => Ok(None),
            _ => Ok(Some(Addr(found.start))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals;

    const PAGE: usize = 4096;
    const HUGE: u64 = 2 << 20;

    #[test]
    fn the_first_page_with_something_in_it_is_found() {
        // So much is always fresh from the kernel.
        let room = vec![0u8; 64 << 20];
        let start = room.as_ptr().addr().next_multiple_of(PAGE);
        let (start, used) = (Addr(start as u64), Addr(start as u64 + (40 << 20)));
        let end = start + (60 << 20);
        let pages = PageMap::open(signals::current_process()).expect("pages");
        let Ok(first) = pages.first_used(start + PAGE as u64, end) else {
            // An old kernel.
            return;
        };
        assert_eq!(first, None);
        // SAFETY: the place is within `room`, which nobody reads meanwhile.
        unsafe { (used.0 as *mut u8).write_volatile(1) };
        let found = pages.first_used(start + PAGE as u64, end).expect("pages");
        let near = |page: Addr| page <= used && used < page + HUGE;
        assert!(found.is_some_and(near), "{found:?}");
        drop(room);
    }
}
