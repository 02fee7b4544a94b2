//! The sets of slice parameters that slices can bind must form a chain
//! `{} < D1 < ... < Dn`: then the most specific ancestor of a new slice is
//! unique, and creating slices lazily is exact.

use crate::ast::PropertyFile;
use crate::diag::{Diagnostic, Diagnostics};
use crate::model::*;
use crate::source::Span;
use std::collections::BTreeMap;

/// Fills in `chain` and `levels`, or reports why the property cannot be sliced.
pub fn slices(p: &mut Property, file: &PropertyFile, found: &mut Diagnostics) {
    unbound_parameters(p, file, found);
    if found.has_errors() {
        return;
    }
    let reached = reachable(p);
    let mut sets: BTreeMap<Mask, Option<Span>> = BTreeMap::new();
    for (_, mask, by) in &reached {
        sets.entry(*mask).or_insert(*by);
    }
    let mut chain: Vec<Mask> = sets.keys().copied().collect();
    chain.sort_by_key(|m| (m.len(), *m));
    for pair in chain.windows(2) {
        if !pair[0].within(pair[1]) {
            found.push(not_a_chain(p, &sets, pair[0], pair[1]));
            return;
        }
    }
    let all = Mask(((1u32 << p.slice_on.len()) - 1) as u16);
    if chain.last() != Some(&all) {
        let bound = chain.last().copied().unwrap_or_default();
        let missing = Mask(all.0 & !bound.0);
        let span = missing
            .iter()
            .next()
            .map_or(Span::at(0), |i| file.slice_on[i].span);
        found.push(
            Diagnostic::error(
                "never-bound",
                span,
                format!(
                    "no slice ever binds all of `slice on`: along every path from `init` at most {} is bound",
                    names(p, bound)
                ),
            )
            .label(format!("{} is never bound on a path from `init`", names(p, missing)))
            .hint("bind it by an event of a state that can be reached, or take it out of `slice on`"),
        );
        return;
    }
    let mut levels = vec![0u32; p.states.len()];
    for (state, mask, _) in &reached {
        if let Some(i) = chain.iter().position(|m| m == mask) {
            levels[state.index()] |= 1 << i;
        }
    }
    p.chain = chain;
    p.levels = levels;
}

fn unbound_parameters(p: &Property, file: &PropertyFile, found: &mut Diagnostics) {
    let bound = p
        .states
        .iter()
        .flat_map(|s| &s.transitions)
        .fold(Mask::EMPTY, |m, t| m.union(t.binding.mask));
    for (i, name) in file.slice_on.iter().enumerate() {
        if !bound.contains(i) {
            found.push(
                Diagnostic::error(
                    "unbound-slice-parameter",
                    name.span,
                    format!("no event binds slice parameter `{}`", name.text),
                )
                .label("no transition has a parameter of this name")
                .hint(format!(
                    "bind it in an event: `event f(arg 0 as {})`",
                    name.text
                )),
            );
        }
    }
}

/// The (state, bound set) pairs that a slice can have, with the event that led there.
fn reachable(p: &Property) -> Vec<(StateId, Mask, Option<Span>)> {
    let mut seen = std::collections::HashSet::from([(p.init, Mask::EMPTY)]);
    let mut list = vec![(p.init, Mask::EMPTY, None)];
    let mut next = 0;
    while next < list.len() {
        let (state, mask, _) = list[next];
        next += 1;
        let s = p.state(state);
        if s.is_final {
            continue;
        }
        for t in &s.transitions {
            let after = mask.union(t.binding.mask);
            // An event of `ends` creates no slice.
            if after != mask && p.ends.iter().any(|e| e.event == t.event) {
                continue;
            }
            for o in t.outcomes() {
                if seen.insert((o.to, after)) {
                    list.push((o.to, after, Some(t.span)));
                }
            }
        }
    }
    list
}

fn not_a_chain(p: &Property, sets: &BTreeMap<Mask, Option<Span>>, a: Mask, b: Mask) -> Diagnostic {
    let place = |m: Mask| sets.get(&m).copied().flatten();
    let d = Diagnostic::error(
        "not-a-chain",
        place(b).unwrap_or_default(),
        format!(
            "some slices bind {} and others {}: neither contains the other",
            names(p, a),
            names(p, b)
        ),
    )
    .label(format!("here a slice binds {}", names(p, b)))
    .hint(
        "the bound parameters must grow along one chain: bind one parameter first on every path, \
         or write two properties",
    );
    match place(a) {
        Some(span) => d.other(span, format!("here a slice binds {}", names(p, a))),
        None => d,
    }
}

fn names(p: &Property, m: Mask) -> String {
    let list: Vec<&str> = m.iter().map(|i| p.slice_on[i].as_str()).collect();
    format!("{{{}}}", list.join(", "))
}
