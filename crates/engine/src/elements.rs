//! Which elements of a vector in memory an instruction touches: some have a mask, or an address for
//! each of them.

use crate::access::{Touch, register_value, touch_at, touches};
use crate::{Addr, Regs};
use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register, UsedMemory};
use smallvec::SmallVec;
use verde_sys::XState;

/// What says which elements are touched.
enum Mask {
    /// A bit for each in a mask register.
    Bits(Register),
    /// The highest bit of each in a vector register.
    Signs(Register),
    /// All are.
    Whole,
}

/// The ranges touched by an instruction with these registers before it, to the byte. `vectors` are
/// the thread's, and asked for only where they matter.
pub(crate) fn exact_touches(
    instruction: &Instruction,
    regs: &Regs,
    vectors: impl FnOnce() -> Option<XState>,
) -> SmallVec<[Touch; 2]> {
    let mask = mask_of(instruction);
    if matches!(mask, Mask::Whole) && !instruction.is_vsib() {
        return touches(instruction, regs);
    }
    let mut factory = InstructionInfoFactory::new();
    let operand = factory.info(instruction).used_memory().first();
    let exact = operand.zip(vectors()).and_then(|(memory, vectors)| {
        elements(
            instruction,
            memory,
            &mask,
            &Before {
                regs,
                vectors: &vectors,
            },
        )
    });
    exact.unwrap_or_else(|| touches(instruction, regs))
}

fn mask_of(instruction: &Instruction) -> Mask {
    use Mnemonic as M;
    let last = instruction.op_count().saturating_sub(1);
    match instruction.mnemonic() {
        M::Vpmaskmovd | M::Vpmaskmovq | M::Vmaskmovps | M::Vmaskmovpd => {
            Mask::Signs(instruction.op1_register())
        }
        M::Maskmovdqu | M::Vmaskmovdqu | M::Maskmovq => Mask::Signs(instruction.op2_register()),
        _ if instruction.op_mask() != Register::None => match suppresses(instruction) {
            true => Mask::Bits(instruction.op_mask()),
            false => Mask::Whole,
        },
        // Gathers of AVX2.
        _ if instruction.is_vsib() && instruction.op_kind(last) == OpKind::Register => {
            Mask::Signs(instruction.op_register(last))
        }
        _ => Mask::Whole,
    }
}

/// Whether an instruction with a mask register leaves the other elements in memory alone. Others
/// mask what they make of the whole operand.
fn suppresses(instruction: &Instruction) -> bool {
    use Mnemonic as M;
    let moves = matches!(
        instruction.mnemonic(),
        M::Vmovdqu8
            | M::Vmovdqu16
            | M::Vmovdqu32
            | M::Vmovdqu64
            | M::Vmovdqa32
            | M::Vmovdqa64
            | M::Vmovups
            | M::Vmovupd
            | M::Vmovaps
            | M::Vmovapd
            | M::Vmovss
            | M::Vmovsd
            | M::Vmovsh
    );
    let stores = instruction.op0_kind() == OpKind::Memory;
    moves || stores || is_packed_together(instruction) || instruction.is_vsib()
}

/// The elements of the mask are next to each other in memory.
fn is_packed_together(instruction: &Instruction) -> bool {
    use Mnemonic as M;
    matches!(
        instruction.mnemonic(),
        M::Vpcompressb
            | M::Vpcompressw
            | M::Vpcompressd
            | M::Vpcompressq
            | M::Vcompressps
            | M::Vcompresspd
            | M::Vpexpandb
            | M::Vpexpandw
            | M::Vpexpandd
            | M::Vpexpandq
            | M::Vexpandps
            | M::Vexpandpd
    )
}

/// What a thread has before an instruction.
struct Before<'a> {
    regs: &'a Regs,
    vectors: &'a XState,
}

impl Before<'_> {
    fn vector(&self, register: Register) -> Option<[u8; 64]> {
        if register.is_mm() {
            let mut all = [0; 64];
            // The registers of MMX are those of the x87, which count from its top; whoever uses
            // them has made that the first.
            all[..8].copy_from_slice(&self.vectors.st(register.number())?[..8]);
            return Some(all);
        }
        let is_vector = register.is_xmm() || register.is_ymm() || register.is_zmm();
        self.vectors.zmm(register.number()).filter(|_| is_vector)
    }

    fn element(&self, register: Register, index: usize, size: usize) -> Option<u64> {
        let vector = self.vector(register)?;
        let mut bytes = [0; 8];
        bytes
            .get_mut(..size)?
            .copy_from_slice(vector.get(index * size..(index + 1) * size)?);
        Some(u64::from_le_bytes(bytes))
    }

    /// Bits for the first `count` elements of `size` bytes.
    fn mask(&self, mask: &Mask, size: usize, count: usize) -> Option<u64> {
        let all = u64::MAX >> (64 - count.clamp(1, 64));
        Some(match mask {
            Mask::Bits(register) => self.vectors.mask(register.number())? & all,
            Mask::Signs(register) => {
                let vector = self.vector(*register)?;
                let is_set = |i: &usize| vector[(i + 1) * size - 1] & 0x80 != 0;
                let set = (0..count.min(64 / size)).filter(is_set);
                set.fold(0, |bits, i| bits | 1 << i)
            }
            Mask::Whole => all,
        })
    }
}

/// The touched elements of an operand; those next to each other are one range.
fn elements(
    instruction: &Instruction,
    memory: &UsedMemory,
    mask: &Mask,
    before: &Before,
) -> Option<SmallVec<[Touch; 2]>> {
    let (size, count) = shape(instruction, memory)?;
    let mut bits = before.mask(mask, size, count)?;
    if is_packed_together(instruction) {
        bits = (1u64.checked_shl(bits.count_ones())).map_or(u64::MAX, |b| b - 1);
    }
    let mut touched: SmallVec<[Touch; 2]> = SmallVec::new();
    for i in (0..count).filter(|i| bits >> i & 1 != 0) {
        let at = match instruction.is_vsib() {
            true => memory.virtual_address(i, |register, index, size| match size {
                0 => register_value(before.regs, register),
                _ => before.element(register, index, size),
            })?,
            false => {
                let value = |register, _, _| register_value(before.regs, register);
                memory
                    .virtual_address(0, value)?
                    .wrapping_add((i * size) as u64)
            }
        };
        let touch = Touch {
            at: Addr(at),
            len: size as u64,
            ..touch_at(memory, at)?
        };
        match touched.last_mut() {
            Some(last) if last.at.0.wrapping_add(last.len) == at => last.len += touch.len,
            _ => touched.push(touch),
        }
    }
    Some(touched)
}

/// The size of an operand's elements, and how many there are.
fn shape(instruction: &Instruction, memory: &UsedMemory) -> Option<(usize, usize)> {
    use Mnemonic as M;
    let whole = memory.memory_size();
    let size = match instruction.mnemonic() {
        M::Maskmovdqu | M::Vmaskmovdqu | M::Maskmovq => 1,
        _ => whole.element_size(),
    };
    if size == 0 || size > 8 {
        return None;
    }
    let count = match instruction.is_vsib() {
        true => {
            let data = match instruction.op0_kind() {
                OpKind::Memory => instruction.op1_register(),
                _ => instruction.op0_register(),
            };
            let index = if instruction.is_vsib32() { 4 } else { 8 };
            (data.size() / size).min(memory.index().size() / index)
        }
        false => whole.size() / size,
    };
    Some((size, count))
}
