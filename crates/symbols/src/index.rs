//! Names of a whole file, found by walking all its units once, on all cores.

use crate::names::{base_name, name_hash, split_path, squeeze};
use crate::outlook::Outlook;
use crate::paths::{Step, scopes_around};
use crate::scan::{RawDie, Scope, Walker};
use crate::units::{DieId, Info};
use gimli::constants as dw;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// What an entry of the index is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EntryKind {
    /// A function with code of its own.
    Function,
    /// The abstract instance of a function that was inlined somewhere.
    Inlined,
    Variable,
    /// A variable that another file defines.
    Extern,
    Type,
    Enumerator,
}

#[derive(Clone, Copy)]
pub(crate) struct IndexEntry {
    hash: u32,
    unit: u32,
    offset: u32,
    pub kind: EntryKind,
}

impl IndexEntry {
    pub fn id(&self) -> DieId {
        DieId {
            unit: self.unit,
            offset: self.offset,
        }
    }
}

/// The index. Sixteen bytes per name: the text stays in the file.
pub(crate) struct Index {
    shards: Vec<Vec<IndexEntry>>,
    scopes: HashMap<u32, Box<[Scope]>>,
}

/// A name found, with the scopes around it.
pub(crate) struct Named {
    pub entry: IndexEntry,
    pub name: &'static str,
    pub linkage: Option<&'static str>,
    pub scopes: Vec<Step>,
}

impl Index {
    pub fn build(info: &Info) -> Index {
        let parts = share(info, |units| {
            let mut entries = Vec::new();
            let mut scopes = Vec::new();
            let mut walker = None;
            for unit in units {
                if let Some(used) = index_unit(info, unit, walker.take(), &mut entries, &mut scopes)
                {
                    walker = Some(used);
                }
            }
            entries.sort_unstable_by_key(|e: &IndexEntry| (e.hash, e.unit, e.offset));
            entries.shrink_to_fit();
            (entries, scopes)
        });
        let mut index = Index {
            shards: Vec::new(),
            scopes: HashMap::new(),
        };
        for (entries, scopes) in parts {
            index.shards.push(entries);
            index.scopes.extend(scopes);
        }
        index
    }

    /// Everything with this base name.
    pub fn find(&self, info: &Info, name: &str) -> Vec<Named> {
        let hash = name_hash(name);
        let mut hits: Vec<IndexEntry> = Vec::new();
        for shard in &self.shards {
            let first = shard.partition_point(|e| e.hash < hash);
            hits.extend(shard[first..].iter().take_while(|e| e.hash == hash));
        }
        hits.sort_unstable_by_key(|e| (e.unit, e.offset));
        let mut walkers = Walkers::new(info);
        let named = hits.into_iter().filter_map(|e| self.named(&mut walkers, e));
        named.filter(|n| base_name(n.name) == name).collect()
    }

    fn named(&self, walkers: &mut Walkers, entry: IndexEntry) -> Option<Named> {
        let die = walkers.get(entry.unit)?.die(entry.offset)?;
        let (at, declared) = walkers.declared(entry.id(), &die)?;
        let scopes = self.scopes.get(&at.unit).map_or(&[][..], |s| s);
        let steps = scopes_around(walkers.get(at.unit)?, scopes, at.offset);
        Some(Named {
            entry,
            name: declared.name?,
            linkage: die.linkage.or(declared.linkage),
            scopes: steps,
        })
    }

    /// Calls `each` with every name of the kinds wanted.
    pub fn for_each(&self, info: &Info, mut each: impl FnMut(EntryKind, DieId, &'static str)) {
        let mut all: Vec<IndexEntry> = self.shards.iter().flatten().copied().collect();
        all.sort_unstable_by_key(|e| (e.unit, e.offset));
        let mut walkers = Walkers::new(info);
        for entry in all {
            let Some(die) = walkers.get(entry.unit).and_then(|w| w.die(entry.offset)) else {
                continue;
            };
            if let Some((_, RawDie { name: Some(n), .. })) = walkers.declared(entry.id(), &die) {
                each(entry.kind, entry.id(), n);
            }
        }
    }
}

/// Walkers of the units a lookup touches: entries come in unit order, so few are alive.
struct Walkers<'a> {
    info: &'a Info,
    recent: Vec<(u32, Walker)>,
}

impl<'a> Walkers<'a> {
    fn new(info: &'a Info) -> Self {
        Walkers {
            info,
            recent: Vec::new(),
        }
    }

    fn get(&mut self, unit: u32) -> Option<&Walker> {
        if let Some(at) = self.recent.iter().position(|(u, _)| *u == unit) {
            return Some(&self.recent[at].1);
        }
        let walker = open_walker(self.info, unit, self.recent.last().map(|(_, w)| w))?;
        if self.recent.len() >= 8 {
            self.recent.remove(0);
        }
        self.recent.push((unit, walker));
        self.recent.last().map(|(_, w)| w)
    }

    /// The DIE that has the name, through specifications and abstract origins.
    fn declared(&mut self, at: DieId, die: &RawDie) -> Option<(DieId, RawDie)> {
        let (mut at, mut die) = (at, *die);
        for _ in 0..4 {
            let Some(link) = die.origin else { break };
            let next = self.info.follow_link(at.unit, link)?;
            let mut found = self.get(next.unit)?.die(next.offset)?;
            found.name = found.name.or(die.name);
            found.linkage = found.linkage.or(die.linkage);
            (at, die) = (next, found);
        }
        die.name.map(|_| (at, die))
    }
}

/// Several threads share the units of a file; what each of them has found.
pub(crate) fn share<T: Send>(
    info: &Info,
    work: impl Fn(&mut dyn Iterator<Item = u32>) -> T + Sync,
) -> Vec<T> {
    let count = info.unit_count();
    let next = AtomicU32::new(0);
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    let workers = workers.min(count as usize).clamp(1, 8);
    let work = || {
        let units = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
        work(&mut units.take_while(|unit| *unit < count))
    };
    if workers == 1 {
        return vec![work()];
    }
    std::thread::scope(|s| {
        let handles: Vec<_> = (0..workers).map(|_| s.spawn(work)).collect();
        handles.into_iter().filter_map(|h| h.join().ok()).collect()
    })
}

/// A walker on a unit; on its split part when it has one.
pub(crate) fn open_walker(info: &Info, unit: u32, previous: Option<&Walker>) -> Option<Walker> {
    let (dwarf, header) = info.header(unit)?;
    let walker = Walker::new(&dwarf, &header, previous)?;
    if !walker.is_skeleton() {
        return Some(walker);
    }
    let unit = info.unit(unit)?;
    Walker::new(&unit.dwarf, &unit.unit.header, None)
}

fn index_unit(
    info: &Info,
    unit: u32,
    previous: Option<Walker>,
    entries: &mut Vec<IndexEntry>,
    scopes: &mut Vec<(u32, Box<[Scope]>)>,
) -> Option<Walker> {
    let walker = open_walker(info, unit, previous.as_ref())?;
    let mut far = Vec::new();
    let nested = walker.walk(|die| {
        let Some(kind) = kind_of(die) else { return };
        let mut entry = IndexEntry {
            hash: 0,
            unit,
            offset: die.offset,
            kind,
        };
        let mut named = *die;
        for _ in 0..4 {
            match (named.name, named.origin) {
                (Some(_), _) | (None, None) => break,
                (None, Some(crate::scan::Link::Unit(at))) => match walker.die(at) {
                    Some(next) => named = next,
                    None => return,
                },
                (None, Some(_)) => {
                    far.push(entry);
                    return;
                }
            }
        }
        if let Some(name) = named.name {
            entry.hash = name_hash(base_name(name));
            entries.push(entry);
        }
    });
    // Origins in other units (link-time optimisation, dwz) are rare: the slow way.
    let mut walkers = Walkers::new(info);
    for mut entry in far {
        let die = walker.die(entry.offset);
        let declared = die.and_then(|d| walkers.declared(entry.id(), &d));
        if let Some((_, RawDie { name: Some(n), .. })) = declared {
            entry.hash = name_hash(base_name(n));
            entries.push(entry);
        }
    }
    if !nested.is_empty() {
        scopes.push((unit, nested.into_boxed_slice()));
    }
    Some(walker)
}

fn kind_of(die: &RawDie) -> Option<EntryKind> {
    match dw::DwTag(die.tag) {
        dw::DW_TAG_subprogram if die.declaration => None,
        dw::DW_TAG_subprogram if die.has_code => Some(EntryKind::Function),
        dw::DW_TAG_subprogram if die.inline => Some(EntryKind::Inlined),
        dw::DW_TAG_variable | dw::DW_TAG_constant if die.has_value && !die.declaration => {
            Some(EntryKind::Variable)
        }
        // A static member with its value in the class.
        dw::DW_TAG_variable if die.has_value => Some(EntryKind::Variable),
        dw::DW_TAG_variable if die.declaration && die.name.is_some() => Some(EntryKind::Extern),
        dw::DW_TAG_structure_type
        | dw::DW_TAG_class_type
        | dw::DW_TAG_union_type
        | dw::DW_TAG_enumeration_type
        | dw::DW_TAG_interface_type
        | dw::DW_TAG_typedef
        | dw::DW_TAG_base_type
            if !die.declaration && die.name.is_some() =>
        {
            Some(EntryKind::Type)
        }
        dw::DW_TAG_enumerator => Some(EntryKind::Enumerator),
        _ => None,
    }
}

/// Types that a path means, the nearest first.
pub(crate) fn types_named(info: &Arc<Info>, path: &str, from: &Outlook) -> Vec<(usize, DieId)> {
    let wanted: Vec<&str> = split_path(path.trim_start_matches("::"));
    let Some(last) = wanted.last() else {
        return Vec::new();
    };
    let index = info.index();
    let mut found: Vec<((usize, bool), DieId)> = Vec::new();
    for named in index.find(info, base_name(last)) {
        if named.entry.kind != EntryKind::Type {
            continue;
        }
        let whole = squeeze(named.name) == squeeze(last);
        if !whole && base_name(last) != *last {
            continue;
        }
        let scopes: Vec<&Step> = named.scopes.iter().collect();
        if let Some(rank) = from.rank(&wanted, named.name, &scopes) {
            found.push(((rank, !whole), named.entry.id()));
        }
    }
    found.sort();
    found
        .into_iter()
        .map(|((rank, _), id)| (rank, id))
        .collect()
}

/// Whether scopes end with the wanted ones; how many more there are.
pub(crate) fn match_scopes(wanted: &[&str], scopes: &[&Step]) -> Option<usize> {
    let left = scopes_left(wanted, scopes)?;
    Some(scopes[..left].iter().filter(|s| !s.optional).count())
}

/// Whether scopes end with the wanted ones; where these begin.
pub(crate) fn scopes_left(wanted: &[&str], scopes: &[&Step]) -> Option<usize> {
    let mut left = scopes.len();
    for want in wanted.iter().rev() {
        loop {
            left = left.checked_sub(1)?;
            let scope = scopes[left];
            let same = if want.contains('<') {
                squeeze(&scope.name) == squeeze(want)
            } else {
                base_name(&scope.name) == *want
            };
            if same {
                break;
            }
            if !scope.optional {
                return None;
            }
        }
    }
    Some(left)
}
