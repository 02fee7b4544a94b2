//! System calls that a stop cuts short.
//!
//! Most calls that wait go on after a debugger's stop: the kernel sees to it.
//! Some return `EINTR` even when no handler ran (signal(7) lists them for
//! SIGSTOP and SIGCONT), which the program would never see without a debugger.
//! Those that wait without a limit are made again. One with a timeout would
//! begin it anew at every stop, and perhaps never end: it keeps its `EINTR`.

use verde_sys::{Regs, number};

/// Length of the instruction `syscall`.
const INSTRUCTION: u64 = 2;

/// A stopped thread is about to see `EINTR` from a call that should have gone on waiting.
pub(crate) fn was_cut_short(regs: &Regs) -> bool {
    regs.rax.cast_signed() == -i64::from(number::EINTR)
        && match regs.orig_rax.cast_signed() {
            // Milliseconds, an int; negative without a limit.
            number::SYS_epoll_wait | number::SYS_epoll_pwait => (regs.r10 as u32).cast_signed() < 0,
            number::SYS_semop => true,
            // A pointer to the limit.
            number::SYS_epoll_pwait2 | number::SYS_semtimedop => regs.r10 == 0,
            number::SYS_rt_sigtimedwait => regs.rdx == 0,
            number::SYS_io_getevents => regs.r8 == 0,
            _ => false,
        }
}

/// Makes the call again when the thread goes on.
pub(crate) fn again(regs: &mut Regs) {
    regs.rip = regs.rip.wrapping_sub(INSTRUCTION);
    regs.rax = regs.orig_rax;
    // The kernel must not see a call here that it could restart itself.
    regs.orig_rax = u64::MAX;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_waits_without_a_limit_are_made_again() {
        let mut regs = Regs {
            rip: 0x1002,
            rax: (-i64::from(number::EINTR)).cast_unsigned(),
            orig_rax: number::SYS_epoll_wait.cast_unsigned(),
            r10: 0xffff_ffff,
            ..Regs::default()
        };
        assert!(was_cut_short(&regs));
        regs.r10 = 30;
        assert!(!was_cut_short(&regs));
        regs.orig_rax = number::SYS_semop.cast_unsigned();
        assert!(was_cut_short(&regs));
        again(&mut regs);
        assert_eq!(
            (regs.rip, regs.rax.cast_signed()),
            (0x1000, number::SYS_semop)
        );
        assert!(!was_cut_short(&regs));
    }
}
