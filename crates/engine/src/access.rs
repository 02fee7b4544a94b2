//! What an instruction does to memory, and doing it in its place.

use crate::{Addr, Regs, arithmetic};
use iced_x86::{
    Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, UsedMemory,
};
use smallvec::SmallVec;

/// A range of memory that an instruction touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    pub at: Addr,
    pub len: u64,
    pub read: bool,
    pub write: bool,
}

impl Touch {
    pub(crate) fn overlaps(&self, at: Addr, len: u8) -> bool {
        let end = at.0.saturating_add(len.into());
        self.at.0 < end && at.0 < self.at.0.saturating_add(self.len)
    }
}

/// The ranges touched by an instruction with these registers before it.
pub fn touches(instruction: &Instruction, regs: &Regs) -> SmallVec<[Touch; 2]> {
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(instruction);
    let all = info.used_memory().iter();
    all.filter_map(|memory| touch(memory, regs))
        .map(|touch| Touch {
            at: Addr(touch.at.0.wrapping_add(word_of_bit(instruction, regs))),
            ..touch
        })
        .collect()
}

/// How far from its operand an instruction touches memory that counts bits in a register from
/// there, modulo 2^64.
fn word_of_bit(instruction: &Instruction, regs: &Regs) -> u64 {
    let counts = matches!(
        instruction.mnemonic(),
        Mnemonic::Bt | Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc
    );
    if !counts || instruction.op1_kind() != OpKind::Register {
        return 0;
    }
    let Some(bit) = register_value(regs, instruction.op1_register()) else {
        return 0;
    };
    let size = instruction.memory_size().size() as i64;
    let unused = 64 - 8 * size;
    let bit = bit.cast_signed() << unused >> unused;
    (bit.div_euclid(8 * size) * size).cast_unsigned()
}

fn touch(memory: &UsedMemory, regs: &Regs) -> Option<Touch> {
    let at = memory.virtual_address(0, |register, _, _| register_value(regs, register))?;
    touch_at(memory, at)
}

/// An access of an operand, at this address.
pub(crate) fn touch_at(memory: &UsedMemory, at: u64) -> Option<Touch> {
    let (read, write) = match memory.access() {
        OpAccess::Read | OpAccess::CondRead => (true, false),
        OpAccess::Write | OpAccess::CondWrite => (false, true),
        OpAccess::ReadWrite | OpAccess::ReadCondWrite => (true, true),
        _ => return None,
    };
    let len = memory.memory_size().size() as u64;
    Some(Touch {
        at: Addr(at),
        len: len.max(1),
        read,
        write,
    })
}

/// The value of a register as an address part; segment registers give their
/// base.
pub fn register_value(regs: &Regs, register: Register) -> Option<u64> {
    let full = match register.full_register() {
        Register::RAX => regs.rax,
        Register::RBX => regs.rbx,
        Register::RCX => regs.rcx,
        Register::RDX => regs.rdx,
        Register::RSI => regs.rsi,
        Register::RDI => regs.rdi,
        Register::RBP => regs.rbp,
        Register::RSP => regs.rsp,
        Register::R8 => regs.r8,
        Register::R9 => regs.r9,
        Register::R10 => regs.r10,
        Register::R11 => regs.r11,
        Register::R12 => regs.r12,
        Register::R13 => regs.r13,
        Register::R14 => regs.r14,
        Register::R15 => regs.r15,
        Register::RIP => regs.rip,
        Register::FS => return Some(regs.fs_base),
        Register::GS => return Some(regs.gs_base),
        Register::CS | Register::DS | Register::ES | Register::SS => return Some(0),
        _ => return None,
    };
    Some(match register.size() {
        8 => full,
        4 => full & 0xffff_ffff,
        2 => full & 0xffff,
        1 if high_byte(register) => (full >> 8) & 0xff,
        1 => full & 0xff,
        _ => return None,
    })
}

fn high_byte(register: Register) -> bool {
    matches!(
        register,
        Register::AH | Register::BH | Register::CH | Register::DH
    )
}

pub(crate) fn set_register(regs: &mut Regs, register: Register, value: u64) -> bool {
    let place = match register.full_register() {
        Register::RAX => &mut regs.rax,
        Register::RBX => &mut regs.rbx,
        Register::RCX => &mut regs.rcx,
        Register::RDX => &mut regs.rdx,
        Register::RSI => &mut regs.rsi,
        Register::RDI => &mut regs.rdi,
        Register::RBP => &mut regs.rbp,
        Register::R8 => &mut regs.r8,
        Register::R9 => &mut regs.r9,
        Register::R10 => &mut regs.r10,
        Register::R11 => &mut regs.r11,
        Register::R12 => &mut regs.r12,
        Register::R13 => &mut regs.r13,
        Register::R14 => &mut regs.r14,
        Register::R15 => &mut regs.r15,
        _ => return false,
    };
    *place = match register.size() {
        8 => value,
        // A 32-bit result clears the upper half.
        4 => value & 0xffff_ffff,
        2 => *place & !0xffff | value & 0xffff,
        1 if !high_byte(register) => *place & !0xff | value & 0xff,
        _ => return false,
    };
    true
}

/// Does a plain move or simple arithmetic in place of the CPU, memory through
/// `read` and `write`. `None`: not such an instruction, or memory refused;
/// nothing was changed.
pub fn emulate(
    instruction: &Instruction,
    regs: &Regs,
    read: impl Fn(Addr, &mut [u8]) -> bool,
    write: impl Fn(Addr, &[u8]) -> bool,
) -> Option<Regs> {
    let touches = touches(instruction, regs);
    let [touch] = touches.as_slice() else {
        return None;
    };
    let len = touch.len as usize;
    if len > 8 {
        return None;
    }
    let signed = match instruction.mnemonic() {
        Mnemonic::Mov | Mnemonic::Movzx => false,
        Mnemonic::Movsx | Mnemonic::Movsxd => true,
        _ => {
            let mut bytes = [0u8; 8];
            if !read(touch.at, &mut bytes[..len]) {
                return None;
            }
            let value = u64::from_le_bytes(bytes);
            let (mut after, result) = arithmetic::compute(instruction, regs, value, len)?;
            after.rip = instruction.next_ip();
            let stored = |value: u64| write(touch.at, &value.to_le_bytes()[..len]);
            return result.is_none_or(stored).then_some(after);
        }
    };
    let mut after = *regs;
    after.rip = instruction.next_ip();
    if touch.write && instruction.op0_kind() == OpKind::Memory {
        let value = match instruction.op1_kind() {
            // What addresses begin at is not what they hold.
            OpKind::Register if instruction.op1_register().is_segment_register() => return None,
            OpKind::Register => register_value(regs, instruction.op1_register())?,
            _ => instruction.try_immediate(1).ok()?,
        };
        return write(touch.at, &value.to_le_bytes()[..len]).then_some(after);
    }
    if instruction.op1_kind() != OpKind::Memory || instruction.op0_kind() != OpKind::Register {
        return None;
    }
    let mut bytes = [0u8; 8];
    if !read(touch.at, &mut bytes[..len]) {
        return None;
    }
    let mut value = u64::from_le_bytes(bytes);
    if signed {
        let unused = 64 - 8 * len as u32;
        value = ((value << unused) as i64 >> unused) as u64;
    }
    set_register(&mut after, instruction.op0_register(), value).then_some(after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relocate::decode;
    use std::cell::RefCell;

    #[test]
    fn emulates_moves_both_ways() {
        let memory = RefCell::new([0u8; 16]);
        let read = |at: Addr, into: &mut [u8]| {
            into.copy_from_slice(&memory.borrow()[at.0 as usize..at.0 as usize + into.len()]);
            true
        };
        let write = |at: Addr, from: &[u8]| {
            let mut memory = memory.borrow_mut();
            memory[at.0 as usize..at.0 as usize + from.len()].copy_from_slice(from);
            true
        };
        let regs = Regs {
            rdi: 4,
            rax: 0x1122_3344_5566_7788,
            ..Regs::default()
        };
        let run = |code: &[u8]| {
            let instruction = decode(code, Addr(0)).expect("an instruction");
            emulate(&instruction, &regs, read, write)
        };
        // mov [rdi],eax
        let after = run(&[0x89, 0x07]).expect("emulated");
        assert_eq!(after.rip, 2);
        assert_eq!(memory.borrow()[4..9], [0x88, 0x77, 0x66, 0x55, 0]);
        // movsx rcx, byte [rdi]
        let after = run(&[0x48, 0x0f, 0xbe, 0x0f]).expect("emulated");
        assert_eq!(after.rcx as i64, -0x78);
        // mov dword [rdi],5
        run(&[0xc7, 0x07, 5, 0, 0, 0]).expect("emulated");
        assert_eq!(memory.borrow()[4..8], [5, 0, 0, 0]);
        // mov eax,[rdi] clears the upper half
        let after = run(&[0x8b, 0x07]).expect("emulated");
        assert_eq!(after.rax, 5);
        // add [rdi],eax
        run(&[0x01, 0x07]).expect("emulated");
        assert_eq!(memory.borrow()[4..8], [0x8d, 0x77, 0x66, 0x55]);
        // mul dword [rdi] is left to the CPU
        assert!(run(&[0xf7, 0x27]).is_none());
    }
}
