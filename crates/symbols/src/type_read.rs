//! Reading types and members out of DIEs.

use crate::types::{Encoding, Kind, Link, Member, Node, RecordKind, Type};
use crate::units::{DieId, Entry, Info, Language, Unit, Value};
use gimli::Reader;
use gimli::constants as dw;
use std::sync::Arc;

pub(crate) fn offset_of(entry: &Entry) -> u32 {
    entry.offset().0 as u32
}

pub(crate) fn child_id(unit: &Unit, entry: &Entry) -> DieId {
    DieId {
        unit: unit.index,
        offset: offset_of(entry),
    }
}

/// The direct children of a DIE.
pub(crate) fn children(unit: &Unit, offset: u32) -> Vec<Entry> {
    let mut out = Vec::new();
    let offset = gimli::UnitOffset(offset as usize);
    let Ok(mut cursor) = unit.unit.entries_at_offset(offset) else {
        return out;
    };
    if !matches!(cursor.next_entry(), Ok(true))
        || !cursor.current().is_some_and(|e| e.has_children())
    {
        return out;
    }
    if !matches!(cursor.next_entry(), Ok(true)) {
        return out;
    }
    while let Some(entry) = cursor.current() {
        out.push(entry.clone());
        if !matches!(cursor.next_sibling(), Ok(Some(_))) {
            break;
        }
    }
    out
}

pub(crate) fn is_set(value: Option<Value>) -> bool {
    matches!(value, Some(gimli::AttributeValue::Flag(true)))
}

pub(crate) fn access(entry: &Entry) -> u8 {
    match entry.attr_value(dw::DW_AT_accessibility) {
        Some(gimli::AttributeValue::Accessibility(a)) => a.0,
        _ => 0,
    }
}

/// The number an attribute gives. The forms of fixed size have no sign: compilers write what is
/// negative in the form that has one. Rust writes 128-bit discriminants as blocks.
pub(crate) fn constant(value: Value) -> Option<i128> {
    use gimli::AttributeValue as A;
    match value {
        A::Sdata(v) => Some(v.into()),
        A::Data16(v) => Some(v as i128),
        A::Block(b) if b.len() <= 16 => {
            let mut word = [0; 16];
            word[..b.len()].copy_from_slice(b.slice());
            Some(i128::from_le_bytes(word))
        }
        other => other.udata_value().map(i128::from),
    }
}

/// The number that tells a variant: LLVM writes a negative one in the forms of fixed size, too.
pub(crate) fn discriminant(value: Value, ty: Option<&Type>) -> Option<i128> {
    let is_signed = ty.is_some_and(|t| !t.is_unsigned());
    match value.sdata_value() {
        Some(number) if is_signed => Some(number.into()),
        _ => constant(value),
    }
}

/// The number that `DW_AT_vtable_elem_location` computes.
pub(crate) fn slot(value: Value) -> Option<u64> {
    let gimli::AttributeValue::Exprloc(expression) = value else {
        return value.udata_value();
    };
    let mut bytes = expression.0;
    match dw::DwOp(bytes.read_u8().ok()?) {
        dw::DW_OP_constu => bytes.read_uleb128().ok(),
        dw::DwOp(op @ 0x30..=0x4f) => Some(u64::from(op - dw::DW_OP_lit0.0)),
        _ => None,
    }
}

pub(crate) fn read_member(info: &Arc<Info>, unit: &Unit, entry: &Entry) -> Option<Member> {
    let attr = |name| entry.attr_value(name);
    let ty = match info.follow(unit, attr(dw::DW_AT_type)) {
        Some(id) => Type::from_die(info, id),
        None => Type::void(),
    };
    let is_base = entry.tag() == dw::DW_TAG_inheritance;
    let place = attr(dw::DW_AT_data_member_location);
    let offset = place.and_then(|v| {
        v.udata_value()
            .or_else(|| v.sdata_value().map(|s| s as u64))
    });
    let computed = offset.is_none() && place.is_some();
    let offset = offset.or_else(|| place.and_then(|v| below_table(&v)));
    let bits = attr(dw::DW_AT_bit_size).and_then(|v| v.udata_value());
    let bits = bits.map(|width| {
        let byte = offset.unwrap_or(0).wrapping_mul(8);
        if let Some(at) = attr(dw::DW_AT_data_bit_offset).and_then(|v| v.udata_value()) {
            return (at, width);
        }
        // DWARF 2 and 3 count from the most significant bit of the storage unit.
        let storage = attr(dw::DW_AT_byte_size)
            .and_then(|v| v.udata_value())
            .or_else(|| ty.size())
            .unwrap_or(0);
        let from_top = attr(dw::DW_AT_bit_offset).and_then(|v| v.udata_value());
        let within = match from_top {
            Some(top) => storage
                .wrapping_mul(8)
                .wrapping_sub(top)
                .wrapping_sub(width),
            None => 0,
        };
        (byte.wrapping_add(within), width)
    });
    let declared = is_set(attr(dw::DW_AT_declaration)) || is_set(attr(dw::DW_AT_external));
    Some(Member {
        name: unit.string(attr(dw::DW_AT_name)).map(str::to_owned),
        ty,
        offset: offset.unwrap_or(0),
        bits,
        is_base,
        is_virtual: is_base && (computed || attr(dw::DW_AT_virtuality).is_some()),
        is_static: entry.tag() == dw::DW_TAG_variable || (!is_base && declared),
        is_artificial: is_set(attr(dw::DW_AT_artificial)),
        access: access(entry),
        die: Some(child_id(unit, entry)),
    })
}

/// Where in the virtual table the place of a virtual base stands. Every compiler writes `dup deref
/// NUMBER minus deref plus`.
fn below_table(place: &Value) -> Option<u64> {
    let gimli::AttributeValue::Exprloc(expression) = place else {
        return None;
    };
    let bytes = expression.0.to_slice().ok()?;
    match &*bytes {
        [0x12, 0x06, lit @ 0x30..=0x4f, 0x1c, ..] => Some(u64::from(lit - 0x30)),
        [0x12, 0x06, 0x08, n, 0x1c, ..] => Some(u64::from(*n)),
        [0x12, 0x06, 0x0a, low, high, 0x1c, ..] => {
            Some(u64::from(u16::from_le_bytes([*low, *high])))
        }
        [0x12, 0x06, 0x10, rest @ ..] => {
            let mut value = 0;
            for (i, byte) in rest.iter().take(4).enumerate() {
                value |= u64::from(byte & 0x7f) << (7 * i);
                if byte & 0x80 == 0 {
                    return Some(value);
                }
            }
            None
        }
        _ => None,
    }
}

/// The DIE that describes a type: of one that has a unit of its own the others only say which that is.
fn described(info: &Info, id: DieId) -> DieId {
    let own = info.die(id).and_then(|(unit, entry)| {
        let signature = entry.attr_value(dw::DW_AT_signature);
        info.follow(&unit, signature)
    });
    own.unwrap_or(id)
}

pub(crate) fn read_node(info: &Arc<Info>, id: DieId) -> Node {
    let id = described(info, id);
    let unknown = Node {
        kind: Kind::Unspecified,
        name: None,
        size: None,
        align: None,
        language: Language::C,
        die: Some(id),
        declaration: false,
        members: Vec::new(),
    };
    let Some((unit, entry)) = info.die(id) else {
        return unknown;
    };
    let attr = |name| entry.attr_value(name);
    let target = match info.follow(&unit, attr(dw::DW_AT_type)) {
        Some(id) => Link::Die(id),
        None => Link::Void,
    };
    let size = attr(dw::DW_AT_byte_size).and_then(|v| v.udata_value());
    let kind = match entry.tag() {
        dw::DW_TAG_base_type => match base_encoding(&entry) {
            Some(encoding) => Kind::Base(encoding),
            None => Kind::Unspecified,
        },
        dw::DW_TAG_pointer_type => Kind::Pointer(target),
        dw::DW_TAG_reference_type => Kind::Reference(target),
        dw::DW_TAG_rvalue_reference_type => Kind::RvalueReference(target),
        dw::DW_TAG_ptr_to_member_type => {
            let class = info.follow(&unit, attr(dw::DW_AT_containing_type));
            Kind::MemberPointer(target, class.map_or(Link::Void, Link::Die))
        }
        dw::DW_TAG_structure_type => Kind::Record(RecordKind::Struct),
        dw::DW_TAG_class_type => Kind::Record(RecordKind::Class),
        dw::DW_TAG_union_type => Kind::Record(RecordKind::Union),
        dw::DW_TAG_enumeration_type => Kind::Enum,
        dw::DW_TAG_typedef => Kind::Typedef(target),
        dw::DW_TAG_const_type => Kind::Const(target),
        dw::DW_TAG_volatile_type => Kind::Volatile(target),
        dw::DW_TAG_restrict_type => Kind::OtherQualifier(target, "restrict"),
        dw::DW_TAG_atomic_type => Kind::OtherQualifier(target, "_Atomic"),
        dw::DW_TAG_array_type => array(info, &unit, &entry, target),
        dw::DW_TAG_subroutine_type | dw::DW_TAG_subprogram | dw::DW_TAG_inlined_subroutine => {
            function(info, &unit, &entry, target)
        }
        _ => Kind::Unspecified,
    };
    Node {
        kind,
        name: unit.string(attr(dw::DW_AT_name)).map(str::to_owned),
        size,
        align: attr(dw::DW_AT_alignment).and_then(|v| v.udata_value()),
        language: unit.language,
        die: Some(id),
        declaration: is_set(attr(dw::DW_AT_declaration)),
        members: Vec::new(),
    }
}

pub(crate) fn base_encoding(entry: &Entry) -> Option<Encoding> {
    let Some(gimli::AttributeValue::Encoding(e)) = entry.attr_value(dw::DW_AT_encoding) else {
        return None;
    };
    Some(match e {
        dw::DW_ATE_boolean => Encoding::Bool,
        dw::DW_ATE_signed => Encoding::Signed,
        dw::DW_ATE_unsigned | dw::DW_ATE_address => Encoding::Unsigned,
        dw::DW_ATE_signed_char => Encoding::SignedChar,
        dw::DW_ATE_unsigned_char => Encoding::UnsignedChar,
        dw::DW_ATE_UTF | dw::DW_ATE_UCS | dw::DW_ATE_ASCII => Encoding::Utf,
        dw::DW_ATE_float => Encoding::Float,
        dw::DW_ATE_complex_float => Encoding::ComplexFloat,
        _ => return None,
    })
}

/// DWARF gives all dimensions of an array at once; here each is an array of the next.
pub(crate) fn array(info: &Arc<Info>, unit: &Unit, entry: &Entry, element: Link) -> Kind {
    let mut counts = Vec::new();
    for child in children(unit, offset_of(entry)) {
        if child.tag() != dw::DW_TAG_subrange_type || counts.len() >= 16 {
            continue;
        }
        let number = |name| child.attr_value(name).and_then(constant);
        let lower = number(dw::DW_AT_lower_bound).unwrap_or(0);
        let count = number(dw::DW_AT_count).or_else(|| {
            // GCC writes [0] as an upper bound of -1 of an unsigned type.
            let upper = number(dw::DW_AT_upper_bound)?;
            let upper = if upper == u64::MAX.into() || upper == u32::MAX.into() {
                -1
            } else {
                upper
            };
            upper.checked_sub(lower)?.checked_add(1)
        });
        counts.push(count.and_then(|c| u64::try_from(c).ok()));
    }
    let is_vector = is_set(entry.attr_value(dw::DW_AT_GNU_vector));
    if let (true, [Some(n)]) = (is_vector, counts.as_slice()) {
        return Kind::Vector(element, *n);
    }
    let outer = counts.first().copied().unwrap_or(None);
    let mut inner = element;
    for count in counts.iter().skip(1).rev() {
        let of = match &inner {
            Link::Die(id) => Type::from_die(info, *id),
            Link::Made(ty) => ty.clone(),
            Link::Void => Type::void(),
        };
        inner = Link::Made(match count {
            Some(n) => of.array_of(*n),
            None => of.unbounded_array(),
        });
    }
    Kind::Array(inner, outer)
}

pub(crate) fn function(info: &Arc<Info>, unit: &Unit, entry: &Entry, result: Link) -> Kind {
    let mut parameters = Vec::new();
    let mut variadic = false;
    for child in children(unit, offset_of(entry)) {
        match child.tag() {
            dw::DW_TAG_formal_parameter => {
                let id = info.follow(unit, child.attr_value(dw::DW_AT_type));
                parameters.push(id.map_or(Link::Void, Link::Die));
            }
            dw::DW_TAG_unspecified_parameters => variadic = true,
            _ => {}
        }
    }
    let prototyped = is_set(entry.attr_value(dw::DW_AT_prototyped)) || unit.language != Language::C;
    Kind::Function(result, parameters, variadic, prototyped)
}
