//! Names by part, by beginning and by likeness: `info functions`, completion, suggestions.

use crate::functions::{Function, read_function};
use crate::index::EntryKind;
use crate::module::Module;
use crate::names::{base_name, demangle, distance};
use crate::query::FunctionQuery;
use std::collections::HashSet;

impl Module {
    /// Functions whose name contains a text, for `info functions` and completion.
    pub fn functions_containing(&self, text: &str, limit: usize) -> Vec<Function> {
        let mut out = Vec::new();
        let mut seen = HashSet::new();
        if let Some(info) = self.info() {
            let mut ids = Vec::new();
            info.index().for_each(info, |kind, id, name| {
                if kind == EntryKind::Function && name.contains(text) {
                    ids.push(id);
                }
            });
            let functions = ids.into_iter().filter_map(|id| read_function(info, id));
            for function in functions.filter(|f| seen.insert(f.entry)).take(limit) {
                out.push(function);
            }
        }
        let code = self
            .symbols()
            .iter()
            .filter(|s| s.is_code && s.name.contains(text));
        for symbol in code {
            if out.len() >= limit {
                break;
            }
            if seen.insert(symbol.addr) {
                out.push(self.function_of_symbol(symbol, demangle(symbol.name)));
            }
        }
        out
    }

    /// Names of functions, variables, types and constants that start with a text, for completion.
    pub fn names_starting_with(&self, prefix: &str, limit: usize) -> Vec<String> {
        let mut out = std::collections::BTreeSet::new();
        let mut offer = |name: &str| {
            let name = base_name(name);
            if name.starts_with(prefix) {
                out.insert(name.to_owned());
            }
        };
        if let Some(info) = self.info() {
            info.index().for_each(info, |_, _, name| offer(name));
        }
        for symbol in self.symbols() {
            offer(symbol.name);
        }
        out.into_iter().take(limit).collect()
    }

    /// Known names nearest to one that was not found.
    pub fn nearest_names(&self, name: &str, count: usize) -> Vec<String> {
        let wanted = FunctionQuery::parse(name);
        let wanted = wanted.base();
        let limit = (wanted.chars().count() / 3).clamp(1, 4);
        let mut best: Vec<(usize, String)> = Vec::new();
        let mut offer = |candidate: &str| {
            let candidate = base_name(candidate);
            if candidate.is_empty() || candidate == wanted {
                return;
            }
            if let Some(d) = distance(wanted, candidate, limit) {
                let entry = (d, candidate.to_owned());
                if !best.contains(&entry) {
                    best.push(entry);
                }
            }
        };
        if let Some(info) = self.info() {
            info.index().for_each(info, |_, _, name| offer(name));
        }
        for symbol in self.symbols() {
            offer(symbol.name);
        }
        best.sort();
        best.truncate(count);
        best.into_iter().map(|(_, name)| name).collect()
    }
}
