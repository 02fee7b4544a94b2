//! The memory that a system call is given: where, in which direction, and how
//! much of it the kernel has written when the call is over.
//!
//! Calls that wait are known exactly, structures within structures included.

use smallvec::SmallVec;
use verde_sys::number;

/// What holds the address of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pointer {
    /// This argument of the call.
    Argument(usize),
    /// The word at this address.
    Word(u64),
}

/// What the kernel writes to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Back {
    /// Nothing.
    Nothing,
    /// All of it.
    All,
    /// The first bytes of all such places of a list together, as many as the
    /// call's value says.
    Counted,
    /// The same, as many as the word at this address says.
    CountedBy(u64),
    /// As many times this as the call's value says.
    Times(u64),
    /// As many bytes as the word at this address says.
    UpTo(u64),
    /// Parts: their offsets and lengths.
    Fields(&'static [(u64, u64)]),
    /// The same of every element of this size.
    Every(u64, (u64, u64)),
    /// What differs then, whatever the value, also when the call will be made
    /// again: what is left of a limit.
    Changed,
    /// What is left of a sleep, when it is interrupted.
    Rest,
}

/// A range of memory that the kernel reads, or writes as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub at: u64,
    pub len: u64,
    pub pointer: Pointer,
    pub back: Back,
    /// Nothing is written if the call's value is less.
    pub least: i64,
}

impl Place {
    pub fn is_written(&self) -> bool {
        self.back != Back::Nothing
    }

    pub fn touches(&self, at: u64, len: u64) -> bool {
        self.at != 0 && self.at < at + len && self.at.saturating_add(self.len) > at
    }
}

pub(crate) type Places = SmallVec<[Place; 8]>;

/// What is known of a call.
pub(crate) enum Known {
    /// Nothing.
    Nothing,
    /// The places; they are that memory and no other will do.
    Fixed(Places),
    /// The places; what is there can as well be elsewhere.
    Movable(Places),
}

/// Sizes of the kernel's structures.
const TIMESPEC: u64 = 16;
const SIGSET: u64 = 8;
const SIGINFO: u64 = 128;
const RUSAGE: u64 = 144;
const SOCKADDR: u64 = 128;
const IOVEC: u64 = 16;
const MSGHDR: u64 = 56;
const MMSGHDR: u64 = 64;
const POLLFD: u64 = 8;
const EPOLL_EVENT: u64 = 12;
/// The kernel takes no more elements in a vector.
const MOST: u64 = 1024;
/// Nor more descriptors than this, whatever the limit is.
const MOST_DESCRIPTORS: u64 = 1 << 20;

/// Length of the name, length of the control data, flags.
const OF_MESSAGE: &[(u64, u64)] = &[(8, 4), (40, 8), (48, 4)];
/// The same, and the bytes received.
const OF_MMESSAGE: &[(u64, u64)] = &[(8, 4), (40, 8), (48, 4), (56, 4)];
/// Signal, error, code; process, user, status.
const OF_WAITED: &[(u64, u64)] = &[(0, 12), (16, 12)];
const REVENTS: (u64, u64) = (6, 2);

/// All places that a call touches.
pub(crate) fn places(call: i64, args: &[u64; 6], word: &dyn Fn(u64) -> Option<u64>) -> Known {
    let mut list = List {
        list: Places::new(),
        args,
        word,
        least: 0,
    };
    let [a0, a1, a2, a3, a4, a5] = *args;
    match call {
        number::SYS_read | number::SYS_pread64 => list.put(1, a2, Back::Counted),
        number::SYS_write | number::SYS_pwrite64 => list.get(1, a2),
        number::SYS_recvfrom => {
            list.put(1, a2, Back::Counted);
            list.address(4, 5);
        }
        number::SYS_sendto => {
            list.get(1, a2);
            list.get(4, a5 & 0xffff_ffff);
        }
        number::SYS_accept | number::SYS_accept4 => list.address(1, 2),
        number::SYS_connect => list.get(1, a2 & 0xffff_ffff),
        number::SYS_readv | number::SYS_preadv | number::SYS_preadv2 => {
            list.vector(Pointer::Argument(1), a1, a2, Back::Counted);
        }
        number::SYS_writev | number::SYS_pwritev | number::SYS_pwritev2 => {
            list.vector(Pointer::Argument(1), a1, a2, Back::Nothing);
        }
        number::SYS_recvmsg => list.message(Pointer::Argument(1), a1, Some(Back::Counted)),
        number::SYS_sendmsg => list.message(Pointer::Argument(1), a1, None),
        number::SYS_poll => list.descriptors(a1),
        number::SYS_ppoll => {
            list.descriptors(a1);
            list.put(2, TIMESPEC, Back::Changed);
            list.get(3, SIGSET);
        }
        number::SYS_select | number::SYS_pselect6 => {
            let bytes = (a0 & 0xffff_ffff).min(MOST_DESCRIPTORS).div_ceil(64) * 8;
            for set in 1..=3 {
                list.put(set, bytes, Back::All);
            }
            list.put(4, TIMESPEC, Back::Changed);
            if call == number::SYS_pselect6 {
                list.get(5, 16);
                list.at(list.word(a5), SIGSET, Pointer::Word(a5), Back::Nothing);
            }
        }
        number::SYS_epoll_wait | number::SYS_epoll_pwait | number::SYS_epoll_pwait2 => {
            let most = (a2 & 0xffff_ffff).min(MOST_DESCRIPTORS);
            list.put(1, most * EPOLL_EVENT, Back::Times(EPOLL_EVENT));
            if call == number::SYS_epoll_pwait2 {
                list.get(3, TIMESPEC);
            }
            if call != number::SYS_epoll_wait {
                list.get(4, SIGSET);
            }
        }
        number::SYS_nanosleep => {
            list.get(0, TIMESPEC);
            list.put(1, TIMESPEC, Back::Rest);
        }
        number::SYS_clock_nanosleep => {
            list.get(2, TIMESPEC);
            list.put(3, TIMESPEC, Back::Rest);
        }
        number::SYS_wait4 => {
            // There was somebody.
            list.least = 1;
            list.put(1, 4, Back::All);
            list.put(3, RUSAGE, Back::All);
        }
        number::SYS_waitid => {
            list.put(2, SIGINFO, Back::Fields(OF_WAITED));
            list.put(4, RUSAGE, Back::Changed);
        }
        number::SYS_rt_sigtimedwait => {
            list.get(0, SIGSET);
            list.least = 1;
            list.put(1, SIGINFO, Back::All);
            list.get(2, TIMESPEC);
        }
        number::SYS_rt_sigsuspend => list.get(0, SIGSET),
        // Numbers alone; whatever the other registers hold is no address.
        number::SYS_pause
        | number::SYS_sched_yield
        | number::SYS_close
        | number::SYS_fsync
        | number::SYS_fdatasync
        | number::SYS_flock
        | number::SYS_tee
        | number::SYS_shutdown
        | number::SYS_kill
        | number::SYS_tkill
        | number::SYS_tgkill
        | number::SYS_exit
        | number::SYS_exit_group => {}
        number::SYS_recvmmsg | number::SYS_sendmmsg => {
            let receives = call == number::SYS_recvmmsg;
            for i in 0..a2.min(MOST) {
                list.least = i as i64 + 1;
                let pointer = match i {
                    0 => Pointer::Argument(1),
                    // With the first.
                    _ => Pointer::Word(0),
                };
                list.message_of_many(pointer, a1.wrapping_add(i * MMSGHDR), receives);
            }
            if receives {
                list.least = 0;
                list.put(4, TIMESPEC, Back::Changed);
            }
            return Known::Fixed(list.list);
        }
        number::SYS_vmsplice => {
            list.vector(Pointer::Argument(1), a1, a2, Back::Nothing);
            return Known::Fixed(list.list);
        }
        number::SYS_process_vm_readv | number::SYS_process_vm_writev => {
            list.vector(Pointer::Argument(1), a1, a2, Back::All);
            // It may be about this very process.
            list.vector(Pointer::Argument(3), a3, a4, Back::All);
            return Known::Fixed(list.list);
        }
        number::SYS_futex => {
            let Some(futex) = Futex::of(args) else {
                return Known::Nothing;
            };
            let back = match futex.writes {
                true => Back::All,
                false => Back::Nothing,
            };
            if futex.looks {
                list.put(0, 4, back);
            }
            if futex.second {
                list.put(4, 4, back);
            }
            if futex.limited {
                list.get(3, TIMESPEC);
            }
            return Known::Fixed(list.list);
        }
        number::SYS_futex_waitv => {
            list.get(0, a1.min(MOST) * 24);
            for i in 0..a1.min(MOST) {
                let noted = a0.wrapping_add(i * 24 + 8);
                list.at(list.word(noted), 8, Pointer::Word(noted), Back::All);
            }
            list.get(3, TIMESPEC);
            return Known::Fixed(list.list);
        }
        number::SYS_clone3 => {
            list.get(0, a1);
            // Where it says who was born.
            for offset in [8, 16, 24] {
                let noted = a0.wrapping_add(offset);
                list.at(list.word(noted), 4, Pointer::Word(noted), Back::All);
            }
            return Known::Fixed(list.list);
        }
        _ => return Known::Nothing,
    }
    Known::Movable(list.list)
}

/// A futex is known by its address while somebody waits for it; it is read
/// before.
pub(crate) fn waits_by_address(call: i64, args: &[u64; 6]) -> bool {
    call == number::SYS_futex && Futex::of(args).is_some_and(|f| !f.writes)
        || call == number::SYS_futex_waitv
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

struct List<'a> {
    list: Places,
    args: &'a [u64; 6],
    word: &'a dyn Fn(u64) -> Option<u64>,
    least: i64,
}

impl List<'_> {
    fn at(&mut self, at: u64, len: u64, pointer: Pointer, back: Back) {
        if at != 0 && len != 0 {
            let least = self.least;
            self.list.push(Place {
                at,
                len,
                pointer,
                back,
                least,
            });
        }
    }

    /// The kernel reads what an argument points to.
    fn get(&mut self, argument: usize, len: u64) {
        self.put(argument, len, Back::Nothing);
    }

    /// The kernel writes to what an argument points to.
    fn put(&mut self, argument: usize, len: u64, back: Back) {
        let pointer = Pointer::Argument(argument);
        self.at(self.args[argument], len, pointer, back);
    }

    /// A word of the program's memory; 0 if there is none.
    fn word(&self, at: u64) -> u64 {
        (self.word)(at).unwrap_or(0)
    }

    /// The address of a peer, with its length.
    fn address(&mut self, address: usize, length: usize) {
        let at = self.args[length];
        if self.args[address] != 0 {
            let room = (self.word(at) & 0xffff_ffff).min(SOCKADDR);
            self.put(address, room, Back::UpTo(at));
            self.put(length, 4, Back::All);
        }
    }

    fn descriptors(&mut self, count: u64) {
        let count = (count & 0xffff_ffff).min(MOST_DESCRIPTORS);
        self.put(0, count * POLLFD, Back::Every(POLLFD, REVENTS));
    }

    /// Buffers in a list.
    fn vector(&mut self, pointer: Pointer, at: u64, count: u64, back: Back) {
        let count = count.min(MOST);
        self.at(at, count * IOVEC, pointer, Back::Nothing);
        for i in 0..count {
            let entry = at.wrapping_add(i * IOVEC);
            let (buffer, len) = (self.word(entry), self.word(entry.wrapping_add(8)));
            self.at(buffer, len, Pointer::Word(entry), back);
        }
    }

    /// A message with its name, buffers and control data. `buffers`: how they
    /// are written, if it is received.
    fn message(&mut self, pointer: Pointer, at: u64, buffers: Option<Back>) {
        let back = match buffers {
            Some(_) => Back::Fields(OF_MESSAGE),
            None => Back::Nothing,
        };
        self.at(at, MSGHDR, pointer, back);
        self.parts_of_message(at, buffers);
    }

    fn message_of_many(&mut self, pointer: Pointer, at: u64, receives: bool) {
        self.at(at, MMSGHDR, pointer, Back::Fields(OF_MMESSAGE));
        let buffers = receives.then_some(Back::CountedBy(at.wrapping_add(MSGHDR)));
        self.parts_of_message(at, buffers);
    }

    fn parts_of_message(&mut self, at: u64, buffers: Option<Back>) {
        let field = |offset: u64| at.wrapping_add(offset);
        let written = |by: u64| match buffers {
            Some(_) => Back::UpTo(field(by)),
            None => Back::Nothing,
        };
        let name = self.word(field(0));
        let room = self.word(field(8)) & 0xffff_ffff;
        self.at(name, room, Pointer::Word(field(0)), written(8));
        let (control, room) = (self.word(field(32)), self.word(field(40)));
        self.at(control, room, Pointer::Word(field(32)), written(40));
        let (vector, count) = (self.word(field(16)), self.word(field(24)));
        let back = buffers.unwrap_or(Back::Nothing);
        self.vector(Pointer::Word(field(16)), vector, count, back);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(call: i64, args: [u64; 6], memory: &[(u64, u64)]) -> Vec<(u64, u64, Back)> {
        let word = |at: u64| memory.iter().find(|(a, _)| *a == at).map(|(_, w)| *w);
        let (Known::Fixed(list) | Known::Movable(list)) = places(call, &args, &word) else {
            panic!("an unknown call");
        };
        list.into_iter().map(|p| (p.at, p.len, p.back)).collect()
    }

    #[test]
    fn buffers_behind_structures() {
        let vector = [(0x100, 0x5000), (0x108, 100), (0x110, 0x7000), (0x118, 5)];
        let readv = at(number::SYS_readv, [3, 0x100, 2, 0, 0, 0], &vector);
        let expected = [
            (0x100, 32, Back::Nothing),
            (0x5000, 100, Back::Counted),
            (0x7000, 5, Back::Counted),
        ];
        assert_eq!(readv, expected);
        let message = [(0x210, 0x100), (0x218, 1), (0x100, 0x5000), (0x108, 9)];
        let sendmsg = at(number::SYS_sendmsg, [3, 0x200, 0, 0, 0, 0], &message);
        let expected = [
            (0x200, MSGHDR, Back::Nothing),
            (0x100, 16, Back::Nothing),
            (0x5000, 9, Back::Nothing),
        ];
        assert_eq!(sendmsg, expected);
    }

    /// What is left in the other registers is no address.
    #[test]
    fn numbers_alone_are_no_places() {
        let none = |at: u64| panic!("{at:#x} is read");
        for call in [number::SYS_pause, number::SYS_close, number::SYS_fsync] {
            let known = places(call, &[0x5000; 6], &none);
            assert!(matches!(known, Known::Movable(list) if list.is_empty()));
        }
    }

    #[test]
    fn a_private_futex_is_read_at_most() {
        let wait = [0x1000, 128, 1, 0, 0, 0];
        let futex = |args| at(number::SYS_futex, args, &[]);
        assert_eq!(futex(wait), [(0x1000, 4, Back::Nothing)]);
        assert!(waits_by_address(number::SYS_futex, &wait));
        assert!(futex([0x1000, 129, 1, 0, 0, 0]).is_empty(), "a wake");
        let lock = [0x1000, 134, 1, 0, 0, 0];
        assert_eq!(futex(lock), [(0x1000, 4, Back::All)]);
        assert!(!waits_by_address(number::SYS_futex, &lock));
    }
}
