//! Which guarded pages the kernel needs open for a system call.
//!
//! Of calls that are not known any argument may point to something.

use crate::call_places::{Known, waits_by_address};
use crate::pages::{PAGE, Pages};
use verde_sys::number;

/// What a call needs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Reach {
    /// The guarded pages that it touches.
    pub pages: Vec<u64>,
    /// Once it has fallen asleep it touches none of them.
    pub only_awake: bool,
}

/// The guarded pages that a call with these arguments touches.
pub(crate) fn reach(call: i64, args: &[u64; 6], known: &Known, pages: &Pages) -> Reach {
    if [number::SYS_execve, number::SYS_execveat].contains(&call) {
        // It reads lists of strings, and then there is nothing left to watch.
        return Reach {
            pages: pages.map.keys().copied().collect(),
            only_awake: false,
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
    }
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
