//! Steps around inlined calls, which have no instruction of their own: where
//! one begins, the program is shown before the call, and `step` enters it
//! without a move.

use super::Debugger;
use super::failure::{NOT_RUN, Result, failure};
use super::live::{Hidden, Level};
use super::location::Spec;
use std::sync::Arc;
use verde_engine::{FrameRef, StepKind};
use verde_symbols::{DieId, FileAddr, FunctionQuery, Modules, SourceFile, SourceFrame};

/// Where a step begins.
pub(super) struct Standing {
    pub frame: Option<FrameRef>,
    /// The function of the innermost code and the calls inlined into it, outermost first.
    pub calls: Vec<DieId>,
    line: Option<(Arc<SourceFile>, u32)>,
    /// An inlined call begins here and was not entered.
    pub before_call: bool,
}

impl Standing {
    /// The inlined calls that were entered since.
    fn entered_since(&self, start: &Standing) -> usize {
        let pairs = self.calls.iter().zip(&start.calls);
        self.calls.len() - pairs.take_while(|(a, b)| a == b).count()
    }
}

impl Standing {
    /// The line it stands in counts for none: the next statement ends the step, also one of that line.
    pub fn in_no_line(&mut self) {
        self.line = None;
    }
}

impl Debugger {
    /// Where the selected thread stands.
    pub(super) fn standing(&self) -> Standing {
        let live = self.live.as_ref();
        let levels = live.map_or(&[][..], |l| &l.levels);
        let innermost = levels.iter().take_while(|l| l.code == 0);
        let mut calls: Vec<DieId> = innermost
            .filter_map(|l| Some(l.source.as_ref()?.die))
            .collect();
        calls.reverse();
        Standing {
            frame: live.and_then(|l| l.frame_ref(0)),
            calls,
            line: levels.first().and_then(|l| l.line().cloned()),
            before_call: live.is_some_and(|l| l.hidden.is_some()),
        }
    }

    /// Enters the inlined call that begins here, if the program is shown before one that is not
    /// to be skipped.
    pub(super) fn enter_inlined(&mut self) -> Result<bool> {
        let Some(live) = &mut self.live else {
            return failure(NOT_RUN);
        };
        let Some(before) = live.hidden else {
            return Ok(false);
        };
        live.hidden = before.one_less();
        live.look(live.tid, &self.images)?;
        if self.is_new_skipped(1) {
            self.show_before(before)?;
            return Ok(false);
        }
        self.listing.reset();
        Ok(true)
    }

    fn show_before(&mut self, hidden: Hidden) -> Result<()> {
        let Some(live) = &mut self.live else {
            return failure(NOT_RUN);
        };
        live.hidden = Some(hidden);
        live.look(live.tid, &self.images)
    }

    /// Whether one of the innermost inlined calls is not to be entered by steps.
    fn is_new_skipped(&self, calls: usize) -> bool {
        let levels = self.live.as_ref().map_or(&[][..], |l| &l.levels);
        levels.iter().take(calls).any(|l| self.is_skipped(l))
    }

    /// Whether a step out of a real call has led to where the code of an inlined one begins that
    /// is to be skipped: the program is then shown before it.
    pub(super) fn returned_to_skipped(&mut self, kind: StepKind, start: &Standing) -> bool {
        let pc = self.live.as_ref().and_then(|l| Some(l.frame(0).ok()?.pc));
        let returned = start.frame.is_some_and(|f| Some(f.return_to.0) == pc);
        let begun = if returned { self.calls_begun() } else { 0 };
        let levels = self.live.as_ref().map_or(&[][..], |l| &l.levels);
        let outermost = begun.checked_sub(1).and_then(|at| levels.get(at));
        let skipped = outermost.is_some_and(|l| self.is_skipped(l));
        if kind != StepKind::Into || !skipped {
            return false;
        }
        self.stand_before_calls();
        true
    }

    fn is_skipped(&self, level: &Level) -> bool {
        let source = level.source.as_ref();
        source.is_some_and(|s| self.skips.covers_call(s))
    }

    /// Whether a step that began at `start` is in an inlined call that it does not enter: it goes
    /// over whatever that calls.
    pub(super) fn is_skipping(&self, start: &Standing) -> bool {
        self.is_new_skipped(self.standing().entered_since(start))
    }

    /// Whether a step that began at `start` is not over where the program stands now.
    pub(super) fn goes_on(&mut self, kind: StepKind, start: &Standing) -> bool {
        let now = self.standing();
        let same_frame = now.frame == start.frame;
        let entered = now.entered_since(start);
        let common = now.calls.len() - entered;
        if !same_frame || common == 0 || entered == 0 {
            // A loop in one line comes back to its beginning; that is no other line.
            let same_place = start.before_call || common == start.calls.len();
            let again = same_frame && same_place && same_line(&now.line, &start.line);
            return again || self.is_inside_line(0);
        }
        // One that is skipped is gone over, as all are by `next`.
        let over = kind == StepKind::Over || self.is_new_skipped(entered);
        // The outermost call that is new, and the line that makes it.
        let Some(live) = &self.live else {
            return false;
        };
        let pc = live.frame(0).map_or(0, |f| f.pc);
        let entry = |level: usize| {
            let source = live.levels.get(level)?.source.as_ref()?;
            let bias = live.frame(0).ok()?.module.as_ref()?.1;
            Some(source.entry.at(bias))
        };
        if entry(entered - 1) != Some(pc) {
            return over || self.is_inside_line(0);
        }
        let caller = live.levels.get(entered);
        let line = caller.and_then(|l| l.line().cloned());
        let outermost = live.levels.get(entered - 1);
        let over = kind == StepKind::Over || outermost.is_some_and(|l| self.is_skipped(l));
        let hide = match (same_line(&line, &start.line), over) {
            (true, true) => return true,
            (true, false) => entered - 1,
            (false, _) => entered,
        };
        if let Some(live) = &mut self.live {
            live.hide(hide);
        }
        false
    }
}

impl Debugger {
    /// A breakpoint of a function or line that begins with an inlined call is before that call.
    pub(super) fn stand_before_inlined(&mut self, spec: &str) {
        let Some(live) = &mut self.live else {
            return;
        };
        let Ok(frame) = live.frame(0) else {
            return;
        };
        let (pc, bias) = (frame.pc, frame.module.as_ref().map_or(0, |m| m.1));
        let Some((module, _)) = frame.module.clone() else {
            return;
        };
        // The place of a function is where it is entered: nothing in it was called before.
        if let Spec::Function(name) = Spec::parse(spec) {
            let query = FunctionQuery::parse(name);
            let meant = |l: &Level| match &l.source {
                Some(source) => l.code == 0 && module.is_meant(source.die, &query),
                None => false,
            };
            if let Some(hidden) = live.levels.iter().position(meant) {
                live.hide(hidden);
            }
            return;
        }
        let meant = |source: &SourceFrame| match Spec::parse(spec) {
            Spec::Line(_, line) => source.line.as_ref().is_some_and(|(_, n)| *n == line),
            Spec::Function(_) | Spec::Address(_) => false,
        };
        // Where the body of a function begins none of its calls was made, wherever their code is.
        let body = frame.module.as_ref().and_then(|(module, bias)| {
            let function = module.function_at(FileAddr::of(pc, *bias))?;
            Some(module.breakpoint_address(&function).at(*bias))
        });
        let begins = body == Some(pc);
        for (hidden, level) in live.levels.iter().enumerate() {
            let Some(source) = &level.source else {
                return;
            };
            if meant(source) {
                return live.hide(hidden);
            }
            if !source.is_inlined || (!begins && source.entry.at(bias) != pc) {
                return;
            }
        }
    }
}

impl Debugger {
    /// Back from a call, where the code of inlined calls begins, the program stands before them.
    pub(super) fn stand_before_calls(&mut self) {
        let begun = self.calls_begun();
        if let Some(live) = &mut self.live {
            live.hide(begun);
        }
    }

    /// The innermost inlined calls that the instruction before does not belong to.
    fn calls_begun(&self) -> usize {
        let Some(live) = &self.live else {
            return 0;
        };
        let Ok(frame) = live.frame(0) else {
            return 0;
        };
        let Some((module, bias)) = frame.module.clone() else {
            return 0;
        };
        let before = FileAddr::of(frame.pc.wrapping_sub(1), bias);
        let begins = |source: &SourceFrame| {
            let mut code = module.code_of_call(source.die).into_iter();
            source.is_inlined && !code.any(|(from, to)| from <= before && before < to)
        };
        let levels = live.levels.iter();
        let begun = levels.take_while(|l| l.source.as_ref().is_some_and(begins));
        begun.count()
    }

    /// The frame of the function that a breakpoint is for, at its place: others may be inlined
    /// there.
    pub(super) fn frame_meant(&self, spec: &str, addr: u64) -> Option<SourceFrame> {
        let Spec::Function(name) = Spec::parse(spec) else {
            return None;
        };
        let query = FunctionQuery::parse(name);
        let (module, bias) = self.images.module_at(addr)?;
        let frames = module.frames_at(FileAddr::of(addr, bias)).into_iter();
        let mut own = frames.filter(|f| module.is_meant(f.die, &query));
        let mut own = own.next()?;
        if own.is_inlined {
            // The first instruction may be one that is shared with the code around, or with no line.
            let declared = module.declared_at(own.die);
            let is_own = |(file, line): &(Arc<SourceFile>, u32)| match &declared {
                Some((home, first)) => file.path == home.path && line >= first,
                None => true,
            };
            own.line = own.line.filter(is_own).or(declared.clone());
        }
        Some(own)
    }
}

fn same_line(a: &Option<(Arc<SourceFile>, u32)>, b: &Option<(Arc<SourceFile>, u32)>) -> bool {
    match (a, b) {
        (Some((file, line)), Some((other, at))) => line == at && file.path == other.path,
        _ => false,
    }
}
