//! Unwinding: call frame information of `.eh_frame` and `.debug_frame`, and what to do without: what
//! the function's code has done with the stack, the chain of frame pointers, the top of the stack.

use crate::addr::FileAddr;
use crate::functions::SourceFrame;
use crate::module::Module;
use crate::registers::{Memory, RBP, RIP, RSP, Registers};
use std::collections::HashSet;
use std::sync::Arc;

/// How the frame outside another was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// By the compiler's call frame information.
    Cfi,
    /// By what the function's code has done with the stack.
    Code,
    /// By the chain of frame pointers.
    FramePointer,
    /// By the word on top of the stack: the first instruction of a function, a call to nowhere.
    StackTop,
}

/// The registers of the caller, found from those of a frame.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The canonical frame address of the frame that was unwound.
    pub cfa: u64,
    /// Registers as they were at the call; `None` when the frame that was unwound is the outermost.
    pub registers: Option<Registers>,
    /// The frame that was unwound is a signal trampoline: its caller was interrupted, not calling.
    pub is_signal: bool,
    /// How.
    pub method: Method,
}

/// Which module is loaded where.
pub trait Modules {
    /// The module whose image contains a run-time address, and its bias.
    fn module_at(&self, addr: u64) -> Option<(Arc<Module>, u64)>;
}

/// A frame of code (source frames inlined into it are one with it).
#[derive(Clone)]
pub struct Frame {
    /// Registers, as far as they are known.
    pub registers: Registers,
    /// Where it runs.
    pub pc: u64,
    /// The canonical frame address, when it could be computed.
    pub cfa: Option<u64>,
    /// The pc is the instruction to run next, not the one after a call.
    pub is_exact: bool,
    /// The frame of a signal trampoline: `<signal handler called>`.
    pub is_signal: bool,
    /// Its function ended with a jump to that of the frame inside: nothing of it is on the stack.
    pub has_jumped: bool,
    /// How this frame was found from the one inside; `None` for the innermost.
    pub method: Option<Method>,
    /// The module it runs in, and its bias.
    pub module: Option<(Arc<Module>, u64)>,
}

impl Frame {
    /// The address to look symbols up by: inside the call, not after it.
    pub fn lookup(&self) -> u64 {
        if self.is_exact {
            self.pc
        } else {
            self.pc.wrapping_sub(1)
        }
    }

    /// The same in the module's own count.
    pub fn file_addr(&self) -> Option<FileAddr> {
        let (_, bias) = self.module.as_ref()?;
        Some(FileAddr::of(self.lookup(), *bias))
    }
}

/// Why a backtrace ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// At the outermost frame.
    Outermost,
    /// There are more frames than were asked for.
    Limit,
    /// The next frame lies inside this one, or was there before.
    Corrupt,
    /// Memory of the next frame cannot be read, or nothing tells where it is.
    Lost,
}

/// Frames of a thread, innermost first, and why there are no more.
pub fn backtrace(
    modules: &dyn Modules,
    memory: &dyn Memory,
    registers: Registers,
    limit: usize,
) -> (Vec<Frame>, End) {
    let mut frames: Vec<Frame> = Vec::new();
    let mut seen = HashSet::new();
    let mut next = Some((registers, true, None));
    while let Some((registers, is_exact, method)) = next.take() {
        if frames.len() >= limit {
            return (frames, End::Limit);
        }
        let Some(pc) = registers.pc() else {
            return (frames, End::Lost);
        };
        let mut frame = Frame {
            module: modules.module_at(if is_exact { pc } else { pc.wrapping_sub(1) }),
            registers,
            pc,
            cfa: None,
            is_exact,
            is_signal: false,
            has_jumped: false,
            method,
        };
        let caller = unwind(modules, memory, &frame);
        frame.cfa = caller.as_ref().map(|c| c.cfa);
        frame.is_signal = caller.as_ref().is_some_and(|c| c.is_signal);
        // After a signal trampoline, and below a trampoline found by pc - 1, the pc is exact.
        if frame.is_signal && !frame.is_exact {
            frame.is_exact = true;
        }
        let fresh = seen.insert((frame.pc, frame.cfa));
        let inner = frames.last();
        // Stacks grow down; only a signal handler may run on another one.
        let inside = match (inner.and_then(|f| f.cfa), frame.cfa) {
            (Some(before), Some(now)) => now <= before && !frame.is_signal,
            _ => false,
        };
        let corrupt = !fresh || (inside && !inner.is_some_and(|f| f.is_signal));
        if corrupt && !frames.is_empty() {
            return (frames, End::Corrupt);
        }
        frames.push(frame);
        match caller {
            None => return (frames, End::Lost),
            Some(caller) => match caller.registers {
                None => return (frames, End::Outermost),
                Some(registers) => next = Some((registers, caller.is_signal, Some(caller.method))),
            },
        }
    }
    (frames, End::Outermost)
}

/// The frames of a backtrace as gdb numbers them: functions inlined into a frame count one each. Every
/// entry is the index of the frame of code and the source frame, if debug information knows it.
pub fn source_frames(frames: &[Frame]) -> Vec<(usize, Option<SourceFrame>)> {
    let mut out = Vec::new();
    for (level, frame) in frames.iter().enumerate() {
        let sources = match (&frame.module, frame.file_addr()) {
            (Some((module, _)), Some(addr)) => module.frames_at(addr),
            _ => Vec::new(),
        };
        match sources.is_empty() {
            true => out.push((level, None)),
            false => out.extend(sources.into_iter().map(|s| (level, Some(s)))),
        }
    }
    out
}

/// The caller of a frame by any means.
pub fn unwind(modules: &dyn Modules, memory: &dyn Memory, frame: &Frame) -> Option<Caller> {
    if let Some((module, bias)) = &frame.module {
        // A signal trampoline's entry starts one byte early, for those who look at pc - 1.
        let at = FileAddr::of(frame.lookup(), *bias);
        match module.unwind_frame(*bias, at, &frame.registers, memory) {
            Some(Ok(caller)) => return Some(caller),
            Some(Err(_)) => return None,
            None => {}
        }
        return by_code(modules, memory, frame)
            .or_else(|| by_frame_pointer(modules, memory, &frame.registers))
            .or_else(|| by_stack_top(modules, memory, &frame.registers));
    }
    // Nowhere: a call through a bad pointer left its return address on top of the stack.
    by_stack_top(modules, memory, &frame.registers)
        .or_else(|| by_frame_pointer(modules, memory, &frame.registers))
}

fn by_code(modules: &dyn Modules, memory: &dyn Memory, frame: &Frame) -> Option<Caller> {
    let (module, bias) = frame.module.as_ref()?;
    let layout = module.frame_layout(frame.file_addr()?, FileAddr::of(frame.pc, *bias))?;
    let regs = &frame.registers;
    let cfa = layout.cfa(regs)?;
    let pc = memory.read_u64(cfa.checked_sub(8)?).ok()?;
    let caller = caller_at(modules, regs, pc, cfa, Method::Code)?;
    let mut registers = caller.registers?;
    for (register, below) in &layout.saved {
        let saved = memory.read_u64(cfa.checked_sub(*below)?).ok();
        registers.general[usize::from(*register)] = saved;
    }
    Some(Caller {
        registers: Some(registers),
        ..caller
    })
}

fn by_frame_pointer(
    modules: &dyn Modules,
    memory: &dyn Memory,
    regs: &Registers,
) -> Option<Caller> {
    let (bp, sp) = (regs.get(RBP)?, regs.sp()?);
    if bp < sp || bp % 8 != 0 {
        return None;
    }
    let saved = memory.read_u64(bp).ok()?;
    let pc = memory.read_u64(bp.checked_add(8)?).ok()?;
    let caller = caller_at(modules, regs, pc, bp.checked_add(16)?, Method::FramePointer)?;
    let mut registers = caller.registers?;
    registers.general[RBP as usize] = Some(saved);
    Some(Caller {
        registers: Some(registers),
        ..caller
    })
}

fn by_stack_top(modules: &dyn Modules, memory: &dyn Memory, regs: &Registers) -> Option<Caller> {
    let sp = regs.sp()?;
    let pc = memory.read_u64(sp).ok()?;
    caller_at(modules, regs, pc, sp.checked_add(8)?, Method::StackTop)
}

fn caller_at(
    modules: &dyn Modules,
    regs: &Registers,
    pc: u64,
    cfa: u64,
    method: Method,
) -> Option<Caller> {
    let (module, bias) = modules.module_at(pc.wrapping_sub(1))?;
    let at = FileAddr::of(pc.wrapping_sub(1), bias);
    let executable = module
        .segments()
        .iter()
        .any(|s| s.flags.2 && at.0 >= s.addr.0 && at.0 - s.addr.0 < s.size);
    if !executable {
        return None;
    }
    let mut registers = regs.clone();
    registers.general[RIP as usize] = Some(pc);
    registers.general[RSP as usize] = Some(cfa);
    Some(Caller {
        cfa,
        registers: Some(registers),
        is_signal: false,
        method,
    })
}
