//! What a location list says of a function's very first moment.
//!
//! Statements that need no instruction (`a = b`, `p += 3` that is folded into a later address) are
//! done at the first instruction as far as a list goes by addresses. GCC numbers the moments at one
//! address, its views; what holds before any statement has number 0, and an empty range if another
//! follows at the same address.

use crate::units::{R, Unit, Value};
use gimli::constants::DW_AT_GNU_locviews;
use gimli::{DwarfFileType, Expression, RawLocListEntry, Reader};

/// The expression of a variable's location list that holds when its function is entered.
/// `die` is the variable's, `list` its location.
pub fn expression(unit: &Unit, die: u32, list: Value, entry: u64) -> Option<Expression<R>> {
    let dwarf = &unit.dwarf;
    let offset = dwarf.attr_locations_offset(&unit.unit, list).ok()??;
    let mut entries = dwarf.raw_locations(&unit.unit, offset).ok()?;
    let views = unit.entry(die)?.attr_value(DW_AT_GNU_locviews);
    let mut views = views.and_then(|v| Views::at(unit, v));
    let mut base = unit.unit.low_pc;
    while let Ok(Some(raw)) = entries.next() {
        let (begin, end, data) = match raw {
            RawLocListEntry::BaseAddress { addr } => {
                base = addr;
                continue;
            }
            RawLocListEntry::BaseAddressx { addr } => {
                base = dwarf.address(&unit.unit, addr).ok()?;
                continue;
            }
            RawLocListEntry::AddressOrOffsetPair { begin, end, data }
            | RawLocListEntry::OffsetPair { begin, end, data } => {
                (base.wrapping_add(begin), base.wrapping_add(end), data)
            }
            RawLocListEntry::StartEnd { begin, end, data } => (begin, end, data),
            RawLocListEntry::StartLength {
                begin,
                length,
                data,
            } => (begin, begin.wrapping_add(length), data),
            RawLocListEntry::StartxEndx { begin, end, data } => {
                let begin = dwarf.address(&unit.unit, begin).ok()?;
                (begin, dwarf.address(&unit.unit, end).ok()?, data)
            }
            RawLocListEntry::StartxLength {
                begin,
                length,
                data,
            } => {
                let begin = dwarf.address(&unit.unit, begin).ok()?;
                (begin, begin.wrapping_add(length), data)
            }
            RawLocListEntry::DefaultLocation { data } => (0, u64::MAX, data),
        };
        let view = match &mut views {
            Some(views) => views.next_begin()?,
            None => 0,
        };
        let begins = begin == entry && (view == 0 || is_callers(unit, data));
        let covers = begin <= entry && entry < end;
        if begins || (covers && begin < entry) {
            return Some(data);
        }
    }
    None
}

/// What the caller passed is that whenever it is asked for.
pub fn is_callers(unit: &Unit, expression: Expression<R>) -> bool {
    let first = expression.operations(unit.unit.encoding()).next();
    matches!(first, Ok(Some(gimli::Operation::ParameterRef { .. })))
}

/// The pairs of numbers beside a list, one for each of its ranges.
struct Views(R);

impl Views {
    fn at(unit: &Unit, value: Value) -> Option<Views> {
        let offset = match value {
            Value::SecOffset(offset) => offset,
            Value::LocationListsRef(offset) => offset.0,
            _ => return None,
        };
        let version = unit.unit.encoding().version;
        // In a file of its own a unit counts from behind the head of its table.
        let offset = match (unit.dwarf.file_type, version) {
            (DwarfFileType::Dwo, 5..) => offset.checked_add(unit.unit.loclists_base.0)?,
            _ => offset,
        };
        // They are in the section of the lists, of which gimli shows nothing else.
        let mut sections = Vec::with_capacity(2);
        let _ = unit.dwarf.locations.borrow(|section| {
            sections.push(*section);
            *section
        });
        let section = match version {
            ..=4 => sections.first(),
            _ => sections.last(),
        };
        let mut reader = *section?;
        reader.skip(offset).ok()?;
        Some(Views(reader))
    }

    /// The number at which the next range begins.
    fn next_begin(&mut self) -> Option<u64> {
        let begin = self.0.read_uleb128().ok()?;
        self.0.read_uleb128().ok()?;
        Some(begin)
    }
}
