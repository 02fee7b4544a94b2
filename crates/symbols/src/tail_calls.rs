//! Which functions a call led to: a function that ends with a jump to another one leaves no frame,
//! so what runs need not be what was called.

use crate::addr::FileAddr;
use crate::functions::{code_at, entry_address, linkage_name};
use crate::module::Module;
use crate::paths::declaration;
use crate::type_read::{children, is_set, offset_of};
use crate::units::{DieId, Entry, Info, Language, Unit};
use gimli::constants as dw;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What a call site says it calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// Code that the same file describes.
    Code(DieId),
    /// What the linker knows by a name.
    Linked(&'static str),
    /// Found out when the program runs.
    Computed,
}

/// A call in a function's code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    /// Its DIE, in the function's unit.
    pub offset: u32,
    /// The instruction after it.
    pub after: Option<u64>,
    /// The function ends with it, by a jump.
    pub is_tail: bool,
    pub target: Target,
}

/// A function with code, and where its module is.
#[derive(Clone)]
pub(crate) struct Code {
    pub module: Arc<Module>,
    pub bias: u64,
    pub die: DieId,
}

/// The function that runs in a frame, which its file need not describe.
pub(crate) struct Running {
    module: Arc<Module>,
    bias: u64,
    entry: FileAddr,
    die: Option<DieId>,
}

/// Functions that are looked at for one chain of jumps.
const MAX_FUNCTIONS: usize = 1000;

impl Running {
    /// The function around an address.
    pub fn at(module: &Arc<Module>, bias: u64, addr: FileAddr) -> Option<Running> {
        if let Some(code) = Code::at(module, bias, addr) {
            return code.running();
        }
        Some(Running {
            module: module.clone(),
            bias,
            entry: module.function_at(addr)?.entry,
            die: None,
        })
    }

    /// Whether a module's code means this function by a name.
    fn is_linked_as(&self, name: &str, by: &Arc<Module>) -> bool {
        let same = Arc::ptr_eq(&self.module, by);
        let mut symbols = self.module.symbols_at(self.entry).iter();
        let described = || linked_name(self.module.info()?, self.die?);
        symbols.any(|s| s.name == name && (s.is_global || same)) || described() == Some(name)
    }
}

impl Code {
    /// The function around an address.
    pub fn at(module: &Arc<Module>, bias: u64, addr: FileAddr) -> Option<Code> {
        let unit = module.unit_at(addr)?;
        let die = DieId {
            unit: unit.index,
            offset: code_at(&unit, addr)?,
        };
        let module = module.clone();
        Some(Code { module, bias, die })
    }

    /// The same as what runs.
    pub fn running(&self) -> Option<Running> {
        Some(Running {
            module: self.module.clone(),
            bias: self.bias,
            entry: self.entry()?,
            die: Some(self.die),
        })
    }

    pub fn begins_at(&self, addr: u64) -> bool {
        self.entry() == Some(FileAddr::of(addr, self.bias))
    }

    fn entry(&self) -> Option<FileAddr> {
        let (unit, entry) = self.module.info()?.die(self.die)?;
        entry_of(&unit, &entry)
    }

    /// Its calls, as far as they are described.
    pub fn sites(&self) -> Arc<Vec<Site>> {
        let Some(info) = self.module.info() else {
            return Arc::default();
        };
        if let Ok(known) = info.sites.lock()
            && let Some(sites) = known.get(&self.die)
        {
            return sites.clone();
        }
        let mut out = Vec::new();
        if let Some(unit) = info.unit(self.die.unit) {
            collect(&self.module, &unit, self.die.offset, 0, &mut out);
        }
        let sites = Arc::new(out);
        if let Ok(mut known) = info.sites.lock() {
            known.insert(self.die, sites.clone());
        }
        sites
    }

    /// The call or jump before an address of the file.
    pub fn site_before(&self, after: u64) -> Option<Site> {
        let sites = self.sites();
        sites.iter().find(|s| s.after == Some(after)).copied()
    }

    /// Whether a site that this function has calls another function.
    pub fn calls(&self, site: &Site, function: &Running) -> bool {
        match site.target {
            Target::Code(die) => {
                let same = Arc::ptr_eq(&self.module, &function.module);
                same && Some(die) == function.die
            }
            Target::Linked(name) => function.is_linked_as(name, &self.module),
            Target::Computed => false,
        }
    }

    /// What a site of this function calls, if it is in this module or in that of `function`.
    pub fn callee(&self, site: &Site, function: &Running) -> Option<Code> {
        match site.target {
            Target::Code(die) => Some(Code {
                die,
                ..self.clone()
            }),
            Target::Linked(name) => {
                let own = (&self.module, self.bias);
                let other = (&function.module, function.bias);
                [own, other].into_iter().find_map(|(module, bias)| {
                    let at = module.linked(name)?;
                    let code = Code::at(module, bias, at)?;
                    (code.entry() == Some(at)).then_some(code)
                })
            }
            Target::Computed => None,
        }
    }

    /// Whether it can run again in place of itself, after jumps from one function to the next: then
    /// nobody knows what the call in progress began with.
    pub fn repeats(&self) -> bool {
        let Some(info) = self.module.info() else {
            return false;
        };
        if let Ok(known) = info.repeating.lock()
            && let Some(&repeats) = known.get(&self.die)
        {
            return repeats;
        }
        let repeats = self.jumps_back();
        if let Ok(mut known) = info.repeating.lock() {
            known.insert(self.die, repeats);
        }
        repeats
    }

    fn jumps_back(&self) -> bool {
        let Some(itself) = self.running() else {
            return true;
        };
        let mut seen = HashSet::new();
        let mut left = vec![self.clone()];
        while let Some(code) = left.pop() {
            for site in code.sites().iter().filter(|s| s.is_tail) {
                let anywhere = site.target == Target::Computed || seen.len() > MAX_FUNCTIONS;
                if anywhere || code.calls(site, &itself) {
                    return true;
                }
                let next = code.callee(site, &itself);
                left.extend(next.filter(|c| seen.insert((Arc::as_ptr(&c.module), c.die))));
            }
        }
        false
    }
}

fn entry_of(unit: &Unit, entry: &Entry) -> Option<FileAddr> {
    let ranges = unit.ranges(entry);
    entry_address(unit, entry, &ranges).map(FileAddr)
}

fn collect(module: &Module, unit: &Unit, offset: u32, depth: usize, out: &mut Vec<Site>) {
    if depth > 64 {
        return;
    }
    for child in children(unit, offset) {
        match child.tag() {
            dw::DW_TAG_call_site | dw::DW_TAG_GNU_call_site => {
                out.push(read_site(module, unit, &child));
            }
            dw::DW_TAG_lexical_block | dw::DW_TAG_inlined_subroutine => {
                collect(module, unit, offset_of(&child), depth + 1, out);
            }
            _ => {}
        }
    }
}

fn read_site(module: &Module, unit: &Unit, site: &Entry) -> Site {
    let after = site
        .attr_value(dw::DW_AT_call_return_pc)
        .or_else(|| site.attr_value(dw::DW_AT_low_pc));
    let after = unit.address(after);
    let is_tail = [dw::DW_AT_call_tail_call, dw::DW_AT_GNU_tail_call]
        .into_iter()
        .any(|name| is_set(site.attr_value(name)));
    let called = match site.tag() {
        dw::DW_TAG_GNU_call_site => site.attr_value(dw::DW_AT_abstract_origin),
        _ => site.attr_value(dw::DW_AT_call_origin),
    };
    let target = module.info().and_then(|info| {
        let called = info.follow(unit, called)?;
        // The jump or call itself, before the next instruction.
        let at = unit.address(site.attr_value(dw::DW_AT_call_pc));
        let at = at.or_else(|| after.map(|a| a.wrapping_sub(NEAR as u64)));
        target(module, info, called, at)
    });
    Site {
        offset: offset_of(site),
        after,
        is_tail,
        target: target.unwrap_or(Target::Computed),
    }
}

fn target(module: &Module, info: &Info, called: DieId, at: Option<u64>) -> Option<Target> {
    let (unit, entry) = info.die(called)?;
    if !unit.ranges(&entry).is_empty() {
        return Some(Target::Code(called));
    }
    // Its code is described elsewhere, perhaps more than once (`f.constprop.0`).
    let bodies = unit.bodies(info).get(&declaration(info, called));
    let begins = |offset: u32| unit.entry(offset).and_then(|e| entry_of(&unit, &e));
    let body = match bodies.map_or(&[][..], Vec::as_slice) {
        [] => return linked_name(info, called).map(Target::Linked),
        [one] => *one,
        several => {
            let goes_to = goes_to(module, at?)?;
            let mut several = several.iter().copied();
            several.find(|&body| begins(body) == Some(goes_to))?
        }
    };
    Some(Target::Code(DieId {
        unit: unit.index,
        offset: body,
    }))
}

impl Unit {
    /// The functions with code that are declared by another DIE, by that.
    fn bodies(&self, info: &Info) -> &HashMap<DieId, Vec<u32>> {
        self.bodies.get_or_init(|| {
            let mut out: HashMap<DieId, Vec<u32>> = HashMap::new();
            for range in self.functions() {
                let body = DieId {
                    unit: self.index,
                    offset: range.die,
                };
                let declared = declaration(info, body);
                let bodies = out.entry(declared).or_default();
                if declared != body && !bodies.contains(&range.die) {
                    bodies.push(range.die);
                }
            }
            out
        })
    }
}

/// The length of a direct call or jump.
const NEAR: usize = 5;

/// Where a direct call or jump goes.
fn goes_to(module: &Module, at: u64) -> Option<FileAddr> {
    let bytes = module.bytes_at(FileAddr(at), NEAR)?;
    let (&opcode, distance) = bytes.split_first()?;
    if !matches!(opcode, 0xe8 | 0xe9) {
        return None;
    }
    let distance = i32::from_le_bytes(distance.try_into().ok()?);
    let after = at.wrapping_add(NEAR as u64);
    Some(FileAddr(after.wrapping_add_signed(distance.into())))
}

/// The name the linker has for a function.
fn linked_name(info: &Info, id: DieId) -> Option<&'static str> {
    let plain = || {
        let (unit, entry) = info.die(declaration(info, id))?;
        let external = is_set(entry.attr_value(dw::DW_AT_external));
        let name = entry.attr_value(dw::DW_AT_name);
        unit.string(name.filter(|_| external && unit.language == Language::C))
    };
    linkage_name(info, id).or_else(plain)
}
