//! The frame of a function that has no call frame information, such as one written in assembler:
//! its code is read from its beginning to where it stands, and says what is on the stack.

use crate::addr::FileAddr;
use crate::module::Module;
use crate::registers::{RBP, RSP, Registers};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};
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
                if let (Some(register), Some(below)) = (preserved(to), self.above_sp)
                    && !self.saved.iter().any(|(r, _)| *r == register)
                {
                    self.saved.push((register, below));
                }
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
            Mnemonic::Cmp | Mnemonic::Test => {}
            _ if to == Register::RSP => self.above_sp = None,
            _ if to == Register::RBP => self.above_bp = None,
            _ => {}
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
