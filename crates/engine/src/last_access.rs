//! Which instruction has touched watched data.
//!
//! The CPU reports an access after it was done: the pc is behind the
//! instruction, and backwards the code can be read in several ways. Read
//! forwards it is soon read right wherever one begins, so the instruction in
//! which most beginnings end is the program's.

use crate::access::{Touch, touches};
use crate::relocate::decode;
use crate::{Addr, Process, Regs, Tid};
use iced_x86::{Instruction, InstructionInfoFactory, OpAccess, Register};
use smallvec::SmallVec;

/// So many beginnings before the pc are tried.
const BACK: usize = 64;
const PAGE: u64 = 4096;
const LONGEST: usize = 15;
/// A repeated instruction may go on for so many bytes before the CPU reports one of them.
const GROUP: u64 = 128;
const DIRECTION: u64 = 1 << 10;

type Instructions = SmallVec<[Instruction; 4]>;

/// The instructions that can end at the end of this code, which begins at `start`: the likeliest
/// first.
fn ending(code: &[u8], start: Addr) -> Instructions {
    let len = code.len().min(BACK);
    let skipped = code.len() - len;
    // Where the last instruction begins when one begins here, and how many beginnings lead there.
    let mut last = [None; BACK];
    let mut votes: SmallVec<[(u32, Instruction); 4]> = SmallVec::new();
    for from in (0..len).rev() {
        let at = start + (skipped + from) as u64;
        let rest = &code[skipped + from..];
        let Some(instruction) = decode(&rest[..rest.len().min(LONGEST)], at) else {
            continue;
        };
        let next = from + instruction.len();
        last[from] = match next == len {
            true => {
                votes.push((0, instruction));
                Some(votes.len() - 1)
            }
            false => last.get(next).copied().flatten(),
        };
        if let Some(which) = last[from] {
            votes[which].0 += 1;
        }
    }
    // Of two the longer: the other is what it is without its prefix.
    votes.sort_by_key(|(votes, instruction)| std::cmp::Reverse((*votes, instruction.len())));
    votes
        .into_iter()
        .map(|(_, instruction)| instruction)
        .collect()
}

/// The registers before an instruction, as far as they can be told from those after it.
fn before(instruction: &Instruction, after: &Regs) -> Regs {
    let mut regs = *after;
    regs.rip = instruction.ip();
    let pushed = i64::from(instruction.stack_pointer_increment());
    regs.rsp = regs.rsp.wrapping_sub(pushed.cast_unsigned());
    if let Some(step) = string_step(instruction, after) {
        regs.rsi = regs.rsi.wrapping_sub(step);
        regs.rdi = regs.rdi.wrapping_sub(step);
    }
    regs
}

/// How far one round of a string instruction goes, modulo 2^64.
fn string_step(instruction: &Instruction, regs: &Regs) -> Option<u64> {
    if !instruction.is_string_instruction() {
        return None;
    }
    let size = instruction.memory_size().size() as u64;
    Some(match regs.eflags & DIRECTION {
        0 => size,
        _ => size.wrapping_neg(),
    })
}

/// Its rounds end one by one for whoever single-steps.
pub(crate) fn is_repeated(instruction: &Instruction) -> bool {
    instruction.is_string_instruction()
        && (instruction.has_rep_prefix() || instruction.has_repne_prefix())
}

/// What the last round of a repeated instruction has touched, and all that the last rounds can
/// have.
fn touched_in_rounds(instruction: &Instruction, after: &Regs) -> SmallVec<[(Touch, Touch); 2]> {
    let forwards = after.eflags & DIRECTION == 0;
    let last = touches(instruction, &before(instruction, after));
    let all = last.into_iter().map(|touch| {
        let mut rounds = touch;
        if forwards {
            rounds.at = Addr(rounds.at.0.wrapping_sub(GROUP));
        }
        rounds.len += GROUP;
        (touch, rounds)
    });
    all.collect()
}

/// What an instruction does that has changed a register of its own address, so that the place
/// can no longer be told: the kinds of its accesses, if it has one.
fn kinds_without_place(instruction: &Instruction) -> Option<(bool, bool)> {
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(instruction);
    let is_written = |register: Register| {
        let full = register.full_register();
        info.used_registers().iter().any(|used| {
            let writes = matches!(
                used.access(),
                OpAccess::Write
                    | OpAccess::ReadWrite
                    | OpAccess::CondWrite
                    | OpAccess::ReadCondWrite
            );
            writes && full != Register::RSP && used.register().full_register() == full
        })
    };
    let (mut read, mut write) = (false, false);
    for memory in info.used_memory() {
        if is_written(memory.base()) || is_written(memory.index()) {
            let access = memory.access();
            read |= !matches!(access, OpAccess::Write | OpAccess::CondWrite);
            write |= !matches!(access, OpAccess::Read | OpAccess::CondRead);
        }
    }
    (read || write).then_some((read, write))
}

fn overlapping(touched: &[Touch], at: Addr, len: u8) -> Option<Touch> {
    let all = touched.iter().filter(|t| t.overlaps(at, len));
    all.copied().reduce(|one, other| Touch {
        read: one.read || other.read,
        write: one.write || other.write,
        ..one
    })
}

/// The instruction that a thread has just done, and what could be a repeated one that it is in.
pub(crate) struct Last {
    after: Regs,
    /// All that can end here, the likeliest first.
    ended: Instructions,
    repeated: Option<Instruction>,
}

impl Last {
    /// What was touched together with these bytes, if the instruction still tells the places.
    pub(crate) fn exact(&self, at: Addr, len: u8) -> Option<SmallVec<[Touch; 2]>> {
        let all = self.ended.first().into_iter().chain(&self.repeated);
        let mut touched = all.map(|i| touches(i, &before(i, &self.after)));
        touched.find(|t| t.iter().any(|t| t.overlaps(at, len)))
    }

    /// What was done to these bytes, which have `changed` or not. `None`: it is not known, as after
    /// a jump.
    pub(crate) fn done(&self, at: Addr, len: u8, changed: bool) -> Option<Touch> {
        if let Some(touched) = self.exact(at, len) {
            return overlapping(&touched, at, len);
        }
        let rounds = self.rounds().filter(|(_, all)| all.overlaps(at, len));
        // Of source and destination beside each other the one that has just passed.
        let nearest = rounds.min_by_key(|(last, all)| {
            let stored = changed && all.write;
            (!stored, last.at.0.abs_diff(at.0))
        });
        if let Some((_, touch)) = nearest {
            return Some(touch);
        }
        let (read, write) = kinds_without_place(self.ended.first()?)?;
        let len = len.into();
        Some(Touch {
            at,
            len,
            read,
            write,
        })
    }

    /// The operand that was loaded and stored together with these bytes: the instruction, with
    /// the registers before it.
    pub(crate) fn exchanged(&self, at: Addr, len: u8) -> Option<(Instruction, Regs, Touch)> {
        let instruction = self.ended.first()?;
        let before = before(instruction, &self.after);
        let touched = touches(instruction, &before).into_iter();
        let mut both = touched.filter(|t| t.read && t.write && t.overlaps(at, len));
        Some((*instruction, before, both.next()?))
    }

    /// Operands of a repeated instruction: its last round, and its last rounds.
    fn rounds(&self) -> impl Iterator<Item = (Touch, Touch)> {
        let ended = self.ended.first().filter(|i| is_repeated(i));
        let all = self.repeated.iter().chain(ended);
        all.flat_map(|i| touched_in_rounds(i, &self.after))
    }

    /// Where the last rounds of a repeated instruction can have stored.
    pub(crate) fn stored_in_rounds(&self) -> SmallVec<[Touch; 2]> {
        let all = self.rounds().map(|(_, all)| all);
        all.filter(|t| t.write).collect()
    }

    /// What was touched, of every instruction that can end here: one of them was the program's.
    pub(crate) fn possible(&self) -> impl Iterator<Item = SmallVec<[Touch; 2]>> {
        let all = self.ended.iter().chain(&self.repeated);
        all.map(|i| touches(i, &before(i, &self.after)))
    }
}

impl Process {
    /// The instructions that can end at the pc, the likeliest first.
    fn last_instructions(&self, pc: Addr) -> Instructions {
        let mut code = [0u8; BACK];
        // The page before may be somebody else's, or nobody's.
        for len in [BACK, (pc.0 % PAGE) as usize] {
            let len = len.min(BACK);
            let start = Addr(pc.0.wrapping_sub(len as u64));
            if self.read(start, &mut code[..len]).is_ok() {
                return ending(&code[..len], start);
            }
        }
        Instructions::new()
    }

    /// `None`: the thread does not stand.
    pub(crate) fn last(&self, tid: Tid) -> Option<Last> {
        let regs = self.regs(tid).ok()?;
        Some(Last {
            after: *regs,
            ended: self.last_instructions(regs.pc()),
            repeated: self.instruction_at(regs.pc()).filter(is_repeated),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::Mnemonic;

    fn last(code: &[u8]) -> Instruction {
        ending(code, Addr(0x1000))[0]
    }

    #[test]
    fn the_instruction_in_which_most_beginnings_end() {
        // push rbp; mov rbp,rsp; movsd [rip+..],xmm0, which ends as adc [rip+..],eax does.
        let code = [0x55, 0x48, 0x89, 0xe5, 0xf2, 0x0f, 0x11, 0x05, 1, 2, 0, 0];
        assert_eq!(last(&code).mnemonic(), Mnemonic::Movsd);
        // mov rax,[rip+..]; mov dword [rax],0, which ends as add [rax],al does.
        let code = [0x48, 0x8b, 0x05, 1, 2, 0, 0, 0xc7, 0, 0, 0, 0, 0];
        assert_eq!(last(&code).mnemonic(), Mnemonic::Mov);
        assert_eq!(last(&code).len(), 6);
        assert!(ending(&[], Addr(0x1000)).is_empty());
    }

    #[test]
    fn registers_before_the_instruction() {
        let after = Regs {
            rsp: 0x100,
            rdi: 0x200,
            ..Regs::default()
        };
        // push [rdi]; stosq
        assert_eq!(before(&last(&[0xff, 0x37]), &after).rsp, 0x108);
        assert_eq!(before(&last(&[0x48, 0xab]), &after).rdi, 0x1f8);
        let down = Regs {
            eflags: DIRECTION,
            ..after
        };
        assert_eq!(before(&last(&[0x48, 0xab]), &down).rdi, 0x208);
    }

    #[test]
    fn only_who_changes_its_own_address_is_known_without_it() {
        // mov rax,[rax]; mov rax,[rdi]; xadd [rdi],rdi
        assert_eq!(
            kinds_without_place(&last(&[0x48, 0x8b, 0x00])),
            Some((true, false))
        );
        assert_eq!(kinds_without_place(&last(&[0x48, 0x8b, 0x07])), None);
        assert_eq!(
            kinds_without_place(&last(&[0x48, 0x0f, 0xc1, 0x3f])),
            Some((true, true))
        );
    }
}
