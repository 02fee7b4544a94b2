//! What the engine needs to know from debug information, and what it does
//! without.

use crate::{Addr, FrameRef, Process, Regs, Result, Tid};
use std::ops::Range;

/// Which part of a line's code an address is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinePart {
    /// The beginning of a statement: a step may end here.
    Start,
    /// The beginning of this piece, which the compiler has moved between those of other lines: a
    /// step goes on as if it were not there.
    Stray(Range<Addr>),
    /// In the middle, where a jump may lead.
    Middle,
}

/// Where an address is in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineAt {
    /// The code of the line, inlined calls included when they are to be
    /// stepped over.
    pub ranges: Vec<Range<Addr>>,
    /// Where in it the address is.
    pub part: LinePart,
}

/// Debug information as the engine asks for it. Every answer has a fallback.
pub trait Guide {
    /// The line of an address; `None` without line information.
    fn line(&self, pc: Addr) -> Option<LineAt> {
        let _ = pc;
        None
    }

    /// The address is the first of a function, or of a stub that leads to one.
    fn is_entry(&self, pc: Addr) -> bool {
        let _ = pc;
        false
    }

    /// The address is in a stub, which leads to a function that may be chosen
    /// only when it is called.
    fn is_stub(&self, pc: Addr) -> bool {
        let _ = pc;
        false
    }

    /// Where to stop in the function that begins at `entry` (after its
    /// prologue); `None`: there is no line information, step over it.
    fn entry_stop(&self, entry: Addr) -> Option<Addr> {
        let _ = entry;
        None
    }

    /// The registers of the caller: its pc is the return address, its stack
    /// pointer the canonical frame address. `innermost`: the pc is exact, and
    /// not one behind a call. `read` gives a word of memory. `None`: unknown
    /// here, the engine goes by the frame pointer.
    fn caller(
        &self,
        regs: &Regs,
        innermost: bool,
        read: &dyn Fn(Addr) -> Option<u64>,
    ) -> Option<Regs> {
        let _ = (regs, innermost, read);
        None
    }
}

/// No debug information at all.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoGuide;

impl Guide for NoGuide {}

/// The frame of a thread with these registers.
pub(crate) fn frame(
    guide: &dyn Guide,
    regs: &Regs,
    read: &dyn Fn(Addr) -> Option<u64>,
) -> Option<FrameRef> {
    let caller = guide
        .caller(regs, true, read)
        .or_else(|| by_frame_pointer(regs, true, read))?;
    Some(FrameRef {
        cfa: caller.sp(),
        return_to: caller.pc(),
    })
}

/// The caller's registers if the function keeps a frame pointer. Before it has
/// set it up, and at its `ret`, the return address is found by the code.
fn by_frame_pointer(
    regs: &Regs,
    innermost: bool,
    read: &dyn Fn(Addr) -> Option<u64>,
) -> Option<Regs> {
    const FARTHEST: u64 = 16 << 20;
    let mut caller = *regs;
    if innermost {
        let code = read(regs.pc()).unwrap_or(0).to_le_bytes();
        let above = match code {
            // push rbp; endbr64; ret
            [0x55, ..] | [0xf3, 0x0f, 0x1e, 0xfa, ..] | [0xc3, ..] => Some(0),
            // mov rbp,rsp: rbp has just been pushed.
            [0x48, 0x89, 0xe5, ..] => Some(8),
            _ => None,
        };
        if let Some(above) = above {
            let at = regs.sp() + above;
            caller.rip = read(at)?;
            caller.rsp = at.0.wrapping_add(8);
            return Some(caller);
        }
    }
    let saved = Addr(regs.rbp);
    if saved >= regs.sp()
        && saved - regs.sp() < FARTHEST
        && let (Some(rbp), Some(rip)) = (read(saved), read(saved + 8))
    {
        caller.rbp = rbp;
        caller.rip = rip;
        caller.rsp = saved.0 + 16;
        return Some(caller);
    }
    if !innermost {
        return None;
    }
    caller.rip = read(regs.sp())?;
    caller.rsp = regs.rsp + 8;
    Some(caller)
}

impl Process {
    /// A word of memory with the program's own code.
    pub(crate) fn read_code_word(&self, at: Addr) -> Option<u64> {
        let mut bytes = [0; 8];
        self.read(at, &mut bytes).ok()?;
        Some(u64::from_le_bytes(bytes))
    }

    /// The registers of a stopped thread and of its callers, innermost first,
    /// at most `limit`. Ends where nothing is known, at code that is not
    /// mapped, or when the stack stops going up.
    pub fn backtrace(&self, tid: Tid, guide: &dyn Guide, limit: usize) -> Result<Vec<Regs>> {
        let read = |at| self.read_code_word(at);
        let mut regs = *self.regs(tid)?;
        let mut frames = vec![regs];
        while frames.len() < limit {
            let innermost = frames.len() == 1;
            let caller = guide
                .caller(&regs, innermost, &read)
                .or_else(|| by_frame_pointer(&regs, innermost, &read));
            match caller {
                Some(caller) if caller.rsp > regs.rsp && read(caller.pc()).is_some() => {
                    regs = caller;
                    frames.push(regs);
                }
                _ => break,
            }
        }
        Ok(frames)
    }
}
