//! The CPU's debug registers through ptrace: the fallback where perf events
//! are denied. Per thread and not inherited.

use crate::error::Result;
use crate::perf::Access;
use crate::ptrace::{peek_user, poke_user};
use crate::{Addr, Tid};
use std::mem::offset_of;

/// Number of debug registers.
pub const COUNT: usize = 4;

fn register(i: usize) -> usize {
    offset_of!(libc::user, u_debugreg) + 8 * i
}

/// Sets debug register `slot` of a stopped thread.
pub fn set(tid: Tid, slot: usize, at: Addr, len: u8, access: Access) -> Result<()> {
    clear(tid, slot)?;
    poke_user(tid, register(slot), at.0)?;
    let kind: u64 = match access {
        Access::Write => 1,
        Access::ReadWrite => 3,
    };
    let size: u64 = match len {
        1 => 0,
        2 => 1,
        8 => 2,
        _ => 3,
    };
    let control = peek_user(tid, register(7))?;
    let bits = 1 << (2 * slot) | (kind | size << 2) << (16 + 4 * slot);
    poke_user(tid, register(7), control | bits)
}

/// Switches debug register `slot` of a stopped thread off.
pub fn clear(tid: Tid, slot: usize) -> Result<()> {
    let control = peek_user(tid, register(7))?;
    let mask = 3 << (2 * slot) | 0xf << (16 + 4 * slot);
    poke_user(tid, register(7), control & !mask)
}

/// Which debug registers fired (bits 0..4), and forgets them.
pub fn take_hits(tid: Tid) -> Result<u8> {
    let status = peek_user(tid, register(6))?;
    // The CPU only ever adds bits: without this the next hit shows old ones.
    poke_user(tid, register(6), 0)?;
    Ok((status & 0xf) as u8)
}
