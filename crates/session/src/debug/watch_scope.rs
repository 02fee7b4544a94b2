//! Where a watchpoint's names mean what they meant when it was set: the program
//! stops at a write, which may be in another function than the names are from.

use super::Debugger;
use super::failure::{Result, failure};
use super::here::{Here, Names};
use super::images::Images;
use super::live::ProcessMemory;
use super::points::{Condition, Kind};
use super::registers::{to_dwarf, with_vectors};
use std::sync::Arc;
use verde_engine::{FrameRef, Process, Tid};
use verde_expr::{FrameScope, Node, Value, compile, eval};
use verde_symbols::{DieId, End, Frame, Memory, SourceFrame, backtrace, source_frames};

/// Frames looked through for the wanted one: it is mostly near, and a stack may be deep.
const DEPTHS: [usize; 3] = [4, 64, 10_000];

/// The frame that names belong to.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// The activation, if it is a certain one; else the innermost of the function, or of all.
    pub frame: Option<FrameRef>,
    /// The function or inlined call, if it is a certain one.
    pub function: Option<DieId>,
}

impl Wanted {
    fn is_at(&self, frame: &Frame) -> bool {
        self.frame.is_none_or(|f| frame.cfa == Some(f.cfa.0))
    }

    fn is_of(&self, source: Option<&SourceFrame>) -> bool {
        self.function.is_some() && source.map(|s| s.die) == self.function
    }

    /// Whether a scope is certainly the one that `find` would come to.
    fn is_scope(&self, scope: &FrameScope) -> bool {
        let is_function = self.function.is_none() || self.is_of(scope.source.as_ref());
        self.is_at(&scope.frame) && is_function
    }

    /// The place of the wanted frame among these.
    fn find(&self, frames: &[Frame]) -> Option<(usize, Option<SourceFrame>)> {
        let at = |level: usize| frames.get(level).is_some_and(|f| self.is_at(f));
        let all: Vec<_> = source_frames(frames)
            .into_iter()
            .filter(|(level, _)| at(*level))
            .collect();
        let exact = all.iter().find(|(_, source)| self.is_of(source.as_ref()));
        // An inlined call may be over while the frame that it is in goes on.
        let frame = all.first();
        let frame = frame.filter(|_| self.frame.is_some() || self.function.is_none());
        exact.or(frame).cloned()
    }
}

/// The frames of a thread, as many as it takes for `find` to find something in them; it is told
/// whether there are more.
fn in_frames<T>(
    process: &Process,
    tid: Tid,
    images: &Images,
    find: impl Fn(&[Frame], bool) -> Option<T>,
) -> Option<T> {
    let regs = process.regs(tid).ok()?;
    let registers = match process.xstate(tid) {
        Ok(state) => with_vectors(regs, &state),
        Err(_) => to_dwarf(regs),
    };
    let memory = ProcessMemory(process);
    for depth in DEPTHS {
        let (frames, end) = backtrace(images, &memory as &dyn Memory, registers.clone(), depth);
        let has_more = matches!(end, End::Limit);
        let found = find(&frames, has_more);
        if found.is_some() || !has_more {
            return found;
        }
    }
    None
}

/// The scope of a frame that is somewhere on a thread's stack.
pub(super) fn scope_of(
    process: &Process,
    tid: Tid,
    wanted: Wanted,
    images: &Images,
) -> Option<FrameScope> {
    // What its caller passed is part of a scope.
    in_frames(process, tid, images, |frames, has_more| {
        let (level, source) = wanted.find(frames)?;
        let is_whole = level + 1 < frames.len() || !has_more;
        is_whole.then(|| FrameScope::new(frames, level, source, &ProcessMemory(process)))
    })?
}

impl Debugger {
    /// Whether the inlined call that a watchpoint's names are from has ended: the frame that it was
    /// part of goes on without it.
    pub(super) fn is_watch_over(&self, index: usize) -> bool {
        let (Some(live), Kind::Watch(watch)) = (&self.live, &self.points.list[index].kind) else {
            return false;
        };
        let (Some((tid, frame)), function @ Some(_)) = (watch.frame, watch.function) else {
            return false;
        };
        let wanted = Wanted {
            frame: Some(frame),
            function,
        };
        let over = in_frames(&live.process, tid, &self.images, |frames, _| {
            let (_, source) = wanted.find(frames)?;
            Some(!wanted.is_of(source.as_ref()))
        });
        over.unwrap_or(false)
    }

    /// The function of the selected frame.
    pub(super) fn selected_function(&self) -> Option<DieId> {
        let live = self.live.as_ref()?;
        Some(live.levels.get(live.selected)?.source.as_ref()?.die)
    }

    /// What an expression is where its thread stands in the wanted frame itself, which is so after
    /// most instructions: nothing is unwound. `None`: it takes another frame, or more of this one
    /// than its general registers.
    pub(super) fn value_nearby(&mut self, tid: Tid, wanted: Wanted, node: &Node) -> Option<Value> {
        let live = self.live.as_mut()?;
        let scope = self.hot.innermost(live, tid, &self.images)?;
        if !wanted.is_scope(&scope) {
            return None;
        }
        let mut here = Here {
            process: Some((&mut live.process, tid)),
            images: &self.images,
            frame: Some(scope),
            innermost: false,
            memo: &mut self.memo,
            names: Names::All,
        };
        let value = eval(node, &mut here).ok()?;
        value.bytes().is_ok().then_some(value)
    }

    /// A condition of a watchpoint that is set already, with the names of its expression.
    pub(super) fn bind_watch(&mut self, number: u32, text: &str) -> Result<Condition> {
        let states = self.with_states(text, true)?;
        let written = states.as_deref().unwrap_or(text);
        let bound = match &self.points.get_mut(number)?.kind {
            Kind::Watch(watch) => watch.frame.map(|(tid, frame)| (tid, frame, watch.function)),
            Kind::Code { .. } | Kind::Catch(_) => None,
        };
        let (function, node) = match (bound, &mut self.live) {
            (Some((tid, frame, function)), Some(live)) => {
                let frame = Some(frame);
                let scope = scope_of(&live.process, tid, Wanted { frame, function }, &self.images);
                let here = Here {
                    process: Some((&mut live.process, tid)),
                    images: &self.images,
                    frame: scope,
                    innermost: false,
                    memo: &mut self.memo,
                    names: Names::All,
                };
                (function, compile(written, &here)?)
            }
            _ => (self.selected_function(), compile(written, &self.here())?),
        };
        Ok(Condition {
            text: text.to_owned(),
            node: Some(Arc::new(node)),
            function,
        })
    }

    /// Whether the condition of a watchpoint holds, in the frame that its names are from.
    pub(super) fn watch_condition_holds(
        &mut self,
        tid: Tid,
        index: usize,
        node: &Node,
        current: Result<Option<String>>,
    ) -> Result<bool> {
        let point = &self.points.list[index];
        let function = point.condition.as_ref().and_then(|c| c.function);
        let bound = match &point.kind {
            Kind::Watch(watch) => watch.frame,
            Kind::Code { .. } | Kind::Catch(_) => None,
        };
        let has_states = !matches!(current, Ok(None));
        let needs_scope = node.reads_locals() || (has_states && function.is_some());
        if !needs_scope {
            return self.condition_holds(tid, node, current);
        }
        let current = current?;
        let (tid, frame) = bound.map_or((tid, None), |(owner, frame)| (owner, Some(frame)));
        let scope = self.live.as_ref().and_then(|live| {
            scope_of(&live.process, tid, Wanted { frame, function }, &self.images)
        });
        if scope.is_none() && node.reads_locals() {
            return failure("Watchpoint condition cannot be tested in the current scope.");
        }
        self.condition_in(tid, scope, node, current.as_deref())
    }
}
