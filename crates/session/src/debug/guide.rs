//! What the engine asks about lines and frames while it steps.

use super::images::Images;
use super::registers::{over, to_dwarf};
use super::skips::Skips;
use std::ops::Range;
use std::rc::Rc;
use verde_engine::{Addr, Guide, LineAt, LinePart, Regs};
use verde_symbols::{FileAddr, Frame, LineSpan, LocationError, Memory, Module, Modules, unwind};

/// The debug information of all loaded files.
pub(super) struct SymbolGuide {
    pub images: Images,
    /// Functions that steps do not enter.
    pub skips: Rc<Skips>,
    /// Where a step begins in code that is no statement's: of its line only that piece is left.
    pub piece: Option<Addr>,
}

/// Runs of one function; far more than any has.
const MAX_RUNS: usize = 1 << 16;

impl Guide for SymbolGuide {
    fn line(&self, pc: Addr) -> Option<LineAt> {
        let (module, bias) = self.images.module_at(pc.0)?;
        let at = FileAddr::of(pc.0, bias);
        let span = module.line_at(at)?;
        let part = match (span.begin == at.0, span.is_stmt) {
            (true, true) => LinePart::Start,
            (true, false) => LinePart::Stray(run(&span, bias)),
            (false, _) => LinePart::Middle,
        };
        let ranges = match self.piece == Some(pc) {
            true => vec![run(&span, bias)],
            false => runs_of(&module, at, &span, bias),
        };
        Some(LineAt { ranges, part })
    }

    fn is_entry(&self, pc: Addr) -> bool {
        let Some((module, bias)) = self.images.module_at(pc.0) else {
            return false;
        };
        let at = FileAddr::of(pc.0, bias);
        module.is_plt(at) || module.function_at(at).is_some_and(|f| f.entry == at)
    }

    fn is_stub(&self, pc: Addr) -> bool {
        let module = self.images.module_at(pc.0);
        module.is_some_and(|(module, bias)| module.is_plt(FileAddr::of(pc.0, bias)))
    }

    fn entry_stop(&self, entry: Addr) -> Option<Addr> {
        let (module, bias) = self.images.module_at(entry.0)?;
        let at = FileAddr::of(entry.0, bias);
        let function = module.function_at(at).filter(|f| f.entry == at)?;
        if self.skips.covers(&function) {
            return None;
        }
        module.line_at(at)?;
        Some(Addr(module.breakpoint_address(&function).at(bias)))
    }

    fn caller(
        &self,
        regs: &Regs,
        innermost: bool,
        read: &dyn Fn(Addr) -> Option<u64>,
    ) -> Option<Regs> {
        let pc = regs.pc().0;
        let frame = Frame {
            registers: to_dwarf(regs),
            pc,
            cfa: None,
            is_exact: innermost,
            is_signal: false,
            has_jumped: false,
            method: None,
            module: self
                .images
                .module_at(if innermost { pc } else { pc.wrapping_sub(1) }),
        };
        let caller = unwind(&self.images, &Words(read), &frame)?;
        Some(over(regs, &caller.registers?))
    }
}

fn run(span: &LineSpan, bias: u64) -> Range<Addr> {
    Addr(FileAddr(span.begin).at(bias))..Addr(FileAddr(span.end).at(bias))
}

/// All code of the line in its function: a loop on one line comes back to it.
fn runs_of(module: &Module, at: FileAddr, span: &LineSpan, bias: u64) -> Vec<Range<Addr>> {
    let mut out = vec![run(span, bias)];
    let ranges = module.function_at(at).map(|f| f.ranges).unwrap_or_default();
    for (from, to) in ranges {
        let mut next = from.0;
        while next < to.0 && out.len() < MAX_RUNS {
            let Some(other) = module.line_at(FileAddr(next)) else {
                break;
            };
            if other.line == span.line && other.file == span.file && other.begin != span.begin {
                out.push(run(&other, bias));
            }
            next = other.end.max(next + 1);
        }
    }
    out
}

/// Memory that is read word by word.
struct Words<'a>(&'a dyn Fn(Addr) -> Option<u64>);

impl Memory for Words<'_> {
    fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), LocationError> {
        for (i, part) in buf.chunks_mut(8).enumerate() {
            let at = addr.wrapping_add(i as u64 * 8);
            let word = (self.0)(Addr(at)).ok_or(LocationError::Memory(at))?;
            part.copy_from_slice(&word.to_le_bytes()[..part.len()]);
        }
        Ok(())
    }
}
