//! The frame of a function that has no call frame information, such as one written in assembler:
//! its code is read from its beginning to where it stands, and says what is on the stack.

use crate::addr::FileAddr;
use crate::module::Module;
use crate::registers::{RBP, RSP, Registers};
use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess,
    OpKind, Register,
};
use std::collections::HashMap;

/// A longer function is none of those that lack the information.
const LONGEST: u64 = 1 << 16;

/// What a function has on the stack where it stands.
#[derive(Clone, Default)]
pub(crate) struct Layout {
    /// From the stack pointer to the canonical frame address; `None`: the code has aligned it, or
    /// put it elsewhere.
    above_sp: Option<u64>,
    /// The same from the frame pointer, while the function has one.
    above_bp: Option<u64>,
    /// The caller's registers (DWARF numbers), and how far below that address they are.
    pub saved: Vec<(u16, u64)>,
}

impl Layout {
    /// At the first instruction there is the return address.
    fn entered() -> Layout {
        Layout {
            above_sp: Some(8),
            ..Layout::default()
        }
    }

    /// The canonical frame address.
    pub fn cfa(&self, regs: &Registers) -> Option<u64> {
        let by = |register, above: Option<u64>| regs.get(register)?.checked_add(above?);
        by(RBP, self.above_bp).or_else(|| by(RSP, self.above_sp))
    }

    fn push(&mut self, bytes: i64) {
        self.above_sp = self.above_sp.and_then(|a| a.checked_add_signed(bytes));
    }

    /// Follows an instruction.
    fn run(&mut self, code: &Instruction) {
        let to = code.op0_register();
        match code.mnemonic() {
            Mnemonic::Push => {
                self.push(8);
                self.save(to);
            }
            Mnemonic::Pop => {
                self.push(-8);
                self.restored(to);
            }
            Mnemonic::Pushfq => self.push(8),
            Mnemonic::Popfq => self.push(-8),
            Mnemonic::Leave => {
                self.above_sp = self.above_bp.and_then(|a| a.checked_sub(8));
                self.restored(Register::RBP);
            }
            Mnemonic::Sub if to == Register::RSP && is_immediate(code) => {
                self.push(code.immediate(1).cast_signed());
            }
            Mnemonic::Add if to == Register::RSP && is_immediate(code) => {
                self.push(code.immediate(1).cast_signed().wrapping_neg());
            }
            Mnemonic::Lea if to == Register::RSP && code.memory_index() == Register::None => {
                let by = code.memory_displacement64().cast_signed().wrapping_neg();
                let base = match code.memory_base() {
                    Register::RSP => self.above_sp,
                    Register::RBP => self.above_bp,
                    _ => None,
                };
                self.above_sp = base.and_then(|a| a.checked_add_signed(by));
            }
            Mnemonic::Mov if to == Register::RBP && code.op1_register() == Register::RSP => {
                self.above_bp = self.above_sp;
            }
            Mnemonic::Mov if to == Register::RSP && code.op1_register() == Register::RBP => {
                self.above_sp = self.above_bp;
            }
            Mnemonic::Enter => {
                self.push(8);
                self.save(Register::RBP);
                self.above_bp = self.above_sp;
                // The frames around it are copied, and its own address.
                let copied = 8 * (code.immediate(1) % 32).cast_signed();
                self.push(copied + code.immediate(0).cast_signed());
            }
            _ => self.overwritten(code),
        }
    }

    /// What other instructions put into the two pointers, be it into halves of them, is not known.
    fn overwritten(&mut self, code: &Instruction) {
        let mut factory = InstructionInfoFactory::new();
        let info = factory.info(code);
        for operand in 0..code.op_count() {
            let reads = matches!(
                info.op_access(operand),
                OpAccess::None | OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess
            );
            if reads || code.op_kind(operand) != OpKind::Register {
                continue;
            }
            match code.op_register(operand).full_register() {
                Register::RSP => self.above_sp = None,
                Register::RBP => self.above_bp = None,
                _ => {}
            }
        }
    }

    /// A register was pushed; the first time it has the caller's value.
    fn save(&mut self, register: Register) {
        if let (Some(register), Some(below)) = (preserved(register), self.above_sp)
            && !self.saved.iter().any(|(r, _)| *r == register)
        {
            self.saved.push((register, below));
        }
    }

    /// The caller's register is back.
    fn restored(&mut self, register: Register) {
        if register == Register::RBP {
            self.above_bp = None;
        }
        let number = preserved(register);
        self.saved.retain(|(r, _)| Some(*r) != number);
    }
}

fn is_immediate(code: &Instruction) -> bool {
    !matches!(code.op1_kind(), OpKind::Register | OpKind::Memory)
}

/// The DWARF number of a register that belongs to the caller.
fn preserved(register: Register) -> Option<u16> {
    Some(match register {
        Register::RBX => 3,
        Register::RBP => RBP,
        Register::R12 => 12,
        Register::R13 => 13,
        Register::R14 => 14,
        Register::R15 => 15,
        _ => return None,
    })
}

impl Module {
    /// What the function around an address has on the stack before the instruction at `pc` runs.
    /// Of several ways to it the first in the order of the code counts.
    pub(crate) fn frame_layout(&self, inside: FileAddr, pc: FileAddr) -> Option<Layout> {
        let function = self.function_at(inside)?;
        let (begin, end) = function.ranges.first().copied()?;
        if function.entry != begin || !(begin..=end).contains(&pc) || end.0 - begin.0 > LONGEST {
            return None;
        }
        let bytes = self.bytes_at(begin, usize::try_from(end.0 - begin.0).ok()?)?;
        let mut decoder = Decoder::with_ip(64, bytes, begin.0, DecoderOptions::NONE);
        let mut layout = Layout::entered();
        // What jumps bring to their targets; and what most of the function has.
        let mut brought: HashMap<u64, Layout> = HashMap::new();
        let mut body = layout.clone();
        while decoder.ip() < pc.0 && decoder.can_decode() {
            let code = decoder.decode();
            if code.is_invalid() {
                return None;
            }
            layout.run(&code);
            if layout.above_sp >= body.above_sp {
                body = layout.clone();
            }
            let flow = code.flow_control();
            let jumps = matches!(
                flow,
                FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
            );
            if jumps {
                let target = brought.entry(code.near_branch_target());
                target.or_insert_with(|| layout.clone());
            }
            let goes_on = !matches!(
                flow,
                FlowControl::Return
                    | FlowControl::UnconditionalBranch
                    | FlowControl::IndirectBranch
                    | FlowControl::Exception
            );
            match brought.remove(&decoder.ip()) {
                Some(there) if !goes_on => layout = there,
                None if !goes_on => layout = body.clone(),
                _ => {}
            }
        }
        (decoder.ip() == pc.0).then_some(layout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is above both pointers after some code.
    fn after(bytes: &[u8]) -> (Option<u64>, Option<u64>) {
        let mut layout = Layout::entered();
        for code in &mut Decoder::new(64, bytes, DecoderOptions::NONE) {
            layout.run(&code);
        }
        (layout.above_sp, layout.above_bp)
    }

    /// push rbp; mov rbp,rsp
    const FRAME: [u8; 4] = [0x55, 0x48, 0x89, 0xe5];

    #[test]
    fn pointers_that_are_overwritten() {
        assert_eq!(after(&FRAME), (Some(16), Some(16)));
        let with = |code: &[u8]| after(&[&FRAME, code].concat());
        // xor ebp,ebp; xchg rax,rbp; xchg rbp,rax; mov bpl,1; cmovz ebp,eax
        for code in [
            [0x31, 0xed].as_slice(),
            &[0x48, 0x95],
            &[0x48, 0x87, 0xc5],
            &[0x40, 0xb5, 1],
            &[0x0f, 0x44, 0xe8],
        ] {
            assert_eq!(with(code), (Some(16), None), "{code:x?}");
        }
        // and rsp,-16; xchg rax,rsp
        for code in [[0x48, 0x83, 0xe4, 0xf0].as_slice(), &[0x48, 0x94]] {
            assert_eq!(with(code), (None, Some(16)), "{code:x?}");
        }
        // test rbp,rbp; cmp rsp,rax; mov rax,rbp; mov [rbp],rax; call
        for code in [
            [0x48, 0x85, 0xed].as_slice(),
            &[0x48, 0x39, 0xc4],
            &[0x48, 0x89, 0xe8],
            &[0x48, 0x89, 0x45, 0],
            &[0xe8, 0, 0, 0, 0],
        ] {
            assert_eq!(with(code), (Some(16), Some(16)), "{code:x?}");
        }
    }

    #[test]
    fn frames_made_by_enter() {
        // enter 0x20,0; enter 0x20,2; enter 0x20,0 and leave
        assert_eq!(after(&[0xc8, 0x20, 0, 0]), (Some(48), Some(16)));
        assert_eq!(after(&[0xc8, 0x20, 0, 2]), (Some(64), Some(16)));
        assert_eq!(after(&[0xc8, 0x20, 0, 0, 0xc9]), (Some(8), None));
    }
}
