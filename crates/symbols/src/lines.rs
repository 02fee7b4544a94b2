//! Line tables, with gdb's reading of them.
//!
//! gdb keeps one table per file, ends a file's run where another file takes over, and drops rows
//! that a discriminator only subdivides. Which address a breakpoint on a line gets, and where `step`
//! stops, follows from that, so the same is done here.

use crate::units::{R, Unit};
use gimli::{LineProgramHeader, LineRow};
use std::collections::HashMap;
use std::sync::Arc;

/// A source file as the line table names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceFile {
    /// As the compiler was given it (what gdb shows).
    pub name: String,
    /// With the compilation directory in front when it is relative.
    pub path: String,
}

/// A line of source and the run of instructions it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineSpan {
    /// The file.
    pub file: Arc<SourceFile>,
    /// The line, from 1.
    pub line: u32,
    /// First address of the run.
    pub begin: u64,
    /// First address after it.
    pub end: u64,
    /// A recommended place for a breakpoint.
    pub is_stmt: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub pc: u64,
    /// 0 ends a run.
    pub line: u32,
    pub is_stmt: bool,
    /// The compiler says that the prologue ends here.
    pub ends_prologue: bool,
}

/// The line table of one unit.
pub(crate) struct UnitLines {
    pub files: Vec<(Arc<SourceFile>, Vec<Item>)>,
}

/// Rows of one unit; far more than any compiler writes for one.
const MAX_ROWS: usize = 1 << 26;

impl UnitLines {
    fn empty() -> UnitLines {
        UnitLines { files: Vec::new() }
    }

    /// The run of instructions around a pc.
    pub fn find(&self, pc: u64) -> Option<LineSpan> {
        let mut best: Option<(Item, &Arc<SourceFile>)> = None;
        let mut best_end = 0u64;
        let mut after: Option<u64> = None;
        for (file, items) in &self.files {
            let Some(first) = items.first() else { continue };
            if first.pc > pc && after.is_none_or(|a| first.pc < a) {
                after = Some(first.pc);
            }
            let next = items.partition_point(|i| i.pc <= pc);
            // Where one file's run ends another's begins: an end is nobody's line.
            let is_line = next > 0 && items[next - 1].line != 0;
            if is_line && best.is_none_or(|(b, _)| items[next - 1].pc > b.pc) {
                best = Some((prefer_stmt(items, next - 1), file));
                if best_end <= items[next - 1].pc {
                    best_end = 0;
                }
            }
            if let (Some((b, _)), Some(item)) = (best, items.get(next))
                && item.pc > b.pc
                && (best_end == 0 || best_end > item.pc)
            {
                best_end = item.pc;
            }
        }
        let (item, file) = best.filter(|(b, _)| b.line != 0)?;
        let end = match (best_end, after) {
            (0, after) => after?,
            (end, Some(a)) => end.min(a),
            (end, None) => end,
        };
        Some(LineSpan {
            file: file.clone(),
            line: item.line,
            begin: item.pc,
            end,
            is_stmt: item.is_stmt,
        })
    }

    /// The items of the file that contains a pc, from the one at the pc on.
    pub fn items_from(&self, file: &SourceFile, pc: u64) -> &[Item] {
        let table = self.files.iter().find(|(f, _)| **f == *file);
        table.map_or(&[], |(_, items)| {
            &items[items.partition_point(|i| i.pc < pc)..]
        })
    }
}

/// Among entries at one address the recommended one.
fn prefer_stmt(items: &[Item], at: usize) -> Item {
    let mut back = at;
    while !items[back].is_stmt
        && back > 0
        && items[back - 1].pc == items[at].pc
        && items[back - 1].line != 0
    {
        back -= 1;
    }
    if items[back].is_stmt {
        items[back]
    } else {
        items[at]
    }
}

/// What happens to a file named by the line table's header.
pub(crate) fn file_names(
    unit: &gimli::Unit<R>,
    dwarf: &gimli::Dwarf<R>,
) -> Vec<Option<SourceFile>> {
    let Some(program) = &unit.line_program else {
        return Vec::new();
    };
    let header = program.header();
    let count = header.file_names().len() as u64 + 1;
    (0..count.min(1 << 20))
        .map(|i| file_name(unit, dwarf, header, i))
        .collect()
}

fn file_name(
    unit: &gimli::Unit<R>,
    dwarf: &gimli::Dwarf<R>,
    header: &LineProgramHeader<R>,
    index: u64,
) -> Option<SourceFile> {
    let text = |value| {
        let text = dwarf.attr_string(unit, value).ok()?;
        Some(String::from_utf8_lossy(text.slice()).into_owned())
    };
    let file = header.file(index)?;
    let mut name = text(file.path_name())?;
    let dir_index = file.directory_index();
    let dir = if dir_index == 0 {
        None
    } else {
        file.directory(header).and_then(text)
    };
    if let Some(dir) = dir.filter(|_| !name.starts_with('/')) {
        name = format!("{dir}/{name}");
    }
    let comp_dir = unit
        .comp_dir
        .map(|d| String::from_utf8_lossy(d.slice()).into_owned());
    // gdb names a file of a relative directory with it: `./nptl/pthread_create.c`.
    if let Some(dir) = comp_dir.as_ref().filter(|d| !d.starts_with('/'))
        && dir_index == 0
        && !name.starts_with('/')
    {
        name = format!("{dir}/{name}");
    }
    let path = match comp_dir.filter(|d| d.starts_with('/')) {
        Some(dir) if !name.starts_with('/') => format!("{dir}/{name}"),
        _ => name.clone(),
    };
    Some(SourceFile { name, path })
}

/// Where a row's file, line and address go, following gdb's `lnp_state_machine`.
struct Recorder {
    files: Vec<(Arc<SourceFile>, Vec<Item>)>,
    last_file: Option<usize>,
    last_line: u64,
    last_row_line: u64,
    discriminated: bool,
    last_address: Option<u64>,
    stmt_at_address: bool,
}

impl Recorder {
    fn row(&mut self, file: Option<usize>, row: &LineRow) {
        let end = row.end_sequence();
        let line = row.line().map_or(0, |l| l.get());
        let address = row.address();
        let discriminator = row.discriminator() != 0;
        if line == self.last_row_line {
            self.discriminated |= discriminator;
        } else {
            self.discriminated = discriminator;
        }
        self.last_row_line = line;
        if file.is_some() || end {
            let changed = self.last_file != file;
            let same_address = self.last_address == Some(address);
            let ignore = !end
                && ((changed && same_address && !row.is_stmt() && self.stmt_at_address)
                    || line == 0);
            if (changed && !ignore) || end {
                self.finish(address);
            }
            if !end && !ignore {
                if changed || line != self.last_line || !self.discriminated {
                    self.record(file, line as u32, row);
                }
                self.last_file = file;
                self.last_line = line;
            }
        }
        if self.last_address != Some(address) {
            self.stmt_at_address = false;
            self.last_address = Some(address);
        }
        self.stmt_at_address |= row.is_stmt();
        if end {
            self.last_file = None;
            self.last_line = 0;
            self.last_row_line = 0;
            self.discriminated = false;
            self.last_address = None;
            self.stmt_at_address = false;
        }
    }

    fn finish(&mut self, address: u64) {
        let Some(file) = self.last_file else { return };
        let items = &mut self.files[file].1;
        // Rows at the very end are empty.
        while items.last().is_some_and(|i| i.pc == address) {
            items.pop();
        }
        if items.last().is_some_and(|i| i.line != 0) {
            items.push(Item {
                pc: address,
                line: 0,
                is_stmt: true,
                ends_prologue: false,
            });
        }
    }

    fn record(&mut self, file: Option<usize>, line: u32, row: &LineRow) {
        if let Some(file) = file {
            self.files[file].1.push(Item {
                pc: row.address(),
                line,
                is_stmt: row.is_stmt(),
                ends_prologue: row.prologue_end(),
            });
        }
    }
}

/// Reads the line table of a unit.
pub(crate) fn read(unit: &Unit) -> UnitLines {
    let (dwarf, line_unit) = unit.line_unit();
    let Some(program) = line_unit.line_program.clone() else {
        return UnitLines::empty();
    };
    let names = file_names(line_unit, dwarf);
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut files: Vec<(Arc<SourceFile>, Vec<Item>)> = Vec::new();
    let mut by_index = Vec::new();
    for name in names {
        by_index.push(name.map(|name| {
            *places.entry(name.path.clone()).or_insert_with(|| {
                files.push((Arc::new(name), Vec::new()));
                files.len() - 1
            })
        }));
    }
    let mut recorder = Recorder {
        files,
        last_file: None,
        last_line: 0,
        last_row_line: 0,
        discriminated: false,
        last_address: None,
        stmt_at_address: false,
    };
    let mut rows = program.rows();
    let mut count = 0;
    let mut skip = false;
    let mut at_start = true;
    while let Ok(Some((_, row))) = rows.next_row() {
        count += 1;
        if count > MAX_ROWS {
            break;
        }
        // Sequences of discarded functions start at 0.
        if at_start {
            skip = row.address() <= 1;
        }
        at_start = row.end_sequence();
        if skip {
            continue;
        }
        let file = usize::try_from(row.file_index()).ok();
        let file = file.and_then(|f| by_index.get(f).copied().flatten());
        recorder.row(file, row);
    }
    let mut files = recorder.files;
    for (_, items) in &mut files {
        items.sort_by_key(|i| (i.pc, i.line != 0));
        items.shrink_to_fit();
    }
    UnitLines { files }
}

/// Whether a file is meant by what the user wrote: the whole path, or its last parts.
pub(crate) fn file_matches(file: &SourceFile, wanted: &str) -> bool {
    let wanted = wanted.strip_prefix("./").unwrap_or(wanted);
    [&file.path, &file.name].into_iter().any(|name| {
        let head = name.strip_suffix(wanted);
        head.is_some_and(|h| h.is_empty() || h.ends_with('/'))
    })
}

impl Unit {
    /// The unit's line table, read when first wanted.
    pub fn lines(&self) -> &Arc<UnitLines> {
        self.lines.get_or_init(|| Arc::new(read(self)))
    }
}
