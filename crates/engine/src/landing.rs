//! Where a longjmp goes, read from its buffer before it runs, and where an exception goes, read from
//! the state of the unwinder.

use crate::shadow::Extent;
use crate::{Addr, Process, Regs};

/// Stack pointer and address in a `jmp_buf` of glibc and musl.
const SP: u64 = 48;
/// What glibc mixes into them, in the thread's control block.
const GUARD: u64 = 0x30;
const ROTATED: u32 = 17;
/// The frame's stack pointer in an `_Unwind_Context` of libgcc: after the places of its registers.
const CFA: u64 = 18 * 8;

impl Process {
    /// The stack pointer that a thread at the first instruction of longjmp
    /// will have, if that is on `own`, the thread's own stack. `above`: only
    /// if it is higher than now.
    pub(crate) fn landing(&self, regs: &Regs, own: Extent, above: bool) -> Option<u64> {
        let lowest = if above { regs.rsp } else { own.low };
        let fits = |sp: &u64| *sp > lowest && *sp < own.high && sp.is_multiple_of(8);
        let word = self.memory.read_u64(Addr(regs.rdi.wrapping_add(SP))).ok()?;
        if fits(&word) {
            return Some(word);
        }
        let guard = Addr(regs.fs_base.wrapping_add(GUARD));
        let guard = self.memory.read_u64(guard).ok()?;
        Some(word.rotate_right(ROTATED) ^ guard).filter(fits)
    }

    /// The stack pointer that the frame will have in which the unwinder goes on, for a thread at the
    /// first instruction of `_Unwind_SetIP`. Another unwinder has other things there, which are no
    /// place on the thread's own stack.
    pub(crate) fn unwinds_to(&self, regs: &Regs, own: Extent) -> Option<u64> {
        let at = Addr(regs.rdi.wrapping_add(CFA));
        let sp = self.memory.read_u64(at).ok()?;
        (sp > regs.rsp && sp < own.high && sp.is_multiple_of(16)).then_some(sp)
    }
}
