//! Steps around inlined calls, which have no instruction of their own: where
//! one begins, the program is shown before the call, and `step` enters it
//! without a move.

use super::Debugger;
use super::failure::{NOT_RUN, Result, failure};
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
    before_call: bool,
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
            line: levels.first().and_then(|l| l.source.as_ref()?.line.clone()),
            before_call: live.is_some_and(|l| l.hidden.is_some()),
        }
    }

    /// Enters the inlined call that begins here, if the program is shown before one.
    pub(super) fn enter_inlined(&mut self) -> Result<bool> {
        let Some(live) = &mut self.live else {
            return failure(NOT_RUN);
        };
        let Some(hidden) = &mut live.hidden else {
            return Ok(false);
        };
        hidden.levels -= 1;
        if hidden.levels == 0 {
            live.hidden = None;
        }
        live.look(live.tid, &self.images)?;
        self.listing.reset();
        Ok(true)
    }

    /// Whether a step that began at `start` is not over where the program stands now.
    pub(super) fn goes_on(&mut self, kind: StepKind, start: &Standing) -> bool {
        let now = self.standing();
        let same_frame = now.frame == start.frame;
        let pairs = now.calls.iter().zip(&start.calls);
        let common = pairs.take_while(|(a, b)| a == b).count();
        let entered = now.calls.len() - common;
        if !same_frame || common == 0 || entered == 0 {
            // A loop in one line comes back to its beginning; that is no other line.
            let same_place = start.before_call || common == start.calls.len();
            let again = same_frame && same_place && same_line(&now.line, &start.line);
            return again || self.is_inside_line(0);
        }
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
            return kind == StepKind::Over || self.is_inside_line(0);
        }
        let caller = live.levels.get(entered);
        let line = caller.and_then(|l| l.source.as_ref()?.line.clone());
        let hide = match (same_line(&line, &start.line), kind) {
            (true, StepKind::Over) => return true,
            (true, _) => entered - 1,
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
        let meant = |source: &SourceFrame| match Spec::parse(spec) {
            Spec::Function(name) => FunctionQuery::parse(name).base() == base_of(&source.name),
            Spec::Line(_, line) => source.line.as_ref().is_some_and(|(_, n)| *n == line),
            Spec::Address(_) => false,
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
        let Some(live) = &mut self.live else {
            return;
        };
        let Ok(frame) = live.frame(0) else {
            return;
        };
        let Some((module, bias)) = frame.module.clone() else {
            return;
        };
        let before = FileAddr::of(frame.pc.wrapping_sub(1), bias);
        let begins = |source: &SourceFrame| {
            let mut code = module.code_of_call(source.die).into_iter();
            source.is_inlined && !code.any(|(from, to)| from <= before && before < to)
        };
        let levels = live.levels.iter();
        let hidden = levels.take_while(|l| l.source.as_ref().is_some_and(begins));
        let hidden = hidden.count();
        live.hide(hidden);
    }

    /// The line of a function where an address is, also when another call is inlined there.
    pub(super) fn line_in_function(&self, spec: &str, addr: u64) -> Option<(Arc<SourceFile>, u32)> {
        let Spec::Function(name) = Spec::parse(spec) else {
            return None;
        };
        let query = FunctionQuery::parse(name);
        let (module, bias) = self.images.module_at(addr)?;
        let frames = module.frames_at(FileAddr::of(addr, bias));
        let own = frames
            .into_iter()
            .find(|f| base_of(&f.name) == query.base());
        own?.line
    }
}

/// The last name of a path, without what follows it.
fn base_of(name: &str) -> &str {
    let name = name.split(['(', '<']).next().unwrap_or(name);
    name.rsplit("::").next().unwrap_or(name)
}

fn same_line(a: &Option<(Arc<SourceFile>, u32)>, b: &Option<(Arc<SourceFile>, u32)>) -> bool {
    match (a, b) {
        (Some((file, line)), Some((other, at))) => line == at && file.path == other.path,
        _ => false,
    }
}
