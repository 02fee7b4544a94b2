//! Instructions that load and store one operand: what they found there, and what they left.
//!
//! On a guarded page that can be looked at before and after. The CPU tells of an access when it is
//! done, and memory may hold what others have stored since. Then registers say what was loaded
//! (`xchg`, `xadd`, `cmpxchg`), or what the instruction makes of the value that was there at the
//! hit before. What `xchg` and `xadd` have stored is lost: alone they have left what is there, and of
//! several at one time each has left what the next has found (`chain`). Where that does not add up,
//! because somebody has stored there as well without loading, or the kernel has, it is what is there.

use crate::access::{Touch, register_value};
use crate::arithmetic::{ZERO, accumulator, compute, undo};
use crate::chain::{Link, in_order};
use crate::hardware::{Hardware, Place};
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
    /// It was found together with all others that had not been told of: the slots' values are
    /// those after the last of them.
    settled: bool,
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
pub(crate) fn loaded(instruction: &Instruction, after: &Regs, len: usize) -> Option<u64> {
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
pub(crate) fn stored(
    instruction: &Instruction,
    before: &Regs,
    value: u64,
    len: usize,
) -> Option<u64> {
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

    /// Nobody else can have stored there, or nobody knows.
    fn is_alone(&self, after: &Regs) -> bool {
        let loaded = loaded(self.instruction, after, self.len);
        let old = loaded.unwrap_or(self.last);
        match self.stored(old) {
            Some(new) => old == self.last && new == self.now,
            None => loaded.is_none(),
        }
    }

    /// What was loaded and stored. `raced`: others have stored there as well, and their hits
    /// are still to be told.
    fn values(&self, after: &Regs, raced: bool) -> (u64, u64) {
        if let Some(old) = loaded(self.instruction, after, self.len) {
            return (old, self.stored(old).unwrap_or(self.now));
        }
        let Some(new) = self.stored(self.last) else {
            return (self.last, self.now);
        };
        if new == self.now || raced {
            return (self.last, new);
        }
        // The kernel has stored there meanwhile, which the CPU does not see.
        let old = undo(self.instruction, self.before, self.now, self.len);
        (old.unwrap_or(self.last), self.now)
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
            settled: false,
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
                settled: false,
            },
            (None, Some(done)) => match self.exchange_of(tid, (place, last), &done)? {
                Some(exchange) => exchange,
                None => return Ok(()),
            },
        };
        if let Some(h) = self.watches.hardware.get_mut(place) {
            h.last = match (exchange.settled, told) {
                (false, _) => exchange.after(at, len, slot as u64),
                (true, Some(_)) => last,
                (true, None) => h.last,
            };
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
        let mut known = Known {
            instruction,
            before,
            len: touch.len as usize,
            last: was as u64,
            now: now as u64,
        };
        let after = *self.regs(tid)?;
        let ((old, new), settled) = match self.threads.len() < 2 || known.is_alone(&after) {
            true => (known.values(&after, false), false),
            false => {
                // Nobody may run meanwhile, who could have stored and not stopped yet.
                let stopped = self.stop_threads(None)?;
                let values = self.values_among(tid, place, range, &mut known);
                for tid in stopped {
                    self.go(tid)?;
                }
                values?
            }
        };
        Ok(Some(Exchange {
            at: range.0,
            len: range.1,
            old: old.into(),
            new: new.into(),
            settled,
        }))
    }

    /// What was loaded and stored, while others may have touched what a slot watches and have not
    /// told it yet; and whether theirs are settled with it.
    fn values_among(
        &mut self,
        tid: Tid,
        place: Place,
        range: (Addr, u8),
        known: &mut Known,
    ) -> Result<((u64, u64), bool)> {
        let after = *self.regs(tid)?;
        if let Some(now) = self.operand(range.0, range.1.into()) {
            known.now = now as u64;
        }
        let users = self.watches.hardware.get(place).map(|h| h.users.clone());
        let mut untold = self.untold_touches(&users.unwrap_or_default());
        untold.retain(|t| *t != tid && !self.threads.get(t).is_some_and(|t| t.is_foretold()));
        let links: Option<Vec<Link>> = untold.iter().map(|t| self.link(*t, range)).collect();
        let this = Link {
            instruction: *known.instruction,
            before: *known.before,
            after,
            len: known.len,
        };
        let order = links.filter(|l| !l.is_empty()).and_then(|mut links| {
            links.push(this);
            // Where no register says anything any order is as good, and that of the hits is one.
            let order = links.iter().any(Link::is_known);
            order.then(|| in_order(&links, known.last, known.now))?
        });
        let Some((own, others)) = order.as_deref().and_then(<[_]>::split_last) else {
            return Ok((known.values(&after, !untold.is_empty()), false));
        };
        for (other, (old, new)) in untold.into_iter().zip(others) {
            let exchange = Exchange {
                at: range.0,
                len: range.1,
                old: (*old).into(),
                new: (*new).into(),
                settled: true,
            };
            if let Some(thread) = self.threads.get_mut(&other) {
                thread.foretold = Some((thread.regs.pc(), exchange));
            }
        }
        let overlaps = |h: &Hardware| {
            let within = |a: (Addr, u8), b: (Addr, u8)| a.0.0.wrapping_sub(b.0.0) < b.1.into();
            within((h.at, h.len), range) || within(range, (h.at, h.len))
        };
        for place in self.watches.hardware.places() {
            if self.watches.hardware.get(place).is_some_and(overlaps) {
                self.remember_value(place);
            }
        }
        Ok((*own, true))
    }

    /// What a stopped thread has done to an operand, if it has loaded and stored it.
    fn link(&self, tid: Tid, range: (Addr, u8)) -> Option<Link> {
        let (instruction, before, touch) = self.last(tid)?.exchanged(range.0, range.1)?;
        ((touch.at, touch.len) == (range.0, range.1.into())).then_some(())?;
        Some(Link {
            instruction,
            before,
            after: *self.regs(tid).ok()?,
            len: range.1.into(),
        })
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
        known.values(&after, raced)
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
