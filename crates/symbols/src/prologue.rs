//! The first instructions of a function, run with made-up values: what they copy where tells in
//! which registers its arguments came.

use crate::FileAddr;
use crate::error::LocationError;
use crate::registers::{Memory, RBP, RSP, Registers};
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};
use std::collections::HashMap;

/// So much code is looked at.
const CODE: usize = 256;
const STACK: u64 = 0x7fff_ff00_0000;

/// Memory in which nobody has stored to the frame yet. No byte elsewhere is 0.
#[derive(Clone, Default)]
struct MadeUp(HashMap<u64, u8>);

impl MadeUp {
    fn store(&mut self, at: u64, bytes: &[u8]) {
        for (i, byte) in bytes.iter().enumerate() {
            self.0.insert(at.wrapping_add(i as u64), *byte);
        }
    }
}

impl Memory for MadeUp {
    fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), LocationError> {
        for (i, byte) in buf.iter_mut().enumerate() {
            let at = addr.wrapping_add(i as u64);
            let is_frame = (STACK - (1 << 20)..STACK).contains(&at);
            let unknown = if is_frame { 0 } else { mixed(at) as u8 | 1 };
            *byte = self.0.get(&at).copied().unwrap_or(unknown);
        }
        Ok(())
    }
}

/// A number that looks like no other (splitmix64).
fn mixed(seed: u64) -> u64 {
    let a = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let b = (a ^ (a >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let c = (b ^ (b >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    c ^ (c >> 31)
}

/// A thread with made-up contents.
#[derive(Clone)]
pub(crate) struct Thread {
    pub registers: Registers,
    memory: MadeUp,
    pub pc: FileAddr,
}

impl Thread {
    /// One that stands at a function's first instruction.
    pub fn at(entry: FileAddr) -> Thread {
        const NO_ZERO: u64 = 0x0101_0101_0101_0101;
        let mut registers = Registers::default();
        for (i, register) in registers.general.iter_mut().enumerate() {
            *register = Some(mixed(i as u64) | NO_ZERO);
        }
        registers.general[usize::from(RSP)] = Some(STACK);
        for (i, register) in registers.xmm.iter_mut().enumerate() {
            let half = |n: u64| u128::from(mixed(100 + 2 * i as u64 + n) | NO_ZERO);
            *register = Some((half(0) | half(1) << 64).to_le_bytes());
        }
        Thread {
            registers,
            memory: MadeUp::default(),
            pc: entry,
        }
    }

    pub fn memory(&self) -> &dyn Memory {
        &self.memory
    }

    /// The address behind the return address.
    pub fn cfa() -> u64 {
        STACK + 8
    }

    /// Runs as long as nothing is done but copying.
    pub fn run(mut self, code: &[u8]) -> Thread {
        let code = &code[..code.len().min(CODE)];
        let decoder = Decoder::with_ip(64, code, self.pc.0, DecoderOptions::NONE);
        for instruction in decoder {
            if self.step(&instruction).is_none() {
                break;
            }
            self.pc = FileAddr(instruction.next_ip());
        }
        self
    }

    fn step(&mut self, i: &Instruction) -> Option<()> {
        match i.mnemonic() {
            Mnemonic::Endbr64 | Mnemonic::Nop => Some(()),
            Mnemonic::Push if i.op0_kind() == OpKind::Register => {
                let sp = self.general(RSP)?.wrapping_sub(8);
                let value = self.general(number(i.op0_register())?)?;
                self.registers.general[usize::from(RSP)] = Some(sp);
                self.memory.store(sp, &value.to_le_bytes());
                Some(())
            }
            Mnemonic::Sub if i.op0_register() == Register::RSP => {
                let less = i.try_immediate(1).ok()?;
                let sp = self.general(RSP)?.wrapping_sub(less);
                self.registers.general[usize::from(RSP)] = Some(sp);
                Some(())
            }
            Mnemonic::Lea => {
                let at = self.address(i)?;
                self.set(i.op0_register(), &at.to_le_bytes())
            }
            Mnemonic::Mov
            | Mnemonic::Movss
            | Mnemonic::Movsd
            | Mnemonic::Movaps
            | Mnemonic::Movups => self.copy(i),
            _ => None,
        }
    }

    fn copy(&mut self, i: &Instruction) -> Option<()> {
        let size = match (i.op0_kind(), i.op1_kind()) {
            (OpKind::Register, OpKind::Register) => i.op0_register().size().min(16),
            _ => i.memory_size().size(),
        };
        let mut bytes = [0; 16];
        let bytes = bytes.get_mut(..size)?;
        match i.op1_kind() {
            OpKind::Register => bytes.copy_from_slice(self.get(i.op1_register())?.get(..size)?),
            OpKind::Memory => self.memory.read(self.address(i)?, bytes).ok()?,
            _ => bytes.copy_from_slice(i.try_immediate(1).ok()?.to_le_bytes().get(..size)?),
        }
        match i.op0_kind() {
            OpKind::Register => self.set(i.op0_register(), bytes),
            OpKind::Memory => {
                let at = self.address(i)?;
                self.memory.store(at, bytes);
                Some(())
            }
            _ => None,
        }
    }

    fn general(&self, number: u16) -> Option<u64> {
        self.registers.get(number)
    }

    fn get(&self, register: Register) -> Option<[u8; 16]> {
        if register.is_xmm() {
            return *self.registers.xmm.get(register.number())?;
        }
        let mut out = [0; 16];
        out[..8].copy_from_slice(&self.general(number(register)?)?.to_le_bytes());
        Some(out)
    }

    fn set(&mut self, register: Register, bytes: &[u8]) -> Option<()> {
        if register.is_xmm() {
            let mut whole = [0; 16];
            whole.get_mut(..bytes.len())?.copy_from_slice(bytes);
            *self.registers.xmm.get_mut(register.number())? = Some(whole);
            return Some(());
        }
        let place = self
            .registers
            .general
            .get_mut(usize::from(number(register)?))?;
        // A result of 32 bits clears the upper half, a shorter one keeps the rest.
        let mut whole = match register.size() {
            4.. => [0; 8],
            _ => (*place)?.to_le_bytes(),
        };
        let size = register.size().min(bytes.len());
        whole.get_mut(..size)?.copy_from_slice(&bytes[..size]);
        *place = Some(u64::from_le_bytes(whole));
        Some(())
    }

    fn address(&self, i: &Instruction) -> Option<u64> {
        if i.is_ip_rel_memory_operand() {
            return Some(i.ip_rel_memory_address());
        }
        if i.memory_index() != Register::None || i.segment_prefix() != Register::None {
            return None;
        }
        let base = self.general(number(i.memory_base())?)?;
        Some(base.wrapping_add(i.memory_displacement64()))
    }
}

/// DWARF's number of a general register.
fn number(register: Register) -> Option<u16> {
    // Those with the high byte of a word are not copied in a prologue.
    let is_high = matches!(
        register,
        Register::AH | Register::BH | Register::CH | Register::DH
    );
    let full = register.full_register();
    if is_high || !full.is_gpr64() {
        return None;
    }
    const FIRST: [u16; 8] = [0, 2, 1, 3, RSP, RBP, 4, 5];
    let plain = full.number();
    Some(FIRST.get(plain).copied().unwrap_or(plain as u16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_copied_to_the_frame() {
        let start = Thread::at(FileAddr(0x1000));
        // push rbp; mov rbp,rsp; sub rsp,16; mov rax,rsi; mov [rsp+8],rax; movss [rbp-16],xmm1; add eax,1
        let code = [
            0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0x48, 0x89, 0xf0, 0x48, 0x89, 0x44,
            0x24, 0x08, 0xf3, 0x0f, 0x11, 0x4d, 0xf0, 0x83, 0xc0, 0x01,
        ];
        let end = start.clone().run(&code);
        assert_eq!(end.pc, FileAddr(0x1000 + 21));
        assert_eq!(end.registers.get(RBP), Some(STACK - 8));
        assert_eq!(end.registers.get(RSP), Some(STACK - 24));
        let stored = end.memory().read_u64(STACK - 16).ok();
        assert_eq!(stored, start.registers.get(4));
        let mut bytes = [0; 5];
        end.memory().read(STACK - 24, &mut bytes).unwrap();
        let vector = start.registers.xmm[1].unwrap();
        assert_eq!((&bytes[..4], bytes[4]), (&vector[..4], 0));
    }
}
