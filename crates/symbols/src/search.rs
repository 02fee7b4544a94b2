//! Names by part, by beginning and by likeness: `info functions`, completion, suggestions.

use crate::functions::{Function, read_function};
use crate::index::EntryKind;
use crate::lines::SourceFile;
use crate::module::Module;
use crate::names::{base_name, demangle, distance};
use crate::paths;
use crate::query::FunctionQuery;
use crate::type_read::is_set;
use crate::types::Type;
use crate::units::{DieId, Entry, Unit};
use crate::variables::Variable;
use gimli::constants as dw;
use std::collections::HashSet;
use std::sync::Arc;

/// Which names are wanted.
pub struct NameFilter<'a> {
    /// Whether a name is.
    pub fits: &'a dyn Fn(&str) -> bool,
    /// Names are also tried with the scopes around them, which takes long.
    pub in_paths: bool,
}

/// Something the debug information names, with the place that declares it.
#[derive(Clone, Debug)]
pub struct Listed<T> {
    /// Its name with the scopes around it.
    pub name: String,
    /// File and line.
    pub declared: Option<(Arc<SourceFile>, u32)>,
    /// Visible outside its file.
    pub is_external: bool,
    /// What it is.
    pub item: T,
}

impl Module {
    /// Entries of a kind whose name, with the scopes around it or without, is wanted.
    fn entries_where(&self, kind: EntryKind, wanted: &NameFilter) -> Vec<DieId> {
        let Some(info) = self.info() else {
            return Vec::new();
        };
        let mut ids = Vec::new();
        info.index().for_each(info, |found, id, name| {
            if found != kind {
                return;
            }
            let fits = wanted.fits;
            let path = || paths::qualified(info, id).is_some_and(|path| fits(&path));
            if fits(name) || (wanted.in_paths && path()) {
                ids.push(id);
            }
        });
        ids
    }

    /// Functions whose names are wanted, for `info functions`.
    pub fn functions_where(&self, wanted: &NameFilter, limit: usize) -> Vec<Function> {
        let mut out = Vec::new();
        let mut seen = HashSet::new();
        if let Some(info) = self.info() {
            let ids = self.entries_where(EntryKind::Function, wanted);
            let functions = ids.into_iter().filter_map(|id| read_function(info, id));
            for function in functions.filter(|f| seen.insert(f.entry)).take(limit) {
                out.push(function);
            }
        }
        for symbol in self.symbols().iter().filter(|s| s.is_code) {
            if out.len() >= limit {
                break;
            }
            let readable = demangle(symbol.name);
            let fits = (wanted.fits)(readable.as_deref().unwrap_or(symbol.name));
            if fits && !self.is_plt(symbol.addr) && seen.insert(symbol.addr) {
                out.push(self.function_of_symbol(symbol, readable));
            }
        }
        out
    }

    /// Global and static variables whose names are wanted, for `info variables`.
    pub fn variables_where(&self, wanted: &NameFilter, limit: usize) -> Vec<Listed<Variable>> {
        let ids = self.entries_where(EntryKind::Variable, wanted).into_iter();
        let read = ids.filter_map(|id| self.listed(id, self.variable(id)?));
        read.take(limit).collect()
    }

    /// Types whose names are wanted, for `info types`.
    pub fn types_where(&self, wanted: &NameFilter, limit: usize) -> Vec<Listed<Type>> {
        let Some(info) = self.info() else {
            return Vec::new();
        };
        let ids = self.entries_where(EntryKind::Type, wanted).into_iter();
        let read = ids.filter_map(|id| self.listed(id, Type::from_die(info, id)));
        read.take(limit).collect()
    }

    fn listed<T>(&self, id: DieId, item: T) -> Option<Listed<T>> {
        let info = self.info()?;
        let (unit, entry) = info.die(id)?;
        let declared = paths::declaration(info, id);
        let (home, declaration) = info.die(declared)?;
        let place = |u: &Unit, e: &Entry| u.place(e, dw::DW_AT_decl_file, dw::DW_AT_decl_line);
        let external = |e: &Entry| is_set(e.attr_value(dw::DW_AT_external));
        Some(Listed {
            name: paths::qualified(info, id)?,
            declared: place(&unit, &entry).or_else(|| place(&home, &declaration)),
            is_external: external(&entry) || external(&declaration),
            item,
        })
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
        nearest(wanted.base(), count, |offer| {
            if let Some(info) = self.info() {
                info.index().for_each(info, |_, _, name| offer(name));
            }
            for symbol in self.symbols() {
                offer(symbol.name);
            }
        })
    }

    /// Types whose names are like a wrong one, the likeliest first.
    pub fn nearest_types(&self, name: &str, count: usize) -> Vec<String> {
        nearest(name, count, |offer| {
            if let Some(info) = self.info() {
                info.index().for_each(info, |kind, _, name| {
                    if kind == EntryKind::Type {
                        offer(name);
                    }
                });
            }
        })
    }
}

/// Of the names that `all` offers, those that are like the wanted one.
fn nearest(wanted: &str, count: usize, all: impl FnOnce(&mut dyn FnMut(&str))) -> Vec<String> {
    let length = wanted.chars().count();
    let limit = (length / 3).clamp(1, 4);
    let mut best: Vec<(usize, String)> = Vec::new();
    all(&mut |candidate| {
        let candidate = base_name(candidate);
        // A destructor is called like its class, which was meant.
        let is_other_kind = candidate.starts_with('~') && !wanted.starts_with('~');
        if candidate.is_empty() || candidate == wanted || is_other_kind {
            return;
        }
        // Every name of a letter or two is near every other: one has to begin as the other.
        let begins = candidate.starts_with(wanted) || wanted.starts_with(candidate);
        if length < 3 && !begins && !candidate.eq_ignore_ascii_case(wanted) {
            return;
        }
        if let Some(d) = distance(wanted, candidate, limit) {
            let entry = (d, candidate.to_owned());
            if !best.contains(&entry) {
                best.push(entry);
            }
        }
    });
    best.sort();
    best.truncate(count);
    best.into_iter().map(|(_, name)| name).collect()
}
