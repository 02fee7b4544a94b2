//! Which functions have a local of a name.

use crate::addr::FileAddr;
use crate::functions::{Function, origin, read_function};
use crate::module::Module;
use crate::type_read::children;
use crate::units::{DieId, Entry, Info, Unit};
use gimli::constants as dw;

/// Blocks within blocks; deeper ones are a corrupt file's.
const DEEPEST: usize = 64;

impl Module {
    /// Functions with code that declare a local variable or parameter of this name, in any block,
    /// at most `limit`. Looks through all debug information: not for every hit.
    pub fn functions_declaring(&self, name: &str, limit: usize) -> Vec<Function> {
        let mut out = Vec::new();
        let Some(info) = self.info() else {
            return out;
        };
        for index in 0..info.unit_count() {
            let Some(unit) = info.unit(index) else {
                continue;
            };
            let mut seen = Vec::new();
            for code in unit.functions() {
                if seen.contains(&code.die) || !declares(info, &unit, code.die, name, 0) {
                    continue;
                }
                seen.push(code.die);
                let id = DieId {
                    unit: index,
                    offset: code.die,
                };
                out.extend(read_function(info, id));
                if out.len() >= limit {
                    return out;
                }
            }
        }
        out
    }

    /// Where the block of a function begins that declares a local of this name: the outermost.
    pub fn block_declaring(&self, function: DieId, name: &str) -> Option<FileAddr> {
        let info = self.info()?;
        let unit = info.unit(function.unit)?;
        block_of(info, &unit, function.offset, name, 0)
    }
}

fn block_of(info: &Info, unit: &Unit, offset: u32, name: &str, depth: usize) -> Option<FileAddr> {
    if depth > DEEPEST {
        return None;
    }
    let inside = children(unit, offset);
    let is_variable =
        |c: &Entry| matches!(c.tag(), dw::DW_TAG_variable | dw::DW_TAG_formal_parameter);
    if inside
        .iter()
        .any(|c| is_variable(c) && is_named(info, unit, c, name))
    {
        let (begin, _) = unit.ranges(&unit.entry(offset)?).first().copied()?;
        return Some(FileAddr(begin));
    }
    let blocks = inside
        .iter()
        .filter(|c| c.tag() == dw::DW_TAG_lexical_block);
    let mut offsets = blocks.filter_map(|c| u32::try_from(c.offset().0).ok());
    offsets.find_map(|o| block_of(info, unit, o, name, depth + 1))
}

fn declares(info: &Info, unit: &Unit, offset: u32, name: &str, depth: usize) -> bool {
    if depth > DEEPEST {
        return false;
    }
    children(unit, offset)
        .iter()
        .any(|child| match child.tag() {
            dw::DW_TAG_variable | dw::DW_TAG_formal_parameter => is_named(info, unit, child, name),
            dw::DW_TAG_lexical_block => u32::try_from(child.offset().0)
                .is_ok_and(|o| declares(info, unit, o, name, depth + 1)),
            _ => false,
        })
}

fn is_named(info: &Info, unit: &Unit, entry: &Entry, name: &str) -> bool {
    match unit.string(entry.attr_value(dw::DW_AT_name)) {
        Some(own) => own == name,
        None => origin(info, unit, entry)
            .is_some_and(|(u, e)| u.string(e.attr_value(dw::DW_AT_name)) == Some(name)),
    }
}
