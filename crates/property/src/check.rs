//! From what was written to a [`Property`]: names resolved, states merged,
//! events interned, blocks compiled; everything wrong reported.

use crate::ast::{self, Name, PropertyFile, RawBlock};
use crate::chain;
use crate::diag::{Diagnostic, Diagnostics, nearest};
use crate::ir::Types;
use crate::limits;
use crate::lint;
use crate::load::Functions;
use crate::lower::{self, Reason, lower};
use crate::model::*;
use crate::python::{self, PyBlock};
use crate::source::{Source, Span};
use crate::types;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub const PYTHON_SYNTAX: &str = "python-syntax";

/// The property, unless an error was found.
pub fn check(
    source: &Arc<Source>,
    file: &PropertyFile,
    functions: &Functions,
    found: &mut Diagnostics,
) -> Option<Property> {
    let mut c = Checker {
        source,
        found,
        slice_on: Vec::new(),
        states: Vec::new(),
        by_name: HashMap::new(),
        events: Vec::new(),
        event_ids: HashMap::new(),
        pending: Vec::new(),
    };
    c.slice_parameters(file);
    c.merge_states(file);
    let init_block = file
        .init
        .as_ref()
        .map(|b| c.block(b, Role::Initialization, &[], &[]));
    let states: Vec<State> = c.states.clone().iter().map(|m| c.state(m)).collect();
    let ends: Vec<Ends> = file.ends.iter().map(|e| c.ends(e)).collect();
    let init = c.by_name.get("init").copied();
    if init.is_none() {
        let span = file.states.first().map_or(Span::at(0), |s| s.name.span);
        let d = Diagnostic::error("no-init", span, "the property has no state `init`");
        let d = match nearest("init", file.states.iter().map(|s| s.name.text.as_str())) {
            Some(n) => d.hint(format!(
                "rename state `{n}` to `init`: every slice begins there"
            )),
            None => d.hint("every slice begins in `init`: add `state init { ... }`"),
        };
        c.found.push(d);
    }
    let Checker {
        slice_on,
        events,
        pending,
        ..
    } = c;
    let (blocks, env, env_types) = compile(source, pending, functions, found);
    let mut property = Property {
        uid: next_uid(),
        name: source.stem(),
        source: source.clone(),
        slice_on: slice_on.into_iter().map(|n| n.text).collect(),
        ends,
        env,
        env_types,
        init_block,
        init: init.unwrap_or(StateId(0)),
        states,
        events,
        blocks,
        chain: Vec::new(),
        levels: Vec::new(),
    };
    if property.states.is_empty() || init.is_none() {
        return None;
    }
    verdicts(&mut property);
    if !found.has_errors() {
        chain::slices(&mut property, file, found);
    }
    lint::lint(&property, file, functions, found);
    (!found.has_errors()).then_some(property)
}

#[derive(Clone)]
struct Merged<'f> {
    name: &'f Name,
    accepting: Option<(bool, Span)>,
    is_final: bool,
    action: Option<&'f Name>,
    transitions: Vec<&'f ast::Transition>,
}

/// A block read as Python, waiting for the environment's names to be complete.
pub struct Pending {
    pub role: Role,
    pub span: Span,
    pub py: Option<PyBlock>,
    pub params: Vec<String>,
    pub param_types: Vec<Types>,
}

struct Checker<'a, 'f> {
    source: &'a Arc<Source>,
    found: &'a mut Diagnostics,
    slice_on: Vec<Name>,
    states: Vec<Merged<'f>>,
    by_name: HashMap<&'f str, StateId>,
    events: Vec<EventSpec>,
    event_ids: HashMap<(ast::Kind, ast::When, String), SpecId>,
    pending: Vec<Pending>,
}

impl<'f> Checker<'_, 'f> {
    fn slice_parameters(&mut self, file: &PropertyFile) {
        for name in &file.slice_on {
            match self.slice_on.iter().find(|n| n.text == name.text) {
                Some(first) => self.found.push(
                    Diagnostic::error(
                        "repeated-slice-parameter",
                        name.span,
                        format!("slice parameter `{}` is given twice", name.text),
                    )
                    .other(first.span, "first here")
                    .hint("name it once"),
                ),
                None => self.slice_on.push(name.clone()),
            }
        }
    }

    fn merge_states(&mut self, file: &'f PropertyFile) {
        for s in &file.states {
            let Some(&id) = self.by_name.get(s.name.text.as_str()) else {
                self.by_name.insert(
                    &s.name.text,
                    StateId(self.states.len().try_into().unwrap_or(u16::MAX)),
                );
                self.states.push(Merged {
                    name: &s.name,
                    accepting: s.accepting,
                    is_final: s.is_final,
                    action: s.action.as_ref(),
                    transitions: s.transitions.iter().collect(),
                });
                continue;
            };
            let first = &mut self.states[id.index()];
            let name = &s.name.text;
            self.found.push(
                Diagnostic::warning(
                    "repeated-state",
                    s.name.span,
                    format!("state `{name}` is defined again: the two are merged"),
                )
                .other(first.name.span, "first defined here")
                .hint("write all transitions of a state in one place"),
            );
            match (first.accepting, s.accepting) {
                (Some((a, at)), Some((b, again))) if a != b => self.found.push(
                    Diagnostic::error(
                        "contradicting-annotations",
                        again,
                        format!("state `{name}` is both accepting and non-accepting"),
                    )
                    .other(at, "annotated differently here")
                    .hint("keep one of the two annotations"),
                ),
                (None, later) => first.accepting = later,
                _ => {}
            }
            match (first.action, &s.action) {
                (Some(a), Some(b)) if a.text != b.text => self.found.push(
                    Diagnostic::error(
                        "contradicting-annotations",
                        b.span,
                        format!(
                            "state `{name}` has two actions, `{}` and `{}`",
                            a.text, b.text
                        ),
                    )
                    .other(a.span, "the other one")
                    .hint("a state has one action; call the other from it"),
                ),
                (None, Some(_)) => first.action = s.action.as_ref(),
                _ => {}
            }
            first.is_final |= s.is_final;
            first.transitions.extend(&s.transitions);
        }
    }

    fn state(&mut self, m: &Merged<'f>) -> State {
        let transitions: Vec<Transition> =
            m.transitions.iter().map(|t| self.transition(t)).collect();
        self.same_bindings(m, &transitions);
        State {
            name: m.name.text.clone(),
            accepting: m.accepting.is_none_or(|(a, _)| a),
            is_final: m.is_final,
            action: m.action.map(|n| n.text.clone()),
            transitions,
            verdict: Verdict::CurrentlyTrue,
            span: m.name.span,
        }
    }

    /// Which slices an event reaches must not depend on the transition that is tried.
    fn same_bindings(&mut self, m: &Merged<'f>, transitions: &[Transition]) {
        let mut seen: HashMap<SpecId, &Transition> = HashMap::new();
        for t in transitions {
            let Some(first) = seen.get(&t.event) else {
                seen.insert(t.event, t);
                continue;
            };
            if first.binding != t.binding {
                let name = &self.events[t.event.index()].name;
                self.found.push(
                    Diagnostic::error(
                        "two-bindings",
                        t.span,
                        format!("state `{}` binds event `{name}` in two ways", m.name.text),
                    )
                    .label("this transition binds other slice parameters or takes them from other arguments")
                    .other(first.span, "than this one")
                    .hint("bind the slice parameters in the same way in every transition of a state on one event"),
                );
                return;
            }
        }
    }

    fn transition(&mut self, t: &ast::Transition) -> Transition {
        let (event, params, binding) = self.event(&t.event);
        let python: Vec<String> = params.iter().map(|p| p.python.clone()).collect();
        let kinds: Vec<Types> = params.iter().map(|p| p.types).collect();
        let guard = t
            .guard
            .as_ref()
            .map(|b| self.block(b, Role::Guard, &python, &kinds));
        let mut outcomes: [Option<Outcome>; 2] = [None, None];
        let mut spans: [Option<Span>; 2] = [None, None];
        for o in &t.outcomes {
            let i = usize::from(!o.success);
            let role = if o.success {
                Role::Success
            } else {
                Role::Failure
            };
            if let Some(first) = spans[i] {
                self.found.push(
                    Diagnostic::error(
                        "two-outcomes",
                        o.span,
                        format!("the transition has two `{}` outcomes", role.word()),
                    )
                    .other(first, "the first one")
                    .hint("keep one; write a second transition for another case"),
                );
                continue;
            }
            spans[i] = Some(o.span);
            let block = o
                .block
                .as_ref()
                .map(|b| self.block(b, role, &python, &kinds));
            let Some(&to) = self.by_name.get(o.to.text.as_str()) else {
                let d = Diagnostic::error(
                    "unknown-state",
                    o.to.span,
                    format!("unknown state `{}`", o.to.text),
                )
                .label("no state has this name");
                let d = match nearest(&o.to.text, self.by_name.keys().copied()) {
                    Some(n) => d.hint(format!("did you mean `{n}`?")),
                    None => d.hint(format!("add `state {} {{ ... }}`", o.to.text)),
                };
                self.found.push(d);
                continue;
            };
            outcomes[i] = Some(Outcome {
                block,
                action: o.action.as_ref().map(|a| a.text.clone()),
                to,
            });
        }
        let [success, failure] = outcomes;
        Transition {
            event,
            params,
            binding,
            guard,
            success,
            failure,
            span: t.event.span,
            label: label(self.source, &t.event),
        }
    }

    fn ends(&mut self, e: &ast::Event) -> Ends {
        let (event, _, binding) = self.event(e);
        if binding.mask.is_empty() && !e.params.is_empty() {
            let names: Vec<&str> = self.slice_on.iter().map(|n| n.text.as_str()).collect();
            self.found.push(
                Diagnostic::error(
                    "ends-nothing",
                    e.span,
                    "this `ends` event binds no slice parameter",
                )
                .label("no parameter has the name of one")
                .hint(format!(
                    "name the object that ends: `arg 0 as {}`",
                    names.join("` or `arg 0 as ")
                )),
            );
        } else if binding.mask.is_empty() {
            self.found.push(
                Diagnostic::warning(
                    "ends-everything",
                    e.span,
                    "this `ends` event binds no slice parameter",
                )
                .label("it ends every slice")
                .hint("name the object that ends: `ends free(arg 0 as q)`"),
            );
        }
        Ends { event, binding }
    }

    fn event(&mut self, e: &ast::Event) -> (SpecId, Vec<ParamUse>, Binding) {
        let when = e.when.unwrap_or(e.kind.default_when());
        let key = (e.kind, when, canonical_name(&e.name.text));
        if self.events.len() >= limits::EVENTS && !self.event_ids.contains_key(&key) {
            let most = limits::EVENTS;
            self.found.push(
                Diagnostic::error(
                    "too-many-events",
                    e.span,
                    format!("more than {most} different events"),
                )
                .hint("split the property into several files"),
            );
            return (SpecId(0), Vec::new(), Binding::default());
        }
        let next = SpecId(self.events.len() as u16);
        let id = *self.event_ids.entry(key).or_insert(next);
        if id == next {
            self.events.push(EventSpec {
                kind: e.kind,
                when,
                name: e.name.text.clone(),
                params: Vec::new(),
            });
        }
        let mut params: Vec<ParamUse> = Vec::new();
        let mut bound: Vec<(usize, u16)> = Vec::new();
        for p in &e.params {
            let python = p
                .alias
                .as_ref()
                .map_or_else(|| p.operand.python_name(), |n| n.text.clone());
            if python::is_keyword(&python) {
                self.found.push(
                    Diagnostic::error(
                        "python-keyword",
                        p.span,
                        format!("`{python}` is a word of Python and cannot name a parameter"),
                    )
                    .hint(format!(
                        "give it another name: `{} as {python}_`",
                        p.operand.text()
                    )),
                );
            }
            if params.iter().any(|q| q.python == python) {
                self.found.push(
                    Diagnostic::error(
                        "repeated-parameter",
                        p.span,
                        format!("two parameters are both called `{python}` in the blocks"),
                    )
                    .hint("give one of them another name with `as`"),
                );
                continue;
            }
            let text = p.operand.text();
            let specs = &mut self.events[id.index()].params;
            let ty = p.ty.as_ref().map(|t| t.text.clone());
            let arg = specs
                .iter()
                .position(|s| s.text == text && s.ty == ty)
                .unwrap_or_else(|| {
                    specs.push(ParamSpec {
                        operand: p.operand.clone(),
                        text,
                        ty: ty.clone(),
                    });
                    specs.len() - 1
                });
            if specs.len() > limits::PARAMETERS_OF_EVENT {
                let most = limits::PARAMETERS_OF_EVENT;
                let message = format!("more than {most} different parameters of one event");
                self.found.push(
                    Diagnostic::error("too-many-parameters", p.span, message)
                        .hint("name only the parameters that the blocks use"),
                );
                continue;
            }
            let arg = arg as u16;
            if let Some(i) = self.slice_on.iter().position(|s| s.text == python) {
                bound.push((i, arg));
            }
            params.push(ParamUse {
                arg,
                python,
                types: ty.as_deref().map_or(Types::ANY, types::declared),
                ty,
            });
        }
        bound.sort_unstable();
        let binding = Binding {
            mask: bound
                .iter()
                .fold(Mask::EMPTY, |m, (i, _)| m.union(Mask::one(*i))),
            args: bound.into_iter().map(|(_, a)| a).collect(),
        };
        (id, params, binding)
    }

    fn block(&mut self, raw: &RawBlock, role: Role, params: &[String], kinds: &[Types]) -> BlockId {
        let py = read_block(python::parse_block(self.source, raw), self.found);
        self.pending.push(Pending {
            role,
            span: raw.span,
            py,
            params: params.to_vec(),
            param_types: kinds[..kinds.len().min(params.len())].to_vec(),
        });
        BlockId(self.pending.len() as u32 - 1)
    }
}

/// Reports what is wrong with a block's Python.
pub fn read_block(
    read: Result<PyBlock, python::SyntaxError>,
    found: &mut Diagnostics,
) -> Option<PyBlock> {
    match read {
        Ok(py) => {
            if let Some((at, what)) = &py.names.forbidden {
                found.push(
                    Diagnostic::error("python-syntax", py.py.span(*at, at + 1), format!("{what} is not allowed in a block"))
                        .hint("a block runs at once, as the body of an ordinary function; put the code into a functions file"),
                );
            }
            if let Some(at) = py.names.star_import {
                found.push(
                    Diagnostic::error(
                        "star-import",
                        py.py.span(at, at + 4),
                        "`import *` is not allowed in a block",
                    )
                    .hint("import the names you use, or put the import into a functions file"),
                );
            }
            Some(py)
        }
        Err(e) => {
            found.push(
                Diagnostic::error(PYTHON_SYNTAX, e.span, e.message)
                    .label("here")
                    .hint("the block must be valid Python 3"),
            );
            None
        }
    }
}

/// `after fopen(ret as file)`, for pictures: the words as written on one line.
fn label(source: &Source, e: &ast::Event) -> String {
    let text = source
        .text
        .get(e.span.start..e.span.end)
        .unwrap_or(&e.name.text);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match e.when {
        Some(w) if w != e.kind.default_when() => format!("{} {words}", w.word()),
        _ => words,
    }
}

/// All blocks: the environment is every name that one of them assigns and that
/// is not its parameter; then each is lowered to the typed subset if it fits. A name
/// that is read, and that nobody gives a value, may get one by `set_env_value`.
pub fn compile(
    source: &Source,
    pending: Vec<Pending>,
    functions: &Functions,
    found: &mut Diagnostics,
) -> (Vec<Block>, Vec<String>, Vec<Types>) {
    const MOST: usize = 10_000;
    let mut env: Vec<String> = Vec::new();
    let mut index: HashMap<String, u16> = HashMap::new();
    let mut assigned_by: Vec<Vec<u16>> = Vec::new();
    for p in &pending {
        let mut assigned = Vec::new();
        for (name, _) in p.py.iter().flat_map(|b| &b.names.assigned) {
            if p.params.contains(name) || env.len() >= MOST {
                continue;
            }
            let i = *index.entry(name.clone()).or_insert_with(|| {
                env.push(name.clone());
                env.len() as u16 - 1
            });
            assigned.push(i);
        }
        assigned_by.push(assigned);
    }
    if env.len() >= MOST {
        found.push(
            Diagnostic::error(
                "too-many-names",
                Span::at(0),
                format!("more than {MOST} environment names"),
            )
            .hint("keep the data in a list or a dict"),
        );
    }
    let mut python_assigned = Vec::new();
    let mut unknown: BTreeSet<String> = BTreeSet::new();
    let mut blocks: Vec<Block> = pending
        .into_iter()
        .zip(assigned_by)
        .map(|(p, assigned)| {
            let mut block = Block {
                role: p.role,
                span: p.span,
                python: Default::default(),
                params: p.params,
                param_types: p.param_types,
                assigned,
                has_return: false,
                tier: Tier::Empty,
            };
            let Some(py) = p.py else { return block };
            block.has_return = py.names.has_return;
            let is_known = |name: &String| {
                block.params.contains(name)
                    || index.contains_key(name)
                    || functions.names.contains(name)
                    || python::is_builtin(name)
                    || (block.role.acts() && crate::scenario::is_action(name))
            };
            unknown.extend(py.names.read.keys().filter(|n| !is_known(n)).cloned());
            if !py.module.body.is_empty() {
                let names = lower::Names {
                    params: &block.params,
                    env: &env,
                    functions,
                };
                block.tier = match lower(&py.py, &py.module.body, &names) {
                    Ok(code) => Tier::Typed(code),
                    Err(reason) => {
                        python_assigned.extend(&block.assigned);
                        Tier::Python(reason)
                    }
                };
            }
            block.python = py.py;
            block
        })
        .collect();
    for name in unknown.into_iter().take(MOST - env.len().min(MOST)) {
        python_assigned.push(env.len() as u16);
        env.push(name);
    }
    let env_types = types::infer(&mut blocks, env.len(), &python_assigned);
    reasons_within(source, &mut blocks);
    (blocks, env, env_types)
}

/// A reason points into its block even when the parser's place is at the very end of it.
fn reasons_within(source: &Source, blocks: &mut [Block]) {
    for b in blocks {
        if let Tier::Python(Reason { span, .. }) = &mut b.tier {
            span.start = span
                .start
                .clamp(b.span.start, b.span.end.min(source.text.len()));
            span.end = span.end.clamp(span.start, b.span.end);
        }
    }
}

/// Four-valued verdicts of the states, from the automaton alone.
fn verdicts(p: &mut Property) {
    let n = p.states.len();
    // Follow the edges backwards from the states of each kind.
    let mut into: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (i, s) in p.states.iter().enumerate().filter(|(_, s)| !s.is_final) {
        for o in s.transitions.iter().flat_map(Transition::outcomes) {
            into[o.to.index()].push(i);
        }
    }
    let reaching = |accepting: bool| {
        let mut reaches: Vec<bool> = p.states.iter().map(|s| s.accepting == accepting).collect();
        let mut work: Vec<usize> = (0..n).filter(|i| reaches[*i]).collect();
        while let Some(i) = work.pop() {
            for &from in &into[i] {
                if !std::mem::replace(&mut reaches[from], true) {
                    work.push(from);
                }
            }
        }
        reaches
    };
    let (good, bad) = (reaching(true), reaching(false));
    for (s, (good, bad)) in p.states.iter_mut().zip(good.into_iter().zip(bad)) {
        s.verdict = match (s.accepting, good, bad) {
            (true, _, false) => Verdict::True,
            (true, _, true) => Verdict::CurrentlyTrue,
            (false, false, _) => Verdict::False,
            (false, true, _) => Verdict::CurrentlyFalse,
        };
    }
}

/// A number that nothing else that was loaded has; 0 is nobody's.
pub(crate) fn next_uid() -> u64 {
    static LOADED: AtomicU64 = AtomicU64::new(1);
    LOADED.fetch_add(1, Ordering::Relaxed)
}
