//! Watched data: what `write`, `read` and `update` events are about.
//!
//! A global is watched where it is. A local is watched in the innermost
//! activation of the function that declares it; when that ends, the next entry
//! binds it again. The pointers that lead to a datum are watched too, because
//! with them it moves.

use super::super::Debugger;
use super::super::here::Here;
use super::super::live::ProcessMemory;
use super::super::registers::with_vectors;
use super::Irv;
use super::alphabet::Site;
use super::bind::Note;
use super::feed::Target;
use super::values::{Form, Owned};
use verde_engine::{Addr, FrameRef, On, Owner, Tid, Trap, TrapId};
use verde_expr::{FrameScope, Node, compile, eval};
use verde_property::ast::Operand;
use verde_property::{Kind, When};
use verde_symbols::{Frame, backtrace, source_frames};

/// Frames looked through for a local.
const FRAMES: usize = 256;
/// Functions that may declare a local of one name.
const FUNCTIONS: usize = 1000;

#[derive(Default)]
pub struct Datum {
    pub bound: Option<Bound>,
}

/// A datum that has a place now.
pub struct Bound {
    node: Node,
    /// The frame of a local.
    scope: Option<FrameScope>,
    home: Option<(Tid, FrameRef)>,
    /// Ranges and their traps; the first is the datum itself, the others lead to it.
    parts: Vec<((u64, u64), TrapId)>,
    /// The value after the last event.
    last: Owned,
    form: Form,
}

/// A local as found on a stack.
type Local = (Node, FrameScope, Option<(Tid, FrameRef)>);

/// What a hit on a datum means.
pub enum Meaning {
    Nothing,
    /// An event, with the value that it brings.
    Event(Owned),
}

impl Debugger {
    /// Finds out where a datum can be: a global is there always, a local from the entry of its
    /// function on.
    pub(super) fn declare_datum(&mut self, irv: &mut Irv, index: usize, notes: &mut Vec<Note>) {
        let text = irv.alphabet.sources[index].name.clone();
        let here = Here {
            process: None,
            images: &self.images,
            frame: None,
            innermost: false,
            memo: &mut self.memo,
        };
        let global = compile(&text, &here);
        if let Ok(node) = &global
            && node.has_effects()
        {
            notes.push(Note {
                text: format!("event {text}: it would change the program"),
                is_error: true,
            });
            return;
        }
        if global.as_ref().is_ok_and(Node::is_thread_local) {
            let text = format!(
                "event {text}: each thread has its own, and only that of the first thread is observed"
            );
            notes.push(Note {
                text,
                is_error: false,
            });
        }
        let source = &mut irv.alphabet.sources[index];
        source.found |= global.is_ok();
        if global.is_ok() || !source.sites.is_empty() {
            return;
        }
        let name = base_name(&text);
        let (function, name) = match name.rsplit_once("::") {
            Some((function, name)) => (Some(function), name),
            None => (None, name),
        };
        let mut sites = Vec::new();
        for loaded in self.images.loaded() {
            // Libraries have locals of every name; only what the program lacks is looked for there.
            if !sites.is_empty() {
                break;
            }
            for f in loaded.module.functions_declaring(name, FUNCTIONS) {
                if function.is_some_and(|wanted| !f.name.ends_with(wanted)) {
                    continue;
                }
                let at = loaded.module.breakpoint_address(&f);
                sites.push(Site {
                    on: On::Exec(Addr(at.at(loaded.bias))),
                    reads: [].into(),
                    scope: None,
                    loc: None,
                    trap: None,
                });
            }
        }
        let source = &mut irv.alphabet.sources[index];
        source.found |= !sites.is_empty();
        source.sites = sites;
    }

    /// The event is wanted: the datum is bound if it is there, else at the next entry.
    pub(super) fn watch_datum(&mut self, irv: &mut Irv, index: usize, tid: Option<Tid>) {
        let text = irv.alphabet.sources[index].name.clone();
        // Before the loader has done its work, pointers of the program lead nowhere.
        if self.live.is_none() || irv.loading || irv.bound_datum(index).is_some() {
            return;
        }
        let here = Here {
            process: None,
            images: &self.images,
            frame: None,
            innermost: false,
            memo: &mut self.memo,
        };
        let global = compile(&text, &here).ok();
        // A global is hidden by a local of the function that runs, not by one of its callers.
        let frames = if global.is_some() { 1 } else { FRAMES };
        if let Some(tid) = tid
            && let Some((node, scope, home)) = self.local_datum(&text, tid, frames)
        {
            return self.bind_datum(irv, index, node, Some(scope), home);
        }
        if let Some(node) = global {
            self.bind_datum(irv, index, node, None, None);
        }
    }

    /// The innermost activation on a thread's stack that has the local.
    fn local_datum(&mut self, text: &str, tid: Tid, limit: usize) -> Option<Local> {
        let live = self.live.as_mut()?;
        let regs = live.process.regs(tid).ok()?;
        let registers = match live.process.xstate(tid) {
            Ok(state) => with_vectors(regs, &state),
            Err(_) => super::super::registers::to_dwarf(regs),
        };
        let (frames, _) = backtrace(
            &self.images,
            &ProcessMemory(&live.process),
            registers,
            FRAMES,
        );
        for (level, source) in source_frames(&frames) {
            if level >= limit {
                break;
            }
            let memory = ProcessMemory(&live.process);
            let Some(mut scope) = FrameScope::new(&frames, level, source, &memory) else {
                continue;
            };
            // Of a parameter the copy in the frame is meant, which the body uses.
            scope.at_entry = false;
            let here = Here {
                process: Some((&mut live.process, tid)),
                images: &self.images,
                frame: Some(scope.clone()),
                innermost: level == 0,
                memo: &mut self.memo,
            };
            if let Ok(node) = compile(text, &here)
                && node.needs_frame()
            {
                let home = frame_ref(&frames, level).map(|f| (tid, f));
                return Some((node, scope, home));
            }
        }
        None
    }

    fn bind_datum(
        &mut self,
        irv: &mut Irv,
        index: usize,
        node: Node,
        scope: Option<FrameScope>,
        home: Option<(Tid, FrameRef)>,
    ) {
        let brought = irv.alphabet.sources[index].params.iter();
        let brought = brought.filter(|p| p.operand == Operand::Ret);
        let form = brought.map(|p| Form::of(p.ty.as_deref())).next();
        let mut bound = Bound {
            node,
            scope,
            home,
            parts: Vec::new(),
            last: Owned::None,
            form: form.unwrap_or(Form::Plain),
        };
        bound.last = self.datum_value(&bound);
        if let Err(text) = self.arm_datum(irv, index, &mut bound) {
            let name = irv.alphabet.sources[index].title();
            irv.warnings.push(format!("event {name}: {text}"));
            return;
        }
        if let Some(datum) = &mut irv.alphabet.sources[index].datum {
            datum.bound = Some(bound);
        }
    }

    /// Sets the traps for where the datum is now.
    fn arm_datum(&mut self, irv: &mut Irv, index: usize, bound: &mut Bound) -> Result<(), String> {
        let kind = irv.alphabet.sources[index].kind;
        let ranges = {
            let tid = bound.home.map(|h| h.0);
            let Some(mut here) = self.datum_scope(bound, tid) else {
                return Ok(());
            };
            verde_expr::reads(&bound.node, &mut here)
        };
        let Some(live) = &mut self.live else {
            return Ok(());
        };
        if ranges.is_empty() {
            return Err("it is not in memory here, and cannot be watched".into());
        }
        for (i, (at, len)) in ranges.iter().enumerate() {
            let (at, len) = (Addr(*at), *len);
            let on = match kind {
                Kind::Read if i == 0 => On::Read { at, len },
                _ => On::Write { at, len },
            };
            let mut trap = Trap::new(on, Owner::Monitor);
            if let Some((tid, frame)) = bound.home {
                trap = trap.in_frame_of(tid, frame);
            }
            let id = live.process.insert(trap).map_err(|e| e.to_string())?;
            irv.targets.entry(id).or_default().push(Target::Datum {
                source: index,
                part: i,
            });
            bound.parts.push(((at.0, len), id));
        }
        Ok(())
    }

    fn datum_scope(&mut self, bound: &Bound, tid: Option<Tid>) -> Option<Here<'_>> {
        let live = self.live.as_mut()?;
        let tid = tid.unwrap_or(live.process.pid());
        Some(Here {
            process: Some((&mut live.process, tid)),
            images: &self.images,
            frame: bound.scope.clone(),
            innermost: false,
            memo: &mut self.memo,
        })
    }

    fn datum_value(&mut self, bound: &Bound) -> Owned {
        let tid = bound.home.map(|h| h.0);
        let Some(mut here) = self.datum_scope(bound, tid) else {
            return Owned::None;
        };
        match eval(&bound.node, &mut here) {
            Ok(value) => Owned::of(&value, bound.form, &here),
            Err(_) => Owned::None,
        }
    }

    /// A thread touched a part of a datum.
    pub(super) fn touched(
        &mut self,
        irv: &mut Irv,
        index: usize,
        part: usize,
        write: bool,
    ) -> Meaning {
        let (kind, when) = {
            let source = &irv.alphabet.sources[index];
            (source.kind, source.when)
        };
        let Some(mut bound) = irv.take_datum(index) else {
            return Meaning::Nothing;
        };
        let new = self.datum_value(&bound);
        let old = std::mem::replace(&mut bound.last, new.clone());
        if part > 0 || bound.parts.len() > 1 {
            // A pointer on the way may lead elsewhere now.
            let tid = bound.home.map(|h| h.0);
            let now = match self.datum_scope(&bound, tid) {
                Some(mut here) => verde_expr::reads(&bound.node, &mut here),
                None => Vec::new(),
            };
            if !now.iter().eq(bound.parts.iter().map(|(range, _)| range)) {
                irv.drop_parts(index, std::mem::take(&mut bound.parts), &mut self.live);
                // Where it leads to nothing, the pointers are still watched.
                let _ = self.arm_datum(irv, index, &mut bound);
            }
        }
        if let Some(datum) = &mut irv.alphabet.sources[index].datum {
            datum.bound = Some(bound);
        }
        let brought = |old, new| match when {
            When::Before => old,
            When::After => new,
        };
        match kind {
            Kind::Write if write && part == 0 => Meaning::Event(brought(old, new)),
            Kind::Read if !write && part == 0 => Meaning::Event(new),
            Kind::Update if old != new => Meaning::Event(brought(old, new)),
            _ => Meaning::Nothing,
        }
    }
}

impl Irv {
    /// Files came or went: a global may be elsewhere, or no longer be. It is bound anew.
    pub(super) fn unbind_globals(&mut self, live: &mut Option<super::super::live::Live>) {
        self.places.clear();
        self.plans.clear();
        for index in 0..self.alphabet.sources.len() {
            if self.bound_datum(index).is_some_and(|b| b.home.is_none()) {
                self.unwatch_datum(index, live);
            }
        }
    }

    fn bound_datum(&self, index: usize) -> Option<&Bound> {
        self.alphabet.sources[index].datum.as_ref()?.bound.as_ref()
    }

    fn take_datum(&mut self, index: usize) -> Option<Bound> {
        self.alphabet.sources[index].datum.as_mut()?.bound.take()
    }

    /// The frame of a local that is watched.
    pub(super) fn datum_frame(&self, index: usize) -> Option<&FrameScope> {
        self.bound_datum(index)?.scope.as_ref()
    }

    fn drop_parts(
        &mut self,
        index: usize,
        parts: Vec<((u64, u64), TrapId)>,
        live: &mut Option<super::super::live::Live>,
    ) {
        for (_, id) in parts {
            self.drop_trap(index, Some(id), live);
        }
    }

    /// The event is no longer wanted, or the frame of its local is gone.
    pub(super) fn unwatch_datum(
        &mut self,
        index: usize,
        live: &mut Option<super::super::live::Live>,
    ) {
        if let Some(bound) = self.take_datum(index) {
            self.drop_parts(index, bound.parts, live);
        }
    }

    /// The trap of a local went with its frame: which sources lose their datum.
    pub(super) fn frame_gone(&mut self, id: TrapId, live: &mut Option<super::super::live::Live>) {
        let targets = self.targets.get(&id).cloned().unwrap_or_default();
        for target in targets {
            if let Target::Datum { source, .. } = target {
                self.unwatch_datum(source, live);
            }
        }
        self.targets.remove(&id);
    }
}

fn frame_ref(frames: &[Frame], level: usize) -> Option<FrameRef> {
    Some(FrameRef {
        cfa: Addr(frames.get(level)?.cfa?),
        return_to: Addr(frames.get(level + 1)?.pc),
    })
}

/// The variable at the beginning of an lvalue: `s` of `s->name[3]`.
fn base_name(text: &str) -> &str {
    let text = text.trim_start_matches(['*', '&', '(', ' ', '{']);
    let end = text
        .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))
        .unwrap_or(text.len());
    text[..end].trim_end_matches(':')
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_variable_of_an_lvalue() {
        for (text, name) in [
            ("s", "s"),
            ("*s", "s"),
            ("q->head[3].next", "q"),
            ("f::n + 1", "f::n"),
            ("(a + b) * 2", "a"),
        ] {
            assert_eq!(super::base_name(text), name);
        }
    }
}
