//! Instructions that load and store one operand: what they found there, and what they left.
//!
//! On a guarded page that can be looked at before and after. The CPU tells of an access when it is
//! done, and memory may hold what others have stored since. Then registers say what was loaded
//! (`xchg`, `xadd`, `cmpxchg`), or what the instruction makes of the value that was there at the
//! hit before.

use crate::access::{Touch, register_value};
use crate::arithmetic::{ZERO, accumulator, compute, undo};
use crate::hardware::Place;
use crate::{Addr, Process, Regs, Result, Tid};
use iced_x86::{Instruction, Mnemonic, OpKind};

const LONGEST: usize = 16;

/// The operand of an instruction that has loaded and stored it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Where it is.
    pub at: Addr,
    len: u8,
    old: u128,
    new: u128,
}

impl Exchange {
    /// What was loaded.
    pub fn loaded(&self) -> impl AsRef<[u8]> {
        Bytes(self.old.to_le_bytes(), self.len)
    }

    /// What was stored.
    pub fn stored(&self) -> impl AsRef<[u8]> {
        Bytes(self.new.to_le_bytes(), self.len)
    }

    /// The bytes of some range after it, given those that are there now.
    fn after(&self, at: Addr, len: u8, now: u64) -> u64 {
        with_bytes((at, len), now.into(), (self.at, self.len), self.new) as u64
    }
}

struct Bytes([u8; LONGEST], u8);

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        &self.0[..usize::from(self.1)]
    }
}

/// The value of a range, with another one's bytes where they overlap.
fn with_bytes(range: (Addr, u8), value: u128, other: (Addr, u8), others: u128) -> u128 {
    let (mut out, others) = (value.to_le_bytes(), others.to_le_bytes());
    for (i, byte) in out[..usize::from(range.1)].iter_mut().enumerate() {
        let offset = range.0.0.wrapping_add(i as u64).wrapping_sub(other.0.0);
        if offset < other.1.into() {
            *byte = others[offset as usize];
        }
    }
    u128::from_le_bytes(out)
}

/// What an instruction has loaded, if a register still has it.
fn loaded(instruction: &Instruction, after: &Regs, len: usize) -> Option<u64> {
    let register = match instruction.mnemonic() {
        Mnemonic::Xchg | Mnemonic::Xadd if instruction.op0_kind() == OpKind::Memory => {
            instruction.op1_register()
        }
        Mnemonic::Cmpxchg => accumulator(len),
        _ => return None,
    };
    register_value(after, register)
}

/// What an instruction stores that finds this value.
fn stored(instruction: &Instruction, before: &Regs, value: u64, len: usize) -> Option<u64> {
    match instruction.mnemonic() {
        // The register that was stored, or added, holds what was loaded.
        Mnemonic::Xchg | Mnemonic::Xadd => None,
        // The accumulator is what was loaded, whether or not it was that before.
        Mnemonic::Cmpxchg if before.eflags & ZERO == 0 => Some(value),
        _ => compute(instruction, before, value, len)?.1,
    }
}

/// What a slot knows of an operand that lies within it.
struct Known<'a> {
    instruction: &'a Instruction,
    before: &'a Regs,
    len: usize,
    /// The value at the last hit, and now.
    last: u64,
    now: u64,
}

impl Known<'_> {
    fn stored(&self, value: u64) -> Option<u64> {
        stored(self.instruction, self.before, value, self.len)
    }

    /// What was loaded and stored. `raced`: others have stored there as well, and their hits
    /// are still to be told.
    fn values(&self, after: &Regs, raced: impl FnOnce() -> Result<bool>) -> Result<(u64, u64)> {
        if let Some(old) = loaded(self.instruction, after, self.len) {
            return Ok((old, self.stored(old).unwrap_or(self.now)));
        }
        let Some(new) = self.stored(self.last) else {
            return Ok((self.last, self.now));
        };
        if new == self.now || raced()? {
            return Ok((self.last, new));
        }
        // The kernel has stored there meanwhile, which the CPU does not see.
        let old = undo(self.instruction, self.before, self.now, self.len);
        Ok((old.unwrap_or(self.last), self.now))
    }
}

impl Process {
    /// What the instruction has loaded and stored with which a thread has set off its present
    /// stop; `None` for all others.
    pub fn exchange(&self, tid: Tid) -> Option<Exchange> {
        self.threads.get(&tid)?.exchange
    }

    pub(crate) fn set_exchange(&mut self, tid: Tid, exchange: Option<Exchange>) {
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.exchange = exchange;
        }
    }

    fn operand(&self, at: Addr, len: usize) -> Option<u128> {
        let mut bytes = [0; LONGEST];
        self.memory.read(at, bytes.get_mut(..len)?).ok()?;
        Some(u128::from_le_bytes(bytes))
    }

    /// Before an instruction on a guarded page is done: what it will find.
    pub(crate) fn before_exchange(&self, touched: &[Touch]) -> Option<Exchange> {
        let touch = touched.iter().find(|t| t.read && t.write)?;
        let old = self.operand(touch.at, touch.len as usize)?;
        Some(Exchange {
            at: touch.at,
            len: touch.len as u8,
            old,
            new: old,
        })
    }

    /// It is done.
    pub(crate) fn after_exchange(&mut self, tid: Tid, begun: Option<Exchange>) {
        let done = begun.and_then(|e| {
            let new = self.operand(e.at, e.len.into())?;
            Some(Exchange { new, ..e })
        });
        self.set_exchange(tid, done);
    }

    /// A thread has set off a slot by an instruction that loads and stores. The slot's value is then
    /// the one after it, though others may have stored since.
    pub(crate) fn exchanged(
        &mut self,
        tid: Tid,
        place: Place,
        last: u64,
        done: Option<(Instruction, Regs, Touch)>,
    ) -> Result<()> {
        let Some((at, len)) = self.watches.hardware.get(place).map(|h| (h.at, h.len)) else {
            return Ok(());
        };
        let Some(slot) = self.operand(at, len.into()) else {
            return Ok(());
        };
        let done = done.filter(|(_, _, touch)| touch.len <= 8);
        let range = done.map_or((at, len), |(_, _, t)| (t.at, t.len as u8));
        // Another slot that watches it may have told of it before.
        let told = self.exchange(tid).filter(|e| (e.at, e.len) == range);
        let exchange = match (told, done) {
            (Some(told), _) => told,
            (None, None) => Exchange {
                at,
                len,
                old: last.into(),
                new: slot,
            },
            (None, Some(done)) => match self.exchange_of(tid, (place, last), &done)? {
                Some(exchange) => exchange,
                None => return Ok(()),
            },
        };
        if let Some(h) = self.watches.hardware.get_mut(place) {
            h.last = exchange.after(at, len, slot as u64);
        }
        self.set_exchange(tid, Some(exchange));
        Ok(())
    }

    /// The same of an instruction whose operand is known, from a slot and the value it had.
    fn exchange_of(
        &mut self,
        tid: Tid,
        (place, last): (Place, u64),
        (instruction, before, touch): &(Instruction, Regs, Touch),
    ) -> Result<Option<Exchange>> {
        let range = (touch.at, touch.len as u8);
        let Some(now) = self.operand(touch.at, touch.len as usize) else {
            return Ok(None);
        };
        let access = self.watches.hardware.get(place).map(|h| h.access);
        let mut was = now;
        // A range that one slot cannot hold is in several of the same kind; those of the other
        // kind may have been told of it.
        let all = self.watches.hardware.of(tid);
        for (slot, h) in all.filter(|(_, h)| Some(h.access) == access) {
            let value = if slot == place.slot { last } else { h.last };
            was = with_bytes(range, was, (h.at, h.len), value.into());
        }
        let known = Known {
            instruction,
            before,
            len: touch.len as usize,
            last: was as u64,
            now: now as u64,
        };
        let after = *self.regs(tid)?;
        let (old, new) = known.values(&after, || self.has_untold(place))?;
        Ok(Some(Exchange {
            at: range.0,
            len: range.1,
            old: old.into(),
            new: new.into(),
        }))
    }

    /// Other threads have touched what a slot watches, and have not told it yet. Nobody may run
    /// meanwhile, who could have stored and not stopped yet.
    fn has_untold(&mut self, place: Place) -> Result<bool> {
        if self.threads.len() < 2 {
            return Ok(false);
        }
        let users = self.watches.hardware.get(place).map(|h| h.users.clone());
        let stopped = self.stop_threads(None)?;
        let untold = self.untold_touches(&users.unwrap_or_default());
        for tid in stopped {
            self.go(tid)?;
        }
        Ok(!untold.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relocate::decode;

    fn values(code: &[u8], after: Regs, last: u64, now: u64, raced: bool) -> (u64, u64) {
        let instruction = decode(code, Addr(0)).expect("an instruction");
        let known = Known {
            instruction: &instruction,
            before: &after,
            len: 4,
            last,
            now,
        };
        known.values(&after, || Ok(raced)).expect("values")
    }

    #[test]
    fn what_was_loaded_and_what_was_stored() {
        let regs = Regs {
            rax: 3,
            rdx: 9,
            ..Regs::default()
        };
        // add dword [rdi],5
        let add = [0x83, 0x07, 5];
        assert_eq!(values(&add, regs, 1, 6, false), (1, 6));
        assert_eq!(
            values(&add, regs, 1, 11, true),
            (1, 6),
            "another's is to come"
        );
        assert_eq!(values(&add, regs, 1, 45, false), (40, 45), "the kernel's");
        // or dword [rdi],8
        assert_eq!(values(&[0x83, 0x0f, 8], regs, 1, 12, false), (1, 12));
        // xchg [rdi],edx; lock xadd [rdi],edx
        assert_eq!(values(&[0x87, 0x17], regs, 1, 4, false), (9, 4));
        assert_eq!(values(&[0xf0, 0x0f, 0xc1, 0x17], regs, 1, 4, false), (9, 4));
        // lock cmpxchg [rdi],edx: not taken, and taken
        let cmpxchg = [0xf0, 0x0f, 0xb1, 0x17];
        assert_eq!(values(&cmpxchg, regs, 1, 7, false), (3, 3));
        let equal = Regs {
            eflags: ZERO,
            ..regs
        };
        assert_eq!(values(&cmpxchg, equal, 1, 7, false), (3, 9));
        // shl dword [rdi],1: not known here
        assert_eq!(values(&[0xd1, 0x27], regs, 1, 2, false), (1, 2));
    }

    #[test]
    fn bytes_of_one_range_in_another() {
        let one = (Addr(0x10), 4);
        assert_eq!(
            with_bytes(one, 0x4433_2211, (Addr(0x12), 4), 0x8877_6655),
            0x6655_2211
        );
        assert_eq!(
            with_bytes(one, 0x4433_2211, (Addr(0xf), 2), 0x6655),
            0x4433_2266
        );
        assert_eq!(
            with_bytes(one, 0x4433_2211, (Addr(0x20), 4), 1),
            0x4433_2211
        );
        let last = (Addr(u64::MAX - 1), 4);
        assert_eq!(
            with_bytes(last, 0x4433_2211, (Addr(u64::MAX), 1), 0x55),
            0x4433_5511
        );
    }
}
