//! Types of libstdc++ that hold one value of another type.

use super::{Pretty, Reader, SANE, path};
use crate::type_text::name_of;
use crate::value::Value;
use verde_symbols::{Encoding, Kind, Language, Type};

/// Bits of a set that are looked at.
const MOST_BITS: u64 = 1 << 16;

pub(super) fn pretty(reader: &Reader, ty: &Type, kind: &str) -> Option<Pretty> {
    match kind {
        "variant" => variant(reader),
        "bitset" => bits(reader),
        "stack" | "queue" | "priority_queue" => {
            let held = reader.path(&["c"])?;
            let inner = super::pretty(&held, reader.memory, reader.limit)?;
            let head = format!("std::{kind} wrapping: ");
            Some(Pretty::Prefixed(head, Box::new(inner)))
        }
        "span" => span(reader, ty),
        "initializer_list" => {
            let length = reader.number(&["_M_len"])?;
            let head = format!("std::initializer_list of length {length}");
            elements(reader, "_M_array", head, length)
        }
        "filesystem::__cxx11::path" => {
            let name = reader.path(&["_M_pathname"])?;
            let inner = super::pretty(&name, reader.memory, reader.limit)?;
            Some(Pretty::Prefixed(
                "filesystem::path ".to_owned(),
                Box::new(inner),
            ))
        }
        "atomic" => {
            let value = ["_M_i", "_M_base", "_M_fp", "_M_b"]
                .into_iter()
                .find_map(|member| reader.path(&[member]))?;
            let value = reader.path(&["_M_base", "_M_i"]).unwrap_or(value);
            let name = short_name(&ty.arguments().into_iter().next()?.ty);
            Some(Pretty::Wrapped(
                format!("std::atomic<{name}>"),
                Box::new(value),
            ))
        }
        _ => None,
    }
}

/// A view of elements; how many there are may be part of its type.
fn span(reader: &Reader, ty: &Type) -> Option<Pretty> {
    let length = reader.number(&["_M_extent", "_M_extent_value"]);
    let length = length.or_else(|| {
        let name = ty.name()?.trim_end_matches('>').trim_end();
        let (_, count) = name.rsplit_once(',')?;
        count.trim().trim_end_matches("ul").parse().ok()
    })?;
    elements(
        reader,
        "_M_ptr",
        format!("std::span of length {length}"),
        length,
    )
}

/// Elements behind a pointer.
fn elements(reader: &Reader, pointer: &str, head: String, length: u64) -> Option<Pretty> {
    let pointer = reader.path(&[pointer])?;
    let element = pointer.ty.strip().target()?;
    if length > SANE {
        return None;
    }
    Some(reader.items(head, &element, pointer.to_address().ok()?, length))
}

/// The name of a type as people write it.
pub(crate) fn short_name(ty: &Type) -> String {
    const STRING: &str =
        "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";
    name_of(ty).replace(STRING, "std::string")
}

/// A chain of unions: each holds one alternative, and the rest of them.
fn variant(reader: &Reader) -> Option<Pretty> {
    const MOST: usize = 256;
    let mut alternatives: Vec<Value> = Vec::new();
    let mut at = reader.path(&["_M_u"])?;
    while alternatives.len() < MOST
        && let Some(first) = path(&at, &["_M_first"], reader.memory)
    {
        let held = first.ty.strip().arguments().into_iter().next()?.ty;
        alternatives.push(first.part(held, 0, reader.memory));
        match path(&at, &["_M_rest"], reader.memory) {
            Some(rest) => at = rest,
            None => break,
        }
    }
    let names: Vec<String> = alternatives.iter().map(|v| short_name(&v.ty)).collect();
    let head = format!("std::variant<{}>", names.join(", "));
    let index = reader.number(&["_M_index"])? as usize;
    match (index < alternatives.len()).then(|| alternatives.swap_remove(index)) {
        Some(value) => {
            let head = format!("{head} [index {index}]");
            Some(Pretty::Items(head, vec![value], false))
        }
        None => Some(Pretty::Items(
            format!("{head} [no contained value]"),
            Vec::new(),
            false,
        )),
    }
}

/// The bits that are set.
fn bits(reader: &Reader) -> Option<Pretty> {
    let words = reader.path(&["_M_w"])?;
    let bytes = words.bytes().ok()?;
    let bit = Type::base_in("int", Encoding::Signed, 4, Language::Cpp);
    let mut set = Vec::new();
    for i in 0..(bytes.len() as u64 * 8).min(MOST_BITS) {
        if bytes[(i / 8) as usize] >> (i % 8) & 1 == 1 {
            set.push((format!("[{i}]"), Value::integer(bit.clone(), 1)));
        }
    }
    let more = set.len() > reader.limit;
    set.truncate(reader.limit);
    Some(Pretty::Fields("std::bitset".to_owned(), set, more))
}

/// An iterator of a vector or string is shown as what it points to.
pub(super) fn iterator(reader: &Reader) -> Option<Pretty> {
    let pointer = reader.path(&["_M_current"])?;
    let Kind::Pointer(_) = pointer.ty.strip().kind() else {
        return None;
    };
    let at = pointer.to_address().ok().filter(|&at| at != 0)?;
    let value = Value::at(pointer.ty.strip().target()?, at, reader.memory);
    Some(Pretty::Same(Box::new(value)))
}
