//! Containers of Rust's standard library.

use super::{Pretty, Reader, SANE, first_pointer, path, rust_btree, rust_cells};
use crate::text::Width;
use crate::value::Value;
use verde_symbols::{Kind, Memory, Type};

/// The meaning of a Rust value.
pub(super) fn pretty(reader: &Reader, ty: &Type) -> Option<Pretty> {
    let name = ty.qualified_name()?;
    if name == "&str" || name == "&mut str" {
        let start = reader.path(&["data_ptr"])?.to_address().ok()?;
        let length = reader.number(&["length"])?;
        return Some(reader.text(start, length, Width::Byte));
    }
    if name == "alloc::string::String" {
        let vec = reader.path(&["vec"])?;
        let start = first_pointer(&path(&vec, &["buf"], reader.memory)?, reader.memory, 0)?;
        let length = path(&vec, &["len"], reader.memory)?.to_integer().ok()? as u64;
        return Some(reader.text(start.to_address().ok()?, length, Width::Byte));
    }
    if name.starts_with("&[") || name.starts_with("&mut [") {
        let data = reader.path(&["data_ptr"])?;
        let element = data.ty.strip().target()?;
        let length = reader.number(&["length"]).filter(|&n| n < SANE)?;
        let start = data.to_address().ok()?;
        let array = Value::at(element.array_of(length), start, reader.memory);
        return Some(Pretty::Slice(name, array));
    }
    if name.starts_with("alloc::vec::Vec<") {
        let element = ty.arguments().into_iter().next()?.ty;
        let start = first_pointer(&reader.path(&["buf"])?, reader.memory, 0)?;
        let length = reader.number(&["len"]).filter(|&n| n < SANE)?;
        let head = format!("Vec(size={length})");
        return Some(reader.items(head, &element, start.to_address().ok()?, length));
    }
    if let Some(found) = rust_cells::pretty(reader, &name) {
        return Some(found);
    }
    if name.starts_with("alloc::collections::vec_deque::VecDeque<") {
        return ring(reader, ty);
    }
    if name.starts_with("std::collections::hash::map::HashMap<") {
        return swiss(reader, "HashMap", &["base", "table"], true);
    }
    if name.starts_with("std::collections::hash::set::HashSet<") {
        return swiss(reader, "HashSet", &["base", "map", "table"], false);
    }
    if name.starts_with("alloc::collections::btree::map::BTreeMap<") {
        return rust_btree::map(reader);
    }
    if name.starts_with("alloc::collections::btree::set::BTreeSet<") {
        return rust_btree::set(reader);
    }
    if name == "std::ffi::os_str::OsString" {
        let bytes = reader.path(&["inner", "inner"])?;
        let start = first_pointer(&path(&bytes, &["buf"], reader.memory)?, reader.memory, 0)?;
        let length = path(&bytes, &["len"], reader.memory)?.to_integer().ok()? as u64;
        return Some(reader.text(start.to_address().ok()?, length, Width::Byte));
    }
    if name.starts_with("core::cell::Cell<") {
        let value = reader.path(&["value", "value"])?;
        return Some(fields("Cell".to_owned(), vec![("value", value)]));
    }
    if name.starts_with("core::cell::RefCell<") {
        let borrow = reader.path(&["borrow", "value", "value"])?;
        let head = format!("RefCell(borrow={})", borrow.to_integer().ok()?);
        let value = reader.path(&["value", "value"])?;
        return Some(fields(head, vec![("value", value), ("borrow", borrow)]));
    }
    if name.starts_with("core::num::nonzero::NonZero<") {
        let value = reader.path(&["__0", "__0"])?;
        return Some(Pretty::Same(Box::new(value)));
    }
    None
}

fn fields(head: String, parts: Vec<(&str, Value)>) -> Pretty {
    let named = parts
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    Pretty::Fields(head, named.collect(), false)
}

/// A ring buffer: elements from `head` on, around the end of the buffer.
fn ring(reader: &Reader, ty: &Type) -> Option<Pretty> {
    let element = ty.arguments().into_iter().next()?.ty;
    let size = element.size()?;
    let start = first_pointer(&reader.path(&["buf"])?, reader.memory, 0)?
        .to_address()
        .ok()?;
    // The capacity is behind wrappers; it is the only number beside the pointer.
    let buffer = reader.path(&["buf"])?;
    let capacity = first_number(&buffer, reader.memory, 0)?;
    let head = reader.number(&["head"])?;
    let length = reader
        .number(&["len"])
        .filter(|&n| n <= capacity && n < SANE)?;
    let mut items = Vec::new();
    for i in 0..length.min(reader.limit as u64) {
        let at = head.wrapping_add(i) % capacity.max(1);
        items.push(Value::at(
            element.clone(),
            start.wrapping_add(at.wrapping_mul(size)),
            reader.memory,
        ));
    }
    let more = (items.len() as u64) < length;
    Some(Pretty::Items(
        format!("VecDeque(size={length})"),
        items,
        more,
    ))
}

/// The first integer in a value, through wrappers.
fn first_number(value: &Value, memory: &dyn Memory, depth: usize) -> Option<u64> {
    let ty = value.ty.strip();
    match ty.kind() {
        Kind::Base(_) if ty.size() == Some(8) => Some(value.to_integer().ok()? as u64),
        Kind::Record(_) if depth < 12 => {
            ty.members().iter().filter(|m| !m.is_static).find_map(|m| {
                let part = value.part(m.ty.clone(), m.offset, memory);
                first_number(&part, memory, depth + 1)
            })
        }
        _ => None,
    }
}

/// A hash table of hashbrown: control bytes say which buckets are full, and the buckets lie before
/// them, last first.
fn swiss(reader: &Reader, label: &str, to_table: &[&str], pairs: bool) -> Option<Pretty> {
    let outer = reader.path(to_table)?;
    let entry = outer.ty.strip().arguments().into_iter().next()?.ty;
    let size = entry.size()?;
    let inner = path(&outer, &["table"], reader.memory)?;
    let number = |name: &str| path(&inner, &[name], reader.memory)?.to_integer().ok();
    let count = number("items").filter(|&n| n >= 0)? as u64;
    let buckets = (number("bucket_mask")? as u64)
        .checked_add(1)
        .filter(|&n| n < SANE)?;
    let control = first_pointer(&path(&inner, &["ctrl"], reader.memory)?, reader.memory, 0)?;
    let control = control.to_address().ok()?;
    let mut values = Vec::new();
    for bucket in 0..buckets.min(1 << 20) {
        if values.len() as u64 >= count.min(reader.limit as u64) {
            break;
        }
        let mut state = [0];
        if reader
            .memory
            .read(control.wrapping_add(bucket), &mut state)
            .is_err()
        {
            break;
        }
        if state[0] & 0x80 == 0 {
            let at = control.wrapping_sub((bucket + 1).wrapping_mul(size));
            values.push(Value::at(entry.clone(), at, reader.memory));
        }
    }
    let more = (values.len() as u64) < count;
    let head = format!("{label}(size={count})");
    if !pairs {
        // A set is a map to nothing.
        let keys = values
            .iter()
            .filter_map(|v| path(v, &["__0"], reader.memory))
            .collect();
        return Some(Pretty::Items(head, keys, more));
    }
    let split = |v: &Value| {
        let key = path(v, &["__0"], reader.memory)?;
        Some((key, path(v, &["__1"], reader.memory)?))
    };
    Some(Pretty::Pairs(
        head,
        values.iter().filter_map(split).collect(),
        more,
    ))
}
