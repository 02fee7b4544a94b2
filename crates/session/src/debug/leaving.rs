//! `finish` in an inlined call: it has no return to wait for, it is over where
//! its code is.

use super::Debugger;
use super::failure::{NOT_RUN, Result, failure};
use super::guide::SymbolGuide;
use super::stops::Reason;
use std::ops::Range;
use std::rc::Rc;
use verde_engine::{Addr, FrameRef, Guide, LineAt, LinePart, Regs, StepKind};
use verde_symbols::{DieId, FileAddr};

/// A guide that takes the code of an inlined call for one line.
struct CallGuide {
    symbols: SymbolGuide,
    code: Vec<Range<Addr>>,
}

impl Guide for CallGuide {
    fn line(&self, pc: Addr) -> Option<LineAt> {
        let inside = self.code.iter().any(|r| r.contains(&pc));
        Some(LineAt {
            ranges: match inside {
                true => self.code.clone(),
                false => Vec::new(),
            },
            part: LinePart::Start,
        })
    }

    fn entry_stop(&self, entry: Addr) -> Option<Addr> {
        self.symbols.entry_stop(entry)
    }

    fn caller(
        &self,
        regs: &Regs,
        innermost: bool,
        read: &dyn Fn(Addr) -> Option<u64>,
    ) -> Option<Regs> {
        self.symbols.caller(regs, innermost, read)
    }
}

impl Debugger {
    /// The inlined call that a level is, if it is not over by a jump.
    pub(super) fn inlined_call(&self, level: usize) -> Option<DieId> {
        let live = self.live.as_ref()?;
        let source = live.levels.get(level)?.source.as_ref()?;
        let is_there = source.is_inlined && !live.frame(level).ok()?.has_jumped;
        is_there.then_some(source.die)
    }

    /// Runs until the inlined call of a level is over.
    pub(super) fn leave_inlined(&mut self, level: usize, call: DieId) -> Result<Reason> {
        let Some(live) = &self.live else {
            return failure(NOT_RUN);
        };
        let Some(it) = live.levels.get(level) else {
            return failure(NOT_RUN);
        };
        // What the call has called comes back first.
        let callee = live.levels.iter().rposition(|l| l.code + 1 == it.code);
        if let Some(callee) = callee.and_then(|inner| live.frame_ref(inner)) {
            let reason = self.one_step(StepKind::OutOf(callee))?;
            let back = self.live.as_ref().and_then(|l| l.frame(0).ok());
            if !matches!(reason, Reason::Step) || back.map(|f| f.pc) != Some(callee.return_to.0) {
                return Ok(reason);
            }
        }
        let own = self.live.as_ref().and_then(|l| l.frame_ref(0));
        let outer = self.calls_around(call);
        let mut next = call;
        loop {
            let reason = self.one_step_by(StepKind::Over, self.guide_of(next)?)?;
            if !matches!(reason, Reason::Step) {
                return Ok(reason);
            }
            match self.other_call(own, &outer) {
                Some(other) => next = other,
                None => return Ok(reason),
            }
        }
    }

    /// The function and the inlined calls that the innermost code shares with a call, outermost first.
    fn calls_around(&self, call: DieId) -> Vec<DieId> {
        let calls = self.standing().calls;
        let at = calls.iter().position(|c| *c == call);
        calls[..at.unwrap_or(calls.len())].to_vec()
    }

    /// The caller of what was left may be in the middle of another inlined call, which is gone
    /// over. Before one that begins the program is shown in the caller.
    fn other_call(&mut self, own: Option<FrameRef>, outer: &[DieId]) -> Option<DieId> {
        let now = self.standing();
        let common = now.calls.iter().zip(outer).take_while(|(a, b)| a == b);
        let common = common.count();
        if now.frame != own || common < outer.len() || now.calls.len() == common {
            return None;
        }
        let live = self.live.as_mut()?;
        let entered = now.calls.len() - common;
        let frame = live.frame(0).ok()?;
        let source = live.levels.get(entered - 1)?.source.as_ref()?;
        let bias = frame.module.as_ref()?.1;
        if source.entry.at(bias) == frame.pc {
            live.hide(entered);
            return None;
        }
        Some(source.die)
    }

    fn guide_of(&self, call: DieId) -> Result<Rc<dyn Guide>> {
        let Some(live) = &self.live else {
            return failure(NOT_RUN);
        };
        let mut code = Vec::new();
        if let Some((module, bias)) = &live.frame(0)?.module {
            let at = |addr: FileAddr| Addr(addr.at(*bias));
            let ranges = module.code_of_call(call).into_iter();
            code.extend(ranges.map(|(from, to)| at(from)..at(to)));
        }
        Ok(Rc::new(CallGuide {
            symbols: self.symbol_guide(),
            code,
        }))
    }
}
