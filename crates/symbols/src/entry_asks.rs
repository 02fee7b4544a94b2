//! Which functions have variables that only their callers know.

use crate::tail_calls::Code;
use crate::type_read::{children, offset_of};
use crate::units::{R, Unit, Value};
use gimli::constants as dw;
use gimli::{Expression, Operation as O, RawLocListEntry as Raw};

/// Blocks in blocks that a file may have.
const DEEPEST: usize = 64;

impl Code {
    /// Whether a place of one of its variables depends on what it was called with. If none does
    /// nobody needs to look at the callers, whose files may not even be read yet.
    pub fn asks_callers(&self) -> bool {
        let Some(info) = self.module.info() else {
            return false;
        };
        if let Ok(known) = info.asking.lock()
            && let Some(&asks) = known.get(&self.die)
        {
            return asks;
        }
        let unit = info.unit(self.die.unit);
        let asks = unit.is_some_and(|unit| some_asks(&unit, self.die.offset, 0));
        if let Ok(mut known) = info.asking.lock() {
            known.insert(self.die, asks);
        }
        asks
    }
}

fn some_asks(unit: &Unit, block: u32, depth: usize) -> bool {
    children(unit, block).iter().any(|child| match child.tag() {
        dw::DW_TAG_lexical_block | dw::DW_TAG_inlined_subroutine => {
            depth >= DEEPEST || some_asks(unit, offset_of(child), depth + 1)
        }
        _ => {
            let location = child.attr_value(dw::DW_AT_location);
            location.is_some_and(|l| location_asks(unit, l))
        }
    })
}

fn location_asks(unit: &Unit, location: Value) -> bool {
    if let Some(expression) = location.exprloc_value() {
        return expression_asks(unit, expression);
    }
    let dwarf = &unit.dwarf;
    let Ok(Some(offset)) = dwarf.attr_locations_offset(&unit.unit, location) else {
        return false;
    };
    let Ok(mut entries) = dwarf.raw_locations(&unit.unit, offset) else {
        return false;
    };
    // What holds at the first moment only may have an empty range.
    while let Ok(Some(entry)) = entries.next() {
        let data = match entry {
            Raw::BaseAddress { .. } | Raw::BaseAddressx { .. } => continue,
            Raw::AddressOrOffsetPair { data, .. }
            | Raw::OffsetPair { data, .. }
            | Raw::StartEnd { data, .. }
            | Raw::StartLength { data, .. }
            | Raw::StartxEndx { data, .. }
            | Raw::StartxLength { data, .. }
            | Raw::DefaultLocation { data } => data,
        };
        if expression_asks(unit, data) {
            return true;
        }
    }
    false
}

fn expression_asks(unit: &Unit, expression: Expression<R>) -> bool {
    let mut operations = expression.operations(unit.unit.encoding());
    while let Ok(Some(operation)) = operations.next() {
        if matches!(operation, O::EntryValue { .. } | O::ParameterRef { .. }) {
            return true;
        }
    }
    false
}
