//! Single mappings of a process, asked for by what they are (`PROCMAP_QUERY`, Linux 6.11): most
//! have few of a kind among many, and the whole map is long in the writing.

use crate::Addr;
use crate::error::{Result, SysError};
use crate::procfs::Mapping;
use std::fs::File;
use std::os::fd::AsRawFd;

/// The kernel's `struct procmap_query`.
#[repr(C)]
#[derive(Default)]
struct Query {
    size: u64,
    flags: u64,
    at: u64,
    start: u64,
    end: u64,
    found: u64,
    page_size: u64,
    offset: u64,
    inode: u64,
    major: u32,
    minor: u32,
    name_size: u32,
    build_id_size: u32,
    name: u64,
    build_id: u64,
}

const PROCMAP_QUERY: libc::c_ulong = 0xc068_6611;
const READABLE: u64 = 1;
const WRITABLE: u64 = 1 << 1;
const EXECUTABLE: u64 = 1 << 2;
const SHARED: u64 = 1 << 3;
const OR_NEXT: u64 = 1 << 4;

/// The mapping at an address, or the next one, of those that `flags` choose. `maps`: the open file.
/// An error may mean that this kernel cannot tell.
fn find(maps: &File, at: Addr, flags: u64) -> Result<Option<Mapping>> {
    let mut name = [0u8; libc::PATH_MAX as usize];
    let mut query = Query {
        size: size_of::<Query>() as u64,
        flags,
        at: at.0,
        name_size: name.len() as u32,
        name: name.as_mut_ptr() as u64,
        ..Query::default()
    };
    // SAFETY: the structure is the kernel's, and the name that it points to is as long as it says.
    if unsafe { libc::ioctl(maps.as_raw_fd(), PROCMAP_QUERY, &raw mut query) } != 0 {
        let error = SysError::last("PROCMAP_QUERY");
        return match error.errno {
            libc::ENOENT => Ok(None),
            _ => Err(error),
        };
    }
    // With the NUL at its end.
    let length = (query.name_size as usize).saturating_sub(1);
    let name = name.get(..length).unwrap_or(&[]);
    Ok(Some(Mapping {
        start: Addr(query.start),
        end: Addr(query.end),
        read: query.found & READABLE != 0,
        write: query.found & WRITABLE != 0,
        execute: query.found & EXECUTABLE != 0,
        shared: query.found & SHARED != 0,
        offset: query.offset,
        inode: query.inode,
        name: String::from_utf8_lossy(name).into_owned(),
    }))
}

/// The mapping at an address.
pub(crate) fn at(maps: &File, at: Addr) -> Result<Option<Mapping>> {
    find(maps, at, 0)
}

/// Those that are shared with other processes, by rising address.
pub(crate) fn shared(maps: &File) -> Result<Vec<Mapping>> {
    let mut list = Vec::new();
    let mut next = Addr(0);
    while let Some(mapping) = find(maps, next, SHARED | OR_NEXT)? {
        next = mapping.end;
        list.push(mapping);
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procfs;
    use crate::signals::current_process;

    /// A shared mapping of a file of ours.
    struct Mapped(*mut libc::c_void);

    const LENGTH: usize = 8192;

    impl Mapped {
        fn new(protection: i32) -> Mapped {
            // SAFETY: the name is a string, and the descriptor is new.
            let file = unsafe {
                let number = libc::memfd_create(c"verde".as_ptr(), libc::MFD_CLOEXEC);
                <File as std::os::fd::FromRawFd>::from_raw_fd(number)
            };
            file.set_len(2 * LENGTH as u64).expect("its length");
            // SAFETY: the kernel chooses an address that is free.
            let at = unsafe {
                libc::mmap(
                    std::ptr::null_mut(),
                    LENGTH,
                    protection,
                    libc::MAP_SHARED,
                    file.as_raw_fd(),
                    4096,
                )
            };
            assert_ne!(at, libc::MAP_FAILED);
            Mapped(at)
        }
    }

    impl Drop for Mapped {
        fn drop(&mut self) {
            // SAFETY: nobody uses it.
            unsafe { libc::munmap(self.0, LENGTH) };
        }
    }

    #[test]
    fn a_query_tells_what_the_map_tells() {
        let (one, other) = (
            Mapped::new(libc::PROT_READ),
            Mapped::new(libc::PROT_READ | libc::PROT_WRITE),
        );
        let maps = File::open("/proc/self/maps").expect("maps");
        let whole = procfs::maps(current_process()).expect("maps");
        let listed = |at: Addr| whole.iter().find(|m| m.contains(at)).cloned();
        // Other tests map and unmap their own.
        let ours = [&one, &other].map(|mapped| Addr(mapped.0 as u64));
        let shared = match shared(&maps) {
            // An old kernel.
            Err(error) if error.errno == libc::ENOTTY => return,
            shared => shared.expect("mappings"),
        };
        assert!(shared.iter().all(|m| m.shared));
        for at in ours {
            let found = shared.iter().find(|m| m.contains(at)).cloned();
            assert_eq!(found, listed(at));
            assert!(found.is_some_and(|m| m.name.ends_with(" (deleted)") && m.offset == 4096));
        }
        let code = Addr(a_query_tells_what_the_map_tells as *const () as u64);
        let here = super::at(&maps, code).expect("a mapping");
        assert_eq!(here, listed(code));
        assert!(here.is_some_and(|m| m.execute && !m.shared));
        assert_eq!(super::at(&maps, Addr(0)), Ok(None));
    }
}
