//! An instruction made to run elsewhere with the same effect.
//!
//! A planted int3 is never taken out to run what it covers: a copy runs in a
//! slot and jumps back. No other thread can slip past the trap meanwhile, and
//! one stop is enough.

use crate::Addr;
use iced_x86::{
    BlockEncoder, BlockEncoderOptions, Code, Decoder, DecoderOptions, FlowControl, Instruction,
    InstructionBlock, Mnemonic, OpKind, Register,
};

/// Bytes of one slot. The longest instruction with a far jump back has 29.
pub const SLOT: usize = 32;

/// How a thread gets past a trap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Passage {
    /// By this code in a slot.
    Slot(Relocated),
    /// The program has an int3 of its own there: it gets its SIGTRAP.
    OwnInt3,
    /// Only by running the instruction where it is, alone.
    InPlace,
}

/// Code for a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relocated {
    /// The bytes.
    pub code: Vec<u8>,
    /// Offset where the instruction is done and only the jump back remains.
    pub after: Option<u8>,
    /// What undoes a thread stopped between the start and `after`.
    pub undo: Undo,
}

/// How to take back a partly executed slot of several instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undo {
    /// Nothing has changed yet.
    Nothing,
    /// A return address was pushed.
    Pop,
    /// `loop` has counted.
    CountBack,
}

/// Decodes the instruction at `at`.
pub fn decode(bytes: &[u8], at: Addr) -> Option<Instruction> {
    let mut decoder = Decoder::with_ip(64, bytes, at.0, DecoderOptions::NONE);
    let instruction = decoder.decode();
    (!instruction.is_invalid()).then_some(instruction)
}

/// Relocates an instruction to `slot`. `shadow_stack`: the CPU checks return
/// addresses, so that a call must be a real one.
pub fn relocate(instruction: &Instruction, slot: Addr, shadow_stack: bool) -> Passage {
    let next = instruction.next_ip();
    match instruction.flow_control() {
        FlowControl::Interrupt if instruction.code() == Code::Int3 => return Passage::OwnInt3,
        FlowControl::Call | FlowControl::IndirectCall
            if instruction.mnemonic() == Mnemonic::Call =>
        {
            return if shadow_stack {
                Passage::InPlace
            } else {
                call(instruction, slot).map_or(Passage::InPlace, Passage::Slot)
            };
        }
        _ => {}
    }
    let undo = match instruction.mnemonic() {
        Mnemonic::Loop | Mnemonic::Loope | Mnemonic::Loopne => {
            let counts_rcx = matches!(
                instruction.code(),
                Code::Loop_rel8_64_RCX | Code::Loope_rel8_64_RCX | Code::Loopne_rel8_64_RCX
            );
            if !counts_rcx {
                return Passage::InPlace;
            }
            Undo::CountBack
        }
        _ => Undo::Nothing,
    };
    let returns_here = !matches!(
        instruction.flow_control(),
        FlowControl::UnconditionalBranch | FlowControl::IndirectBranch | FlowControl::Return
    );
    let mut code = vec![*instruction];
    if returns_here {
        let Ok(back) = Instruction::with_branch(Code::Jmp_rel32_64, next) else {
            return Passage::InPlace;
        };
        code.push(back);
    }
    match encode(&code, slot) {
        Some((code, offsets)) => {
            let after = returns_here.then(|| offsets[1] as u8);
            Passage::Slot(Relocated { code, after, undo })
        }
        None => Passage::InPlace,
    }
}

/// `push` of the original return address in two halves and a jump: the stack
/// is written by the program itself, so that a full stack faults as it would.
/// Neither instruction touches the flags.
fn call(instruction: &Instruction, slot: Addr) -> Option<Relocated> {
    let next = instruction.next_ip();
    let mut code = vec![0x68];
    code.extend_from_slice(&(next as u32).to_le_bytes());
    // mov dword [rsp+4], high half
    code.extend_from_slice(&[0xc7, 0x44, 0x24, 0x04]);
    code.extend_from_slice(&((next >> 32) as u32).to_le_bytes());
    let jump_at = slot + code.len() as u64;
    let jump = match instruction.code() {
        Code::Call_rel32_64 => {
            Instruction::with_branch(Code::Jmp_rel32_64, instruction.near_branch_target()).ok()?
        }
        Code::Call_rm64 => {
            let mut jump = *instruction;
            jump.set_code(Code::Jmp_rm64);
            if jump.op0_kind() == OpKind::Register {
                if jump.op0_register() == Register::RSP {
                    return None;
                }
            } else if jump.memory_base() == Register::RSP {
                // The push has moved rsp.
                jump.set_memory_displacement64(jump.memory_displacement64().wrapping_add(8));
                jump.set_memory_displ_size(8);
            }
            jump
        }
        _ => return None,
    };
    let (bytes, _) = encode(&[jump], jump_at)?;
    code.extend_from_slice(&bytes);
    (code.len() <= SLOT).then_some(Relocated {
        code,
        after: None,
        undo: Undo::Pop,
    })
}

fn encode(code: &[Instruction], at: Addr) -> Option<(Vec<u8>, Vec<u32>)> {
    let block = InstructionBlock::new(code, at.0);
    let options = BlockEncoderOptions::RETURN_NEW_INSTRUCTION_OFFSETS;
    let result = BlockEncoder::encode(64, block, options).ok()?;
    (result.code_buffer.len() <= SLOT)
        .then_some((result.code_buffer, result.new_instruction_offsets))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passage(bytes: &[u8]) -> Passage {
        let instruction = decode(bytes, Addr(0x40_1000)).expect("an instruction");
        relocate(&instruction, Addr(0x50_0000), false)
    }

    fn text(passage: &Passage) -> Vec<Instruction> {
        let Passage::Slot(slot) = passage else {
            panic!("no slot: {passage:?}")
        };
        let mut decoder = Decoder::with_ip(64, &slot.code, 0x50_0000, DecoderOptions::NONE);
        decoder.iter().collect()
    }

    #[test]
    fn plain_instruction_jumps_back() {
        let code = text(&passage(&[0x55]));
        assert_eq!(code.len(), 2);
        assert_eq!(code[1].near_branch_target(), 0x40_1001);
    }

    #[test]
    fn rip_relative_keeps_its_target() {
        // lea rax,[rip+0x10]
        let code = text(&passage(&[0x48, 0x8d, 0x05, 0x10, 0, 0, 0]));
        assert_eq!(code[0].ip_rel_memory_address(), 0x40_1017);
    }

    #[test]
    fn short_branch_keeps_its_target() {
        let code = text(&passage(&[0x74, 0x10]));
        assert_eq!(code[0].near_branch_target(), 0x40_1012);
        assert_eq!(code[1].near_branch_target(), 0x40_1002);
    }

    #[test]
    fn call_pushes_the_original_return_address() {
        let code = text(&passage(&[0xe8, 0x10, 0, 0, 0]));
        assert_eq!(code[0].immediate32to64(), 0x40_1005);
        assert_eq!(code[2].near_branch_target(), 0x40_1015);
        // call [rsp+8]: the slot's push has moved rsp
        let code = text(&passage(&[0xff, 0x54, 0x24, 0x08]));
        assert_eq!(code[2].memory_displacement64(), 16);
        // call rsp
        assert_eq!(passage(&[0xff, 0xd4]), Passage::InPlace);
    }

    #[test]
    fn special_cases() {
        assert_eq!(passage(&[0xcc]), Passage::OwnInt3);
        let Passage::Slot(slot) = passage(&[0xe2, 0x10]) else {
            panic!("loop has a slot")
        };
        assert_eq!(slot.undo, Undo::CountBack);
        // ret needs no jump back
        assert_eq!(text(&passage(&[0xc3])).len(), 1);
        // a far target: the jump back goes through memory and still fits
        let far = decode(&[0x55], Addr(0x7fff_0000_0000)).expect("an instruction");
        assert!(matches!(
            relocate(&far, Addr(0x1000), false),
            Passage::Slot(_)
        ));
    }
}
