//! The loaded objects of the program: executable, libraries, loader, vDSO.
//!
//! The dynamic loader keeps a list (`r_debug`, `link_map`) and calls an empty
//! function whenever it changes; a trap there tells about dlopen and dlclose.

use crate::calls::Causes;
use crate::{Addr, Cause, On, Owner, Process, Result, Trap, TrapId};
use object::elf::{DT_DEBUG, DT_NULL, ELFMAG, PT_DYNAMIC, PT_LOAD, PT_PHDR};
use object::{Object, ObjectSymbol};
use std::path::PathBuf;
use verde_sys::procfs::{self, Auxv, Mapping};

const PAGE: u64 = 4096;

/// What part a module plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModuleKind {
    /// The program itself.
    Main,
    /// A shared library, the loader included.
    Library,
    /// The kernel's code in the process; it has no file.
    Vdso,
}

/// A loaded object.
#[derive(Clone, Debug)]
pub struct Module {
    /// The file.
    pub path: PathBuf,
    /// What to add to an address of the file to get one of the process.
    pub bias: u64,
    /// First mapped byte.
    pub start: Addr,
    /// One past the last mapped byte.
    pub end: Addr,
    /// Its part.
    pub kind: ModuleKind,
    /// The loader's record of it (`link_map`).
    pub record: Option<Addr>,
}

/// The same object, whether or not the loader has made its record yet.
impl PartialEq for Module {
    fn eq(&self, other: &Module) -> bool {
        let key = |m: &Module| (m.bias, m.start, m.end, m.kind);
        key(self) == key(other) && self.path == other.path
    }
}

impl Eq for Module {}

#[derive(Clone, Debug, Default)]
pub(crate) struct Modules {
    list: Vec<Module>,
    /// The program's first instruction.
    pub(crate) entry: Option<Addr>,
    executable: Option<PathBuf>,
    /// Where the loader's `r_debug` is.
    debug: Option<Addr>,
    /// The trap on the loader's function.
    pub(crate) trap: Option<TrapId>,
    /// Where that is.
    pub(crate) notify: Option<Addr>,
}

impl Process {
    /// The loaded objects, as of the last stop of the loader.
    pub fn modules(&self) -> &[Module] {
        &self.modules.list
    }

    /// The loaded object that holds an address.
    pub fn module_at(&self, at: Addr) -> Option<&Module> {
        let mut list = self.modules.list.iter();
        list.find(|m| m.start <= at && at < m.end)
    }

    /// Finds the modules and plants the loader's trap.
    pub(crate) fn watch_loader(&mut self) -> Result<()> {
        let auxv = procfs::auxv(self.pid)?;
        self.modules.entry = auxv.entry();
        self.modules.executable = procfs::executable(self.pid).ok();
        let maps = self.memory.maps()?;
        self.modules.list = initial(self, &auxv, &maps);
        if let Some(base) = auxv.loader() {
            let (debug, notify) = self.loader_symbols(base, &maps);
            self.modules.debug = debug.or_else(|| self.dynamic_debug(&auxv));
            self.modules.notify = notify;
            if let Some(at) = notify {
                let trap = Trap::new(On::Exec(at), Owner::Loader);
                self.modules.trap = Some(self.insert(trap)?);
            }
        }
        // On attach the list is complete already.
        self.read_link_map(&maps);
        Ok(())
    }

    /// `_r_debug` and `_dl_debug_state` of the loader mapped at `base`.
    fn loader_symbols(&self, base: Addr, maps: &[Mapping]) -> (Option<Addr>, Option<Addr>) {
        let Some(map) = maps.iter().find(|m| m.contains(base)) else {
            return (None, None);
        };
        let Ok(data) = std::fs::read(&map.name) else {
            return (None, None);
        };
        let Ok(file) = object::File::parse(&*data) else {
            return (None, None);
        };
        let find = |name: &str| {
            let symbols = file.dynamic_symbols().chain(file.symbols());
            let mut found = symbols.filter(|s| s.is_definition() && s.name() == Ok(name));
            found.next().map(|s| base + s.address())
        };
        (find("_r_debug"), find("_dl_debug_state"))
    }

    /// The program's DT_DEBUG entry, which the loader fills in.
    fn dynamic_debug(&self, auxv: &Auxv) -> Option<Addr> {
        let (bias, dynamic) = self.main_headers(auxv)?;
        let mut at = dynamic? + bias;
        for _ in 0..1024 {
            match self.read_u64(at).ok()? as i64 {
                tag if tag == DT_NULL.0 => return None,
                tag if tag == DT_DEBUG.0 => {
                    let value = self.read_u64(at + 8).ok()?;
                    return (value != 0).then_some(Addr(value));
                }
                _ => at = at + 16,
            }
        }
        None
    }

    /// Bias of the main program and the file address of its dynamic section.
    fn main_headers(&self, auxv: &Auxv) -> Option<(u64, Option<Addr>)> {
        let (headers, count) = auxv.program_headers()?;
        let mut bias = None;
        let mut dynamic = None;
        for i in 0..count.min(1024) {
            let header = headers + i * 56;
            let kind = self.read_u64(header).ok()? as u32;
            let address = self.read_u64(header + 16).ok()?;
            if kind == PT_PHDR.0 {
                bias = Some(headers.0.wrapping_sub(address));
            } else if kind == PT_DYNAMIC.0 {
                dynamic = Some(Addr(address));
            }
        }
        // One without a loader may tell nothing of its headers.
        let bias = bias.or_else(|| self.bias_by_entry(headers, auxv.entry()?));
        Some((bias.unwrap_or(0), dynamic))
    }

    /// What the entry point differs by from what the file says, by the copy of
    /// the file's header before its program headers.
    fn bias_by_entry(&self, headers: Addr, entry: Addr) -> Option<u64> {
        const LENGTH: u64 = 64;
        let header = Addr(headers.0.checked_sub(LENGTH)?);
        let mut magic = [0; 4];
        self.read(header, &mut magic).ok()?;
        let in_file = self.read_u64(header + 24).ok()?;
        (magic == ELFMAG).then(|| entry.0.wrapping_sub(in_file))
    }

    /// The loader stopped at its notification: what has changed?
    pub(crate) fn loader_hit(&mut self, causes: &mut Causes) -> Result<()> {
        let Some(id) = self.modules.trap else {
            return Ok(());
        };
        let Some(i) = causes.iter().position(|c| *c == Cause::Trap { id }) else {
            return Ok(());
        };
        causes.remove(i);
        self.read_changes(causes)
    }

    #[cold]
    fn read_changes(&mut self, causes: &mut Causes) -> Result<()> {
        let Some(debug) = self.modules.debug else {
            return Ok(());
        };
        // RT_CONSISTENT is 0; while it adds or deletes the list is in pieces.
        if self.read_u64(debug + 24)? as u32 != 0 {
            return Ok(());
        }
        let before = self.modules.list.clone();
        let maps = self.memory.maps()?;
        if !self.read_link_map(&maps) {
            return Ok(());
        }
        let now = &self.modules.list;
        let gone: Vec<Module> = before
            .iter()
            .filter(|m| !now.contains(m))
            .cloned()
            .collect();
        let loaded = now.iter().any(|m| !before.contains(m));
        if !gone.is_empty() {
            for module in &gone {
                self.drop_code(module.start, module.end)?;
            }
            causes.push(Cause::Unloaded);
        }
        if loaded {
            causes.push(Cause::Loaded);
        }
        if self.options.quiet_libraries {
            causes.retain(|c| !matches!(c, Cause::Loaded | Cause::Unloaded));
        }
        Ok(())
    }

    /// Traps in unmapped code are gone; writing their bytes back would change
    /// whatever is mapped there next.
    fn drop_code(&mut self, from: Addr, to: Addr) -> Result<()> {
        for site in self.sites.drop_range(from, to) {
            for id in site.exec.iter().chain(&site.entry) {
                self.traps.discard(*id);
            }
            if let Some(slot) = site.slot {
                self.slots.vacate(slot);
            }
        }
        for list in self.return_sites.values_mut() {
            list.retain(|at| *at < from || *at >= to);
        }
        self.drop_calls(from, to)
    }

    /// Reads the loader's list. `false`: there is none yet.
    fn read_link_map(&mut self, maps: &[Mapping]) -> bool {
        let Some(debug) = self.modules.debug else {
            return false;
        };
        let mut list = Vec::new();
        let mut next_debug = debug;
        // One list for each namespace (dlmopen), chained from version 2 on.
        for _ in 0..64 {
            let Ok(version) = self.read_u64(next_debug) else {
                break;
            };
            let mut entry = self.read_u64(next_debug + 8).unwrap_or(0);
            for _ in 0..100_000 {
                if entry == 0 {
                    break;
                }
                match self.link_map_entry(Addr(entry), maps) {
                    Some((module, next)) => {
                        list.extend(module.filter(|m| !list.contains(m)));
                        entry = next;
                    }
                    None => break,
                }
            }
            match self.read_u64(next_debug + 40) {
                Ok(next) if version as u32 >= 2 && next != 0 => next_debug = Addr(next),
                _ => break,
            }
        }
        if list.is_empty() {
            return false;
        }
        self.modules.list = list;
        true
    }

    fn link_map_entry(&self, at: Addr, maps: &[Mapping]) -> Option<(Option<Module>, u64)> {
        let bias = self.read_u64(at).ok()?;
        let dynamic = Addr(self.read_u64(at + 16).ok()?);
        let next = self.read_u64(at + 24).ok()?;
        let module = maps.iter().position(|m| m.contains(dynamic)).map(|i| {
            let (start, end) = self.extent(maps, i, bias);
            let path = PathBuf::from(&maps[i].name);
            let main = self.modules.executable.as_ref() == Some(&path);
            let kind = match maps[i].name.as_str() {
                "[vdso]" => ModuleKind::Vdso,
                _ if main => ModuleKind::Main,
                _ => ModuleKind::Library,
            };
            Module {
                path,
                bias,
                start,
                end,
                kind,
                record: Some(at),
            }
        });
        Some((module, next))
    }

    /// All that a file has in memory, of which the i-th mapping is a part. The kernel leaves gaps between
    /// the segments of a program, so its headers are asked.
    fn extent(&self, maps: &[Mapping], i: usize, bias: u64) -> (Addr, Addr) {
        let headers = maps[..=i].iter().rev();
        let mut headers = headers.filter(|m| m.name == maps[i].name && m.offset == 0);
        let extent = headers.next().and_then(|m| self.segments(m.start, bias));
        extent
            .filter(|(start, end)| *start <= maps[i].start && maps[i].start < *end)
            .unwrap_or_else(|| run_of(maps, i))
    }

    /// Where the segments begin and end of the file whose header is at an address.
    fn segments(&self, header: Addr, bias: u64) -> Option<(Addr, Addr)> {
        // The table follows the header, as a rule within the page.
        let mut page = [0; PAGE as usize];
        self.read(header, &mut page).ok()?;
        let (offset, count) = table_of_segments(&page)?;
        let size = count * SEGMENT;
        let within = usize::try_from(offset)
            .ok()
            .and_then(|o| page.get(o..)?.get(..size));
        let (low, high) = match within {
            Some(table) => loaded_range(table)?,
            None => {
                let mut table = vec![0; size];
                self.read(header + offset, &mut table).ok()?;
                loaded_range(&table)?
            }
        };
        let at = |address: u64| Addr(bias.wrapping_add(address));
        Some((at(low), at(high)))
    }
}

/// Bytes of an entry of the table of segments.
const SEGMENT: usize = 56;

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u64::from_le_bytes(*bytes))
}

/// Where the table of segments is in a file, by its header, and how many there are.
fn table_of_segments(header: &[u8]) -> Option<(u64, usize)> {
    if !header.starts_with(&ELFMAG) {
        return None;
    }
    let count = word(header, 56)? & 0xffff;
    Some((word(header, 32)?, count.min(1024) as usize))
}

/// The pages that the loaded segments of a table take.
fn loaded_range(table: &[u8]) -> Option<(u64, u64)> {
    let (mut low, mut high) = (u64::MAX, 0);
    for segment in table.chunks_exact(SEGMENT) {
        if word(segment, 0)? as u32 == PT_LOAD.0 {
            let (address, size) = (word(segment, 16)?, word(segment, 40)?);
            low = low.min(address);
            high = high.max(address.checked_add(size)?);
        }
    }
    let high = high.checked_next_multiple_of(PAGE)?;
    (low < high).then_some((low - low % PAGE, high))
}

/// The mappings of one file around the i-th.
fn run_of(maps: &[Mapping], i: usize) -> (Addr, Addr) {
    // .bss has no name and follows directly.
    let same = |a: &Mapping, b: &Mapping| a.end == b.start && a.name == b.name;
    let mut first = i;
    while first > 0 && same(&maps[first - 1], &maps[first]) {
        first -= 1;
    }
    let mut last = i;
    while last + 1 < maps.len() && same(&maps[last], &maps[last + 1]) {
        last += 1;
    }
    (maps[first].start, maps[last].end)
}

/// What is there before the loader has run.
fn initial(process: &Process, auxv: &Auxv, maps: &[Mapping]) -> Vec<Module> {
    let mut list = Vec::new();
    let mut add = |at: Addr, bias: u64, kind: ModuleKind| {
        if let Some(i) = maps.iter().position(|m| m.contains(at)) {
            let (start, end) = process.extent(maps, i, bias);
            list.push(Module {
                path: PathBuf::from(&maps[i].name),
                bias,
                start,
                end,
                kind,
                record: None,
            });
        }
    };
    if let Some((headers, _)) = auxv.program_headers()
        && let Some((bias, _)) = process.main_headers(auxv)
    {
        add(headers, bias, ModuleKind::Main);
    }
    if let Some(base) = auxv.loader() {
        add(base, base.0, ModuleKind::Library);
    }
    if let Some(vdso) = auxv.vdso() {
        add(vdso, vdso.0, ModuleKind::Vdso);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(kind: u32, address: u64, size: u64) -> [u8; SEGMENT] {
        let mut bytes = [0; SEGMENT];
        bytes[..4].copy_from_slice(&kind.to_le_bytes());
        bytes[16..24].copy_from_slice(&address.to_le_bytes());
        bytes[40..48].copy_from_slice(&size.to_le_bytes());
        bytes
    }

    #[test]
    fn the_pages_of_a_files_segments() {
        let note = segment(4, 0x9000, 0x9000);
        let table = [segment(1, 0x1010, 0x10), note, segment(1, 0x3ff0, 0x20)].concat();
        assert_eq!(loaded_range(&table), Some((0x1000, 0x5000)));
        assert_eq!(loaded_range(&note), None, "nothing is loaded");
        let wraps = segment(1, u64::MAX, 2);
        assert_eq!(loaded_range(&wraps), None);
    }

    #[test]
    fn the_table_of_a_header() {
        let mut header = [0; 64];
        assert_eq!(table_of_segments(&header), None);
        header[..4].copy_from_slice(&ELFMAG);
        header[32] = 64;
        header[56] = 3;
        header[58] = 9;
        assert_eq!(table_of_segments(&header), Some((64, 3)));
        assert_eq!(table_of_segments(&header[..40]), None, "it is cut");
    }
}
