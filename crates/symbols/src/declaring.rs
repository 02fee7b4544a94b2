//! Which functions have a local of a name.

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
