//! Where a Rust function has written its result. Optimised code does not return the address that
//! it was given: the instructions before the call say which it was.

use super::Debugger;
use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind, Register};
use verde_symbols::{FileAddr, Memory, Modules};

/// Runs of lines before a call that are looked at.
const MOST_RUNS: usize = 6;

/// DWARF's number of a register that a call leaves as it was.
fn kept(register: Register) -> Option<u16> {
    Some(match register {
        Register::RBX => 3,
        Register::RBP => 6,
        Register::RSP => 7,
        Register::R12 => 12,
        Register::R13 => 13,
        Register::R14 => 14,
        Register::R15 => 15,
        _ => return None,
    })
}

impl Debugger {
    /// The address that a call passed for its result, by the registers after it.
    pub(super) fn result_place(&mut self, return_to: u64) -> Option<u64> {
        let code = self.code_before(return_to)?;
        let (call, before) = code.split_last()?;
        if !matches!(
            call.flow_control(),
            FlowControl::Call | FlowControl::IndirectCall
        ) {
            return None;
        }
        let mut wanted = Register::RDI;
        for (at, instruction) in before.iter().enumerate().rev() {
            if instruction.flow_control() != FlowControl::Next {
                return None;
            }
            let later = &before[at + 1..];
            let writes = instruction.op0_kind() == OpKind::Register
                && instruction.op0_register().full_register() == wanted;
            if !writes {
                continue;
            }
            let is_register = instruction.op1_kind() == OpKind::Register;
            let memory = || self.memory_operand(instruction, later);
            match instruction.mnemonic() {
                Mnemonic::Lea => return memory(),
                Mnemonic::Mov if is_register => match kept(instruction.op1_register()) {
                    Some(_) => return self.register_then(instruction.op1_register(), later),
                    None => wanted = instruction.op1_register().full_register(),
                },
                Mnemonic::Mov if instruction.op1_kind() == OpKind::Memory => {
                    let at = memory()?;
                    return self.here().read_u64(at).ok();
                }
                // Compared or pushed, not written.
                Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Push => {}
                _ => return None,
            }
        }
        None
    }

    /// What a register was that only the `later` instructions and the call came after.
    fn register_then(&self, register: Register, later: &[Instruction]) -> Option<u64> {
        let live = self.live.as_ref()?;
        let now = live.frame(0).ok()?.registers.get(kept(register)?)?;
        let writes = |i: &Instruction| {
            i.op0_kind() == OpKind::Register
                && i.op0_register().full_register() == register
                && !matches!(
                    i.mnemonic(),
                    Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Push
                )
        };
        if later.iter().any(writes) {
            return None;
        }
        // Arguments on the stack were pushed.
        let pushed: i32 = later.iter().map(|i| i.stack_pointer_increment()).sum();
        match register {
            Register::RSP => Some(now.wrapping_sub(i64::from(pushed) as u64)),
            _ => Some(now),
        }
    }

    fn memory_operand(&self, instruction: &Instruction, later: &[Instruction]) -> Option<u64> {
        if instruction.memory_index() != Register::None {
            return None;
        }
        let base = self.register_then(instruction.memory_base(), later)?;
        Some(base.wrapping_add(instruction.memory_displacement64()))
    }

    /// The instructions of the lines that end with a call.
    fn code_before(&mut self, return_to: u64) -> Option<Vec<Instruction>> {
        let (module, bias) = self.images.module_at(return_to)?;
        let mut start = FileAddr::of(return_to, bias).0;
        for _ in 0..MOST_RUNS {
            // Lines begin where instructions do.
            match module.line_at(FileAddr(start.wrapping_sub(1))) {
                Some(span) if span.begin < start => start = span.begin,
                _ => break,
            }
        }
        let mut at = FileAddr(start).at(bias);
        let mut code = Vec::new();
        while at < return_to {
            let instruction = self.decode(at).filter(|i| !i.is_invalid())?;
            at = instruction.next_ip();
            code.push(instruction);
        }
        (at == return_to).then_some(code)
    }
}
