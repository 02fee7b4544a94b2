//! Warnings: legal, but probably not what was meant.

use crate::ast::{Kind, Operand, PropertyFile, When};
use crate::diag::{Diagnostic, Diagnostics, nearest};
use crate::load::Functions;
use crate::model::*;
use crate::python::{self, Names};
use ruff_python_parser::parse_module;
use std::collections::{BTreeSet, HashMap, HashSet};

pub fn lint(p: &Property, file: &PropertyFile, functions: &Functions, found: &mut Diagnostics) {
    unreachable_states(p, found);
    two_unguarded(p, found);
    outcomes(p, found);
    undefined_actions(file, functions, found);
    unknown_names(&p.blocks, &p.env, functions, found);
    hidden_names(p, found);
    odd_types(p, found);
    return_values(p, found);
    after_release(p, found);
    pointers_without_end(p, file, found);
    if p.states.iter().all(|s| s.accepting) {
        found.push(
            Diagnostic::warning(
                "never-fails",
                p.state(p.init).span,
                "this property can never fail: every state is accepting",
            )
            .hint("mark the states that mean an error: `state sink non-accepting`"),
        );
    }
}

fn unreachable_states(p: &Property, found: &mut Diagnostics) {
    let mut seen = HashSet::from([p.init]);
    let mut work = vec![p.init];
    while let Some(id) = work.pop() {
        let s = p.state(id);
        if s.is_final {
            continue;
        }
        for o in s.transitions.iter().flat_map(Transition::outcomes) {
            if seen.insert(o.to) {
                work.push(o.to);
            }
        }
    }
    for (i, s) in p.states.iter().enumerate() {
        if !seen.contains(&StateId(i as u16)) {
            found.push(
                Diagnostic::warning(
                    "unreachable-state",
                    s.span,
                    format!("state `{}` cannot be reached from `init`", s.name),
                )
                .hint("add a transition to it, or remove it"),
            );
        }
        if s.is_final && !s.transitions.is_empty() {
            found.push(
                Diagnostic::warning(
                    "final-transitions",
                    s.transitions[0].span,
                    format!(
                        "state `{}` is final: its transitions are never taken",
                        s.name
                    ),
                )
                .other(s.span, "a slice ends when it enters this state")
                .hint("remove `final` or the transitions"),
            );
        }
    }
}

fn two_unguarded(p: &Property, found: &mut Diagnostics) {
    for s in &p.states {
        let mut always: HashMap<SpecId, &Transition> = HashMap::new();
        for t in &s.transitions {
            if let Some(first) = always.get(&t.event) {
                found.push(
                    Diagnostic::warning(
                        "shadowed-transition",
                        t.span,
                        format!(
                            "this transition is never tried: an earlier one on the same event of `{}` has no guard",
                            s.name
                        ),
                    )
                    .other(first.span, "always taken first")
                    .hint("give the first one a guard, or remove one of the two"),
                );
            } else if t.success.is_some() && t.guard.is_none_or(|g| !p.block(g).has_return) {
                always.insert(t.event, t);
            }
        }
    }
}

fn outcomes(p: &Property, found: &mut Diagnostics) {
    for t in p.states.iter().flat_map(|s| &s.transitions) {
        if t.success.is_none() && t.failure.is_none() {
            found.push(
                Diagnostic::warning(
                    "no-outcome",
                    t.span,
                    "this transition is never taken: it has no outcome",
                )
                .hint("add `success state` or `failure state`"),
            );
        } else if t.success.is_none() && t.guard.is_none_or(|g| !p.block(g).has_return) {
            found.push(
                Diagnostic::warning(
                    "failure-without-guard",
                    t.span,
                    "this transition is never taken: without a guard that returns a value only `success` can be",
                )
                .hint("add a guard with a `return`, or write `success` instead of `failure`"),
            );
        }
    }
}

fn undefined_actions(file: &PropertyFile, functions: &Functions, found: &mut Diagnostics) {
    let mut seen = HashSet::new();
    let of_state = |s: &'_ crate::ast::State| s.action.clone();
    let all = file.states.iter().flat_map(|s| {
        let outcomes = s.transitions.iter().flat_map(|t| &t.outcomes);
        outcomes
            .filter_map(|o| o.action.clone())
            .chain(of_state(s))
            .collect::<Vec<_>>()
    });
    for a in all {
        if a.text == "stop" || functions.defines(&a.text) || !seen.insert(a.text.clone()) {
            continue;
        }
        let d = Diagnostic::warning(
            "undefined-action",
            a.span,
            format!(
                "action `{}` is not defined: calling it does nothing",
                a.text
            ),
        );
        let near = nearest(
            &a.text,
            functions.names.iter().map(String::as_str).chain(["stop"]),
        );
        let d = match near {
            Some(n) => d.hint(format!("did you mean `{n}`?")),
            None => d.hint(format!(
                "define it in a functions file given with `-f`: `def {}(): ...`",
                a.text
            )),
        };
        found.push(d);
    }
}

/// Names that a block reads and nothing gives a value.
pub fn unknown_names(
    blocks: &[Block],
    env: &[String],
    functions: &Functions,
    found: &mut Diagnostics,
) {
    if functions.star {
        return;
    }
    let assigned = blocks.iter().flat_map(|b| &b.assigned);
    let env: BTreeSet<&String> = assigned.map(|i| &env[*i as usize]).collect();
    let mut seen = HashSet::new();
    for b in blocks {
        let Ok(parsed) = parse_module(&b.python.text) else {
            continue;
        };
        for (name, at) in Names::of(&parsed.syntax().body).read {
            let known = b.params.contains(&name)
                || env.contains(&name)
                || functions.names.contains(&name)
                || python::is_builtin(&name)
                || (b.role.acts() && crate::scenario::is_action(&name));
            if known || !seen.insert(name.clone()) {
                continue;
            }
            let d = Diagnostic::warning(
                "unknown-name",
                b.python.span(at, at + name.len()),
                format!("`{name}` is never assigned"),
            );
            let candidates = env
                .iter()
                .copied()
                .chain(&b.params)
                .chain(&functions.names)
                .map(String::as_str);
            let d = match nearest(&name, candidates) {
                Some(n) => d.hint(format!("did you mean `{n}`?")),
                None => d.hint(format!(
                    "add it to the event's parameters, to `initialization {{ {name} = ... }}` or to a functions file"
                )),
            };
            found.push(d);
        }
    }
}

/// Names of the environment that a parameter of an event hides.
fn hidden_names(p: &Property, found: &mut Diagnostics) {
    let names: Vec<Names> = p
        .blocks
        .iter()
        .map(|b| match parse_module(&b.python.text) {
            Ok(parsed) => Names::of(&parsed.syntax().body),
            Err(_) => Names::default(),
        })
        .collect();
    let all = || p.blocks.iter().zip(&names);
    let mut seen = HashSet::new();
    for (b, here) in all() {
        for name in b.params.iter().filter(|n| p.env.contains(n)) {
            let assigned = here.assigned.iter().find(|(n, _)| n == name).map(|a| a.1);
            let Some(at) = assigned.or_else(|| here.read.get(name).copied()) else {
                continue;
            };
            // Where it is given a value that the parameter hides.
            let mut free = all().filter(|(other, _)| !other.params.contains(name));
            let home = free.find_map(|(other, names)| {
                let (_, at) = names.assigned.iter().find(|(n, _)| n == name)?;
                Some(other.python.span(*at, at + name.len()))
            });
            let Some(home) = home else {
                continue;
            };
            if !seen.insert(name.clone()) {
                continue;
            }
            let text = match assigned {
                Some(_) => format!(
                    "this changes the event's parameter `{name}`, not the variable of that name"
                ),
                None => {
                    format!("`{name}` is the event's parameter here, not the variable of that name")
                }
            };
            found.push(
                Diagnostic::warning("hidden-name", b.python.span(at, at + name.len()), text)
                    .other(home, "the variable")
                    .hint("give the parameter another name with `as`"),
            );
        }
    }
}

/// Types of other languages, which nothing of the program would convert to.
fn odd_types(p: &Property, found: &mut Diagnostics) {
    for t in p.states.iter().flat_map(|s| &s.transitions) {
        for param in &t.params {
            let Some(ty) = param.ty.as_deref() else {
                continue;
            };
            let meant = match ty.trim() {
                "integer" | "Integer" | "number" | "Int" | "uint" => "int",
                "string" | "text" => "str",
                "boolean" | "Boolean" | "Bool" => "bool",
                "real" | "Float" | "Double" => "double",
                _ => continue,
            };
            found.push(
                Diagnostic::warning(
                    "odd-type",
                    t.span,
                    format!("`{}` has the unusual type `{}`", param.python, ty.trim()),
                )
                .hint(format!("did you mean `{meant}`?")),
            );
        }
    }
}

fn return_values(p: &Property, found: &mut Diagnostics) {
    for t in p.states.iter().flat_map(|s| &s.transitions) {
        let e = p.event(t.event);
        let uses_ret = t
            .params
            .iter()
            .any(|u| e.params[u.arg as usize].operand == Operand::Ret);
        if uses_ret && e.kind == Kind::Call && e.when == When::Before {
            found.push(
                Diagnostic::warning(
                    "ret-before",
                    t.span,
                    format!("`ret` has no value before `{}` runs", e.name),
                )
                .hint(format!("write `after event {}(ret ...)`", e.name)),
            );
        }
    }
}

/// `after unlock` may be seen when another thread already holds the lock.
fn after_release(p: &Property, found: &mut Diagnostics) {
    const RELEASES: [&str; 7] = [
        "pthread_mutex_unlock",
        "pthread_rwlock_unlock",
        "pthread_spin_unlock",
        "sem_post",
        "mtx_unlock",
        "pthread_cond_signal",
        "pthread_cond_broadcast",
    ];
    for t in p.states.iter().flat_map(|s| &s.transitions) {
        let e = p.event(t.event);
        if e.kind == Kind::Call && e.when == When::After && RELEASES.contains(&e.name.as_str()) {
            found.push(
                Diagnostic::warning(
                    "after-release",
                    t.span,
                    format!(
                        "`after {}` may be seen after another thread's next event",
                        e.name
                    ),
                )
                .hint(format!(
                    "use `before event {}`: it is ordered with the other threads' events",
                    e.name
                )),
            );
        }
    }
}

/// Addresses come back from malloc: a slice on a pointer should end.
fn pointers_without_end(p: &Property, file: &PropertyFile, found: &mut Diagnostics) {
    const GIVE_POINTERS: [&str; 10] = [
        "malloc", "calloc", "realloc", "strdup", "fopen", "fdopen", "opendir", "popen", "mmap",
        "tmpfile",
    ];
    if p.states.iter().any(|s| s.is_final) || !p.is_sliced() {
        return;
    }
    let ended = p
        .ends
        .iter()
        .fold(Mask::EMPTY, |m, e| m.union(e.binding.mask));
    // Where a slice takes the very event again that began it, its next life is thought of.
    let begins_again = |event| {
        let later = p.states.iter().filter(|s| s.name != "init");
        later.flat_map(|s| &s.transitions).any(|t| t.event == event)
    };
    for (i, name) in file
        .slice_on
        .iter()
        .enumerate()
        .filter(|(i, _)| !ended.contains(*i))
    {
        let pointer = p.states.iter().flat_map(|s| &s.transitions).any(|t| {
            let e = p.event(t.event);
            let place = t.binding.mask.iter().position(|b| b == i);
            place.filter(|_| !begins_again(t.event)).is_some_and(|k| {
                let param = &e.params[t.binding.args[k] as usize];
                let declared = param
                    .ty
                    .as_deref()
                    .is_some_and(|t| t.trim_end().ends_with('*'));
                let allocated =
                    param.operand == Operand::Ret && GIVE_POINTERS.contains(&e.name.as_str());
                declared || allocated
            })
        });
        if pointer {
            found.push(
                Diagnostic::warning(
                    "pointer-without-end",
                    name.span,
                    format!(
                        "slices on the pointer `{}` never end, but its address will be used again",
                        name.text
                    ),
                )
                .hint(format!(
                    "add `ends free(arg 0 as {})` after `slice on`, or a `final` state",
                    name.text
                )),
            );
        }
    }
}
