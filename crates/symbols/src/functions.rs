//! Functions: by name, at an address, their parts, and where breakpoints on them go.

use crate::addr::FileAddr;
use crate::index::EntryKind;
use crate::lines::{SourceFile, file_matches};
use crate::module::Module;
use crate::names::demangle;
use crate::outlook::Outlook;
use crate::paths;
use crate::query::FunctionQuery;
use crate::type_read::{child_id, is_set};
use crate::types::Type;
use crate::units::{CodeRange, DieId, Entry, Info, Language, Unit};
use gimli::constants as dw;
use std::collections::HashSet;
use std::sync::Arc;

/// A function with code.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// The name with its scopes, as gdb shows it in a frame.
    pub name: String,
    /// The linker's name.
    pub linkage_name: Option<String>,
    /// The first instruction.
    pub entry: FileAddr,
    /// All its code; cold parts are far away.
    pub ranges: Vec<(FileAddr, FileAddr)>,
    /// The language it is written in.
    pub language: Language,
    /// Its DIE; `None` when only the linker knows the function.
    pub die: Option<DieId>,
    /// Where it is declared.
    pub declared: Option<(Arc<SourceFile>, u32)>,
    /// A resolver: the function that runs is its result.
    pub is_ifunc: bool,
}

/// A place where a function was inlined.
#[derive(Clone, Debug, PartialEq)]
pub struct InlinedCall {
    /// The inlined function's name with its scopes.
    pub name: String,
    /// First instruction of the inlined body.
    pub entry: FileAddr,
    /// All its code.
    pub ranges: Vec<(FileAddr, FileAddr)>,
    /// Its DIE.
    pub die: DieId,
    /// Where it was called.
    pub called: Option<(Arc<SourceFile>, u32)>,
    /// The debug information says where it is entered, and not only which code is its.
    pub is_entry_stated: bool,
    /// What several calls have in common: it is not said in which column it was called.
    pub is_merged: bool,
}

/// A frame of the source: a function, or one inlined into the next.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceFrame {
    /// Name with scopes.
    pub name: String,
    /// The function or the inlined call.
    pub die: DieId,
    /// The function with code around it.
    pub function: DieId,
    /// Inlined into the next frame.
    pub is_inlined: bool,
    /// First instruction.
    pub entry: FileAddr,
    /// File and line: the line table's in the innermost frame, else where the frame inside was called.
    pub line: Option<(Arc<SourceFile>, u32)>,
    /// The language it is written in.
    pub language: Language,
}

impl Unit {
    /// The file that `DW_AT_decl_file` and `DW_AT_call_file` number.
    pub fn file(&self, index: u64) -> Option<Arc<SourceFile>> {
        let files = self.files.get_or_init(|| {
            let (dwarf, unit) = self.line_unit();
            let names = crate::lines::file_names(unit, dwarf);
            names.into_iter().map(|n| n.map(Arc::new)).collect()
        });
        files.get(usize::try_from(index).ok()?)?.clone()
    }

    pub(crate) fn place(
        &self,
        entry: &Entry,
        file: gimli::DwAt,
        line: gimli::DwAt,
    ) -> Option<(Arc<SourceFile>, u32)> {
        let file = match entry.attr_value(file)? {
            gimli::AttributeValue::FileIndex(i) => i,
            other => other.udata_value()?,
        };
        let line = entry.attr_value(line)?.udata_value()?;
        Some((self.file(file)?, u32::try_from(line).ok()?))
    }

    /// Code of all functions, by address.
    pub fn functions(&self) -> &[CodeRange] {
        self.functions.get_or_init(|| {
            let mut out = Vec::new();
            for offset in self.function_offsets() {
                let Some(entry) = self.entry(offset) else {
                    continue;
                };
                for (begin, end) in self.ranges(&entry) {
                    out.push(CodeRange {
                        begin,
                        end,
                        die: offset,
                    });
                }
            }
            out.sort_by_key(|r| (r.begin, std::cmp::Reverse(r.end)));
            out
        })
    }

    fn function_offsets(&self) -> Vec<u32> {
        self.walker().map(|w| w.functions()).unwrap_or_default()
    }
}

pub(crate) fn file_ranges(ranges: &[(u64, u64)]) -> Vec<(FileAddr, FileAddr)> {
    let pair = |&(b, e): &(u64, u64)| (FileAddr(b), FileAddr(e));
    ranges.iter().map(pair).collect()
}

/// The first instruction: `DW_AT_entry_pc`, else the start of the first range.
pub(crate) fn entry_address(unit: &Unit, entry: &Entry, ranges: &[(u64, u64)]) -> Option<u64> {
    let low = unit.address(entry.attr_value(dw::DW_AT_low_pc));
    low.filter(|&a| a > 1 && ranges.iter().any(|r| r.0 == a))
        .or_else(|| ranges.first().map(|r| r.0))
}

pub(crate) fn read_function(info: &Arc<Info>, id: DieId) -> Option<Function> {
    let (unit, entry) = info.die(id)?;
    let ranges = unit.ranges(&entry);
    let start = entry_address(&unit, &entry, &ranges)?;
    let declared = paths::declaration(info, id);
    let (home, declaration) = info.die(declared)?;
    let linkage = linkage_name(info, id).map(str::to_owned);
    let name = paths::qualified(info, id).or_else(|| linkage.clone())?;
    let place = |u: &Unit, e: &Entry| u.place(e, dw::DW_AT_decl_file, dw::DW_AT_decl_line);
    Some(Function {
        name,
        linkage_name: linkage,
        entry: FileAddr(start),
        ranges: file_ranges(&ranges),
        language: unit.language,
        die: Some(id),
        declared: place(&unit, &entry)
            .or_else(|| origin(info, &unit, &entry).and_then(|(u, e)| place(&u, &e)))
            .or_else(|| place(&home, &declaration)),
        is_ifunc: false,
    })
}

/// The DIE that `DW_AT_abstract_origin` or `DW_AT_specification` names.
pub(crate) fn origin(info: &Info, unit: &Unit, entry: &Entry) -> Option<(Arc<Unit>, Entry)> {
    let value = entry
        .attr_value(dw::DW_AT_abstract_origin)
        .or_else(|| entry.attr_value(dw::DW_AT_specification));
    info.die(info.follow(unit, value)?)
}

/// The name of a function that is not as it is written in the source.
pub(crate) fn linkage_name(info: &Info, id: DieId) -> Option<&'static str> {
    let (mut unit, mut entry) = info.die(id)?;
    for _ in 0..4 {
        let value = entry
            .attr_value(dw::DW_AT_linkage_name)
            .or_else(|| entry.attr_value(dw::DW_AT_MIPS_linkage_name));
        if let Some(name) = unit.string(value) {
            return Some(name);
        }
        (unit, entry) = origin(info, &unit, &entry)?;
    }
    None
}

impl Module {
    /// All functions a name means, in address order. The module part of the query is the caller's.
    pub fn functions(&self, query: &FunctionQuery) -> Vec<Function> {
        let query = &*self.meant(query);
        let mut out: Vec<Function> = Vec::new();
        let mut seen = HashSet::new();
        for id in self.matching(query, EntryKind::Function) {
            let function = self.info().and_then(|info| read_function(info, id));
            let function = function.filter(|f| in_file(query, f.declared.as_ref()));
            if let Some(function) = function
                && seen.insert(function.entry)
            {
                out.push(function);
            }
        }
        if query.file.is_none() {
            for function in self.functions_of_symbols(query) {
                if seen.insert(function.entry) {
                    out.push(function);
                }
            }
        }
        out.sort_by_key(|f| f.entry);
        out
    }

    /// The functions a name means from a place in the code, with how far they are: the nearest first.
    pub fn functions_seen(&self, query: &FunctionQuery, from: &Outlook) -> Vec<(usize, Function)> {
        let mut out: Vec<(usize, Function)> = Vec::new();
        let Some(info) = self.info() else {
            let symbols = self.functions_of_symbols(query).into_iter();
            let seen = symbols.filter_map(|f| Some((query.symbol_rank(&f, from)?, f)));
            return seen.collect();
        };
        for named in info.index().find(info, query.base()) {
            if named.entry.kind != EntryKind::Function {
                continue;
            }
            let readable = named.linkage.and_then(demangle);
            let readable = readable.as_deref();
            let rank = query.rank(named.name, &named.scopes, readable, from);
            let function = rank.and_then(|_| read_function(info, named.entry.id()));
            let function = function.filter(|f| in_file(query, f.declared.as_ref()));
            out.extend(rank.zip(function));
        }
        if query.file.is_none() {
            let symbols = self.functions_of_symbols(query).into_iter();
            out.extend(symbols.filter_map(|f| Some((query.symbol_rank(&f, from)?, f))));
        }
        out.sort_by_key(|(rank, f)| (*rank, f.entry));
        let mut seen = HashSet::new();
        out.retain(|(_, f)| seen.insert(f.entry));
        out
    }

    pub(crate) fn matching(&self, query: &FunctionQuery, kind: EntryKind) -> Vec<DieId> {
        let Some(info) = self.info() else {
            return Vec::new();
        };
        let found = info.index().find(info, query.base());
        let matches = |n: &crate::index::Named| {
            let needed = query.path.len() > 1 || query.parameters.is_some();
            let readable = n.linkage.filter(|_| needed).and_then(demangle);
            n.entry.kind == kind && query.matches(n.name, &n.scopes, readable.as_deref())
        };
        found
            .iter()
            .filter(|n| matches(n))
            .map(|n| n.entry.id())
            .collect()
    }

    fn functions_of_symbols(&self, query: &FunctionQuery) -> Vec<Function> {
        let filter = MangledFilter::new(query.base());
        let mut out = Vec::new();
        for symbol in self.symbols() {
            if !symbol.is_code || !filter.may_match(symbol.name) {
                continue;
            }
            // `f.cold` and `f.part.0` are parts of f, and DWARF knows them.
            if symbol.name.ends_with(".cold") {
                continue;
            }
            let readable = demangle(symbol.name);
            if !query.matches_symbol(symbol.name, readable.as_deref()) {
                continue;
            }
            out.push(self.function_of_symbol(symbol, readable));
        }
        out
    }

    pub(crate) fn function_of_symbol(
        &self,
        symbol: &crate::elf::Symbol,
        readable: Option<String>,
    ) -> Function {
        // The code at an indirect function's symbol is its resolver's.
        if !symbol.is_ifunc {
            let described = self.function_die_at(symbol.addr);
            if let Some(function) = described.filter(|f| f.entry == symbol.addr) {
                return function;
            }
        }
        let end = match symbol.size {
            0 => self.end_of_unsized(symbol.addr),
            size => symbol.addr.plus(size),
        };
        // Assembler has lines, and nothing that tells where a function is declared.
        let line = self.line_at(symbol.addr).filter(|_| !symbol.is_ifunc);
        let language = match readable {
            Some(_) if symbol.name.starts_with("_R") || symbol.name.contains("17h") => {
                Language::Rust
            }
            Some(_) => Language::Cpp,
            None => Language::C,
        };
        Function {
            name: readable.unwrap_or_else(|| symbol.name.to_owned()),
            linkage_name: Some(symbol.name.to_owned()),
            entry: symbol.addr,
            ranges: vec![(symbol.addr, end)],
            language,
            die: None,
            declared: line.map(|l| (l.file, l.line)),
            is_ifunc: symbol.is_ifunc,
        }
    }

    fn function_die_at(&self, addr: FileAddr) -> Option<Function> {
        let unit = self.unit_at(addr)?;
        let die = code_at(&unit, addr)?;
        let id = DieId {
            unit: unit.index,
            offset: die,
        };
        read_function(self.info()?, id)
    }

    /// The function whose code contains an address: by DWARF, else by symbols, else by the bounds of
    /// its unwind entry (then it has no name).
    pub fn function_at(&self, addr: FileAddr) -> Option<Function> {
        if let Some(function) = self.function_die_at(addr) {
            return Some(function);
        }
        let symbol = self.symbol_at(addr).filter(|(s, _)| s.is_code);
        if let Some((symbol, into)) = symbol {
            let mut function = self.function_of_symbol(&symbol, demangle(symbol.name));
            if symbol.size == 0
                && let Some((_, end)) = self.unwind_bounds(addr)
            {
                function.ranges = vec![(symbol.addr, end)];
            }
            debug_assert!(function.entry.plus(into) == addr || function.die.is_some());
            return Some(function);
        }
        let (begin, end) = self.unwind_bounds(addr)?;
        Some(Function {
            name: format!("{:#x}", begin.0),
            linkage_name: None,
            entry: begin,
            ranges: vec![(begin, end)],
            language: Language::C,
            die: None,
            declared: None,
            is_ifunc: false,
        })
    }

    /// Whether a function is described that may have no code of its own, only in its callers.
    pub fn has_inlined(&self, query: &FunctionQuery) -> bool {
        !self.abstract_instances(query).is_empty()
    }

    /// What a name means that was inlined somewhere.
    fn abstract_instances(&self, query: &FunctionQuery) -> Vec<DieId> {
        let mut all = self.matching(&self.meant(query), EntryKind::Inlined);
        all.extend(self.inlined_lambdas(query));
        all
    }

    /// Places where the functions a name means were inlined.
    pub fn inlined_calls(&self, query: &FunctionQuery) -> Vec<InlinedCall> {
        let Some(info) = self.info() else {
            return Vec::new();
        };
        let column = |entry: &Entry, name| entry.attr_value(name)?.udata_value();
        let mut out = Vec::new();
        for id in self.abstract_instances(query) {
            let Some(unit) = info.unit(id.unit) else {
                continue;
            };
            let name = paths::qualified(info, id).unwrap_or_default();
            // GCC may split a function and inline its parts: the second one is called by the
            // first, in its declaration.
            let declared = unit.entry(id.offset).and_then(|e| {
                let place = unit.place(&e, dw::DW_AT_decl_file, dw::DW_AT_decl_line)?;
                Some((place, column(&e, dw::DW_AT_decl_column)))
            });
            if !in_file(query, declared.as_ref().map(|(place, _)| place)) {
                continue;
            }
            let near = unit.walker().map(|w| w.inlined(id.offset));
            let near = near.into_iter().flatten();
            let calls = near.map(|offset| DieId { offset, ..id });
            for die in calls.chain(info.far_inlined().of(id).iter().copied()) {
                let Some((unit, entry)) = info.die(die) else {
                    continue;
                };
                let ranges = unit.ranges(&entry);
                let Some(start) = entry_of_inlined(&unit, &entry, &ranges) else {
                    continue;
                };
                let called = unit.place(&entry, dw::DW_AT_call_file, dw::DW_AT_call_line);
                let from = column(&entry, dw::DW_AT_call_column);
                if from.is_some() && declared == called.as_ref().map(|c| (c.clone(), from)) {
                    continue;
                }
                out.push(InlinedCall {
                    name: name.clone(),
                    entry: FileAddr(start),
                    ranges: file_ranges(&ranges),
                    die,
                    called,
                    is_entry_stated: stated_entry(&unit, &entry, &ranges).is_some(),
                    is_merged: from.is_none_or(|c| c == 0),
                });
            }
        }
        out.sort_by_key(|c| c.entry);
        out
    }

    /// The frames of the source at an address, innermost first; empty without debug information.
    pub fn frames_at(&self, addr: FileAddr) -> Vec<SourceFrame> {
        self.read_frames(addr).unwrap_or_default()
    }

    fn read_frames(&self, addr: FileAddr) -> Option<Vec<SourceFrame>> {
        let info = self.info()?;
        let unit = self.unit_at(addr)?;
        let offset = code_at(&unit, addr)?;
        let function = DieId {
            unit: unit.index,
            offset,
        };
        let inlined: Vec<Entry> = blocks_at(&unit, offset, addr.0, true)
            .into_iter()
            .filter(|b| b.tag() == dw::DW_TAG_inlined_subroutine)
            .collect();
        let mut line = self.line_at(addr).map(|l| (l.file, l.line));
        let mut out = Vec::new();
        for block in inlined.iter().rev() {
            let id = child_id(&unit, block);
            let ranges = unit.ranges(block);
            out.push(SourceFrame {
                name: paths::qualified(info, id).unwrap_or_default(),
                die: id,
                function,
                is_inlined: true,
                entry: FileAddr(entry_of_inlined(&unit, block, &ranges).unwrap_or(addr.0)),
                line: line.take(),
                language: unit.language,
            });
            line = unit.place(block, dw::DW_AT_call_file, dw::DW_AT_call_line);
        }
        let outer = read_function(info, function)?;
        out.push(SourceFrame {
            name: outer.name,
            die: function,
            function,
            is_inlined: false,
            entry: outer.entry,
            line,
            language: unit.language,
        });
        Some(out)
    }

    /// Whether a function or inlined call is one that a name means.
    pub fn is_meant(&self, die: DieId, query: &FunctionQuery) -> bool {
        let Some(info) = self.info() else {
            return false;
        };
        let declared = paths::declaration(info, die);
        let Some((unit, entry)) = info.die(declared) else {
            return false;
        };
        let Some(name) = unit.string(entry.attr_value(dw::DW_AT_name)) else {
            return false;
        };
        let scopes = paths::scope_steps(info, declared);
        let readable = linkage_name(info, die).and_then(demangle);
        self.meant(query)
            .matches(name, &scopes, readable.as_deref())
    }

    /// The linker's name of a function or inlined call, readable.
    pub fn readable_name(&self, die: DieId) -> Option<String> {
        linkage_name(self.info()?, die).and_then(demangle)
    }

    /// Where a function or inlined call is declared.
    pub fn declared_at(&self, die: DieId) -> Option<(Arc<SourceFile>, u32)> {
        let info = self.info()?;
        let (mut unit, mut entry) = info.die(die)?;
        for _ in 0..4 {
            if let Some(place) = unit.place(&entry, dw::DW_AT_decl_file, dw::DW_AT_decl_line) {
                return Some(place);
            }
            (unit, entry) = origin(info, &unit, &entry)?;
        }
        None
    }

    /// The code of an inlined call.
    pub fn code_of_call(&self, call: DieId) -> Vec<(FileAddr, FileAddr)> {
        let found = self.info().and_then(|info| info.die(call));
        let ranges = found.map(|(unit, entry)| unit.ranges(&entry));
        let ranges = ranges.unwrap_or_default().into_iter();
        ranges
            .map(|(from, to)| (FileAddr(from), FileAddr(to)))
            .collect()
    }

    /// What a function returns; `None` when the debug information does not say or it returns nothing.
    pub fn return_type(&self, function: &Function) -> Option<Type> {
        let info = self.info()?;
        let (mut unit, mut entry) = info.die(function.die?)?;
        for _ in 0..4 {
            if let Some(id) = info.follow(&unit, entry.attr_value(dw::DW_AT_type)) {
                return Some(Type::from_die(info, id));
            }
            (unit, entry) = origin(info, &unit, &entry)?;
        }
        None
    }

    /// The function as a type: result and parameters.
    pub fn function_type(&self, function: &Function) -> Option<Type> {
        self.type_of_function(function.die?)
    }

    /// The same for an inlined call, too.
    pub fn type_of_function(&self, id: DieId) -> Option<Type> {
        let info = self.info()?;
        let (_, entry) = info.die(id)?;
        // The concrete instance of an inline function has its types in the abstract one.
        let typed = entry.attr_value(dw::DW_AT_abstract_origin).is_none()
            && entry.attr_value(dw::DW_AT_specification).is_none();
        let id = if typed {
            id
        } else {
            paths::whole_declaration(info, id)
        };
        Some(Type::from_die(info, id))
    }

    /// Whether a function is of the file whose code is at an address.
    pub fn is_beside(&self, function: &Function, near: Option<FileAddr>) -> bool {
        let unit = near.and_then(|a| self.unit_at(a)).map(|u| u.index);
        unit.is_some() && function.die.map(|d| d.unit) == unit
    }

    /// The name of something with the scopes around it.
    pub fn path_of(&self, die: DieId) -> Option<String> {
        paths::qualified(self.info()?, die)
    }

    /// Whether the function is visible outside its file.
    pub fn is_external(&self, function: &Function) -> bool {
        let (Some(id), Some(info)) = (function.die, self.info()) else {
            return true;
        };
        // A member function is declared in its class.
        let dies = [id, paths::declaration(info, id)];
        let mut entries = dies.into_iter().filter_map(|id| info.die(id));
        entries.any(|(_, e)| is_set(e.attr_value(dw::DW_AT_external)))
    }
}

/// Which linker's names can hold a name at all: demangling every symbol would take far longer. All
/// manglings write an identifier after its length.
struct MangledFilter<'a> {
    base: &'a str,
    counted: String,
    counted_v0: String,
    plain: bool,
}

impl<'a> MangledFilter<'a> {
    fn new(base: &'a str) -> Self {
        MangledFilter {
            base,
            counted: format!("{}{base}", base.len()),
            counted_v0: format!("{}_{base}", base.len()),
            plain: base.chars().all(|c| c.is_alphanumeric() || c == '_')
                && !base.starts_with("operator"),
        }
    }

    fn may_match(&self, name: &str) -> bool {
        let mangled = name.starts_with("_Z") || name.starts_with("_R");
        match (mangled, self.plain) {
            (false, _) => name == self.base,
            (true, true) => {
                name == self.base || name.contains(&self.counted) || name.contains(&self.counted_v0)
            }
            (true, false) => true,
        }
    }
}

fn in_file(query: &FunctionQuery, declared: Option<&(Arc<SourceFile>, u32)>) -> bool {
    match &query.file {
        None => true,
        Some(wanted) => declared.is_some_and(|(file, _)| file_matches(file, wanted)),
    }
}

fn entry_of_inlined(unit: &Unit, entry: &Entry, ranges: &[(u64, u64)]) -> Option<u64> {
    stated_entry(unit, entry, ranges).or_else(|| ranges.first().map(|r| r.0))
}

fn stated_entry(unit: &Unit, entry: &Entry, ranges: &[(u64, u64)]) -> Option<u64> {
    let stated = match entry.attr_value(dw::DW_AT_entry_pc) {
        Some(gimli::AttributeValue::Udata(offset)) => {
            ranges.first().map(|r| r.0.wrapping_add(offset))
        }
        value => unit.address(value),
    };
    let inside = |a: &u64| ranges.iter().any(|r| r.0 <= *a && *a < r.1);
    stated.filter(inside)
}

/// The innermost function around an address.
pub(crate) fn code_at(unit: &Unit, addr: FileAddr) -> Option<u32> {
    let ranges = unit.functions();
    let end = ranges.partition_point(|r| r.begin <= addr.0);
    let around = ranges[..end].iter().rev().find(|r| addr.0 < r.end);
    around.map(|r| r.die)
}

/// Lexical blocks and inlined calls around a pc inside a function or block, outermost first.
pub(crate) fn blocks_at(unit: &Unit, offset: u32, pc: u64, into_inlined: bool) -> Vec<Entry> {
    let mut out = Vec::new();
    let mut at = offset;
    'deeper: for _ in 0..256 {
        for child in crate::type_read::children(unit, at) {
            let is_inlined = child.tag() == dw::DW_TAG_inlined_subroutine;
            if !is_inlined && child.tag() != dw::DW_TAG_lexical_block {
                continue;
            }
            if is_inlined && !into_inlined {
                continue;
            }
            let ranges = unit.ranges(&child);
            if ranges.iter().any(|r| r.0 <= pc && pc < r.1) {
                at = crate::type_read::offset_of(&child);
                out.push(child);
                continue 'deeper;
            }
        }
        break;
    }
    out
}
