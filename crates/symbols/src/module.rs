//! One file of the program with everything it says about itself.

use crate::addr::FileAddr;
use crate::cfi::UnwindTables;
use crate::debug_files;
use crate::elf::{Elf, Kind, Segment, Symbol, TlsImage};
use crate::error::Error;
use crate::units::{DieId, Info, Unit};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// An executable or shared library. Opening maps the file and reads its headers; everything else is
/// read when something asks for it, and kept.
pub struct Module {
    pub(crate) elf: Arc<Elf>,
    dirs: Vec<PathBuf>,
    debug_elf: OnceLock<Option<Arc<Elf>>>,
    info: OnceLock<Option<Arc<Info>>>,
    unit_ranges: OnceLock<Vec<UnitRange>>,
    by_address: OnceLock<Vec<Symbol>>,
    linked: OnceLock<HashMap<&'static str, FileAddr>>,
    pub(crate) unwind: OnceLock<UnwindTables>,
}

#[derive(Clone, Copy)]
struct UnitRange {
    begin: u64,
    end: u64,
    /// Largest end of this and all before: where a search backwards may stop.
    reach: u64,
    unit: u32,
}

/// An ELF file for this machine that ends with its header.
static NOTHING: [u8; 64] = {
    let mut header = [0; 64];
    let start = [0x7f, b'E', b'L', b'F', 2, 1, 1];
    let mut i = 0;
    while i < start.len() {
        header[i] = start[i];
        i += 1;
    }
    // The type of a program, the machine, the versions and sizes.
    header[16] = 2;
    header[18] = 62;
    header[20] = 1;
    header[52] = 64;
    header
};

impl Module {
    /// Opens a file, with separate debug files under `/usr/lib/debug`.
    pub fn open(path: impl AsRef<Path>) -> Result<Arc<Module>, Error> {
        Module::open_with(path, debug_files::default_debug_dirs())
    }

    /// Opens a file, with separate debug files under the directories given.
    pub fn open_with(path: impl AsRef<Path>, dirs: Vec<PathBuf>) -> Result<Arc<Module>, Error> {
        Ok(Module::new(Elf::open(path.as_ref())?, dirs))
    }

    /// The module of a file that is not there, or cannot be read: it has nothing.
    pub fn missing(path: PathBuf) -> Result<Arc<Module>, Error> {
        Ok(Module::new(Elf::parse(path, &NOTHING)?, Vec::new()))
    }

    /// A module from bytes that are in no file (the vDSO, read from the program's memory).
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Arc<Module>, Error> {
        let elf = Elf::parse(PathBuf::from(name), bytes.leak())?;
        Ok(Module::new(elf, Vec::new()))
    }

    fn new(elf: Elf, dirs: Vec<PathBuf>) -> Arc<Module> {
        Arc::new(Module {
            elf: Arc::new(elf),
            dirs,
            debug_elf: OnceLock::new(),
            info: OnceLock::new(),
            unit_ranges: OnceLock::new(),
            by_address: OnceLock::new(),
            linked: OnceLock::new(),
            unwind: OnceLock::new(),
        })
    }

    /// The file's path as it was given.
    pub fn path(&self) -> &Path {
        &self.elf.path
    }

    /// How the file is loaded.
    pub fn kind(&self) -> Kind {
        self.elf.kind()
    }

    /// The program's first instruction.
    pub fn entry(&self) -> FileAddr {
        self.elf.entry()
    }

    /// The dynamic linker the file asks for.
    pub fn interpreter(&self) -> Option<PathBuf> {
        self.elf.interpreter()
    }

    /// What is loaded.
    pub fn segments(&self) -> Vec<Segment> {
        self.elf.segments()
    }

    /// The initial image of its thread-local storage.
    pub fn tls(&self) -> Option<TlsImage> {
        self.elf.tls()
    }

    /// The build's identity.
    pub fn build_id(&self) -> Option<&[u8]> {
        self.elf.build_id()
    }

    /// Address and size of a section.
    pub fn section(&self, name: &str) -> Option<(FileAddr, u64)> {
        self.elf.section_range(name)
    }

    /// The name of the loaded section around an address.
    pub fn section_at(&self, addr: FileAddr) -> Option<String> {
        self.elf.section_at(addr)
    }

    /// Whether the dynamic linker knows a name by this file, which offers it or takes it from
    /// another.
    pub fn links_by(&self, name: &str) -> bool {
        use object::{Object, ObjectSymbol};
        let mut symbols = self.elf.file.dynamic_symbols();
        !name.is_empty() && symbols.any(|s| s.name() == Ok(name))
    }

    /// Up to `len` bytes of the file's image at an address.
    pub fn bytes_at(&self, addr: FileAddr, len: usize) -> Option<&'static [u8]> {
        self.elf.bytes_at(addr, len)
    }

    /// Whether there is DWARF for this file, in it or elsewhere.
    pub fn has_debug_info(&self) -> bool {
        self.info().is_some()
    }

    /// The file the debug information comes from.
    pub fn debug_file(&self) -> Option<&Path> {
        self.info().map(|i| i.elf.path.as_path())
    }

    pub(crate) fn debug_elf(&self) -> Option<&Arc<Elf>> {
        let find = || {
            if debug_files::has_debug_info(&self.elf) {
                return Some(self.elf.clone());
            }
            debug_files::find(&self.elf, &self.dirs).map(Arc::new)
        };
        self.debug_elf.get_or_init(find).as_ref()
    }

    pub(crate) fn info(&self) -> Option<&Arc<Info>> {
        let load = || {
            let elf = self.debug_elf()?.clone();
            Some(Arc::new(Info::load(elf, &self.dirs)))
        };
        self.info.get_or_init(load).as_ref()
    }

    /// Symbols of the linker: of the debug file when that has more.
    pub fn symbols(&self) -> &[Symbol] {
        let own = self.elf.symbols();
        match self.debug_elf() {
            Some(debug) if !Arc::ptr_eq(debug, &self.elf) && debug.symbols().len() > own.len() => {
                debug.symbols()
            }
            _ => own,
        }
    }

    fn by_address(&self) -> &[Symbol] {
        self.by_address.get_or_init(|| {
            let mut all: Vec<Symbol> = self.symbols().to_vec();
            all.retain(|s| !s.is_tls);
            // At one address: sized before unsized, global before local, as gdb prefers them.
            all.sort_by_key(|s| (s.addr, s.size != 0, s.is_global, std::cmp::Reverse(s.name)));
            all
        })
    }

    /// All names of an address.
    pub(crate) fn symbols_at(&self, addr: FileAddr) -> &[Symbol] {
        let sorted = self.by_address();
        let begin = sorted.partition_point(|s| s.addr < addr);
        let end = sorted.partition_point(|s| s.addr <= addr);
        &sorted[begin..end]
    }

    /// The function that the linker knows by a name, unless it is chosen when the program runs.
    pub(crate) fn linked(&self, name: &str) -> Option<FileAddr> {
        let linked = self.linked.get_or_init(|| {
            let functions = self.symbols().iter().filter(|s| s.is_code && !s.is_ifunc);
            let mut out = HashMap::new();
            for symbol in functions {
                if symbol.is_global || !out.contains_key(symbol.name) {
                    out.insert(symbol.name, symbol.addr);
                }
            }
            out
        });
        linked.get(name).copied()
    }

    /// The symbol an address is in, with how far into it: what `<main+4>` says.
    pub fn symbol_at(&self, addr: FileAddr) -> Option<(Symbol, u64)> {
        let sorted = self.by_address();
        let end = sorted.partition_point(|s| s.addr <= addr);
        let candidates = sorted[..end].iter().rev().take(256);
        let mut nearest = None;
        for symbol in candidates {
            let into = addr.0 - symbol.addr.0;
            if into < symbol.size {
                return Some((*symbol, into));
            }
            if symbol.size == 0 && nearest.is_none() {
                nearest = Some((*symbol, into));
            }
            // Past a sized symbol that does not contain the address: it belongs to an unsized one
            // in between, or to nobody.
            if symbol.size != 0 {
                break;
            }
        }
        nearest.filter(|(s, _)| self.same_section(s.addr, addr))
    }

    /// Where the code of a symbol without a size ends: where the next one begins, or its section
    /// ends.
    pub(crate) fn end_of_unsized(&self, begin: FileAddr) -> FileAddr {
        use object::{Object, ObjectSection};
        let mut sections = self.elf.file.sections();
        let around = sections.find(|s| {
            let into = begin.0.checked_sub(s.address());
            s.address() != 0 && into.is_some_and(|into| into < s.size())
        });
        let end = around.map_or(begin.plus(1), |s| {
            FileAddr(s.address().wrapping_add(s.size()))
        });
        let sorted = self.by_address();
        let next = sorted.get(sorted.partition_point(|s| s.addr <= begin));
        next.map_or(end, |s| s.addr.min(end))
    }

    fn same_section(&self, a: FileAddr, b: FileAddr) -> bool {
        use object::{Object, ObjectSection};
        let inside = |addr: u64, s: &object::read::elf::ElfSection64<_, _>| {
            s.address() != 0 && addr >= s.address() && addr - s.address() < s.size()
        };
        let mut sections = self.elf.file.sections();
        sections.any(|s| inside(a.0, &s) && inside(b.0, &s))
    }

    /// Whether an address is in a stub that jumps to another module's function.
    pub fn is_plt(&self, addr: FileAddr) -> bool {
        let sections = [".plt", ".plt.sec", ".plt.got", ".iplt"];
        sections.into_iter().any(|name| {
            let range = self.elf.section_range(name);
            range.is_some_and(|(start, size)| addr >= start && addr.0 - start.0 < size)
        })
    }

    /// The unit whose code contains an address.
    pub(crate) fn unit_at(&self, addr: FileAddr) -> Option<Arc<Unit>> {
        let info = self.info()?;
        let ranges = self.unit_ranges.get_or_init(|| unit_ranges(info));
        let end = ranges.partition_point(|r| r.begin <= addr.0);
        for range in ranges[..end].iter().rev() {
            if range.reach <= addr.0 {
                break;
            }
            if addr.0 < range.end {
                return info.unit(range.unit);
            }
        }
        None
    }

    pub(crate) fn unit_of(&self, id: DieId) -> Option<Arc<Unit>> {
        self.info()?.unit(id.unit)
    }
}

/// Which unit each address belongs to: from `.debug_aranges` where a unit is listed there, else from
/// the unit's own ranges.
fn unit_ranges(info: &Arc<Info>) -> Vec<UnitRange> {
    let count = info.unit_count();
    let mut starts = HashMap::new();
    for unit in 0..count {
        if let Some((dwarf, header)) = info.header(unit)
            && dwarf.file_type == gimli::DwarfFileType::Main
            && let Some(offset) = header.debug_info_offset()
        {
            starts.entry(offset.0).or_insert(unit);
        }
    }
    let mut out = Vec::new();
    let mut listed = vec![false; count as usize];
    if let Some((dwarf, _)) = info.header(0) {
        let mut headers = dwarf.debug_aranges.headers();
        while let Ok(Some(header)) = headers.next() {
            let Some(&unit) = starts.get(&header.debug_info_offset().0) else {
                continue;
            };
            let mut entries = header.entries();
            while let Ok(Some(entry)) = entries.next() {
                let range = entry.range();
                if range.begin > 1 && range.begin < range.end {
                    listed[unit as usize] = true;
                    out.push((range.begin, range.end, unit));
                }
            }
        }
    }
    for unit in (0..count).filter(|u| !listed[*u as usize]) {
        let Some((dwarf, header)) = info.header(unit) else {
            continue;
        };
        if matches!(header.type_(), gimli::UnitType::Type { .. }) {
            continue;
        }
        out.extend(own_ranges(info, unit, &dwarf, header));
    }
    out.sort_unstable();
    let mut reach = 0;
    out.into_iter()
        .map(|(begin, end, unit)| {
            reach = reach.max(end);
            UnitRange {
                begin,
                end,
                reach,
                unit,
            }
        })
        .collect()
}

/// Ranges of a unit without keeping it loaded.
fn own_ranges(
    info: &Arc<Info>,
    index: u32,
    dwarf: &crate::units::Dwarf,
    header: gimli::UnitHeader<crate::units::R>,
) -> Vec<(u64, u64, u32)> {
    let mut out = Vec::new();
    let Ok(unit) = dwarf.unit(header) else {
        return out;
    };
    if let Ok(mut ranges) = dwarf.unit_ranges(&unit) {
        while let Ok(Some(range)) = ranges.next() {
            if range.begin > 1 && range.begin < range.end && out.len() < 1 << 20 {
                out.push((range.begin, range.end, index));
            }
        }
    }
    if out.is_empty() && matches!(unit.dwo_name(), Ok(Some(_))) {
        let split = info.unit(index).map(|u| u.unit_ranges());
        out.extend(split.into_iter().flatten().map(|(b, e)| (b, e, index)));
    }
    out
}
