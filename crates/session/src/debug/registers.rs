//! Registers of the kernel's order and of DWARF's.

use verde_engine::{Regs, XState};
use verde_symbols::Registers;

/// The general registers by DWARF number.
pub(super) fn to_dwarf(r: &Regs) -> Registers {
    let general = [
        r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8, r.r9, r.r10, r.r11, r.r12,
        r.r13, r.r14, r.r15, r.rip,
    ];
    Registers {
        general: general.map(Some),
        eflags: Some(r.eflags),
        fs_base: Some(r.fs_base),
        gs_base: Some(r.gs_base),
        segments: Some([r.es, r.cs, r.ss, r.ds, r.fs, r.gs].map(|s| s as u16)),
        ..Registers::default()
    }
}

/// The same with the vector and floating-point registers.
pub(super) fn with_vectors(regs: &Regs, xstate: &XState) -> Registers {
    let mut out = to_dwarf(regs);
    for i in 0..out.xmm.len() {
        out.xmm[i] = xstate.xmm(i);
        out.ymm_high[i] = xstate.ymm_high(i);
    }
    if let (Some(mxcsr), Some(x87)) = (xstate.mxcsr(), xstate.x87()) {
        let mut control = [mxcsr; 9];
        control[1..].copy_from_slice(&x87);
        out.control = Some(control);
    }
    for (i, place) in out.st.iter_mut().enumerate() {
        let bytes = xstate.st(i);
        *place = bytes.and_then(|b| b.get(..10)?.try_into().ok());
    }
    out
}

/// A general register of the kernel's by DWARF number.
pub(super) fn place(regs: &mut Regs, number: u16) -> Option<&mut u64> {
    Some(match number {
        0 => &mut regs.rax,
        1 => &mut regs.rdx,
        2 => &mut regs.rcx,
        3 => &mut regs.rbx,
        4 => &mut regs.rsi,
        5 => &mut regs.rdi,
        6 => &mut regs.rbp,
        7 => &mut regs.rsp,
        8 => &mut regs.r8,
        9 => &mut regs.r9,
        10 => &mut regs.r10,
        11 => &mut regs.r11,
        12 => &mut regs.r12,
        13 => &mut regs.r13,
        14 => &mut regs.r14,
        15 => &mut regs.r15,
        16 => &mut regs.rip,
        49 => &mut regs.eflags,
        _ => return None,
    })
}

/// The registers that are known put over those of the frame inside.
pub(super) fn over(regs: &Regs, known: &Registers) -> Regs {
    let mut out = *regs;
    for number in 0..17 {
        if let (Some(value), Some(place)) = (known.get(number), place(&mut out, number)) {
            *place = value;
        }
    }
    out
}
