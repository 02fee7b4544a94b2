//! The scope of a condition, at a place that is hit again and again: what the
//! debug information says of the place is read once.

use super::Debugger;
use super::failure::{NOT_RUN, Result, failure};
use super::here::{Here, Names};
use super::images::Images;
use super::live::{Live, ProcessMemory};
use super::registers::to_dwarf;
use std::collections::HashMap;
use std::sync::Arc;
use verde_engine::Tid;
use verde_expr::{FrameScope, Node, Value, eval, evaluate};
use verde_symbols::{CfaFrom, Frame, Memory, Module, SourceFrame, backtrace, source_frames};

/// Places remembered; a program has few that conditions are tested at again and again.
const MOST: usize = 4096;

/// What is known of the places that were hit.
#[derive(Default)]
pub(super) struct HotScopes {
    places: HashMap<u64, Place>,
}

/// What stays the same from one hit to the next.
struct Place {
    source: Option<SourceFrame>,
    at_entry: bool,
    module: Option<(Arc<Module>, u64)>,
    /// Spares a hit the unwinding: only the frame's address is needed of it.
    cfa: Option<CfaFrom>,
}

impl Place {
    fn of(scope: &FrameScope) -> Place {
        let module = scope.frame.module.clone();
        let cfa = match (&module, scope.file_addr()) {
            (Some((module, _)), Some(addr)) => module.cfa_rule(addr),
            _ => None,
        };
        Place {
            source: scope.source.clone(),
            at_entry: scope.at_entry,
            module,
            cfa,
        }
    }

    /// The innermost frame of a thread that stands here.
    fn frame(&self, live: &Live, tid: Tid, images: &Images) -> Option<Frame> {
        let Some(cfa) = self.cfa else {
            return frames(live, tid, images)?.into_iter().next();
        };
        let registers = to_dwarf(live.process.regs(tid).ok()?);
        Some(Frame {
            pc: registers.pc()?,
            cfa: cfa.of(&registers),
            registers,
            is_exact: true,
            is_signal: false,
            has_jumped: false,
            method: None,
            module: self.module.clone(),
        })
    }
}

fn frames(live: &Live, tid: Tid, images: &Images) -> Option<Vec<Frame>> {
    let registers = to_dwarf(live.process.regs(tid).ok()?);
    let memory = ProcessMemory(&live.process);
    // The second one makes the frame address of the first known.
    Some(backtrace(images, &memory as &dyn Memory, registers, 2).0)
}

/// The innermost frame of a thread with everything that can be known of it.
pub(super) fn innermost(live: &Live, tid: Tid, images: &Images) -> Option<FrameScope> {
    let frames = frames(live, tid, images)?;
    let (level, source) = source_frames(&frames).into_iter().next()?;
    FrameScope::new(&frames, level, source, &ProcessMemory(&live.process))
}

impl HotScopes {
    /// Other files are loaded: addresses mean other places.
    pub fn forget(&mut self) {
        self.places.clear();
    }

    /// The innermost frame of a thread, without what only its caller knows.
    pub fn innermost(&mut self, live: &Live, tid: Tid, images: &Images) -> Option<FrameScope> {
        let pc = live.process.regs(tid).ok()?.rip;
        let Some(place) = self.places.get(&pc) else {
            let scope = innermost(live, tid, images)?;
            if self.places.len() >= MOST {
                // Watched values are looked at all over the program; those that come again are
                // found again.
                self.places.clear();
            }
            self.places.insert(pc, Place::of(&scope));
            return Some(scope);
        };
        Some(FrameScope {
            frame: place.frame(live, tid, images)?,
            source: place.source.clone(),
            at_entry: place.at_entry,
            entry: None,
        })
    }
}

impl Debugger {
    /// Whether a condition holds where a thread is. `current` is its text when
    /// that is another one each time.
    pub(super) fn condition_holds(
        &mut self,
        tid: Tid,
        node: &Node,
        current: Result<Option<String>>,
    ) -> Result<bool> {
        let current = current?;
        let Some(live) = &self.live else {
            return failure(NOT_RUN);
        };
        let scope = self.hot.innermost(live, tid, &self.images);
        let is_whole = scope.as_ref().is_none_or(|s| s.entry.is_some());
        let first = self.condition_in(tid, scope, node, current.as_deref());
        let (Err(_), false, Some(live)) = (&first, is_whole, &self.live) else {
            return first;
        };
        // What the body no longer has the caller may know.
        let scope = innermost(live, tid, &self.images);
        self.condition_in(tid, scope, node, current.as_deref())
    }

    /// Whether it holds in a frame.
    pub(super) fn condition_in(
        &mut self,
        tid: Tid,
        frame: Option<FrameScope>,
        node: &Node,
        current: Option<&str>,
    ) -> Result<bool> {
        let value = match current {
            None => eval(node, &mut self.here_in(tid, frame)?)?,
            Some(text) => self.value_in(tid, frame, text)?,
        };
        Ok(value.to_bool()?)
    }

    /// The value of an expression in a frame of a thread.
    pub(super) fn value_in(
        &mut self,
        tid: Tid,
        frame: Option<FrameScope>,
        text: &str,
    ) -> Result<Value> {
        Ok(evaluate(text, &mut self.here_in(tid, frame)?)?)
    }

    fn here_in(&mut self, tid: Tid, frame: Option<FrameScope>) -> Result<Here<'_>> {
        let Some(live) = &mut self.live else {
            return failure(NOT_RUN);
        };
        Ok(Here {
            process: Some((&mut live.process, tid)),
            images: &self.images,
            frame,
            innermost: true,
            memo: &mut self.memo,
            names: Names::All,
        })
    }
}
