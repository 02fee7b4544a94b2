//! What Rust's programs call by other names than debug information: their own crate, and what
//! `thread_local!` makes.
//!
//! `static COUNTER` is a constant; each thread's own is a static inside of the
//! constant's closures, of which the linker keeps the one that is used.

use crate::index::EntryKind;
use crate::module::Module;
use crate::outlook::Outlook;
use crate::paths::Step;
use crate::query::FunctionQuery;
use crate::units::Language;
use crate::variables::Variable;
use std::borrow::Cow;

/// What the library calls it, in its versions.
const NAMES: [&str; 2] = ["__RUST_STD_INTERNAL_VAL", "VAL"];

/// A closure or function between the constant and its variable.
fn is_between(step: &Step) -> bool {
    step.name.starts_with('{') || step.name == "__getit"
}

impl Module {
    /// A query with the name of the program's own crate for `crate`: the crate that has `main`.
    /// In a library any crate may be meant.
    pub(crate) fn meant<'a>(&self, query: &'a FunctionQuery) -> Cow<'a, FunctionQuery> {
        let own = query.is_in_crate().then(|| self.own_crate()).flatten();
        query.within(own.as_deref())
    }

    fn own_crate(&self) -> Option<String> {
        let info = self.info()?;
        let mains = info.index().find(info, "main").into_iter().filter(|n| {
            let unit = info.unit(n.entry.id().unit);
            n.entry.kind == EntryKind::Function
                && n.scopes.len() == 1
                && unit.is_some_and(|u| u.language == Language::Rust)
        });
        let mut crates: Vec<String> = mains.map(|n| n.scopes[0].name.clone()).collect();
        crates.sort();
        crates.dedup();
        // A library may have a public one, too.
        match crates.len() {
            1 => crates.pop(),
            _ => None,
        }
    }

    /// The variables behind a `thread_local!` that a path means, with how far they are.
    pub(crate) fn rust_thread_locals(
        &self,
        wanted: &[&str],
        from: &Outlook,
    ) -> Vec<(usize, Variable)> {
        let Some(info) = self.info().filter(|_| self.tls().is_some()) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for named in NAMES.iter().flat_map(|n| info.index().find(info, n)) {
            let steps: Vec<&Step> = named.scopes.iter().collect();
            let around = steps.iter().rposition(|s| !is_between(s));
            let Some((last, outer)) = around.and_then(|i| steps[..=i].split_last()) else {
                continue;
            };
            let is_named = wanted.last() == Some(&last.name.as_str());
            let kind = named.entry.kind;
            if !is_named || kind != EntryKind::Variable || outer.len() + 1 == steps.len() {
                continue;
            }
            let rank = from.rank(wanted, &last.name, outer);
            found.extend(rank.zip(self.variable(named.entry.id())));
        }
        let is_kept = |v: &Variable| {
            let linked = v.linkage_name();
            let mut all = self.symbols().iter().filter(|s| s.is_tls);
            all.any(|s| s.name == linked)
        };
        if found.iter().any(|(_, v)| is_kept(v)) {
            found.retain(|(_, v)| is_kept(v));
        }
        found.retain(|(_, v)| v.is_thread_local());
        found.sort_by_key(|(rank, _)| *rank);
        found
    }
}
