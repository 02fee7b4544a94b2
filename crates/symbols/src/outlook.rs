//! What names mean from a place in the code: in the scopes around it, and in those it uses.

use crate::addr::FileAddr;
use crate::functions::blocks_at;
use crate::index::scopes_left;
use crate::module::Module;
use crate::names::{base_name, split_path, squeeze};
use crate::paths::{self, Step};
use crate::type_read::{children, offset_of};
use crate::units::{DieId, Entry, Info, Language, Unit};
use gimli::constants as dw;
use std::sync::Arc;

/// The rank of what is found by the linker's name alone: behind all that the scopes give.
pub(crate) const BY_LINKER: usize = usize::MAX;

/// The scopes a name is looked for in, the nearest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outlook {
    /// All of them, from wherever: a name without its scopes means every one.
    is_anywhere: bool,
    scopes: Vec<Vec<String>>,
    /// Names of the place for what is elsewhere: `using ns::name`, `namespace n = other`.
    imports: Vec<(String, Vec<String>)>,
}

impl Outlook {
    /// A name means what is called so, in whatever scope.
    pub fn anywhere() -> Outlook {
        Outlook {
            is_anywhere: true,
            ..Outlook::default()
        }
    }

    /// A name means what the global scope has.
    pub fn global() -> Outlook {
        Outlook {
            scopes: vec![Vec::new()],
            ..Outlook::default()
        }
    }

    /// The innermost scope as a path; empty in the global one.
    pub fn innermost(&self) -> String {
        self.scopes
            .first()
            .map(|s| s.join("::"))
            .unwrap_or_default()
    }

    /// The outermost scope around the place: a Rust program's crate.
    pub fn outermost(&self) -> Option<&str> {
        self.scopes.first()?.first().map(String::as_str)
    }

    /// Adds a scope right behind the innermost: a class whose members a class inherits.
    pub fn inherit(&mut self, path: &str) {
        let path = split_path(path).iter().map(|s| squeeze(s)).collect();
        let behind = 1.min(self.scopes.len());
        self.scopes.insert(behind, path);
    }

    /// Whether nothing is seen from here.
    pub fn is_empty(&self) -> bool {
        self.scopes.is_empty() && self.imports.is_empty() && !self.is_anywhere
    }

    /// How near something is that matches a path (`wanted`, its own name last); `None` when the
    /// path does not lead there.
    pub(crate) fn rank(&self, wanted: &[&str], name: &str, scopes: &[&Step]) -> Option<usize> {
        let (_, around) = wanted.split_last()?;
        if self.is_anywhere {
            let left = scopes_left(around, scopes)?;
            return Some(scopes[..left].iter().filter(|s| !s.optional).count());
        }
        let in_scope = || {
            let left = scopes_left(around, scopes)?;
            // The number of an implementation is no scope that can be left out: its functions
            // are reached through its type or trait.
            if scopes[left..].iter().any(|s| is_impl(s)) {
                return None;
            }
            let rest = written(&scopes[..left]);
            self.scopes.iter().position(|s| *s == rest)
        };
        in_scope().or_else(|| {
            let (first, rest) = wanted.split_first()?;
            let mut full = written(scopes);
            full.push(squeeze(name));
            let is_meant = |(alias, target): &(String, Vec<String>)| {
                let (head, tail) = full.split_at(target.len().min(full.len()));
                let last = |a: &str, b: &str| a == b || base_name(a) == b;
                alias == first
                    && head.len() == target.len()
                    && head.iter().zip(target).all(|(a, b)| last(a, b))
                    && tail.len() == rest.len()
                    && tail.iter().zip(rest).all(|(a, b)| last(a, &squeeze(b)))
            };
            let at = self.imports.iter().position(is_meant)?;
            Some(self.scopes.len() + at)
        })
    }
}

fn is_impl(step: &Step) -> bool {
    step.name.starts_with("{impl#")
}

/// Scopes as paths write them.
fn written(scopes: &[&Step]) -> Vec<String> {
    let kept = scopes.iter().filter(|s| !s.optional || is_impl(s));
    kept.map(|s| squeeze(&s.name)).collect()
}

impl Module {
    /// What is seen from a function or an inlined call: the scopes around it, out to the global one.
    pub fn outlook(&self, function: DieId) -> Outlook {
        let Some(info) = self.info() else {
            return Outlook::global();
        };
        let declared = paths::declaration(info, function);
        let steps = paths::scope_steps(info, declared);
        let steps: Vec<&Step> = steps.iter().collect();
        let mut around = written(&steps);
        // What Rust declares inside of a function has the function for its scope.
        if let Some((unit, entry)) = info.die(declared)
            && unit.language == Language::Rust
            && let Some(name) = unit.string(entry.attr_value(dw::DW_AT_name))
        {
            around.push(squeeze(base_name(name)));
        }
        Outlook {
            scopes: (0..=around.len())
                .rev()
                .map(|n| around[..n].to_vec())
                .collect(),
            ..Outlook::default()
        }
    }

    /// What C++ adds to that by `using` and by other names of namespaces, in the file and in the
    /// function's scopes and blocks.
    pub fn used_from(&self, function: DieId, addr: FileAddr) -> Outlook {
        let mut out = Outlook::default();
        let Some((info, unit)) = self.info().and_then(|i| Some((i, i.unit(function.unit)?))) else {
            return out;
        };
        if unit.language != Language::Cpp {
            return out;
        }
        let inner = blocks_at(&unit, function.offset, addr.0, false);
        let mut around: Vec<DieId> = inner
            .iter()
            .rev()
            .map(|b| id(&unit, offset_of(b)))
            .collect();
        around.push(function);
        let declared = paths::declaration(info, function);
        if declared != function {
            around.push(declared);
        }
        let home = info.unit(declared.unit).unwrap_or_else(|| unit.clone());
        let scopes = home.scopes();
        let before = scopes.partition_point(|s| s.start < declared.offset);
        let holding = scopes[..before].iter().rev();
        around.extend(
            holding
                .filter(|s| declared.offset < s.end)
                .map(|s| id(&home, s.start)),
        );
        around.push(id(&unit, unit.unit.header.root_offset().0 as u32));
        for place in around {
            let Some(unit) = info.unit(place.unit) else {
                continue;
            };
            for child in children(&unit, place.offset) {
                out.add_import(info, &unit, &child);
            }
        }
        out
    }
}

fn id(unit: &Unit, offset: u32) -> DieId {
    DieId {
        unit: unit.index,
        offset,
    }
}

impl Outlook {
    fn add_import(&mut self, info: &Arc<Info>, unit: &Unit, entry: &Entry) {
        let is_whole = entry.tag() == dw::DW_TAG_imported_module;
        if !is_whole && entry.tag() != dw::DW_TAG_imported_declaration {
            return;
        }
        let Some(target) = info.follow(unit, entry.attr_value(dw::DW_AT_import)) else {
            return;
        };
        let declared = paths::declaration(info, target);
        let steps = paths::scope_steps(info, declared);
        let steps: Vec<&Step> = steps.iter().collect();
        let mut path = written(&steps);
        let name = info
            .die(declared)
            .and_then(|(u, e)| u.string(e.attr_value(dw::DW_AT_name)));
        // A namespace without a name is left out of paths.
        path.extend(name.map(squeeze));
        if is_whole {
            self.scopes.push(path);
            return;
        }
        let alias = unit.string(entry.attr_value(dw::DW_AT_name)).or(name);
        if let Some(alias) = alias {
            self.imports.push((base_name(alias).to_owned(), path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(path: &[&str]) -> Vec<Step> {
        let step = |name: &&str| Step {
            name: name.to_string(),
            optional: name.starts_with("{impl") || name.starts_with('('),
        };
        path.iter().map(step).collect()
    }

    fn rank(outlook: &Outlook, wanted: &str, scopes: &[&str]) -> Option<usize> {
        let steps = steps(scopes);
        let refs: Vec<&Step> = steps.iter().collect();
        let wanted = split_path(wanted);
        let name = wanted[wanted.len() - 1];
        outlook.rank(&wanted, name, &refs)
    }

    #[test]
    fn a_name_is_seen_from_the_scopes_around() {
        let outlook = Outlook {
            scopes: vec![vec!["a".into(), "B".into()], vec!["a".into()], vec![]],
            imports: vec![("short".into(), vec!["far".into(), "long".into()])],
            ..Outlook::default()
        };
        assert_eq!(rank(&outlook, "x", &["a", "B"]), Some(0));
        assert_eq!(rank(&outlook, "x", &["a"]), Some(1));
        assert_eq!(
            rank(&outlook, "x", &["a", "(anonymous namespace)"]),
            Some(1)
        );
        assert_eq!(rank(&outlook, "x", &[]), Some(2));
        assert_eq!(rank(&outlook, "x", &["std", "vector<int>"]), None);
        assert_eq!(rank(&outlook, "x", &["a", "C"]), None);
        assert_eq!(rank(&outlook, "C::x", &["a", "C"]), Some(1));
        assert_eq!(rank(&outlook, "a::C::x", &["a", "C"]), Some(2));
        assert_eq!(rank(&outlook, "x", &["a", "{impl#0}"]), None);
        assert_eq!(rank(&outlook, "short::x", &["far", "long"]), Some(3));
        assert_eq!(rank(&outlook, "x", &["far", "long"]), None);
        assert_eq!(rank(&Outlook::anywhere(), "x", &["far", "long"]), Some(2));
    }
}
