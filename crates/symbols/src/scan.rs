//! A fast walk over the DIEs of one unit, for names only.
//!
//! Naming everything in a large binary means walking every DIE of it. Two things make that cheap: an
//! abbreviation whose attributes all have fixed sizes is skipped by one addition, and the inside of a
//! function is jumped over where the compiler says where it ends (`DW_AT_sibling`). Anything
//! malformed ends the walk of its unit; what was found before stays.

use crate::abbrevs::{Abbrev, Abbrevs, Attr, Sizes, fixed_size, fixed_uint, take, uleb};
use crate::units::R;
use gimli::{Section, UnitHeader, constants as dw};
use std::sync::Arc;

/// A reference from one DIE to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// In the same unit.
    Unit(u32),
    /// In another unit of the section, or in the supplementary file.
    Far(u64),
    /// In the supplementary file.
    Alternate(u64),
    /// A type unit.
    Signature(u64),
}

/// What the walk knows of one DIE.
#[derive(Clone, Copy, Default)]
pub(crate) struct RawDie {
    pub tag: u16,
    pub offset: u32,
    pub name: Option<&'static str>,
    pub linkage: Option<&'static str>,
    /// `DW_AT_specification` or `DW_AT_abstract_origin`.
    pub origin: Option<Link>,
    pub has_code: bool,
    pub inline: bool,
    pub declaration: bool,
    /// An inline namespace.
    pub exported: bool,
    /// `DW_AT_location` or `DW_AT_const_value`.
    pub has_value: bool,
    sibling: Option<u32>,
}

/// The nesting of named scopes in a unit, in the order of their DIEs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope {
    pub start: u32,
    pub end: u32,
}

/// One unit, ready to be walked.
pub(crate) struct Walker {
    dies: &'static [u8],
    base: u32,
    sizes: Sizes,
    abbrevs: Arc<Abbrevs>,
    abbrev_key: (usize, usize),
    dwarf: Arc<gimli::Dwarf<R>>,
    str_offsets_base: usize,
}

impl Walker {
    /// `previous` lends its abbreviations when both units share them.
    pub fn new(
        dwarf: &Arc<gimli::Dwarf<R>>,
        header: &UnitHeader<R>,
        previous: Option<&Walker>,
    ) -> Option<Walker> {
        let encoding = header.encoding();
        let sizes = Sizes {
            address: encoding.address_size,
            offset: encoding.format.word_size(),
            version: encoding.version,
        };
        let root = header.root_offset();
        let dies = header.range_from(root..).ok()?.slice();
        let table = dwarf.debug_abbrev.reader().slice();
        let at = header.debug_abbrev_offset().0;
        let abbrev_key = (table.as_ptr() as usize, at);
        let abbrevs = match previous {
            Some(p) if p.abbrev_key == abbrev_key && p.sizes == sizes => p.abbrevs.clone(),
            _ => Arc::new(Abbrevs::parse(table.get(at..)?, sizes)),
        };
        // Until the root says otherwise: after the header in a split unit of DWARF 5, else 0.
        let split = dwarf.file_type == gimli::DwarfFileType::Dwo;
        let str_offsets_base = match (split && sizes.version >= 5, sizes.offset) {
            (true, 8) => 16,
            (true, _) => 8,
            (false, _) => 0,
        };
        let mut walker = Walker {
            dies,
            base: u32::try_from(root.0).ok()?,
            sizes,
            abbrevs,
            abbrev_key,
            dwarf: dwarf.clone(),
            str_offsets_base,
        };
        if let Some(base) = walker.root_str_offsets_base() {
            walker.str_offsets_base = base;
        }
        Some(walker)
    }

    /// Whether the unit only says where its split part is.
    pub fn is_skeleton(&self) -> bool {
        let mut data = self.dies;
        let root = uleb(&mut data).and_then(|code| self.abbrevs.get(code));
        let named = |a: &Attr| a.name == dw::DW_AT_dwo_name.0 || a.name == dw::DW_AT_GNU_dwo_name.0;
        self.dwarf.file_type != gimli::DwarfFileType::Dwo
            && root.is_some_and(|r| r.attrs.iter().any(named))
    }

    fn root_str_offsets_base(&self) -> Option<usize> {
        let mut data = self.dies;
        let abbrev = self.abbrevs.get(uleb(&mut data)?)?;
        for attr in &abbrev.attrs {
            if attr.name == dw::DW_AT_str_offsets_base.0 {
                let word = take(&mut data, self.sizes.offset.into())?;
                return Some(fixed_uint(word) as usize);
            }
            self.skip(&mut data, attr.form)?;
        }
        None
    }

    fn skip(&self, data: &mut &'static [u8], form: u16) -> Option<()> {
        if let Some(n) = fixed_size(form, self.sizes) {
            take(data, n as usize)?;
            return Some(());
        }
        let n = match dw::DwForm(form) {
            dw::DW_FORM_string => data.iter().position(|&b| b == 0)? + 1,
            dw::DW_FORM_udata
            | dw::DW_FORM_sdata
            | dw::DW_FORM_ref_udata
            | dw::DW_FORM_strx
            | dw::DW_FORM_addrx
            | dw::DW_FORM_loclistx
            | dw::DW_FORM_rnglistx
            | dw::DW_FORM_GNU_addr_index
            | dw::DW_FORM_GNU_str_index => {
                uleb(data)?;
                0
            }
            dw::DW_FORM_block | dw::DW_FORM_exprloc => usize::try_from(uleb(data)?).ok()?,
            dw::DW_FORM_block1 => take(data, 1)?[0].into(),
            dw::DW_FORM_block2 => fixed_uint(take(data, 2)?) as usize,
            dw::DW_FORM_block4 => fixed_uint(take(data, 4)?) as usize,
            dw::DW_FORM_indirect => {
                let form = u16::try_from(uleb(data)?).ok()?;
                // An indirect form that is indirect again would never end.
                if form == dw::DW_FORM_indirect.0 {
                    return None;
                }
                return self.skip(data, form);
            }
            _ => return None,
        };
        take(data, n)?;
        Some(())
    }

    fn string(&self, data: &mut &'static [u8], form: u16) -> Option<&'static str> {
        let word = self.sizes.offset as usize;
        let (table, at) = match dw::DwForm(form) {
            dw::DW_FORM_string => {
                let len = data.iter().position(|&b| b == 0)?;
                let text = take(data, len)?;
                take(data, 1)?;
                return std::str::from_utf8(text).ok();
            }
            dw::DW_FORM_strp => (self.dwarf.debug_str.reader(), fixed_uint(take(data, word)?)),
            dw::DW_FORM_line_strp => (
                self.dwarf.debug_line_str.reader(),
                fixed_uint(take(data, word)?),
            ),
            dw::DW_FORM_GNU_strp_alt | dw::DW_FORM_strp_sup => {
                let at = fixed_uint(take(data, word)?);
                (self.dwarf.sup()?.debug_str.reader(), at)
            }
            dw::DW_FORM_strx | dw::DW_FORM_GNU_str_index => return self.indexed(uleb(data)?),
            dw::DW_FORM_strx1 => return self.indexed(fixed_uint(take(data, 1)?)),
            dw::DW_FORM_strx2 => return self.indexed(fixed_uint(take(data, 2)?)),
            dw::DW_FORM_strx3 => return self.indexed(fixed_uint(take(data, 3)?)),
            dw::DW_FORM_strx4 => return self.indexed(fixed_uint(take(data, 4)?)),
            _ => {
                self.skip(data, form)?;
                return None;
            }
        };
        c_str(table.slice().get(usize::try_from(at).ok()?..)?)
    }

    fn indexed(&self, index: u64) -> Option<&'static str> {
        let word = self.sizes.offset as usize;
        let at = usize::try_from(index).ok()?.checked_mul(word)?;
        let at = at.checked_add(self.str_offsets_base)?;
        let offsets = self.dwarf.debug_str_offsets.reader().slice();
        let entry = offsets.get(at..at.checked_add(word)?)?;
        let table = self.dwarf.debug_str.reader().slice();
        c_str(table.get(usize::try_from(fixed_uint(entry)).ok()?..)?)
    }

    fn link(&self, data: &mut &'static [u8], form: u16) -> Option<Link> {
        let near = |n: u64| u32::try_from(n).ok().map(Link::Unit);
        match dw::DwForm(form) {
            dw::DW_FORM_ref1 => near(fixed_uint(take(data, 1)?)),
            dw::DW_FORM_ref2 => near(fixed_uint(take(data, 2)?)),
            dw::DW_FORM_ref4 => near(fixed_uint(take(data, 4)?)),
            dw::DW_FORM_ref8 => near(fixed_uint(take(data, 8)?)),
            dw::DW_FORM_ref_udata => near(uleb(data)?),
            dw::DW_FORM_ref_sig8 => Some(Link::Signature(fixed_uint(take(data, 8)?))),
            dw::DW_FORM_ref_addr => {
                let size = fixed_size(form, self.sizes)? as usize;
                Some(Link::Far(fixed_uint(take(data, size)?)))
            }
            dw::DW_FORM_GNU_ref_alt | dw::DW_FORM_ref_sup4 | dw::DW_FORM_ref_sup8 => {
                let size = fixed_size(form, self.sizes)? as usize;
                Some(Link::Alternate(fixed_uint(take(data, size)?)))
            }
            _ => {
                self.skip(data, form)?;
                None
            }
        }
    }

    /// Reads the attributes of a DIE whose code was read.
    fn attributes(
        &self,
        data: &mut &'static [u8],
        abbrev: &Abbrev,
        die: &mut RawDie,
    ) -> Option<()> {
        for attr in &abbrev.attrs {
            match dw::DwAt(attr.name) {
                dw::DW_AT_name => die.name = self.string(data, attr.form),
                dw::DW_AT_linkage_name | dw::DW_AT_MIPS_linkage_name => {
                    die.linkage = self.string(data, attr.form);
                }
                dw::DW_AT_specification | dw::DW_AT_abstract_origin => {
                    die.origin = self.link(data, attr.form);
                }
                dw::DW_AT_sibling => {
                    if let Some(Link::Unit(at)) = self.link(data, attr.form) {
                        die.sibling = Some(at);
                    }
                }
                dw::DW_AT_low_pc | dw::DW_AT_ranges | dw::DW_AT_entry_pc => {
                    die.has_code = true;
                    self.skip(data, attr.form)?;
                }
                dw::DW_AT_location | dw::DW_AT_const_value => {
                    die.has_value = true;
                    self.skip(data, attr.form)?;
                }
                dw::DW_AT_declaration => {
                    die.declaration = true;
                    self.skip(data, attr.form)?;
                }
                dw::DW_AT_export_symbols => {
                    die.exported = true;
                    self.skip(data, attr.form)?;
                }
                dw::DW_AT_inline => {
                    let value = if attr.form == dw::DW_FORM_implicit_const.0 {
                        attr.implicit as u64
                    } else {
                        let before = *data;
                        self.skip(data, attr.form)?;
                        fixed_uint(&before[..(before.len() - data.len()).min(8)])
                    };
                    // GCC says of constructors and destructors that they were not, and has copies.
                    die.inline = value != 0;
                }
                _ => self.skip(data, attr.form)?,
            }
        }
        Some(())
    }

    fn position(&self, data: &[u8]) -> u32 {
        self.base + (self.dies.len() - data.len()) as u32
    }

    fn from(&self, offset: u32) -> Option<&'static [u8]> {
        self.dies.get(offset.checked_sub(self.base)? as usize..)
    }

    /// The DIE at an offset.
    pub fn die(&self, offset: u32) -> Option<RawDie> {
        let mut data = self.from(offset)?;
        let abbrev = self.abbrevs.get(uleb(&mut data)?)?;
        let mut die = RawDie {
            tag: abbrev.tag,
            offset,
            ..RawDie::default()
        };
        self.attributes(&mut data, abbrev, &mut die)?;
        Some(die)
    }

    /// Calls `each` for every DIE outside functions that can have a name users ask for, and returns
    /// the scopes around them.
    pub fn walk(&self, mut each: impl FnMut(&RawDie)) -> Vec<Scope> {
        let mut scopes = Vec::new();
        let mut open = Vec::new();
        self.walk_into(&mut scopes, &mut open, &mut each);
        let end = self.base + self.dies.len() as u32;
        for index in open.into_iter().flatten() {
            let scope: &mut Scope = &mut scopes[index];
            scope.end = end;
        }
        scopes
    }

    /// `open` holds, for every level above, the scope that ends with it.
    fn walk_into(
        &self,
        scopes: &mut Vec<Scope>,
        open: &mut Vec<Option<usize>>,
        each: &mut impl FnMut(&RawDie),
    ) -> Option<()> {
        let mut data = self.dies;
        while !data.is_empty() {
            let offset = self.position(data);
            let code = uleb(&mut data)?;
            if code == 0 {
                if let Some(index) = open.pop()? {
                    scopes[index].end = self.position(data);
                }
                if open.is_empty() {
                    return Some(());
                }
                continue;
            }
            let abbrev = self.abbrevs.get(code)?;
            let class = classify(abbrev.tag);
            if class == Class::Other {
                self.skip_all(&mut data, abbrev)?;
                if abbrev.children {
                    self.skip_children(&mut data)?;
                }
                continue;
            }
            let mut die = RawDie {
                tag: abbrev.tag,
                offset,
                ..RawDie::default()
            };
            self.attributes(&mut data, abbrev, &mut die)?;
            if class != Class::Root {
                each(&die);
            }
            match class {
                _ if !abbrev.children => {}
                Class::Root => open.push(None),
                Class::Scope => {
                    open.push(Some(scopes.len()));
                    scopes.push(Scope {
                        start: offset,
                        end: 0,
                    });
                }
                Class::Leaf | Class::Other => {
                    let jump = die.sibling.filter(|&s| s > self.position(data));
                    match jump.and_then(|s| self.from(s)) {
                        Some(rest) => data = rest,
                        None => self.skip_children(&mut data)?,
                    }
                }
            }
        }
        Some(())
    }

    /// Offsets of all functions with code, at any depth: lambdas and local classes too.
    pub fn functions(&self) -> Vec<u32> {
        let with_code = |offset, die: &RawDie| die.has_code.then_some(offset);
        self.all(dw::DW_TAG_subprogram, with_code)
    }

    /// Offsets of the inlined copies of the function at an offset of this unit.
    pub fn inlined(&self, of: u32) -> Vec<u32> {
        let origin = Some(Link::Unit(of));
        let copy = |offset, die: &RawDie| (die.origin == origin).then_some(offset);
        self.all(dw::DW_TAG_inlined_subroutine, copy)
    }

    /// Offsets of the inlined copies of functions that are not in this unit, with where these are.
    pub fn inlined_from_afar(&self) -> Vec<(u32, Link)> {
        let far = |abbrev: &Abbrev| {
            let form = dw::DW_FORM_ref_addr.0;
            let mut attrs = abbrev.attrs.iter();
            abbrev.tag == dw::DW_TAG_inlined_subroutine.0
                && attrs.any(|a| a.name == dw::DW_AT_abstract_origin.0 && a.form == form)
        };
        if !self.abbrevs.any(far) {
            return Vec::new();
        }
        self.all(dw::DW_TAG_inlined_subroutine, |offset, die| {
            let link = die.origin?;
            matches!(link, Link::Far(_)).then_some((offset, link))
        })
    }

    fn all<T>(&self, tag: dw::DwTag, pick: impl Fn(u32, &RawDie) -> Option<T>) -> Vec<T> {
        let mut out = Vec::new();
        let mut data = self.dies;
        let mut step = || -> Option<()> {
            let offset = self.position(data);
            let code = uleb(&mut data)?;
            if code == 0 {
                return Some(());
            }
            let abbrev = self.abbrevs.get(code)?;
            if abbrev.tag != tag.0 {
                return self.skip_all(&mut data, abbrev);
            }
            let mut die = RawDie::default();
            self.attributes(&mut data, abbrev, &mut die)?;
            out.extend(pick(offset, &die));
            Some(())
        };
        while step().is_some() {}
        out
    }

    fn skip_all(&self, data: &mut &'static [u8], abbrev: &Abbrev) -> Option<()> {
        match abbrev.fixed {
            Some(n) => {
                take(data, n as usize)?;
            }
            None => {
                for attr in &abbrev.attrs {
                    self.skip(data, attr.form)?;
                }
            }
        }
        Some(())
    }

    /// Past the children of a DIE just read.
    fn skip_children(&self, data: &mut &'static [u8]) -> Option<()> {
        let mut depth = 1usize;
        while depth > 0 {
            let code = uleb(data)?;
            if code == 0 {
                depth -= 1;
                continue;
            }
            let abbrev = self.abbrevs.get(code)?;
            self.skip_all(data, abbrev)?;
            depth += usize::from(abbrev.children);
        }
        Some(())
    }
}

fn c_str(bytes: &'static [u8]) -> Option<&'static str> {
    let len = bytes.iter().position(|&b| b == 0)?;
    std::str::from_utf8(&bytes[..len]).ok()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Root,
    Scope,
    Leaf,
    Other,
}

fn classify(tag: u16) -> Class {
    match dw::DwTag(tag) {
        dw::DW_TAG_compile_unit
        | dw::DW_TAG_partial_unit
        | dw::DW_TAG_type_unit
        | dw::DW_TAG_skeleton_unit => Class::Root,
        dw::DW_TAG_namespace
        | dw::DW_TAG_module
        | dw::DW_TAG_structure_type
        | dw::DW_TAG_class_type
        | dw::DW_TAG_union_type
        | dw::DW_TAG_interface_type
        | dw::DW_TAG_enumeration_type => Class::Scope,
        dw::DW_TAG_subprogram
        | dw::DW_TAG_variable
        | dw::DW_TAG_constant
        | dw::DW_TAG_typedef
        | dw::DW_TAG_base_type
        | dw::DW_TAG_enumerator => Class::Leaf,
        _ => Class::Other,
    }
}
