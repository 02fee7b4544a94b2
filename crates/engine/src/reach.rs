//! Which guarded pages the kernel needs open for a system call.
//!
//! Of calls that are not known any argument may point to something.

use crate::call_places::{Known, waits_by_address};
use crate::pages::{PAGE, Pages};
use smallvec::{SmallVec, smallvec};
use std::ops::Range;
use verde_sys::number;

/// The calls that replace the program.
pub(crate) const EXECS: [i64; 2] = [number::SYS_execve, number::SYS_execveat];

/// What a call needs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Reach {
    /// The guarded pages that it touches.
    pub pages: Vec<u64>,
    /// Once it has fallen asleep it touches none of them.
    pub only_awake: bool,
    /// It changes the memory map there.
    pub remaps: bool,
}

/// The guarded pages that a call with these arguments touches.
pub(crate) fn reach(call: i64, args: &[u64; 6], known: &Known, pages: &Pages) -> Reach {
    if EXECS.contains(&call) || call == number::SYS_rt_sigreturn {
        // Lists of strings anywhere; a frame on any stack.
        let closed = pages.map.iter().filter(|(_, page)| !page.is_readable());
        return Reach {
            pages: closed.map(|(at, _)| *at).collect(),
            ..Reach::default()
        };
    }
    if let Some(ranges) = remapped(call, args) {
        let touched = |page: u64| ranges.iter().any(|r| r.start < page + PAGE && page < r.end);
        let all = pages.map.keys().copied();
        return Reach {
            pages: all.filter(|at| touched(*at)).collect(),
            only_awake: false,
            remaps: true,
        };
    }
    let touched = |page: u64, readable: bool| match known {
        Known::Fixed(places) | Known::Movable(places) => places
            .iter()
            .any(|p| (p.is_written() || !readable) && p.touches(page, PAGE)),
        Known::Nothing => may_touch(args, page),
    };
    let all = pages.map.iter();
    Reach {
        pages: all
            .filter(|(at, page)| touched(**at, page.is_readable()))
            .map(|(at, _)| *at)
            .collect(),
        only_awake: waits_by_address(call, args),
        remaps: false,
    }
}

/// Where a call changes the memory map; `None`: that is not what it is for.
fn remapped(call: i64, args: &[u64; 6]) -> Option<SmallVec<[Range<u64>; 2]>> {
    let range = |at: u64, len: u64| at..at.saturating_add(len);
    Some(match call {
        number::SYS_munmap
        | number::SYS_mprotect
        | number::SYS_pkey_mprotect
        | number::SYS_madvise => {
            smallvec![range(args[0], args[1])]
        }
        number::SYS_mmap if args[3] & number::MAP_FIXED as u64 == 0 => SmallVec::new(),
        number::SYS_mmap => smallvec![range(args[0], args[1])],
        number::SYS_mremap => {
            let old = range(args[0], args[1]);
            match args[3] & number::MREMAP_FIXED as u64 {
                0 => smallvec![old],
                _ => smallvec![old, range(args[4], args[2])],
            }
        }
        // What is behind the new end may have been heap.
        number::SYS_brk if args[0] != 0 => smallvec![args[0]..u64::MAX],
        number::SYS_brk => SmallVec::new(),
        _ => return None,
    })
}

/// Some argument points into a page, or before it with a length that reaches it.
fn may_touch(args: &[u64; 6], page: u64) -> bool {
    // Structures passed without a length are small.
    const STRUCTURE: u64 = 4096;
    args.iter().any(|&pointer| {
        if pointer >= page + PAGE {
            return false;
        }
        let room = page.saturating_sub(pointer);
        let longest = args.iter().copied().filter(|&a| a < 1 << 32).max();
        pointer >= page || room < longest.unwrap_or(0).max(STRUCTURE)
    })
}
