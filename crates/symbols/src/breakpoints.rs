//! Where gdb would put a breakpoint: past the prologue of a function, on the nearest line.

use crate::addr::FileAddr;
use crate::functions::{Function, blocks_at, code_at};
use crate::lines::{LineSpan, SourceFile, file_matches};
use crate::module::Module;
use crate::units::{DieId, Language, Unit};
use gimli::constants as dw;
use std::collections::HashSet;
use std::sync::Arc;

/// The addresses a line of source stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct LineMatch {
    /// The file that matched.
    pub file: Arc<SourceFile>,
    /// The line with code: the wanted one or the next after it.
    pub line: u32,
    /// One address per piece of code, ascending.
    pub addresses: Vec<FileAddr>,
    /// Those of them that are the line's own, and not behind a function's prologue.
    pub own: Vec<FileAddr>,
}

impl Module {
    /// The run of instructions around an address that stands for one line.
    pub fn line_at(&self, addr: FileAddr) -> Option<LineSpan> {
        self.unit_at(addr)?.lines().find(addr.0)
    }

    /// All files with code, for completion and for `list`.
    pub fn source_files(&self) -> Vec<SourceFile> {
        let mut seen = HashSet::new();
        self.for_each_unit_files(|_, files| {
            seen.extend(files.iter().flatten().cloned());
        });
        let mut out: Vec<SourceFile> = seen.into_iter().collect();
        out.sort_by(|a, b| a.path.cmp(&b.path));
        out
    }

    /// Reads the file names of every unit without keeping the units.
    fn for_each_unit_files(&self, mut each: impl FnMut(u32, &[Option<SourceFile>])) {
        let Some(info) = self.info() else { return };
        for index in 0..info.unit_count() {
            if let Some(unit) = info.loaded(index) {
                let (dwarf, unit) = unit.line_unit();
                each(index, &crate::lines::file_names(unit, dwarf));
                continue;
            }
            let Some((dwarf, header)) = info.header(index) else {
                continue;
            };
            if matches!(header.type_(), gimli::UnitType::Type { .. }) {
                continue;
            }
            if let Ok(unit) = dwarf.unit(header) {
                each(index, &crate::lines::file_names(&unit, &dwarf));
            }
        }
    }

    fn units_with_file(&self, wanted: &str) -> Vec<Arc<Unit>> {
        let mut indices = Vec::new();
        self.for_each_unit_files(|index, files| {
            if files.iter().flatten().any(|f| file_matches(f, wanted)) {
                indices.push(index);
            }
        });
        let info = self.info();
        let load = |i| info.and_then(|info| info.unit(i));
        indices.into_iter().filter_map(load).collect()
    }

    /// Where breakpoints on `file:line` go, as gdb places them: the line, or the next one with code;
    /// one address per block; moved past the prologue at the start of a function.
    pub fn line_addresses(&self, file: &str, line: u32) -> Option<LineMatch> {
        let units = self.units_with_file(file);
        let mut exact: Vec<(Arc<SourceFile>, u64)> = Vec::new();
        let mut next: Option<u32> = None;
        for unit in &units {
            for (source, items) in &unit.lines().files {
                if !file_matches(source, file) {
                    continue;
                }
                for item in items.iter().filter(|i| i.is_stmt) {
                    if item.line == line {
                        exact.push((source.clone(), item.pc));
                    } else if item.line > line && next.is_none_or(|n| item.line < n) {
                        next = Some(item.line);
                    }
                }
            }
        }
        if exact.is_empty() {
            let found = next.filter(|&n| n != line)?;
            return self.line_addresses(file, found);
        }
        let source = exact[0].0.clone();
        let mut addresses: Vec<u64> = exact.into_iter().map(|(_, pc)| pc).collect();
        addresses.sort_unstable();
        addresses.dedup();
        let mut blocks = HashSet::new();
        let mut out: Vec<FileAddr> = Vec::new();
        let mut own = Vec::new();
        for pc in addresses {
            let addr = FileAddr(pc);
            if blocks.insert(self.block_of(addr)) {
                let behind = self.past_prologue(addr);
                own.extend((behind == addr).then_some(addr));
                out.push(behind);
            }
        }
        out.sort_unstable();
        out.dedup();
        Some(LineMatch {
            file: source,
            line,
            addresses: out,
            own,
        })
    }

    /// Where the code of a line begins, a function's prologue included; of a line without code that
    /// of the next one which has some.
    pub fn line_start(&self, file: &str, line: u32) -> Option<FileAddr> {
        let units = self.units_with_file(file);
        let tables = units.iter().flat_map(|unit| &unit.lines().files);
        let own = tables.filter(|(source, _)| file_matches(source, file));
        let starts = own.flat_map(|(_, items)| items.iter().filter(|i| i.is_stmt));
        let found = starts.filter(|i| i.line >= line);
        let first = found.min_by_key(|i| (i.line, i.pc))?;
        Some(FileAddr(first.pc))
    }

    /// The innermost block around an address.
    fn block_of(&self, addr: FileAddr) -> Option<DieId> {
        let unit = self.unit_at(addr)?;
        let function = code_at(&unit, addr)?;
        let blocks = blocks_at(&unit, function, addr.0, true);
        let offset = blocks.last().map_or(function, crate::type_read::offset_of);
        Some(DieId {
            unit: unit.index,
            offset,
        })
    }

    fn past_prologue(&self, addr: FileAddr) -> FileAddr {
        match self.function_at(addr) {
            Some(f) if f.die.is_some() => self.breakpoint_address(&f).max(addr),
            _ => addr,
        }
    }

    /// Where a breakpoint on a function goes: after the prologue, as gdb decides it.
    pub fn breakpoint_address(&self, function: &Function) -> FileAddr {
        let entry = function.entry;
        let unit = function.die.and_then(|id| self.unit_of(id));
        let Some(unit) = unit else {
            // Assembler begins with its first line. What a compiler made with nothing but lines has
            // the prologue of any function.
            let around = self.unit_at(entry).map(|u| u.language);
            if around == Some(Language::Asm) && self.line_at(entry).is_some() {
                return entry;
            }
            // Without a description only the frame's set-up can be recognised.
            return self.after_frame_setup(entry);
        };
        let end = function
            .ranges
            .iter()
            .find(|r| r.0 <= entry && entry < r.1)
            .map_or(entry, |r| r.1);
        let pc = self.skip_prologue(&unit, function, entry, end);
        if pc.0 >= end.0 { entry } else { pc }
    }

    fn skip_prologue(
        &self,
        unit: &Unit,
        function: &Function,
        entry: FileAddr,
        end: FileAddr,
    ) -> FileAddr {
        let gcc = unit.producer.is_some_and(|p| p.starts_with("GNU "));
        // With location lists every variable can be found from the first instruction on.
        if gcc && has_location_lists(unit) {
            return entry;
        }
        let lines = unit.lines();
        let clang = unit
            .producer
            .is_some_and(|p| p.starts_with("clang ") || p.contains(" clang "));
        let mut pc = match clang {
            true => self
                .prologue_by_lines(unit, function, entry, end)
                .unwrap_or_else(|| self.after_frame_setup(entry)),
            false => self.after_frame_setup(entry),
        };
        // In the middle of a line: the next line, if it is still this function's.
        if let Some(span) = lines.find(pc.0)
            && span.begin != pc.0
            && span.begin >= entry.0
            && span.end < end.0
        {
            pc = FileAddr(span.end);
        }
        pc
    }

    /// gdb's `skip_prologue_using_sal`: LLVM writes a line before and one after the prologue.
    fn prologue_by_lines(
        &self,
        unit: &Unit,
        function: &Function,
        entry: FileAddr,
        end: FileAddr,
    ) -> Option<FileAddr> {
        let lines = unit.lines();
        let mut prologue = lines.find(entry.0)?;
        let items = lines.items_from(&prologue.file, entry.0).iter();
        let mut own = items.take_while(|i| i.pc < end.0);
        // A function without a prologue says so.
        if own.any(|i| i.pc == entry.0 && i.ends_prologue) {
            return Some(entry);
        }
        if unit.language != Language::Asm {
            let mut items = lines.items_from(&prologue.file, prologue.begin).iter();
            let first = items.by_ref().find(|i| i.line != 0);
            let second = items.next();
            if let (Some(_), Some(second)) = (first, second)
                && second.line != 0
                && second.pc == entry.0
            {
                return Some(entry);
            }
        }
        if prologue.end >= end.0 {
            return None;
        }
        let die = function.die?;
        while prologue.end < end.0 {
            let Some(next) = lines.find(prologue.end) else {
                break;
            };
            if next.line >= prologue.line || next.file != prologue.file {
                break;
            }
            let inlined = blocks_at(unit, die.offset, prologue.end, true);
            if inlined
                .iter()
                .any(|b| b.tag() == dw::DW_TAG_inlined_subroutine)
            {
                break;
            }
            prologue = next;
        }
        Some(FileAddr(prologue.end.min(end.0)))
    }

    /// After `endbr64; push %rbp; mov %rsp,%rbp`, or the entry when the function starts otherwise.
    fn after_frame_setup(&self, entry: FileAddr) -> FileAddr {
        let Some(code) = self.bytes_at(entry, 40) else {
            return entry;
        };
        let mut at = 0;
        // lea 8(%rsp),%r10; and $-16,%rsp; push -8(%r10): a re-aligned stack.
        if let Some(len) = stack_realignment(code) {
            at += len;
        }
        if code[at..].starts_with(&[0xf3, 0x0f, 0x1e, 0xfa]) {
            at += 4;
        }
        match code.get(at..) {
            Some([0x55, ..]) => at += 1,
            Some([0x40, 0x55, ..]) => at += 2,
            _ => return entry,
        }
        let moves: [&[u8]; 4] = [
            &[0x48, 0x89, 0xe5],
            &[0x48, 0x8b, 0xec],
            &[0x89, 0xe5],
            &[0x8b, 0xec],
        ];
        match moves.iter().find(|m| code[at..].starts_with(m)) {
            Some(m) => entry.plus((at + m.len()) as u64),
            None => entry,
        }
    }
}

fn stack_realignment(code: &[u8]) -> Option<usize> {
    let rest = code.strip_prefix(&[0x4c, 0x8d, 0x54, 0x24, 0x08])?;
    let (and, rest) = match rest {
        [0x48, 0x83, 0xe4, _, rest @ ..] => (4, rest),
        [0x48, 0x81, 0xe4, _, _, _, _, rest @ ..] => (7, rest),
        _ => return None,
    };
    rest.starts_with(&[0x41, 0xff, 0x72, 0xf8])
        .then_some(5 + and + 4)
}

/// Whether any variable of the unit has a location list: optimised code of a compiler that keeps
/// locations right everywhere.
fn has_location_lists(unit: &Unit) -> bool {
    let scan = || {
        let mut cursor = unit.unit.entries();
        while let Ok(Some(entry)) = cursor.next_dfs() {
            let tag = entry.tag();
            if tag != dw::DW_TAG_variable && tag != dw::DW_TAG_formal_parameter {
                continue;
            }
            if let Some(
                gimli::AttributeValue::LocationListsRef(_)
                | gimli::AttributeValue::DebugLocListsIndex(_)
                | gimli::AttributeValue::SecOffset(_),
            ) = entry.attr_value(dw::DW_AT_location)
            {
                return true;
            }
        }
        false
    };
    *unit.has_lists.get_or_init(scan)
}
