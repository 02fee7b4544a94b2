//! The memory that a system call is given: which guarded pages the kernel
//! needs open for it.
//!
//! Calls that wait are known exactly, structures within structures included:
//! a page that is open while somebody waits is one that others write to
//! unseen. Of other calls any argument may point to something.

use crate::Addr;
use crate::pages::{PAGE, Pages};
use smallvec::SmallVec;
use verde_sys::memory::Memory;
use verde_sys::number;

/// A range of memory that the kernel reads, or writes as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    at: u64,
    len: u64,
    writes: bool,
}

impl Place {
    fn is_in(&self, page: u64) -> bool {
        self.at != 0 && self.at < page + PAGE && self.at.saturating_add(self.len) > page
    }
}

/// What a call needs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Reach {
    /// The guarded pages that it touches.
    pub pages: Vec<u64>,
    /// Once it has fallen asleep it touches none of them.
    pub only_awake: bool,
}

/// Sizes of the kernel's structures.
const TIMESPEC: u64 = 16;
const SIGSET: u64 = 8;
const SIGINFO: u64 = 128;
const RUSAGE: u64 = 144;
const FD_SET: u64 = 128;
const SOCKADDR: u64 = 128;
const IOVEC: u64 = 16;
const MSGHDR: u64 = 56;
const MMSGHDR: u64 = 64;
/// The kernel takes no more elements in a vector.
const MOST: u64 = 1024;

/// The guarded pages that a call with these arguments touches.
pub(crate) fn reach(call: i64, args: &[u64; 6], pages: &Pages, memory: &Memory) -> Reach {
    if [number::SYS_execve, number::SYS_execveat].contains(&call) {
        // It reads lists of strings, and then there is nothing left to watch.
        return Reach {
            pages: pages.map.keys().copied().collect(),
            only_awake: false,
        };
    }
    let word = |at: u64| memory.read_u64(Addr(at)).ok();
    let places = places(call, args, &word);
    let touched = |page: u64, readable: bool| match &places {
        Some(places) => places
            .iter()
            .any(|p| (p.writes || !readable) && p.is_in(page)),
        None => may_touch(args, page),
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

/// A futex is known by its address while somebody waits for it; it is read
/// before.
fn waits_by_address(call: i64, args: &[u64; 6]) -> bool {
    call == number::SYS_futex && Futex::of(args).is_some_and(|f| !f.writes)
        || call == number::SYS_futex_waitv
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

/// What an operation on a futex does.
#[derive(Clone, Copy, Debug)]
struct Futex {
    /// It stores to a futex.
    writes: bool,
    /// Another futex is in the fifth argument.
    second: bool,
    /// A limit is in the fourth.
    limited: bool,
    /// The word itself is looked at.
    looks: bool,
}

impl Futex {
    fn of(args: &[u64; 6]) -> Option<Futex> {
        const PRIVATE: u64 = 128;
        const CLOCK: u64 = 256;
        let operation = args[1] & !(PRIVATE | CLOCK);
        // The kernel finds one shared by processes through its page, for
        // which it needs all rights.
        let shared = args[1] & PRIVATE == 0;
        let (writes, second, limited, looks) = match operation {
            // Wait, for some bits or any.
            0 | 9 => (shared, false, true, true),
            // Wake, requeue, compare and requeue.
            1 | 10 => (shared, false, false, shared),
            3 | 4 => (shared, true, false, true),
            // Wake and store; priority inheritance.
            5 | 12 => (true, true, false, true),
            6 | 13 => (true, false, true, true),
            7 | 8 => (true, false, false, true),
            11 => (true, true, true, true),
            _ => return None,
        };
        Some(Futex {
            writes,
            second,
            limited,
            looks,
        })
    }
}

/// All places that a call touches; `None`: not known.
fn places(
    call: i64,
    args: &[u64; 6],
    word: &dyn Fn(u64) -> Option<u64>,
) -> Option<SmallVec<[Place; 8]>> {
    let mut list = Places {
        list: SmallVec::new(),
        word,
    };
    let [_, a1, a2, a3, a4, a5] = *args;
    let a0 = args[0];
    match call {
        number::SYS_read | number::SYS_pread64 => list.put(a1, a2),
        number::SYS_write | number::SYS_pwrite64 => list.get(a1, a2),
        number::SYS_recvfrom => {
            list.put(a1, a2);
            list.put(a4, SOCKADDR);
            list.put(a5, 4);
        }
        number::SYS_sendto => {
            list.get(a1, a2);
            list.get(a4, a5);
        }
        number::SYS_accept | number::SYS_accept4 => {
            list.put(a1, SOCKADDR);
            list.put(a2, 4);
        }
        number::SYS_connect => list.get(a1, a2),
        number::SYS_readv | number::SYS_preadv | number::SYS_preadv2 => list.vector(a1, a2, true),
        number::SYS_writev | number::SYS_pwritev | number::SYS_pwritev2 | number::SYS_vmsplice => {
            list.vector(a1, a2, false);
        }
        number::SYS_process_vm_readv | number::SYS_process_vm_writev => {
            list.vector(a1, a2, true);
            // It may be about this very process.
            list.vector(a3, a4, true);
        }
        number::SYS_recvmsg => list.message(a1, true),
        number::SYS_sendmsg => list.message(a1, false),
        number::SYS_recvmmsg | number::SYS_sendmmsg => {
            for i in 0..a2.min(MOST) {
                let at = a1.wrapping_add(i * MMSGHDR);
                list.put(at, MMSGHDR);
                list.message(at, call == number::SYS_recvmmsg);
            }
            if call == number::SYS_recvmmsg {
                list.put(a4, TIMESPEC);
            }
        }
        number::SYS_poll => list.put(a0, (a1 & 0xffff_ffff) * 8),
        number::SYS_ppoll => {
            list.put(a0, (a1 & 0xffff_ffff) * 8);
            list.put(a2, TIMESPEC);
            list.get(a3, SIGSET);
        }
        number::SYS_select | number::SYS_pselect6 => {
            for set in [a1, a2, a3] {
                list.put(set, FD_SET.max((a0 & 0xffff_ffff) / 8 + 8));
            }
            list.put(a4, TIMESPEC);
            if call == number::SYS_pselect6 {
                list.get(a5, 16);
                let mask = list.word(a5);
                list.get(mask, SIGSET);
            }
        }
        number::SYS_epoll_wait | number::SYS_epoll_pwait | number::SYS_epoll_pwait2 => {
            list.put(a1, (a2 & 0xffff_ffff) * 12);
            if call == number::SYS_epoll_pwait2 {
                list.get(a3, TIMESPEC);
            }
            if call != number::SYS_epoll_wait {
                list.get(a4, SIGSET);
            }
        }
        number::SYS_nanosleep => {
            list.get(a0, TIMESPEC);
            list.put(a1, TIMESPEC);
        }
        number::SYS_clock_nanosleep => {
            list.get(a2, TIMESPEC);
            list.put(a3, TIMESPEC);
        }
        number::SYS_wait4 => {
            list.put(a1, 4);
            list.put(a3, RUSAGE);
        }
        number::SYS_waitid => {
            list.put(a2, SIGINFO);
            list.put(a4, RUSAGE);
        }
        number::SYS_rt_sigtimedwait => {
            list.get(a0, SIGSET);
            list.put(a1, SIGINFO);
            list.get(a2, TIMESPEC);
        }
        number::SYS_rt_sigsuspend => list.get(a0, SIGSET),
        number::SYS_pause | number::SYS_sched_yield | number::SYS_exit | number::SYS_exit_group => {
        }
        number::SYS_futex => {
            let futex = Futex::of(args)?;
            if futex.looks {
                list.touch(a0, 4, futex.writes);
            }
            if futex.second {
                list.touch(a4, 4, futex.writes);
            }
            if futex.limited {
                list.get(a3, TIMESPEC);
            }
        }
        number::SYS_futex_waitv => {
            list.get(a0, a1.min(MOST) * 24);
            for i in 0..a1.min(MOST) {
                let futex = list.word(a0.wrapping_add(i * 24 + 8));
                list.put(futex, 8);
            }
            list.get(a3, TIMESPEC);
        }
        number::SYS_clone3 => {
            list.get(a0, a1);
            // Where it says who was born.
            for offset in [8, 16, 24] {
                let at = list.word(a0.wrapping_add(offset));
                list.put(at, 4);
            }
        }
        _ => return None,
    }
    Some(list.list)
}

struct Places<'a> {
    list: SmallVec<[Place; 8]>,
    word: &'a dyn Fn(u64) -> Option<u64>,
}

impl Places<'_> {
    fn touch(&mut self, at: u64, len: u64, writes: bool) {
        self.list.push(Place { at, len, writes });
    }

    /// The kernel reads this.
    fn get(&mut self, at: u64, len: u64) {
        self.touch(at, len, false);
    }

    /// The kernel writes this.
    fn put(&mut self, at: u64, len: u64) {
        self.touch(at, len, true);
    }

    /// A word of the program's memory; 0 if there is none.
    fn word(&self, at: u64) -> u64 {
        (self.word)(at).unwrap_or(0)
    }

    /// Buffers in a list.
    fn vector(&mut self, at: u64, count: u64, writes: bool) {
        let count = count.min(MOST);
        self.get(at, count * IOVEC);
        for i in 0..count {
            let entry = at.wrapping_add(i * IOVEC);
            let (buffer, len) = (self.word(entry), self.word(entry.wrapping_add(8)));
            self.touch(buffer, len, writes);
        }
    }

    /// A message with its name, buffers and control data.
    fn message(&mut self, at: u64, receives: bool) {
        self.touch(at, MSGHDR, receives);
        let field = |offset: u64| self.word(at.wrapping_add(offset));
        let name = (field(0), field(8) & 0xffff_ffff);
        let vector = (field(16), field(24));
        let control = (field(32), field(40));
        self.touch(name.0, name.1, receives);
        self.touch(control.0, control.1, receives);
        self.vector(vector.0, vector.1, receives);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(call: i64, args: [u64; 6], memory: &[(u64, u64)]) -> Vec<(u64, u64, bool)> {
        let word = |at: u64| memory.iter().find(|(a, _)| *a == at).map(|(_, w)| *w);
        let list = places(call, &args, &word).expect("a known call");
        let list = list.into_iter().filter(|p| p.at != 0 && p.len != 0);
        list.map(|p| (p.at, p.len, p.writes)).collect()
    }

    #[test]
    fn buffers_behind_structures() {
        let vector = [(0x100, 0x5000), (0x108, 100), (0x110, 0x7000), (0x118, 5)];
        let readv = at(number::SYS_readv, [3, 0x100, 2, 0, 0, 0], &vector);
        let expected = [(0x100, 32, false), (0x5000, 100, true), (0x7000, 5, true)];
        assert_eq!(readv, expected);
        let message = [(0x210, 0x100), (0x218, 1), (0x100, 0x5000), (0x108, 9)];
        let sendmsg = at(number::SYS_sendmsg, [3, 0x200, 0, 0, 0, 0], &message);
        let expected = [
            (0x200, MSGHDR, false),
            (0x100, 16, false),
            (0x5000, 9, false),
        ];
        assert_eq!(sendmsg, expected);
    }

    #[test]
    fn a_private_futex_is_read_at_most() {
        let wait = [0x1000, 128, 1, 0, 0, 0];
        assert_eq!(at(number::SYS_futex, wait, &[]), [(0x1000, 4, false)]);
        assert!(waits_by_address(number::SYS_futex, &wait));
        let wake = [0x1000, 129, 1, 0, 0, 0];
        assert!(at(number::SYS_futex, wake, &[]).is_empty());
        let lock = [0x1000, 134, 1, 0, 0, 0];
        assert_eq!(at(number::SYS_futex, lock, &[]), [(0x1000, 4, true)]);
        assert!(!waits_by_address(number::SYS_futex, &lock));
    }
}
