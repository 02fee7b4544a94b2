//! Transfers that a stop cuts short.
//!
//! A call that has moved some of its bytes when its thread is stopped returns
//! how many, as it does when a handler interrupts it. Without a debugger there
//! was no handler, and the call would have gone on waiting: so the thread
//! moves the rest by further calls, and the program sees one call with one
//! result.
//!
//! The invariant: a stopped thread with a [`Transfer`] stands before the call
//! that the program made and has the program's registers, except at the entry
//! of a further call. [`lend`] is the only way to go on from there, `take_in`
//! the only one back; whatever else comes (a handler, a detach) goes through
//! [`end`], and the call returns what was moved until then.
//!
//! The program's call held the file that it had found by its descriptor; the
//! further ones look for it again, and are not made where another file is found
//! (another thread has closed the descriptor), or an error that the program's
//! call had left to the one after it.

use crate::detour::{arguments, set_arguments};
use crate::restart;
use crate::slots::{Position, Slots};
use crate::thread::Thread;
use crate::{Addr, Process, Regs, Tid};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use verde_sys::channel::{self, Channel, FileId};
use verde_sys::memory::Memory;
use verde_sys::pidfd::PidFd;
use verde_sys::wait::SyscallStop;
use verde_sys::{number, procfs};

/// Length of the instruction `syscall`.
const INSTRUCTION: u64 = 2;
/// A call moves no more.
const MOST: u64 = 0x7fff_f000;
/// A list of places has no more.
const MOST_PLACES: u64 = 1024;

/// Flags with which a call does not wait, or does more than move bytes.
const NOT_SENT: u64 =
    (number::MSG_OOB | number::MSG_DONTWAIT | number::MSG_ZEROCOPY | number::MSG_FASTOPEN) as u64;
const NOT_RECEIVED: u64 =
    (number::MSG_OOB | number::MSG_PEEK | number::MSG_DONTWAIT | number::MSG_ERRQUEUE) as u64;
const WAIT_FOR_ALL: u64 = number::MSG_WAITALL as u64;
/// Who has moved something gets no signal for the rest.
const NO_SIGNAL: u64 = number::MSG_NOSIGNAL as u64;

/// A call that moves bytes, by its number and arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Write,
    Send { flags: u64 },
    Receive { flags: u64 },
}

/// Where the bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bytes {
    One { at: u64, len: u64 },
    List { at: u64, count: u64 },
    Message { at: u64 },
}

/// The call that has come back with some bytes moved, if these registers say so. Whether there
/// were more of them is in memory for some.
fn moved(regs: &Regs) -> Option<(Kind, Bytes)> {
    if regs.rax.cast_signed() <= 0 {
        return None;
    }
    let one = Bytes::One {
        at: regs.rsi,
        len: regs.rdx,
    };
    let list = Bytes::List {
        at: regs.rsi,
        count: regs.rdx,
    };
    let message = Bytes::Message { at: regs.rsi };
    let send = |flags: u64| (flags & NOT_SENT == 0).then_some(Kind::Send { flags });
    let receive = |flags: u64| {
        let waits = flags & WAIT_FOR_ALL != 0 && flags & NOT_RECEIVED == 0;
        waits.then_some(Kind::Receive { flags })
    };
    let (kind, bytes) = match regs.orig_rax.cast_signed() {
        number::SYS_write => (Kind::Write, one),
        number::SYS_writev => (Kind::Write, list),
        number::SYS_sendto => (send(regs.r10)?, one),
        number::SYS_sendmsg => (send(regs.rdx)?, message),
        number::SYS_recvfrom => (receive(regs.r10)?, one),
        number::SYS_recvmsg => (receive(regs.rdx)?, message),
        _ => return None,
    };
    let is_all = matches!(bytes, Bytes::One { len, .. } if regs.rax >= len.min(MOST));
    (!is_all).then_some((kind, bytes))
}

/// A call has perhaps come back with less than it should.
pub(crate) fn may_be_short(regs: &Regs) -> bool {
    moved(regs).is_some()
}

/// All places of a call, as it was made.
fn places(bytes: Bytes, memory: &Memory) -> Option<VecDeque<(u64, u64)>> {
    let word = |at: u64| memory.read_u64(Addr(at)).ok();
    let (at, count) = match bytes {
        Bytes::One { at, len } => return Some(VecDeque::from([(at, len.min(MOST))])),
        Bytes::List { at, count } => (at, count),
        Bytes::Message { at } => {
            let field = |offset: u64| word(at.wrapping_add(offset));
            (field(16)?, field(24)?)
        }
    };
    let count = usize::try_from(count.min(MOST_PLACES)).ok()?;
    let mut list = vec![0; count * 16];
    memory.read(Addr(at), &mut list).ok()?;
    let mut room = MOST;
    let words = list
        .as_chunks::<8>()
        .0
        .iter()
        .map(|w| u64::from_ne_bytes(*w));
    let words: Vec<u64> = words.collect();
    let mut places = VecDeque::new();
    for pair in words.as_chunks::<2>().0 {
        let len = pair[1].min(room);
        room -= len;
        places.push_back((pair[0], len));
    }
    Some(places)
}

/// A message whose receiver asks for more than bytes.
fn has_control(bytes: Bytes, memory: &Memory) -> bool {
    const CONTROL: u64 = 32;
    match bytes {
        Bytes::Message { at } => {
            let control = memory.read_u64(Addr(at.wrapping_add(CONTROL)));
            !control.is_ok_and(|pointer| pointer == 0)
        }
        _ => false,
    }
}

/// A system call's number and arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Call {
    number: u64,
    args: [u64; 6],
}

/// A transfer of which some is done, and some is left.
#[derive(Clone, Debug)]
pub(crate) struct Transfer {
    /// Where the program makes the call, and which it is.
    pc: u64,
    number: u64,
    kind: Kind,
    descriptor: u64,
    /// What was behind it.
    file: FileId,
    done: u64,
    /// The places that are left, none of them empty.
    left: VecDeque<(u64, u64)>,
    /// What the program has in the registers of the further call.
    lent: Option<Call>,
    /// There will be no further call: one is taken back at its entry.
    is_off: bool,
}

/// Whether more is to be moved after a further call, or what the program's call returns.
type More = ControlFlow<u64, ()>;

impl Transfer {
    /// A call that has moved `done` bytes of these places; `None`: that is all.
    fn new(
        regs: &Regs,
        kind: Kind,
        file: FileId,
        places: VecDeque<(u64, u64)>,
    ) -> Option<Transfer> {
        let mut transfer = Transfer {
            pc: regs.rip.wrapping_sub(INSTRUCTION),
            number: regs.orig_rax,
            kind,
            descriptor: regs.rdi,
            file,
            done: 0,
            left: places,
            lent: None,
            is_off: false,
        };
        transfer.count(regs.rax);
        (!transfer.left.is_empty()).then_some(transfer)
    }

    /// So many bytes have been moved.
    fn count(&mut self, bytes: u64) {
        self.done += bytes;
        let mut bytes = bytes;
        while let Some((at, len)) = self.left.pop_front() {
            let part = len.min(bytes);
            bytes -= part;
            if part < len {
                self.left.push_front((at.wrapping_add(part), len - part));
                return;
            }
        }
    }

    /// The next further call.
    fn further(&self) -> Option<Call> {
        let (at, len) = *self.left.front()?;
        let (number, flags) = match self.kind {
            Kind::Write => (number::SYS_write, 0),
            Kind::Send { flags } => (number::SYS_sendto, flags | NO_SIGNAL),
            Kind::Receive { flags } => (number::SYS_recvfrom, flags),
        };
        Some(Call {
            number: number.cast_unsigned(),
            args: [self.descriptor, at, len, flags, 0, 0],
        })
    }

    /// The thread stands before the call.
    fn is_due(&self, regs: &Regs) -> bool {
        (regs.rip, regs.rax) == (self.pc, self.number)
    }

    /// The further call would find what the program's has found, and no error that it has not.
    fn is_possible(&self, pid: Tid) -> bool {
        let descriptor = self.descriptor_of(pid).filter(|_| !self.is_off);
        descriptor.is_some_and(|fd| FileId::of(&fd) == Some(self.file) && !channel::has_error(&fd))
    }

    /// For a copy of the process, in which another file may take the place of this one.
    pub fn for_copy(&self, pid: Tid) -> Transfer {
        let mut copy = self.clone();
        copy.is_off |= !self.is_possible(pid);
        copy
    }

    /// In a copy, which has its descriptors.
    pub fn in_copy(&self, pid: Tid) -> Transfer {
        let mut here = self.clone();
        match self.descriptor_of(pid).and_then(|fd| FileId::of(&fd)) {
            Some(file) => here.file = file,
            None => here.is_off = true,
        }
        here
    }

    fn descriptor_of(&self, pid: Tid) -> Option<OwnedFd> {
        let handle = PidFd::open(pid).ok()?;
        handle.descriptor(number_of(self.descriptor)).ok()
    }

    /// A further call has come back with this value. If it was cut short by nothing, another one
    /// says why.
    fn came_back(&mut self, value: i64) -> More {
        let next = self.left.front().map_or(0, |(_, len)| *len);
        let go_on = match value {
            _ if self.is_off => false,
            ..0 if restart::is_restart(value) || value == -i64::from(number::EINTR) => true,
            // A socket tells each error once: the program's next call would not hear of it.
            ..0 if self.kind != Kind::Write && value != -i64::from(number::EPIPE) => {
                return More::Break(value.cast_unsigned());
            }
            ..=0 => false,
            _ => {
                self.count(value.cast_unsigned().min(next));
                !self.left.is_empty()
            }
        };
        match go_on {
            true => More::Continue(()),
            false => More::Break(self.done),
        }
    }
}

/// A descriptor's number, as the kernel takes it from a register.
fn number_of(register: u64) -> i32 {
    (register as u32).cast_signed()
}

/// A thread is let go: a further call gets its registers. `true`: its end must be seen.
pub(crate) fn lend(thread: &mut Thread) -> bool {
    let Some(transfer) = &mut thread.transfer else {
        return false;
    };
    if thread.at_entry {
        return true;
    }
    let further = transfer.further();
    let Some(further) = further.filter(|_| transfer.is_due(&thread.regs)) else {
        // Somebody led it away.
        thread.transfer = None;
        return false;
    };
    transfer.lent = Some(Call {
        number: transfer.number,
        args: arguments(&thread.regs),
    });
    thread.regs.rax = further.number;
    set_arguments(&mut thread.regs, further.args);
    thread.regs_changed = true;
    true
}

/// A thread stands before a further call after all: its registers are the program's again.
pub(crate) fn take_back(thread: &mut Thread) {
    let Some(own) = thread.transfer.as_mut().and_then(|t| t.lent.take()) else {
        return;
    };
    thread.regs.rax = own.number;
    set_arguments(&mut thread.regs, own.args);
    thread.regs_changed = true;
}

/// Where a thread is in the program, also if the instruction runs elsewhere.
fn program_pc(slots: &Slots, regs: &Regs) -> u64 {
    match slots.position(regs.pc()) {
        Some(Position::Before(origin, _) | Position::After(origin)) => origin.0,
        None => regs.rip,
    }
}

/// What a call would return that ends now: the bytes moved until now.
pub(crate) fn result(thread: &Thread) -> Option<i64> {
    let transfer = thread.transfer.as_ref()?;
    let is_due = transfer.is_due(&thread.regs);
    is_due.then_some(transfer.done.cast_signed())
}

/// The call is over for the program, whatever is left. `false`: there was none.
pub(crate) fn end(thread: &mut Thread) -> bool {
    let moved = result(thread);
    thread.transfer = None;
    let Some(moved) = moved else {
        return false;
    };
    thread.regs.rip = thread.regs.rip.wrapping_add(INSTRUCTION);
    thread.regs.rax = moved.cast_unsigned();
    thread.regs_changed = true;
    true
}

fn further_call_ended(thread: &mut Thread, call: &mut Option<SyscallStop>) {
    let Some(transfer) = &mut thread.transfer else {
        return;
    };
    match transfer.came_back(thread.regs.rax.cast_signed()) {
        More::Continue(()) => {
            thread.regs.rip = transfer.pc;
            thread.regs.rax = transfer.number;
            thread.regs.orig_rax = u64::MAX;
            thread.passed = Some(thread.regs.pc());
        }
        More::Break(value) => {
            thread.transfer = None;
            // Whatever has ended it, the rest would not come.
            thread.may_be_cut = false;
            thread.regs.rax = value;
            if let Some(SyscallStop::Exit { value: told }) = call {
                *told = value.cast_signed();
            }
        }
    }
}

impl Process {
    /// A thread has stopped that was let go with a further call, at the entry or the end of it
    /// or before it. What happened to the further call has happened to the program's.
    pub(crate) fn take_in(&mut self, tid: Tid, call: &mut Option<SyscallStop>, is_trap: bool) {
        let Some(thread) = self.threads.get_mut(&tid) else {
            return;
        };
        let Some(transfer) = &mut thread.transfer else {
            return;
        };
        let (Some(own), Some(further)) = (transfer.lent, transfer.further()) else {
            return;
        };
        if let Some(SyscallStop::Entry { number, args, .. }) = call {
            (*number, *args) = (own.number, own.args);
            if !transfer.is_possible(self.pid) {
                // The kernel makes no call of this number.
                transfer.is_off = true;
                thread.regs.orig_rax = u64::MAX;
                thread.regs_changed = true;
            }
            return;
        }
        let at = program_pc(&self.slots, &thread.regs);
        let is_its = transfer.is_off || thread.regs.orig_rax == further.number;
        let ended = at == transfer.pc + INSTRUCTION && is_its;
        if ended {
            transfer.lent = None;
            set_arguments(&mut thread.regs, own.args);
            thread.regs.orig_rax = own.number;
            thread.regs_changed = true;
            return further_call_ended(thread, call);
        }
        // An int3 of ours is behind it.
        let before = at == transfer.pc || (is_trap && at == transfer.pc + 1);
        match before && thread.regs.rax == further.number {
            true => take_back(thread),
            false => thread.transfer = None,
        }
    }

    /// A stopped thread may be about to see that a call has moved less than it was asked to,
    /// because of the stop: then it stands before that call again, with the rest to do. A signal
    /// that waits is no reason not to: it may be ignored, or another thread's.
    pub(crate) fn begin_transfer(&mut self, tid: Tid) -> bool {
        let Some(thread) = self.threads.get(&tid) else {
            return false;
        };
        if let Some(transfer) = &thread.transfer {
            return transfer.is_due(&thread.regs);
        }
        let mut regs = thread.regs;
        regs.rip = program_pc(&self.slots, &regs);
        let Some((kind, bytes)) = moved(&regs).filter(|_| thread.may_be_cut) else {
            return false;
        };
        let Some((kind, file)) = self.kind_of_rest(tid, kind, bytes, &regs) else {
            return false;
        };
        let places = places(bytes, &self.memory);
        let Some(transfer) = places.and_then(|p| Transfer::new(&regs, kind, file, p)) else {
            return false;
        };
        let Some(thread) = self.threads.get_mut(&tid) else {
            return false;
        };
        thread.regs.rip = transfer.pc;
        thread.regs.rax = transfer.number;
        // The kernel must not see a call here that it could restart itself.
        thread.regs.orig_rax = u64::MAX;
        thread.regs_changed = true;
        thread.passed = Some(thread.regs.pc());
        thread.transfer = Some(transfer);
        restart::has_not_ended(thread);
        true
    }

    /// How the rest of a call is moved, and where; `None`: it would not have waited for it, or
    /// nobody could tell.
    fn kind_of_rest(
        &self,
        tid: Tid,
        kind: Kind,
        bytes: Bytes,
        regs: &Regs,
    ) -> Option<(Kind, FileId)> {
        let receives = matches!(kind, Kind::Receive { .. });
        let handle = PidFd::open(self.pid).ok()?;
        let descriptor = handle.descriptor(number_of(regs.rdi)).ok()?;
        let channel = channel::waiting(&descriptor, receives).ok()??;
        // Descriptors that are sent go with the first byte; what else there is may be for all.
        let is_for_all = receives || channel != Channel::Local;
        if is_for_all && has_control(bytes, &self.memory) {
            return None;
        }
        // A filter that lets the one call pass may forbid another.
        let filter = procfs::status_field(self.pid, tid, "Seccomp");
        let is_free = filter.is_some_and(|f| f.trim() == "0") || self.has_our_filters(tid);
        let kind = match (channel, kind) {
            (Channel::Stream | Channel::Local, Kind::Write) => match is_free {
                true => Kind::Send { flags: 0 },
                // It would get a signal for the rest.
                false => return None,
            },
            (_, kind) => kind,
        };
        let is_allowed = is_free || matches!(bytes, Bytes::One { .. });
        let file = FileId::of(&descriptor)?;
        is_allowed.then_some((kind, file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::State;

    fn wrote(bytes: u64) -> Regs {
        Regs {
            rip: 0x1002,
            rax: bytes,
            orig_rax: number::SYS_write.cast_unsigned(),
            rdi: 5,
            rsi: 0x8000,
            rdx: 100,
            ..Regs::default()
        }
    }

    fn standing(done: u64, places: &[(u64, u64)]) -> Thread {
        let mut regs = wrote(done);
        let places = places.iter().copied().collect();
        let file = FileId::default();
        let transfer = Transfer::new(&regs, Kind::Write, file, places).expect("some is left");
        regs.rip -= INSTRUCTION;
        regs.rax = regs.orig_rax;
        regs.orig_rax = u64::MAX;
        let mut thread = Thread::new(Tid(1), State::Stopped);
        thread.regs = regs;
        thread.transfer = Some(transfer);
        thread
    }

    #[test]
    fn calls_that_moved_less_than_they_should() {
        assert!(may_be_short(&wrote(40)));
        assert!(!may_be_short(&wrote(100)));
        assert!(!may_be_short(&wrote((-4i64).cast_unsigned())));
        let mut receives = wrote(40);
        receives.orig_rax = number::SYS_recvfrom.cast_unsigned();
        assert!(!may_be_short(&receives));
        receives.r10 = WAIT_FOR_ALL;
        assert!(may_be_short(&receives));
        receives.r10 |= number::MSG_PEEK as u64;
        assert!(!may_be_short(&receives));
    }

    #[test]
    fn registers_are_lent_and_given_back() {
        let mut thread = standing(40, &[(0x8000, 100)]);
        let own = thread.regs;
        assert!(lend(&mut thread));
        assert_eq!((thread.regs.rsi, thread.regs.rdx), (0x8028, 60));
        take_back(&mut thread);
        assert_eq!(thread.regs, own);
        assert!(end(&mut thread));
        assert_eq!((thread.regs.rip, thread.regs.rax), (0x1002, 40));
        assert!(!end(&mut thread));
    }

    #[test]
    fn one_that_was_led_away_moves_nothing_more() {
        let mut thread = standing(40, &[(0x8000, 100)]);
        thread.regs.rip = 0x2000;
        assert!(!lend(&mut thread));
        assert!(thread.transfer.is_none());
    }

    #[test]
    fn places_are_done_one_after_the_other() {
        let mut thread = standing(15, &[(0x1000, 10), (0x2000, 10), (0x3000, 0), (0x4000, 5)]);
        let transfer = thread.transfer.as_mut().expect("it goes on");
        let next = |t: &Transfer| t.further().map(|c| (c.args[1], c.args[2]));
        assert_eq!(next(transfer), Some((0x2005, 5)));
        assert_eq!(transfer.came_back(5), More::Continue(()));
        assert_eq!(next(transfer), Some((0x4000, 5)));
        assert_eq!(transfer.came_back(-512), More::Continue(()));
        assert_eq!(transfer.came_back(2), More::Continue(()));
        assert_eq!(next(transfer), Some((0x4002, 3)));
        assert_eq!(transfer.clone().came_back(0), More::Break(22));
        assert_eq!(transfer.clone().came_back(-32), More::Break(22));
        let mut sends = transfer.clone();
        sends.kind = Kind::Send { flags: 0 };
        assert_eq!(sends.clone().came_back(-32), More::Break(22));
        let reset = -i64::from(number::ECONNRESET);
        assert_eq!(sends.came_back(reset), More::Break(reset.cast_unsigned()));
        assert_eq!(transfer.came_back(3), More::Break(25));
    }
}
