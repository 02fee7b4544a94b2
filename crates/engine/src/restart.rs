//! System calls that a stop cuts short.
//!
//! Most calls that wait go on after a debugger's stop: the kernel sees to it.
//! Some return `EINTR` even when no handler ran (signal(7) lists them for
//! SIGSTOP and SIGCONT), which the program would never see without a debugger.
//! They are made again, and one with a limit gets what is left of it: counted
//! from the first stop, because nobody saw the call begin. So it may end later
//! than alone, never earlier.

use crate::thread::Thread;
use crate::transfer;
use crate::{Addr, Process, Result, Tid};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use verde_sys::memory::Memory;
use verde_sys::pidfd::PidFd;
use verde_sys::{Regs, descriptors, number, procfs, ptrace};

/// Length of the instruction `syscall`.
const INSTRUCTION: u64 = 2;
/// What a function may use below the stack pointer.
const RED_ZONE: u64 = 128;
/// io_uring_enter: the fifth argument is a structure with a limit in it.
const EXTENDED: u64 = 8;

/// A register that a limit is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Register {
    Rdx,
    R10,
    R8,
}

impl Register {
    fn of(self, regs: &mut Regs) -> &mut u64 {
        match self {
            Register::Rdx => &mut regs.rdx,
            Register::R10 => &mut regs.r10,
            Register::R8 => &mut regs.r8,
        }
    }
}

/// Where a call has its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    None,
    /// Milliseconds, an int in `r10`; negative without a limit.
    Milliseconds,
    /// A pointer to it, or none.
    Timespec(Register),
    /// An option of the socket in `rdi`, for receiving or sending.
    Socket {
        receives: bool,
        connects: bool,
    },
}

/// A call with a limit that is made again.
#[derive(Debug)]
pub(crate) struct Limited {
    limit: Limit,
    deadline: Instant,
    /// What a socket says at its limit.
    error: i32,
    /// Where the call is made, and which it is.
    pc: u64,
    number: u64,
    /// What the program has in the register that is lent to the rest of the limit.
    lent: Option<(Register, u64)>,
}

impl Limited {
    /// A connection made again is under way already, and says so at its limit.
    fn says_that_it_was_begun(&self, regs: &Regs) -> bool {
        let connects = matches!(self.limit, Limit::Socket { connects: true, .. });
        let ended = regs.rip == self.pc.wrapping_add(INSTRUCTION)
            && regs.rax.cast_signed() == -i64::from(number::EALREADY);
        connects && ended
    }
}

/// The limit of a call that comes back with `EINTR`, and by a debugger's doing perhaps.
fn cut_short(regs: &Regs) -> Option<Limit> {
    if regs.rax.cast_signed() != -i64::from(number::EINTR) {
        return None;
    }
    let socket = |receives, connects| Limit::Socket { receives, connects };
    Some(match regs.orig_rax.cast_signed() {
        number::SYS_epoll_wait | number::SYS_epoll_pwait => Limit::Milliseconds,
        number::SYS_epoll_pwait2 | number::SYS_semtimedop => Limit::Timespec(Register::R10),
        number::SYS_rt_sigtimedwait => Limit::Timespec(Register::Rdx),
        number::SYS_io_getevents | number::SYS_io_pgetevents => Limit::Timespec(Register::R8),
        number::SYS_semop => Limit::None,
        number::SYS_io_uring_enter if regs.r10 & EXTENDED == 0 => Limit::None,
        number::SYS_accept
        | number::SYS_accept4
        | number::SYS_read
        | number::SYS_readv
        | number::SYS_recvfrom
        | number::SYS_recvmsg
        | number::SYS_recvmmsg => socket(true, false),
        number::SYS_write
        | number::SYS_writev
        | number::SYS_sendto
        | number::SYS_sendmsg
        | number::SYS_sendmmsg => socket(false, false),
        number::SYS_connect => socket(false, true),
        _ => return None,
    })
}

/// A call comes back with `EINTR` that is none of the kernel's to restart, or has done a part of
/// what it should.
pub(crate) fn is_cut_short(regs: &Regs) -> bool {
    cut_short(regs).is_some() || transfer::may_be_short(regs)
}

/// Goes on by another number, since what is left of its limit is not in its arguments.
const ERESTART_RESTARTBLOCK: i64 = 516;

/// The call that was cut short here and goes on as `restart_syscall`.
pub(crate) fn goes_on(regs: &Regs) -> Option<u64> {
    let by_block = regs.rax.cast_signed() == -ERESTART_RESTARTBLOCK;
    let call = regs.orig_rax.cast_signed();
    (by_block && call >= 0 && call != number::SYS_restart_syscall).then_some(regs.orig_rax)
}

/// A call that was cut short and that the kernel makes again when the thread goes on, unless a
/// handler runs.
pub(crate) fn is_restarted(regs: &Regs) -> bool {
    regs.orig_rax.cast_signed() >= 0 && is_restart(regs.rax.cast_signed())
}

/// The value of a call that the kernel makes again.
pub(crate) fn is_restart(value: i64) -> bool {
    const ERESTARTSYS: i64 = 512;
    const ERESTARTNOINTR: i64 = 513;
    const ERESTARTNOHAND: i64 = 514;
    [
        ERESTARTSYS,
        ERESTARTNOINTR,
        ERESTARTNOHAND,
        ERESTART_RESTARTBLOCK,
    ]
    .contains(&value.wrapping_neg())
}

/// Whether a signal does nothing to a program: it is ignored, or not caught and of those that
/// do nothing by themselves.
pub(crate) fn is_ignored(pid: Tid, tid: Tid, signal: i32) -> bool {
    const HARMLESS: [i32; 4] = [
        number::SIGCHLD,
        number::SIGCONT,
        number::SIGURG,
        number::SIGWINCH,
    ];
    is_in(pid, tid, "SigIgn", signal)
        || (HARMLESS.contains(&signal) && !is_handled(pid, tid, signal))
}

/// The program has a handler for it.
pub(crate) fn is_handled(pid: Tid, tid: Tid, signal: i32) -> bool {
    is_in(pid, tid, "SigCgt", signal)
}

/// The handler runs as soon as a thread gets the signal.
pub(crate) fn enters_handler(pid: Tid, tid: Tid, signal: i32) -> bool {
    is_handled(pid, tid, signal) && !is_in(pid, tid, "SigBlk", signal)
}

/// A signal is in one of the sets that the kernel shows.
fn is_in(pid: Tid, tid: Tid, set: &str, signal: i32) -> bool {
    let mask = procfs::status_field(pid, tid, set);
    let mask = mask.and_then(|m| u64::from_str_radix(m.trim(), 16).ok());
    mask.is_some_and(|m| m >> (signal - 1) & 1 != 0)
}

/// A limit as the program has written it, which need not make sense.
fn duration(seconds: i64, nanoseconds: i64) -> Option<Duration> {
    let whole = i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
    let whole = u128::try_from(whole).ok()?;
    let seconds = u64::try_from(whole / 1_000_000_000).ok()?;
    Some(Duration::new(seconds, (whole % 1_000_000_000) as u32))
}

/// Makes the call again when the thread goes on.
fn again(regs: &mut Regs) {
    regs.rip = regs.rip.wrapping_sub(INSTRUCTION);
    regs.rax = regs.orig_rax;
    // The kernel must not see a call here that it could restart itself.
    regs.orig_rax = u64::MAX;
}

/// A thread has stopped elsewhere than at a call's entry: it has its register back.
pub(crate) fn take_back(thread: &mut Thread) {
    transfer::take_back(thread);
    let Some(limited) = &mut thread.limited else {
        return;
    };
    if let Some((register, own)) = limited.lent.take() {
        *register.of(&mut thread.regs) = own;
        thread.regs_changed = true;
    }
}

/// A thread goes on: a call with a limit gets what is left of it. `true`: its end must be seen.
pub(crate) fn prolong(thread: &mut Thread, memory: &Memory) -> bool {
    let Some(limited) = &mut thread.limited else {
        return false;
    };
    if thread.at_entry {
        // It has all it needs.
        return true;
    }
    let regs = &mut thread.regs;
    if (regs.rip, regs.rax) != (limited.pc, limited.number) {
        // Somebody led it away.
        thread.limited = None;
        return false;
    }
    let left = limited.deadline.saturating_duration_since(Instant::now());
    let lent = match limited.limit {
        Limit::Milliseconds => {
            let whole = left.as_nanos().div_ceil(1_000_000);
            Some((Register::R10, u64::try_from(whole).unwrap_or(u64::MAX)))
        }
        Limit::Timespec(register) => {
            let at = regs.rsp.wrapping_sub(RED_ZONE + 16) & !15;
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&left.as_secs().to_ne_bytes());
            bytes[8..].copy_from_slice(&u64::from(left.subsec_nanos()).to_ne_bytes());
            // Without room there it waits for its whole limit again.
            memory.write(Addr(at), &bytes).ok().map(|()| (register, at))
        }
        // The socket keeps its limit: too many beginnings end here.
        Limit::Socket { .. } if left.is_zero() => {
            regs.rip = regs.rip.wrapping_add(INSTRUCTION);
            regs.rax = (-i64::from(limited.error)).cast_unsigned();
            thread.regs_changed = true;
            thread.limited = None;
            return false;
        }
        Limit::Socket { .. } | Limit::None => None,
    };
    if let Some((register, value)) = lent {
        let place = register.of(regs);
        limited.lent = Some((register, *place));
        *place = value;
        thread.regs_changed = true;
    }
    true
}

/// A call that seemed to be cut short goes on.
pub(crate) fn has_not_ended(thread: &mut Thread) {
    if let Some(cut) = thread.cut.take() {
        thread.syscall = Some(cut.number);
        thread.entry_told = true;
    }
}

/// A signal is about to be handled where a call should be made again: the
/// kernel had ended it with `EINTR`, or what it had done, whatever the
/// handler's flags, and so it ends now.
pub(crate) fn end_call(thread: &mut Thread) {
    // Whatever comes next is another call.
    thread.entry_told = false;
    if transfer::end(thread) {
        return;
    }
    let regs = &mut thread.regs;
    if thread.made_again.take() != Some((regs.rip, regs.rax)) {
        return;
    }
    regs.rip = regs.rip.wrapping_add(INSTRUCTION);
    regs.rax = (-i64::from(number::EINTR)).cast_unsigned();
    thread.regs_changed = true;
    thread.limited = None;
}

impl Process {
    pub(crate) fn is_ignored(&self, tid: Tid, signal: i32) -> bool {
        is_ignored(self.pid, tid, signal)
    }

    /// A stopped thread may be about to see `EINTR` from a call that should have gone on waiting:
    /// then it makes the call again.
    pub(crate) fn make_again(&mut self, tid: Tid) -> Result<bool> {
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(false);
        };
        let before = thread.limited.take();
        if before
            .as_ref()
            .is_some_and(|l| l.says_that_it_was_begun(&thread.regs))
        {
            // The program has made the call once, and its limit was reached.
            thread.regs.rax = (-i64::from(number::EINPROGRESS)).cast_unsigned();
            thread.regs_changed = true;
            return Ok(false);
        }
        let mut regs = thread.regs;
        let Some(limit) = cut_short(&regs) else {
            // It may still be on its way into the call.
            thread.limited = before.filter(|l| (regs.rip, regs.rax) == (l.pc, l.number));
            return Ok(self.begin_transfer(tid));
        };
        if ptrace::has_deliverable_signal(tid)? {
            return Ok(false);
        }
        let called = regs;
        again(&mut regs);
        let same = |l: &Limited| (l.pc, l.number) == (regs.rip, regs.rax);
        let limited = match before.filter(same) {
            Some(limited) => Some(limited),
            None => match self.limit_of(limit, &called) {
                Some(Some(time)) => Instant::now().checked_add(time).map(|deadline| Limited {
                    limit,
                    deadline,
                    error: self.error_at_limit(limit, &called),
                    pc: regs.rip,
                    number: regs.rax,
                    lent: None,
                }),
                Some(None) => None,
                // It is not known whether it should have gone on.
                None => return Ok(false),
            },
        };
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(false);
        };
        thread.limited = limited;
        thread.made_again = Some((regs.rip, regs.rax));
        has_not_ended(thread);
        thread.regs = regs;
        thread.regs_changed = true;
        thread.passed = Some(thread.regs.pc());
        Ok(true)
    }

    /// The call behind a stopped thread was cut short, and is made again by the kernel or by us.
    pub(crate) fn is_made_again(&mut self, tid: Tid) -> Result<bool> {
        let thread = self.threads.get(&tid);
        if thread.is_some_and(|t| is_restarted(&t.regs)) {
            return Ok(true);
        }
        self.make_again(tid)
    }

    /// Registers of a stopped thread for a copy of it, which lacks the kernel's record of a call that
    /// goes on as `restart_syscall` and makes that call itself.
    pub fn regs_for_copy(&self, tid: Tid) -> Result<Regs> {
        let thread = self.stopped(tid)?;
        let mut regs = thread.regs;
        let Some(call) = thread.goes_on else {
            return Ok(regs);
        };
        let again = number::SYS_restart_syscall.cast_unsigned();
        if regs.orig_rax == again {
            regs.orig_rax = call;
        } else if regs.rax == again && self.is_before_call(regs.pc()) {
            // It was on its way in.
            regs.rax = call;
        }
        Ok(regs)
    }

    fn is_before_call(&self, at: Addr) -> bool {
        const CALL: [u8; INSTRUCTION as usize] = [0x0f, 0x05];
        let mut bytes = [0; CALL.len()];
        self.read(at, &mut bytes).is_ok() && bytes == CALL
    }

    /// How long a call may wait: `Some(None)` for ever, `None` if that cannot be found out.
    fn limit_of(&self, limit: Limit, regs: &Regs) -> Option<Option<Duration>> {
        match limit {
            Limit::None => Some(None),
            Limit::Milliseconds => {
                let time = u64::try_from((regs.r10 as u32).cast_signed()).ok();
                Some(time.map(Duration::from_millis))
            }
            Limit::Timespec(register) => {
                let at = *register.of(&mut { *regs });
                if at == 0 {
                    return Some(None);
                }
                let seconds = self.memory.read_u64(Addr(at)).ok()?;
                let rest = self.memory.read_u64(Addr(at.wrapping_add(8))).ok()?;
                duration(seconds.cast_signed(), rest.cast_signed()).map(Some)
            }
            Limit::Socket { receives, .. } => {
                let socket = self.socket(regs)?;
                // One without a limit is none of these.
                let time = descriptors::socket_limit(&socket, receives).ok()??;
                Some(Some(time))
            }
        }
    }

    fn socket(&self, regs: &Regs) -> Option<OwnedFd> {
        let number = (regs.rdi as u32).cast_signed();
        PidFd::open(self.pid).ok()?.descriptor(number).ok()
    }

    /// A connection that takes too long goes on by itself, but for those within the machine.
    fn error_at_limit(&self, limit: Limit, regs: &Regs) -> i32 {
        let goes_on = |socket| !descriptors::is_unix_socket(&socket);
        match limit {
            Limit::Socket { connects: true, .. } if self.socket(regs).is_some_and(goes_on) => {
                number::EINPROGRESS
            }
            _ => number::EAGAIN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::State;

    fn interrupted(call: i64) -> Regs {
        Regs {
            rip: 0x1002,
            rax: (-i64::from(number::EINTR)).cast_unsigned(),
            orig_rax: call.cast_unsigned(),
            ..Regs::default()
        }
    }

    #[test]
    fn calls_that_the_kernel_does_not_restart() {
        let limit = |call| cut_short(&interrupted(call));
        assert_eq!(limit(number::SYS_epoll_wait), Some(Limit::Milliseconds));
        assert_eq!(limit(number::SYS_semop), Some(Limit::None));
        assert_eq!(limit(number::SYS_getpid), None);
        let mut regs = interrupted(number::SYS_semop);
        again(&mut regs);
        assert_eq!(
            (regs.rip, regs.rax.cast_signed()),
            (0x1000, number::SYS_semop)
        );
        assert_eq!(cut_short(&regs), None);
    }

    #[test]
    fn limits_that_make_no_sense() {
        assert_eq!(duration(1, 5), Some(Duration::new(1, 5)));
        assert_eq!(duration(-1, 2_000_000_000), Some(Duration::from_secs(1)));
        assert_eq!(duration(-1, 0), None);
        assert!(duration(i64::MAX, i64::MAX).is_some());
    }

    #[test]
    fn a_register_is_lent_and_given_back() {
        let mut regs = interrupted(number::SYS_epoll_wait);
        regs.r10 = 5000;
        again(&mut regs);
        let mut thread = Thread::new(Tid(1), State::Stopped);
        thread.regs = regs;
        thread.limited = Some(Limited {
            limit: Limit::Milliseconds,
            deadline: Instant::now(),
            error: 0,
            pc: regs.rip,
            number: regs.rax,
            lent: None,
        });
        let memory = Memory::open(Tid(std::process::id().cast_signed())).expect("our own memory");
        assert!(prolong(&mut thread, &memory));
        assert_eq!(thread.regs.r10, 0, "nothing is left");
        take_back(&mut thread);
        assert_eq!(thread.regs.r10, 5000);
        thread.regs.rip += 0x20;
        assert!(!prolong(&mut thread, &memory), "it was led away");
        assert!(thread.limited.is_none());
    }
}
