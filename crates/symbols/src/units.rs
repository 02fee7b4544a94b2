//! The units of a file's debug information, loaded one by one when something asks for them.

use crate::debug_files;
use crate::elf::Elf;
use crate::far_inlined::FarInlined;
use crate::index::Index;
use crate::lines::{SourceFile, UnitLines};
use crate::scan::{Link, Scope, Walker};
use crate::tail_calls::Site;
use crate::types::Node;
use gimli::{DwarfFileType, DwarfPackage, EndianSlice, LittleEndian, UnitHeader};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, RwLock};

pub(crate) type R = EndianSlice<'static, LittleEndian>;
pub(crate) type Dwarf = gimli::Dwarf<R>;
pub(crate) type Entry = gimli::DebuggingInformationEntry<R>;
pub(crate) type Value = gimli::AttributeValue<R>;

/// One debugging information entry of a module, as a plain number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DieId {
    pub(crate) unit: u32,
    pub(crate) offset: u32,
}

/// Of the list that goes on after DWARF 5.
const DW_LANG_ASSEMBLY: gimli::DwLang = gimli::DwLang(0x31);

/// The source language of a unit, as far as naming and printing care.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Language {
    /// C, and every language without rules of its own here.
    #[default]
    C,
    /// C++.
    Cpp,
    /// Rust.
    Rust,
    /// Assembly.
    Asm,
}

impl Language {
    fn of(lang: Option<gimli::DwLang>) -> Language {
        use gimli::constants as dw;
        match lang {
            Some(
                dw::DW_LANG_C_plus_plus
                | dw::DW_LANG_C_plus_plus_03
                | dw::DW_LANG_C_plus_plus_11
                | dw::DW_LANG_C_plus_plus_14
                | dw::DW_LANG_C_plus_plus_17
                | dw::DW_LANG_C_plus_plus_20,
            ) => Language::Cpp,
            Some(dw::DW_LANG_Rust) => Language::Rust,
            Some(dw::DW_LANG_Mips_Assembler | DW_LANG_ASSEMBLY) => Language::Asm,
            _ => Language::C,
        }
    }
}

/// A function's code in its unit: address ranges to the DIE, innermost last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodeRange {
    pub begin: u64,
    pub end: u64,
    pub die: u32,
}

/// A loaded unit.
pub(crate) struct Unit {
    pub index: u32,
    pub dwarf: Arc<Dwarf>,
    pub unit: gimli::Unit<R>,
    /// The skeleton in the program's own file, for a split unit: lines and ranges are there.
    pub skeleton: Option<(Arc<Dwarf>, gimli::Unit<R>)>,
    pub language: Language,
    pub producer: Option<&'static str>,
    pub(crate) functions: OnceLock<Vec<CodeRange>>,
    pub(crate) scopes: OnceLock<Vec<Scope>>,
    pub(crate) has_lists: OnceLock<bool>,
    pub(crate) walker: OnceLock<Option<Walker>>,
    pub(crate) files: OnceLock<Vec<Option<Arc<SourceFile>>>>,
    pub(crate) lines: OnceLock<Arc<UnitLines>>,
    pub(crate) bodies: OnceLock<HashMap<DieId, Vec<u32>>>,
}

impl Unit {
    /// The DIE at an offset of this unit.
    pub fn entry(&self, offset: u32) -> Option<Entry> {
        self.unit.entry(gimli::UnitOffset(offset as usize)).ok()
    }

    pub fn string(&self, value: Option<Value>) -> Option<&'static str> {
        let text = self.dwarf.attr_string(&self.unit, value?).ok()?;
        std::str::from_utf8(text.slice()).ok()
    }

    pub fn address(&self, value: Option<Value>) -> Option<u64> {
        self.dwarf.attr_address(&self.unit, value?).ok()?
    }

    /// The unit and file that carry the line program.
    pub fn line_unit(&self) -> (&Arc<Dwarf>, &gimli::Unit<R>) {
        match &self.skeleton {
            Some((dwarf, unit)) => (dwarf, unit),
            None => (&self.dwarf, &self.unit),
        }
    }

    /// Address ranges of a DIE, without those the linker discarded.
    pub fn ranges(&self, entry: &Entry) -> Vec<(u64, u64)> {
        let mut out = Vec::new();
        if let Ok(mut ranges) = self.dwarf.die_ranges(&self.unit, entry) {
            while let Ok(Some(range)) = ranges.next() {
                // Code that --gc-sections dropped keeps a range that starts at 0 or 1.
                if range.begin < range.end && range.begin > 1 && out.len() < 1 << 16 {
                    out.push((range.begin, range.end));
                }
            }
        }
        out
    }

    /// Address ranges of the whole unit.
    pub fn unit_ranges(&self) -> Vec<(u64, u64)> {
        let (dwarf, unit) = self.line_unit();
        let mut out = Vec::new();
        if let Ok(mut ranges) = dwarf.unit_ranges(unit) {
            while let Ok(Some(range)) = ranges.next() {
                if range.begin < range.end && range.begin > 1 && out.len() < 1 << 20 {
                    out.push((range.begin, range.end));
                }
            }
        }
        if out.is_empty()
            && self.skeleton.is_some()
            && let Some(root) = self.entry(self.unit.header.root_offset().0 as u32)
        {
            out = self.ranges(&root);
        }
        out
    }

    /// The named scopes of the unit.
    pub fn scopes(&self) -> &[Scope] {
        self.scopes.get_or_init(|| {
            let walker = self.walker();
            walker.map(|w| w.walk(|_| {})).unwrap_or_default()
        })
    }

    /// Reads the DIEs as they lie in the file.
    pub fn walker(&self) -> Option<&Walker> {
        let walker = self
            .walker
            .get_or_init(|| Walker::new(&self.dwarf, &self.unit.header, None));
        walker.as_ref()
    }
}

/// A unit before it is loaded.
struct Slot {
    dwarf: Arc<Dwarf>,
    header: UnitHeader<R>,
    unit: OnceLock<Option<Arc<Unit>>>,
}

/// The debug information of one module.
pub(crate) struct Info {
    pub elf: Arc<Elf>,
    slots: RwLock<Vec<Arc<Slot>>>,
    /// Section offsets of the units of `.debug_info`, ascending; their slots come first.
    main: Vec<usize>,
    /// The same for the supplementary file, whose slots follow.
    alternate: Vec<usize>,
    /// Slots of type units by signature.
    signatures: OnceLock<HashMap<u64, u32>>,
    package: OnceLock<Option<DwarfPackage<R>>>,
    split_types: Mutex<HashMap<(usize, u64), Option<u32>>>,
    index: OnceLock<Index>,
    far_inlined: OnceLock<FarInlined>,
    pub(crate) types: Mutex<HashMap<DieId, Arc<Node>>>,
    /// The calls of functions that somebody asked about.
    pub(crate) sites: Mutex<HashMap<DieId, Arc<Vec<Site>>>>,
    /// Whether such a function can take its own place.
    pub(crate) repeating: Mutex<HashMap<DieId, bool>>,
    /// Functions with variables that only their callers know.
    pub(crate) asking: Mutex<HashMap<DieId, bool>>,
}

fn load_dwarf(elf: &Elf) -> Dwarf {
    let load = |id: gimli::SectionId| -> Result<R, std::convert::Infallible> {
        Ok(EndianSlice::new(elf.section(id.name()), LittleEndian))
    };
    match Dwarf::load(load) {
        Ok(dwarf) => dwarf,
    }
}

fn load_split(elf: &Elf, parent: &Dwarf) -> Dwarf {
    let load = |id: gimli::SectionId| -> Result<R, std::convert::Infallible> {
        let name = id.dwo_name().unwrap_or("");
        Ok(EndianSlice::new(elf.section(name), LittleEndian))
    };
    match Dwarf::load(load) {
        Ok(mut dwarf) => {
            dwarf.make_dwo(parent);
            dwarf
        }
    }
}

impl Info {
    pub fn load(elf: Arc<Elf>, dirs: &[PathBuf]) -> Info {
        let mut dwarf = load_dwarf(&elf);
        let alternate = debug_files::find_alternate(&elf, dirs);
        let mut slots = Vec::new();
        let mut main = Vec::new();
        let mut other = Vec::new();
        if let Some(sup) = &alternate {
            dwarf.set_sup(load_dwarf(sup));
        }
        let dwarf = Arc::new(dwarf);
        add_units(&dwarf, &mut slots, &mut main);
        if let Some(sup) = alternate {
            add_units(&Arc::new(load_dwarf(&sup)), &mut slots, &mut other);
        }
        let mut types = dwarf.type_units();
        while let Ok(Some(header)) = types.next() {
            slots.push(Slot::new(&dwarf, header));
        }
        Info {
            elf,
            slots: RwLock::new(slots),
            main,
            alternate: other,
            signatures: OnceLock::new(),
            package: OnceLock::new(),
            split_types: Mutex::default(),
            index: OnceLock::new(),
            far_inlined: OnceLock::new(),
            types: Mutex::default(),
            sites: Mutex::default(),
            repeating: Mutex::default(),
            asking: Mutex::default(),
        }
    }

    /// The names of the file; the first to ask builds it.
    pub fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::build(self))
    }

    /// Functions inlined into other units than the one that describes them; the first to ask looks
    /// for them.
    pub fn far_inlined(&self) -> &FarInlined {
        self.far_inlined.get_or_init(|| FarInlined::build(self))
    }

    /// How many units the file itself has (split type units come later).
    pub fn unit_count(&self) -> u32 {
        self.slots.read().unwrap_or_else(|e| e.into_inner()).len() as u32
    }

    fn slot(&self, index: u32) -> Option<Arc<Slot>> {
        let slots = self.slots.read().unwrap_or_else(|e| e.into_inner());
        slots.get(index as usize).cloned()
    }

    /// What a walk over a unit needs, without loading it: its file and header.
    pub fn header(&self, index: u32) -> Option<(Arc<Dwarf>, UnitHeader<R>)> {
        let slot = self.slot(index)?;
        Some((slot.dwarf.clone(), slot.header))
    }

    /// A unit already loaded.
    pub fn loaded(&self, index: u32) -> Option<Arc<Unit>> {
        self.slot(index)?.unit.get()?.clone()
    }

    /// A unit, loaded when it was not.
    pub fn unit(&self, index: u32) -> Option<Arc<Unit>> {
        let slot = self.slot(index)?;
        slot.unit
            .get_or_init(|| self.load_unit(index, &slot).map(Arc::new))
            .clone()
    }

    fn load_unit(&self, index: u32, slot: &Slot) -> Option<Unit> {
        let unit = slot.dwarf.unit(slot.header).ok()?;
        let split = match unit.dwo_name() {
            Ok(Some(name)) => self.load_dwo(slot, &unit, name),
            _ => None,
        };
        let (dwarf, unit, skeleton) = match split {
            Some((dwarf, split)) => (dwarf, split, Some((slot.dwarf.clone(), unit))),
            None => (slot.dwarf.clone(), unit, None),
        };
        let root = unit.entry(unit.header.root_offset()).ok()?;
        let language = match root.attr_value(gimli::DW_AT_language) {
            Some(gimli::AttributeValue::Language(l)) => Some(l),
            _ => None,
        };
        let producer = root
            .attr_value(gimli::DW_AT_producer)
            .and_then(|v| dwarf.attr_string(&unit, v).ok())
            .and_then(|s| std::str::from_utf8(s.slice()).ok());
        Some(Unit {
            index,
            dwarf,
            unit,
            skeleton,
            language: match producer {
                Some(assembler) if assembler.starts_with("GNU AS") => Language::Asm,
                _ => Language::of(language),
            },
            producer,
            functions: OnceLock::new(),
            scopes: OnceLock::new(),
            has_lists: OnceLock::new(),
            walker: OnceLock::new(),
            files: OnceLock::new(),
            lines: OnceLock::new(),
            bodies: OnceLock::new(),
        })
    }

    fn load_dwo(
        &self,
        slot: &Slot,
        skeleton: &gimli::Unit<R>,
        name: Value,
    ) -> Option<(Arc<Dwarf>, gimli::Unit<R>)> {
        let id = skeleton.dwo_id?;
        let packaged = self.package(&slot.dwarf).and_then(|package| {
            let dwarf = package.find_cu(id, &slot.dwarf).ok()??;
            Some(Arc::new(dwarf))
        });
        let dwarf = match packaged {
            Some(dwarf) => dwarf,
            None => {
                let text = |r: R| std::str::from_utf8(r.slice()).ok();
                let name = slot.dwarf.attr_string(skeleton, name).ok()?;
                let dir = skeleton.comp_dir.and_then(text);
                let elf = debug_files::find_split(&self.elf, dir, text(name)?)?;
                Arc::new(load_split(&elf, &slot.dwarf))
            }
        };
        let mut units = dwarf.units();
        while let Ok(Some(header)) = units.next() {
            let is_type = matches!(header.type_(), gimli::UnitType::SplitType { .. });
            if is_type {
                continue;
            }
            let mut unit = dwarf.unit(header).ok()?;
            if unit.dwo_id.is_some_and(|found| found != id) {
                continue;
            }
            unit.copy_relocated_attributes(skeleton);
            return Some((dwarf, unit));
        }
        None
    }

    fn package(&self, parent: &Dwarf) -> Option<&DwarfPackage<R>> {
        let load = || {
            let elf = debug_files::find_package(&self.elf)?;
            let section = |id: gimli::SectionId| -> Result<R, gimli::Error> {
                let name = id.dwo_name().unwrap_or("");
                Ok(EndianSlice::new(elf.section(name), LittleEndian))
            };
            DwarfPackage::load(section, EndianSlice::new(&[], LittleEndian)).ok()
        };
        debug_assert!(parent.file_type == DwarfFileType::Main);
        self.package.get_or_init(load).as_ref()
    }

    /// The unit around an offset of `.debug_info`, or of the supplementary file.
    fn around(&self, offset: usize, alternate: bool) -> Option<DieId> {
        let (starts, first) = if alternate {
            (&self.alternate, self.main.len())
        } else {
            (&self.main, 0)
        };
        let at = starts.partition_point(|&s| s <= offset).checked_sub(1)?;
        Some(DieId {
            unit: u32::try_from(first + at).ok()?,
            offset: u32::try_from(offset - starts[at]).ok()?,
        })
    }

    fn by_signature(&self, from: &Unit, signature: u64) -> Option<DieId> {
        let here = self.signatures.get_or_init(|| {
            let slots = self.slots.read().unwrap_or_else(|e| e.into_inner());
            let signature = |s: &Arc<Slot>| match s.header.type_() {
                gimli::UnitType::Type { type_signature, .. } => Some(type_signature.0),
                _ => None,
            };
            let numbered = slots.iter().enumerate();
            numbered
                .filter_map(|(i, s)| Some((signature(s)?, i as u32)))
                .collect()
        });
        let unit = match here.get(&signature) {
            Some(&unit) => unit,
            None => self.split_type(from, signature)?,
        };
        let slot = self.slot(unit)?;
        match slot.header.type_() {
            gimli::UnitType::Type { type_offset, .. }
            | gimli::UnitType::SplitType { type_offset, .. } => Some(DieId {
                unit,
                offset: u32::try_from(type_offset.0).ok()?,
            }),
            _ => None,
        }
    }

    /// A type unit of the same split file, or of the package.
    fn split_type(&self, from: &Unit, signature: u64) -> Option<u32> {
        let key = (Arc::as_ptr(&from.dwarf) as usize, signature);
        let mut known = self.split_types.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(&found) = known.get(&key) {
            return found;
        }
        let search = |dwarf: &Arc<Dwarf>| {
            let mut found = None;
            let mut check = |header: UnitHeader<R>| match header.type_() {
                gimli::UnitType::Type { type_signature, .. }
                | gimli::UnitType::SplitType { type_signature, .. }
                    if type_signature.0 == signature =>
                {
                    found = Some(Slot::new(dwarf, header));
                }
                _ => {}
            };
            let mut units = dwarf.units();
            while let Ok(Some(header)) = units.next() {
                check(header);
            }
            let mut units = dwarf.type_units();
            while let Ok(Some(header)) = units.next() {
                check(header);
            }
            found
        };
        let slot = search(&from.dwarf).or_else(|| {
            let (parent, _) = from.skeleton.as_ref()?;
            let package = self.package(parent)?;
            let signature = gimli::DebugTypeSignature(signature);
            let dwarf = package.find_tu(signature, parent).ok()??;
            search(&Arc::new(dwarf))
        });
        let found = slot.map(|slot| {
            let mut slots = self.slots.write().unwrap_or_else(|e| e.into_inner());
            slots.push(slot);
            slots.len() as u32 - 1
        });
        known.insert(key, found);
        found
    }

    /// Where a reference attribute of a unit points.
    pub fn follow(&self, unit: &Unit, value: Option<Value>) -> Option<DieId> {
        use gimli::AttributeValue as A;
        match value? {
            A::UnitRef(offset) => Some(DieId {
                unit: unit.index,
                offset: u32::try_from(offset.0).ok()?,
            }),
            A::DebugInfoRef(offset) => self.around(offset.0, self.is_alternate(unit.index)),
            A::DebugInfoRefSup(offset) => self.around(offset.0, true),
            A::DebugTypesRef(signature) => self.by_signature(unit, signature.0),
            _ => None,
        }
    }

    /// The same for a reference found by a walk.
    pub fn follow_link(&self, unit: u32, link: Link) -> Option<DieId> {
        match link {
            Link::Unit(offset) => Some(DieId { unit, offset }),
            Link::Far(offset) => {
                self.around(usize::try_from(offset).ok()?, self.is_alternate(unit))
            }
            Link::Alternate(offset) => self.around(usize::try_from(offset).ok()?, true),
            Link::Signature(s) => self.by_signature(&*self.unit(unit)?, s),
        }
    }

    fn is_alternate(&self, unit: u32) -> bool {
        let first = self.main.len();
        (first..first + self.alternate.len()).contains(&(unit as usize))
    }

    /// A DIE with the unit it is in.
    pub fn die(&self, id: DieId) -> Option<(Arc<Unit>, Entry)> {
        let unit = self.unit(id.unit)?;
        let entry = unit.entry(id.offset)?;
        Some((unit, entry))
    }
}

impl Slot {
    fn new(dwarf: &Arc<Dwarf>, header: UnitHeader<R>) -> Arc<Slot> {
        Arc::new(Slot {
            dwarf: dwarf.clone(),
            header,
            unit: OnceLock::new(),
        })
    }
}

fn add_units(dwarf: &Arc<Dwarf>, slots: &mut Vec<Arc<Slot>>, starts: &mut Vec<usize>) {
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        let Some(offset) = header.debug_info_offset() else {
            continue;
        };
        starts.push(offset.0);
        slots.push(Slot::new(dwarf, header));
    }
}
