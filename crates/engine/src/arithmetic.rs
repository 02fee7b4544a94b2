//! Arithmetic on memory, done in place of the CPU: what locks and counters
//! are made of. On a guarded page nobody can come between its load and its
//! store, because everybody else faults.

use crate::Regs;
use crate::access::{register_value, set_register};
use iced_x86::{Instruction, Mnemonic, OpKind, Register};

const CARRY: u64 = 1;
const PARITY: u64 = 1 << 2;
const ADJUST: u64 = 1 << 4;
pub(crate) const ZERO: u64 = 1 << 6;
const SIGN: u64 = 1 << 7;
const OVERFLOW: u64 = 1 << 11;
const ALL: u64 = CARRY | PARITY | ADJUST | ZERO | SIGN | OVERFLOW;

/// Unsigned numbers of some size in bits.
#[derive(Clone, Copy)]
struct Size(u32);

impl Size {
    fn cut(self, value: u64) -> u64 {
        value & (u64::MAX >> (64 - self.0))
    }

    fn is_negative(self, value: u64) -> bool {
        value >> (self.0 - 1) & 1 != 0
    }

    /// The flags that tell of a result alone.
    fn flags(self, result: u64) -> u64 {
        let mut flags = 0;
        if (result as u8).count_ones().is_multiple_of(2) {
            flags |= PARITY;
        }
        if result == 0 {
            flags |= ZERO;
        }
        if self.is_negative(result) {
            flags |= SIGN;
        }
        flags
    }

    fn add(self, a: u64, b: u64) -> (u64, u64) {
        let result = self.cut(a.wrapping_add(b));
        let mut flags = self.flags(result) | (a ^ b ^ result) & ADJUST;
        if result < a {
            flags |= CARRY;
        }
        if self.is_negative((a ^ result) & (b ^ result)) {
            flags |= OVERFLOW;
        }
        (result, flags)
    }

    fn sub(self, a: u64, b: u64) -> (u64, u64) {
        let result = self.cut(a.wrapping_sub(b));
        let mut flags = self.flags(result) | (a ^ b ^ result) & ADJUST;
        if a < b {
            flags |= CARRY;
        }
        if self.is_negative((a ^ b) & (a ^ result)) {
            flags |= OVERFLOW;
        }
        (result, flags)
    }
}

/// The register that `cmpxchg` compares with an operand of `len` bytes.
pub(crate) fn accumulator(len: usize) -> Register {
    match len {
        1 => Register::AL,
        2 => Register::AX,
        4 => Register::EAX,
        _ => Register::RAX,
    }
}

/// What the operand is combined with.
fn other_operand(instruction: &Instruction, regs: &Regs, size: Size) -> Option<u64> {
    Some(match instruction.op_count() {
        1 => 1,
        _ => match instruction.op1_kind() {
            OpKind::Register => register_value(regs, instruction.op1_register())?,
            _ => size.cut(instruction.try_immediate(1).ok()?),
        },
    })
}

/// What the operand of `len` bytes was before an instruction that has left `value` there. `None`:
/// not one of those known here, or it cannot be told from that.
pub(crate) fn undo(instruction: &Instruction, regs: &Regs, value: u64, len: usize) -> Option<u64> {
    if instruction.op0_kind() != OpKind::Memory || ![1, 2, 4, 8].contains(&len) {
        return None;
    }
    let size = Size(8 * len as u32);
    let other = other_operand(instruction, regs, size)?;
    match instruction.mnemonic() {
        Mnemonic::Add | Mnemonic::Inc => Some(size.sub(value, other).0),
        Mnemonic::Sub | Mnemonic::Dec => Some(size.add(value, other).0),
        Mnemonic::Xor => Some(size.cut(value ^ other)),
        _ => None,
    }
}

/// Whether an addition of numbers of `len` bytes that has led from one to another leaves these flags.
pub(crate) fn is_sum(old: u64, new: u64, eflags: u64, len: usize) -> bool {
    let size = Size(8 * len as u32);
    let added = size.sub(new, old).0;
    size.add(old, added).1 == eflags & ALL
}

/// What an instruction with a memory operand of `len` bytes, which holds
/// `value`, does: the registers but for the pc, and the operand after it.
/// `None`: not one of those known here.
pub(crate) fn compute(
    instruction: &Instruction,
    before: &Regs,
    value: u64,
    len: usize,
) -> Option<(Regs, Option<u64>)> {
    if instruction.op0_kind() != OpKind::Memory || ![1, 2, 4, 8].contains(&len) {
        return None;
    }
    let size = Size(8 * len as u32);
    let mut regs = *before;
    let other = other_operand(instruction, before, size)?;
    let logic = |result: u64| (result, size.flags(result));
    let mut changed = ALL;
    let (after, flags) = match instruction.mnemonic() {
        Mnemonic::Add => size.add(value, other),
        Mnemonic::Sub => size.sub(value, other),
        Mnemonic::Inc => {
            changed &= !CARRY;
            size.add(value, 1)
        }
        Mnemonic::Dec => {
            changed &= !CARRY;
            size.sub(value, 1)
        }
        Mnemonic::And => logic(value & other),
        Mnemonic::Or => logic(value | other),
        Mnemonic::Xor => logic(value ^ other),
        Mnemonic::Cmp => (value, size.sub(value, other).1),
        Mnemonic::Test => (value, logic(value & other).1),
        Mnemonic::Xadd => {
            if !set_register(&mut regs, instruction.op1_register(), value) {
                return None;
            }
            size.add(value, other)
        }
        Mnemonic::Xchg => {
            if !set_register(&mut regs, instruction.op1_register(), value) {
                return None;
            }
            changed = 0;
            (other, 0)
        }
        Mnemonic::Cmpxchg => {
            let accumulator = accumulator(len);
            let expected = register_value(before, accumulator)?;
            let flags = size.sub(expected, value).1;
            if expected == value {
                (other, flags)
            } else {
                set_register(&mut regs, accumulator, value);
                (value, flags)
            }
        }
        _ => return None,
    };
    regs.eflags = regs.eflags & !changed | flags & changed;
    let reads_only = matches!(instruction.mnemonic(), Mnemonic::Cmp | Mnemonic::Test);
    Some((regs, (!reads_only).then_some(after)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Addr;
    use crate::relocate::decode;

    fn run(code: &[u8], regs: Regs, value: u64, len: usize) -> (Regs, Option<u64>) {
        let instruction = decode(code, Addr(0)).expect("an instruction");
        compute(&instruction, &regs, value, len).expect("known")
    }

    #[test]
    fn locks_and_counters() {
        let regs = Regs {
            rax: 0,
            rdx: 1,
            eflags: CARRY,
            ..Regs::default()
        };
        // lock cmpxchg [rdi],edx: taken
        let (after, value) = run(&[0xf0, 0x0f, 0xb1, 0x17], regs, 0, 4);
        assert_eq!((after.eflags, value), (ZERO | PARITY, Some(1)));
        // not taken: the value seen is in eax
        let (after, value) = run(&[0xf0, 0x0f, 0xb1, 0x17], regs, 2, 4);
        assert_eq!((after.rax, value), (2, Some(2)));
        assert_eq!(after.eflags & ZERO, 0);
        // lock xadd [rdi],edx
        let (after, value) = run(&[0xf0, 0x0f, 0xc1, 0x17], regs, 0xffff_ffff, 4);
        assert_eq!((after.rdx, value), (0xffff_ffff, Some(0)));
        assert_eq!(after.eflags, CARRY | ZERO | PARITY | ADJUST);
        // xchg [rdi],edx leaves the flags alone
        let (after, value) = run(&[0x87, 0x17], regs, 7, 4);
        assert_eq!((after.rdx, value, after.eflags), (7, Some(1), CARRY));
        // dec dword [rdi] leaves the carry alone
        let (after, value) = run(&[0xff, 0x0f], regs, 0x8000_0000, 4);
        assert_eq!(value, Some(0x7fff_ffff));
        assert_eq!(after.eflags, CARRY | OVERFLOW | PARITY | ADJUST);
        // cmp byte [rdi],-1 stores nothing
        let (after, value) = run(&[0x80, 0x3f, 0xff], regs, 0xff, 1);
        assert_eq!((after.eflags, value), (ZERO | PARITY, None));
    }
}
