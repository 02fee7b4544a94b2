//! Watched data: what `write`, `read` and `update` events are about.
//!
//! A global is watched where it is. A local is watched in the innermost
//! activation of the function that declares it, of each thread that enters it;
//! when that ends, the next entry binds it again. What each thread has for
//! itself is watched in every thread (`own`). The pointers that lead to a datum are watched too, because with
//! them it moves.

use super::super::Debugger;
use super::super::here::{Here, Names};
use super::super::live::ProcessMemory;
use super::super::registers::with_vectors;
use super::Irv;
use super::alphabet::Site;
use super::bind::{Note, inner_scope};
use super::feed::Target;
use super::patched::Patched;
use super::statics;
use super::values::{Form, Owned};
use super::watching::{NOT_IN_MEMORY, Seen};
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::Arc;
use verde_engine::{Addr, Error, FrameRef, On, Owner, Tid, Trap, TrapId};
use verde_expr::{EvalError, FrameScope, Loaded, Node, compile, eval};
use verde_property::ast::Operand;
use verde_property::{Kind, When};
use verde_symbols::{
    DieId, FileAddr, Frame, Function, FunctionQuery, Memory, Module, NameFilter, backtrace,
    source_frames,
};

/// Frames looked through for a local.
const FRAMES: usize = 256;
/// Functions that may declare a local of one name.
const FUNCTIONS: usize = 1000;
/// Variables of one name in different scopes.
const SCOPES: usize = 100;

#[derive(Default)]
pub struct Datum {
    bound: Option<Bound>,
    /// What each thread has for itself: its own data, and its activation beside another's.
    pub own: FxHashMap<Tid, Bound>,
    /// The traps that say when a thread may have it.
    pub births: Vec<TrapId>,
}

impl Datum {
    fn of(&self, owner: Option<Tid>) -> Option<&Bound> {
        match owner {
            None => self.bound.as_ref(),
            Some(tid) => self.own.get(&tid),
        }
    }

    fn of_mut(&mut self, owner: Option<Tid>) -> Option<&mut Bound> {
        match owner {
            None => self.bound.as_mut(),
            Some(tid) => self.own.get_mut(&tid),
        }
    }

    fn traps(&self) -> Vec<TrapId> {
        let all = self.bound.iter().chain(self.own.values());
        let parts = all.flat_map(|b| b.parts.iter().map(|(_, id)| *id));
        parts.chain(self.births.iter().copied()).collect()
    }

    fn take(&mut self, owner: Option<Tid>) -> Option<Bound> {
        match owner {
            None => self.bound.take(),
            Some(tid) => self.own.remove(&tid),
        }
    }

    fn put(&mut self, bound: Bound) {
        match bound.home.owner() {
            None => self.bound = Some(bound),
            Some(tid) => {
                self.own.insert(tid, bound);
            }
        }
    }
}

/// Where a datum belongs.
#[derive(Clone)]
pub enum Home {
    /// To the program.
    Global,
    /// To a frame, and the thread that has it.
    Local(Box<FrameScope>, Option<(Tid, FrameRef)>),
    /// The same while another thread's frame has what every thread's accesses count for: here
    /// only those of its own thread do, for there are few slots that all threads share.
    Beside(Box<FrameScope>, (Tid, FrameRef)),
    /// To a thread.
    Thread(Tid),
}

impl Home {
    /// The thread whose registers lead to it.
    fn tid(&self) -> Option<Tid> {
        match self {
            Home::Global => None,
            Home::Local(_, home) => home.map(|h| h.0),
            Home::Beside(_, (tid, _)) | Home::Thread(tid) => Some(*tid),
        }
    }

    /// The thread that has it for itself.
    fn owner(&self) -> Option<Tid> {
        match self {
            Home::Thread(tid) | Home::Beside(_, (tid, _)) => Some(*tid),
            Home::Global | Home::Local(..) => None,
        }
    }

    /// It belongs to a frame that is known.
    fn is_local(&self) -> bool {
        matches!(self, Home::Local(_, Some(_)) | Home::Beside(..))
    }

    fn scope(&self) -> Option<&FrameScope> {
        match self {
            Home::Local(scope, _) | Home::Beside(scope, _) => Some(scope),
            Home::Global | Home::Thread(_) => None,
        }
    }

    /// A trap for what is there.
    fn trap(&self, on: On) -> Trap {
        let trap = Trap::new(on, Owner::Monitor);
        match self {
            Home::Local(_, Some((tid, frame))) => trap.in_frame_of(*tid, *frame),
            Home::Beside(_, (tid, frame)) => trap.in_thread(*tid).in_frame(*frame),
            Home::Thread(tid) => trap.in_thread(*tid),
            Home::Global | Home::Local(_, None) => trap,
        }
    }
}

/// A datum that has a place now.
pub struct Bound {
    node: Node,
    home: Home,
    /// Ranges and their traps; the first is the datum itself, the others lead to it.
    parts: Vec<((u64, u64), TrapId)>,
    presence: Presence,
    /// The value after the last event.
    last: Owned,
    form: Form,
}

/// Whether the datum itself is among what is watched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    /// It is the first of the parts.
    There,
    /// A pointer leads nowhere now: all parts lead to it.
    Nowhere,
    /// Its thread does not have it yet: all parts lead to it.
    Unborn,
}

/// Where a datum is: ranges of memory as [`verde_expr::reads`] gives them.
struct Places {
    ranges: Vec<(u64, u64)>,
    presence: Presence,
}

impl Places {
    /// What is not mapped cannot be watched; what leads there can.
    fn of(ranges: Vec<(u64, u64)>, here: &Here) -> Places {
        let is_byte = |at: u64| here.read(at, &mut [0]).is_ok();
        let is_mapped =
            |(at, len): &(u64, u64)| is_byte(*at) && is_byte(at.saturating_add(len.max(&1) - 1));
        let mapped: Vec<(u64, u64)> = ranges.iter().copied().filter(is_mapped).collect();
        match mapped.first() {
            None => Places {
                ranges,
                presence: Presence::There,
            },
            first if first == ranges.first() => Places {
                ranges: mapped,
                presence: Presence::There,
            },
            Some(_) => Places {
                ranges: mapped,
                presence: Presence::Nowhere,
            },
        }
    }
}

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
        let global = self.global_datum(&text);
        if let Ok(node) = &global
            && node.has_effects()
        {
            notes.push(Note {
                text: format!("event {text}: it would change the program"),
                is_error: true,
            });
            return;
        }
        let source = &mut irv.alphabet.sources[index];
        source.found |= global.is_ok();
        if let Err(e @ EvalError::Syntax(_)) = &global {
            notes.push(Note {
                text: format!("event {}: {e}", source.title()),
                is_error: true,
            });
            return;
        }
        if let Ok(node) = global {
            if let Some(says) = statics::ambiguity(&text, self.images.program()) {
                notes.push(Note {
                    text: format!("event {}: {says}", source.title()),
                    is_error: true,
                });
                return;
            }
            let all = [Seen::by_all(node)];
            return self.note_watching(&mut irv.alphabet.sources[index], &all, notes);
        }
        if !source.sites.is_empty() || source.fixed.is_some() {
            return;
        }
        let locals = self.unknown_names(&text);
        let Some((first, others)) = locals.names.split_first() else {
            return;
        };
        // The program has it, and it has no such member.
        let misfit = global.err().filter(|e| self.is_misfit(&text, e));
        let mut sites = Vec::new();
        let mut seen = Vec::new();
        let mut fixed = None;
        for (i, loaded) in self.images.loaded().to_vec().into_iter().enumerate() {
            // Libraries have locals of every name; only what the program lacks is looked for there.
            if !sites.is_empty() || fixed.is_some() || i > 0 && misfit.is_some() {
                break;
            }
            let module = &loaded.module;
            // Nobody means what the system's functions have for themselves without naming them.
            if locals.function.is_none() && self.images.is_systems(module) {
                continue;
            }
            for f in module.functions_declaring(first, FUNCTIONS) {
                let Some(die) = f.die.filter(|_| locals.may_be_in(&f.name)) else {
                    continue;
                };
                if others
                    .iter()
                    .any(|n| module.block_declaring(die, n).is_none())
                {
                    continue;
                }
                if let Some(node) = self.static_datum(&locals, &loaded, die) {
                    fixed = Some(node);
                    break;
                }
                let at = module.breakpoint_address(&f);
                seen.extend(self.seen_in(&loaded, at, &locals));
                sites.push(Site {
                    on: On::Exec(Addr(at.at(loaded.bias))),
                    is_loop: false,
                    reads: [].into(),
                    scope: None,
                    loc: None,
                    trap: None,
                });
            }
            let title = || irv.alphabet.sources[index].title();
            if sites.is_empty() && fixed.is_none() {
                match self.scoped_datum(&locals, module) {
                    Ok(node) => fixed = node,
                    Err(text) => notes.push(Note {
                        text: format!("event {}: {text}", title()),
                        is_error: true,
                    }),
                }
            } else if let paths = scoped_names(&locals, module, first)
                && !paths.is_empty()
            {
                notes.push(Note {
                    text: format!(
                        "event {}: functions have a `{first}` of their own, and those are watched; say so if another is meant: {}",
                        title(),
                        paths.join(", ")
                    ),
                    is_error: false,
                });
            }
        }
        if let Some(e) = misfit
            && sites.is_empty()
            && fixed.is_none()
        {
            notes.push(Note {
                text: format!("event {}: {e}", irv.alphabet.sources[index].title()),
                is_error: true,
            });
            return;
        }
        if sites.is_empty()
            && fixed.is_none()
            && let Some(function) = &locals.function
        {
            if self.is_described(function) {
                notes.push(Note {
                    text: format!("event {text}: {function} declares no variable `{first}`"),
                    is_error: true,
                });
            } else if self.has_inlined(&FunctionQuery::parse(function)) {
                let title = irv.alphabet.sources[index].title();
                notes.push(Note {
                    text: format!(
                        "event {title}: {function} was inlined: its variables cannot be watched (compile with -fno-inline)"
                    ),
                    is_error: false,
                });
            }
        }
        if let Some(node) = &fixed {
            seen = vec![Seen::by_all(node.clone())];
        }
        let source = &mut irv.alphabet.sources[index];
        self.note_watching(source, &seen, notes);
        source.found |= !sites.is_empty() || fixed.is_some();
        source.sites = sites;
        source.fixed = fixed;
        source.locals = Some(Arc::new(locals));
    }

    /// The program has the function, and says what it declares.
    fn is_described(&self, function: &str) -> bool {
        let query = FunctionQuery::parse(function);
        let functions = self.images.program().functions(&query);
        // `Foo::count` may be a member, of which only the constructors `Foo::Foo` are here.
        let is_constructor = |f: &Function| {
            let path = f.name.split('(').next().unwrap_or_default();
            let mut steps = path.rsplit("::");
            steps.next() == steps.next()
        };
        !functions.is_empty()
            && functions
                .iter()
                .all(|f| f.die.is_some() && !is_constructor(f))
    }

    /// Data outside of functions. The name of a function or a constant is none: a local may be
    /// called so.
    pub(super) fn global_datum(&mut self, text: &str) -> Result<Node, EvalError> {
        let here = Here::of_property(&self.images, None, &mut self.memo);
        let node = compile(text, &here)?;
        let program = self.images.program();
        // `base + index` would be some way into a function.
        let is_hidden = |word: &&str| {
            compile(word, &here).is_ok_and(|n| !n.names_data())
                && !program.functions_declaring(word, 1).is_empty()
        };
        let hidden = match node.names_data() {
            true => words(text).into_iter().find(is_hidden),
            false => Some(text),
        };
        match hidden {
            None => Ok(node),
            Some(name) => Err(EvalError::UnknownName(name.to_owned())),
        }
    }

    /// The names of an expression that mean nothing outside of functions.
    pub(super) fn unknown_names(&mut self, text: &str) -> Locals {
        let is_global = self.global_datum(text).is_ok();
        let here = Here::of_property(&self.images, None, &mut self.memo);
        let means = |text: String| compile(&text, &here).is_ok();
        let mut locals = Locals::of_text(text);
        let is_type =
            |word: &str| means(format!("({word} *)0")) || means(format!("(struct {word} *)0"));
        let all = || words(text).into_iter().filter(|w| !KEYWORDS.contains(w));
        let is_unknown = |word: &&str| !means((*word).to_owned()) && !is_type(word);
        let mut unknown: Vec<&str> = all().filter(is_unknown).collect();
        if unknown.is_empty() && !is_global {
            // A local may have the name of a type (`struct queue *queue`) or of a function.
            let is_datum = |w: &&str| compile(w, &here).is_ok_and(|n| n.names_data());
            unknown.extend(all().filter(|w| !is_datum(w)));
            if unknown.is_empty() {
                unknown.extend(all().next());
            }
        }
        for word in unknown {
            let (function, name) = match word.rsplit_once("::") {
                Some((function, name)) => (Some(function.to_owned()), name.to_owned()),
                None => (None, word.to_owned()),
            };
            if let Some(function) = function {
                locals.text = locals.text.replace(&format!("{function}::"), "");
                locals.function = Some(function);
            }
            if !locals.names.contains(&name) {
                locals.names.push(name);
            }
        }
        locals
    }

    /// An expression is about a member that data of the program do not have.
    fn is_misfit(&mut self, text: &str, error: &EvalError) -> bool {
        let is_data = |word: &str| {
            let node = self.compile_nowhere(word, None);
            node.is_ok_and(|n| !matches!(n.ty.strip().kind(), verde_symbols::Kind::Function(..)))
        };
        let mut names = words(text).into_iter().filter(|w| !KEYWORDS.contains(w));
        matches!(error, EvalError::NoMember(_)) && names.all(is_data)
    }

    /// A variable of some namespace or module by its bare name, which means one in every scope.
    fn scoped_datum(&mut self, locals: &Locals, module: &Module) -> Result<Option<Node>, String> {
        let mut text = locals.text.clone();
        for name in &locals.names {
            match scoped_names(locals, module, name).as_slice() {
                [] => return Ok(None),
                [path] => text = with_path(&text, name, path),
                several => return Err(format!("`{name}` is one of {}", several.join(", "))),
            }
        }
        let node = self.compile_nowhere(&text, None).ok();
        Ok(node.filter(|n| !n.needs_frame()))
    }

    /// What a function declares `static` is where it is, whoever runs.
    fn static_datum(&mut self, locals: &Locals, loaded: &Loaded, die: DieId) -> Option<Node> {
        let names = locals.names.iter();
        let blocks = names.filter_map(|n| loaded.module.block_declaring(die, n));
        let blocks: Vec<FileAddr> = blocks.collect();
        blocks.into_iter().find_map(|at| {
            let here = Here::of_property(
                &self.images,
                Some(inner_scope(&loaded.module, loaded.bias, at)),
                &mut self.memo,
            );
            let node = compile(&locals.text, &here).ok()?;
            let is_fixed = !node.needs_frame() && !node.names_other_frames();
            (is_fixed && !node.has_effects()).then_some(node)
        })
    }

    /// The event is wanted: the datum is bound if it is there, else at the next entry.
    pub(super) fn watch_datum(&mut self, irv: &mut Irv, index: usize, tid: Option<Tid>) {
        let text = irv.alphabet.sources[index].name.clone();
        // Before the loader has done its work, pointers of the program lead nowhere.
        if self.live.is_none() || irv.loading || irv.is_watched(index, tid) {
            return;
        }
        let has_another = irv.bound_datum(index).is_some();
        let fixed = irv.alphabet.sources[index].fixed.clone();
        let global = self.global_datum(&text).ok().or(fixed);
        // A global is hidden by a local of the function that runs, not by one of its callers.
        let frames = if global.is_some() { 1 } else { FRAMES };
        let locals = irv.alphabet.sources[index].locals.clone();
        let locals = locals.unwrap_or_else(|| Arc::new(Locals::of_text(&text)));
        if let Some(tid) = tid
            && let Some((node, home)) = self.local_datum(&locals, tid, frames)
        {
            return match home {
                Home::Local(scope, Some(frame)) if has_another => {
                    self.bind_datum(irv, index, node, Home::Beside(scope, frame));
                }
                _ if has_another => {}
                home => self.bind_datum(irv, index, node, home),
            };
        }
        match global {
            _ if has_another => {}
            Some(node) if node.is_thread_local() => self.watch_in_threads(irv, index, &node),
            Some(node) => self.bind_datum(irv, index, node, Home::Global),
            None => {}
        }
    }

    /// The innermost activation on a thread's stack that has the local.
    fn local_datum(&mut self, locals: &Locals, tid: Tid, limit: usize) -> Option<(Node, Home)> {
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
            let function = scope.source.as_ref().map(|s| s.name.as_str());
            if !function.is_none_or(|f| locals.may_be_in(f)) {
                continue;
            }
            // An inner block may not have been entered yet.
            let outer = scope.clone();
            let inner = std::iter::once_with(|| inner_blocks(&outer, locals)).flatten();
            for scope in [scope].into_iter().chain(inner) {
                let here = Here {
                    process: Some((&mut live.process, tid)),
                    images: &self.images,
                    frame: Some(scope.clone()),
                    innermost: level == 0,
                    memo: &mut self.memo,
                    names: Names::Offered,
                };
                if let Ok(node) = compile(&locals.text, &here)
                    && node.needs_frame()
                {
                    let home = frame_ref(&frames, level).map(|f| (tid, f));
                    return Some((node, Home::Local(Box::new(scope), home)));
                }
            }
        }
        None
    }

    /// Watches a datum where it belongs.
    pub(super) fn bind_datum(&mut self, irv: &mut Irv, index: usize, node: Node, home: Home) {
        let brought = irv.alphabet.sources[index].params.iter();
        let brought = brought.filter(|p| p.operand == Operand::Ret);
        let form = brought.map(|p| Form::of(p.ty.as_deref())).next();
        let mut bound = Bound {
            node,
            home,
            parts: Vec::new(),
            presence: Presence::There,
            last: Owned::None,
            form: form.unwrap_or(Form::Plain),
        };
        bound.last = self.datum_value(&bound);
        if let Err(text) = self.arm_datum(irv, index, &mut bound) {
            let name = irv.alphabet.sources[index].title();
            irv.drop_parts(index, bound.parts, &mut self.live);
            // Of what each thread has for itself the others may be watched.
            irv.alphabet.sources[index].is_blind = bound.home.owner().is_none();
            irv.warnings.push(match bound.home.owner() {
                Some(_) => format!("event {name}: not observed in every thread: {text}"),
                None => format!("event {name}: {text}"),
            });
            return;
        }
        irv.alphabet.sources[index].is_blind = false;
        if let (Presence::There, Some((_, id))) = (bound.presence, bound.parts.first()) {
            self.note_kernel(irv, index, *id);
        }
        if let Some(datum) = &mut irv.alphabet.sources[index].datum {
            datum.put(bound);
        }
    }

    /// Sets the traps for where the datum is now.
    fn arm_datum(&mut self, irv: &mut Irv, index: usize, bound: &mut Bound) -> Result<(), String> {
        let kind = irv.alphabet.sources[index].kind;
        let Some(places) = self.datum_places(bound) else {
            return Ok(());
        };
        let Places { ranges, presence } = places;
        bound.presence = presence;
        let Some(live) = &mut self.live else {
            return Ok(());
        };
        if ranges.is_empty() {
            return Err(NOT_IN_MEMORY.into());
        }
        for (i, (at, len)) in ranges.iter().enumerate() {
            let (at, len) = (Addr(*at), *len);
            let on = match kind {
                Kind::Read if i == 0 && presence == Presence::There => On::Read { at, len },
                _ => On::Write { at, len },
            };
            let id = match live.process.insert(bound.home.trap(on)) {
                Ok(id) => id,
                // Its address is another one in each thread.
                Err(Error::CannotWatch { why, .. }) if bound.home.owner().is_some() => {
                    return Err(why.to_owned());
                }
                // Its end is the next thing to be told.
                Err(Error::Gone) => return Ok(()),
                Err(e) => return Err(e.to_string()),
            };
            let target = Target::Datum {
                source: index,
                part: i,
                owner: bound.home.owner(),
            };
            irv.add_target(id, target);
            bound.parts.push(((at.0, len), id));
        }
        Ok(())
    }

    fn datum_scope(&mut self, bound: &Bound) -> Option<Here<'_>> {
        let live = self.live.as_mut()?;
        let tid = bound.home.tid().unwrap_or(live.process.pid());
        Some(Here {
            process: Some((&mut live.process, tid)),
            images: &self.images,
            frame: bound.home.scope().cloned(),
            innermost: false,
            memo: &mut self.memo,
            names: Names::Offered,
        })
    }

    /// Where a datum is now, and what leads there.
    fn datum_places(&mut self, bound: &Bound) -> Option<Places> {
        let mut here = self.datum_scope(bound)?;
        let ranges = verde_expr::reads(&bound.node, &mut here).memory;
        let mut places = Places::of(ranges, &here);
        let awaited = here.awaited(&bound.node);
        if !awaited.is_empty() {
            places.presence = Presence::Unborn;
            places.ranges.extend(awaited);
        }
        Some(places)
    }

    fn datum_value(&mut self, bound: &Bound) -> Owned {
        let Some(mut here) = self.datum_scope(bound) else {
            return Owned::None;
        };
        match eval(&bound.node, &mut here) {
            Ok(value) => Owned::of(&value, bound.form, &here),
            Err(_) => Owned::None,
        }
    }

    /// The same with other bytes at some place.
    fn datum_value_with(&mut self, bound: &Bound, at: Addr, bytes: &[u8]) -> Owned {
        let Some(here) = self.datum_scope(bound) else {
            return Owned::None;
        };
        let mut patched = Patched::new(here, at, bytes);
        match eval(&bound.node, &mut patched) {
            Ok(value) => Owned::of(&value, bound.form, &patched),
            Err(_) => Owned::None,
        }
    }

    /// A thread touched a part of a datum.
    pub(super) fn touched(
        &mut self,
        irv: &mut Irv,
        (index, tid): (usize, Tid),
        (part, owner): (usize, Option<Tid>),
        write: bool,
    ) -> Meaning {
        let (kind, when) = {
            let source = &irv.alphabet.sources[index];
            (source.kind, source.when)
        };
        let Some(mut bound) = irv.take_datum(index, owner) else {
            return Meaning::Nothing;
        };
        let is_new = bound.presence == Presence::Unborn;
        let is_itself = part == 0 && bound.presence == Presence::There;
        let live = self.live.as_ref();
        // What one instruction loads and stores may have been stored to again since.
        let exchange = live.and_then(|l| l.process.exchange(tid));
        let new = match &exchange {
            Some(e) => self.datum_value_with(&bound, e.at, e.stored().as_ref()),
            None => self.datum_value(&bound),
        };
        let last = std::mem::replace(&mut bound.last, new.clone());
        let old = match &exchange {
            Some(e) if is_itself => self.datum_value_with(&bound, e.at, e.loaded().as_ref()),
            _ => last,
        };
        if !is_itself || bound.parts.len() > 1 {
            // A pointer on the way may lead elsewhere now.
            let now = self.datum_places(&bound);
            let now = now.map_or_else(Vec::new, |places| places.ranges);
            if !now.iter().eq(bound.parts.iter().map(|(range, _)| range)) {
                irv.drop_parts(index, std::mem::take(&mut bound.parts), &mut self.live);
                if let Err(text) = self.arm_datum(irv, index, &mut bound) {
                    let title = irv.alphabet.sources[index].title();
                    irv.warnings
                        .push(format!("event {title} is no longer observed: {text}"));
                }
            }
        }
        if let Some(datum) = &mut irv.alphabet.sources[index].datum {
            datum.put(bound);
        }
        let brought = |old, new| match when {
            When::Before => old,
            When::After => new,
        };
        match kind {
            Kind::Write if write && is_itself => Meaning::Event(brought(old, new)),
            Kind::Read if !write && is_itself && exchange.is_some() => Meaning::Event(old),
            Kind::Read if !write && is_itself => Meaning::Event(new),
            // That it exists from now on changes nothing.
            Kind::Update if old != new && !is_new => Meaning::Event(brought(old, new)),
            _ => Meaning::Nothing,
        }
    }
}

impl Irv {
    /// Files came or went: a global may be elsewhere, or no longer be. It is to be bound anew;
    /// what was watched stays so until [`Irv::drop_former`].
    pub(super) fn unbind_globals(&mut self) -> Vec<(usize, Datum)> {
        self.places.clear();
        self.plans.clear();
        let mut former = Vec::new();
        for (index, source) in self.alphabet.sources.iter_mut().enumerate() {
            let global = |d: &&mut Datum| {
                let mut all = d.bound.iter().chain(d.own.values());
                !all.any(|b| b.home.is_local())
            };
            if let Some(datum) = source.datum.as_mut().filter(global) {
                former.push((index, std::mem::take(datum)));
            }
        }
        for (index, datum) in &former {
            for id in datum.traps() {
                if let Some(targets) = self.targets.get_mut(&id) {
                    targets.retain(|t| t.source() != *index);
                }
            }
        }
        former
    }

    /// Globals are bound anew: what is where it was goes on as if nothing had been.
    pub(super) fn drop_former(
        &mut self,
        former: Vec<(usize, Datum)>,
        live: &mut Option<super::super::live::Live>,
    ) {
        for (index, datum) in former {
            let ids = datum.traps();
            for bound in datum.bound.into_iter().chain(datum.own.into_values()) {
                let owner = bound.home.owner();
                let now = self.alphabet.sources[index].datum.as_mut();
                if let Some(now) = now.and_then(|d| d.of_mut(owner))
                    && now.parts == bound.parts
                {
                    // An access to it may wait to be heard of.
                    now.last = bound.last;
                }
            }
            for id in ids {
                let datum = self.alphabet.sources[index].datum.as_ref();
                match datum.is_some_and(|d| d.traps().contains(&id)) {
                    false => self.drop_trap(index, Some(id), live),
                    // Set twice: once is enough.
                    true => drop(live.as_mut().map(|l| l.process.remove(id))),
                }
            }
        }
    }

    fn bound_datum(&self, index: usize) -> Option<&Bound> {
        self.alphabet.sources[index].datum.as_ref()?.of(None)
    }

    /// It is watched, in a thread at least.
    fn is_watched(&self, index: usize, tid: Option<Tid>) -> bool {
        let Some(datum) = &self.alphabet.sources[index].datum else {
            return false;
        };
        let is_elsewhere = |b: &Bound| b.home.is_local() && tid.is_some() && b.home.tid() != tid;
        datum.bound.as_ref().is_some_and(|b| !is_elsewhere(b))
            || tid.is_some_and(|tid| datum.own.contains_key(&tid))
            || !datum.births.is_empty()
    }

    fn take_datum(&mut self, index: usize, owner: Option<Tid>) -> Option<Bound> {
        self.alphabet.sources[index].datum.as_mut()?.take(owner)
    }

    /// The frame of a local that is watched.
    pub(super) fn datum_frame(&self, index: usize, owner: Option<Tid>) -> Option<&FrameScope> {
        let datum = self.alphabet.sources[index].datum.as_ref()?;
        datum.of(owner)?.home.scope()
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
        let Some(datum) = &mut self.alphabet.sources[index].datum else {
            return;
        };
        let datum = std::mem::take(datum);
        for bound in datum.bound.into_iter().chain(datum.own.into_values()) {
            self.drop_parts(index, bound.parts, live);
        }
        for id in datum.births {
            self.drop_trap(index, Some(id), live);
        }
    }

    /// A thread ends, and with it what it has for itself.
    pub(super) fn unwatch_thread(&mut self, tid: Tid, live: &mut Option<super::super::live::Live>) {
        for index in 0..self.alphabet.sources.len() {
            if let Some(bound) = self.take_datum(index, Some(tid)) {
                self.drop_parts(index, bound.parts, live);
            }
        }
    }

    /// The trap of a local went with its frame: which sources lose their datum, or one of them.
    pub(super) fn frame_gone(&mut self, id: TrapId, live: &mut Option<super::super::live::Live>) {
        let targets = self.targets.get(&id).cloned().unwrap_or_default();
        for target in targets {
            if let Target::Datum { source, owner, .. } = target
                && let Some(bound) = self.take_datum(source, owner)
            {
                self.drop_parts(source, bound.parts, live);
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

/// The names in an expression that some function must know.
#[derive(Default)]
pub struct Locals {
    names: Vec<String>,
    /// The function whose they are, where that is said: `f::n`.
    function: Option<String>,
    /// The expression as that function would write it.
    text: String,
}

impl Locals {
    fn of_text(text: &str) -> Locals {
        Locals {
            text: text.to_owned(),
            ..Locals::default()
        }
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The function whose they are, where that is said.
    pub(super) fn function(&self) -> Option<&str> {
        self.function.as_deref()
    }

    fn may_be_in(&self, function: &str) -> bool {
        let wanted = self.function.as_ref();
        wanted.is_none_or(|wanted| base_of(function).ends_with(wanted.as_str()))
    }
}

/// A function's name without its parameters.
fn base_of(name: &str) -> &str {
    name.split('(').next().unwrap_or(name)
}

/// A frame as its inner blocks see it that declare one of the names.
pub(super) fn inner_blocks(scope: &FrameScope, locals: &Locals) -> Vec<FrameScope> {
    let (Some((module, bias)), Some(die)) = (&scope.frame.module, scope.die()) else {
        return Vec::new();
    };
    let blocks = locals.names.iter();
    let blocks = blocks.filter_map(|name| module.block_declaring(die, name));
    let inner = blocks.map(|at| {
        let mut scope = scope.clone();
        scope.frame.pc = at.at(*bias);
        scope.frame.is_exact = true;
        scope
    });
    inner.collect()
}

/// An expression with a name of it written with its scopes.
fn with_path(text: &str, name: &str, path: &str) -> String {
    let mut out = String::new();
    let mut done = 0;
    for word in places_of_words(text) {
        if &text[word.clone()] == name {
            out += &text[done..word.start];
            out += path;
            done = word.end;
        }
    }
    out + &text[done..]
}

/// Words of C that no variable can have.
const KEYWORDS: [&str; 17] = [
    "sizeof", "struct", "union", "enum", "class", "unsigned", "signed", "int", "long", "short",
    "char", "float", "double", "void", "const", "volatile", "as",
];

/// The names in an expression, without members and numbers; paths are one name.
pub(super) fn words(text: &str) -> Vec<&str> {
    let places = places_of_words(text).into_iter();
    places.map(|word| &text[word]).collect()
}

pub(super) fn places_of_words(text: &str) -> Vec<Range<usize>> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '$');
    let mut out = Vec::new();
    let mut from = 0;
    while let Some(n) = text[from..].find(is_word) {
        let lead = text[..from + n].trim_end();
        let tail = &text[from + n..];
        let run = &tail[..tail.find(|c| !is_word(c)).unwrap_or(tail.len())];
        from += n + run.len();
        let rest = run.trim_start_matches(':');
        let word = rest.trim_end_matches(':');
        let is_member = lead.ends_with('.') || lead.ends_with("->");
        if !is_member && word.starts_with(|c: char| !c.is_numeric() && c != '$') {
            let start = from - rest.len();
            out.push(start..start + word.len());
        }
    }
    out
}

/// The variables of a name in namespaces and modules, unless one of a function is meant.
fn scoped_names(locals: &Locals, module: &Module, name: &str) -> Vec<String> {
    if locals.function.is_some() {
        return Vec::new();
    }
    let fits = |other: &str| other == name;
    let filter = NameFilter {
        fits: &fits,
        in_paths: false,
    };
    let found = module.variables_where(&filter, SCOPES).into_iter();
    let paths = found.map(|v| v.name.replace("(anonymous namespace)::", ""));
    let mut paths: Vec<String> = paths.filter(|p| p.contains("::")).collect();
    paths.sort();
    paths.dedup();
    paths
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_with_their_scopes() {
        for (text, with) in [
            ("count", "m::count"),
            ("*count[i]", "*m::count[i]"),
            ("accounts + count", "accounts + m::count"),
            ("a.b", "a.b"),
            ("g.count + count", "g.count + m::count"),
            ("p->count * count - $count", "p->count * m::count - $count"),
            ("0count + ::count", "0count + ::m::count"),
        ] {
            assert_eq!(super::with_path(text, "count", "m::count"), with);
        }
    }

    #[test]
    fn the_names_of_an_expression() {
        for (text, names) in [
            ("s", vec!["s"]),
            ("*s", vec!["s"]),
            ("q->head[3].next", vec!["q"]),
            ("f::n + 1", vec!["f::n"]),
            ("(a + b[i]) * 2.5e3", vec!["a", "b", "i"]),
            ("2*s", vec!["s"]),
            ("$rax + x . y", vec!["x"]),
        ] {
            assert_eq!(super::words(text), names, "{text}");
        }
    }
}
