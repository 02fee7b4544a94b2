//! Containers of libstdc++.

use super::{Pretty, Reader, SANE, cpp_wrappers, first_pointer, parts, path};
use crate::text::Width;
use crate::value::{Value, extend};
use verde_symbols::{Kind, Language, Member, Memory, Type};

/// The meaning of a C++ value.
pub(super) fn pretty(reader: &Reader, ty: &Type) -> Option<Pretty> {
    let name = ty.qualified_name()?;
    if name.starts_with("__gnu_cxx::__normal_iterator<") {
        return cpp_wrappers::iterator(reader);
    }
    let rest = name.strip_prefix("std::")?;
    let rest = rest.strip_prefix("__cxx11::").unwrap_or(rest);
    let kind = rest.split('<').next()?;
    if let Some(iterator) = parts::iterator(reader, kind.trim_start_matches("__detail::")) {
        return Some(iterator);
    }
    match kind {
        "basic_string" => {
            let data = reader.path(&["_M_dataplus", "_M_p"])?;
            let length = reader.number(&["_M_string_length"])?;
            text(reader, &data, length)
        }
        "basic_string_view" => {
            let data = reader.path(&["_M_str"])?;
            let length = reader.number(&["_M_len"])?;
            text(reader, &data, length)
        }
        "vector" => vector(reader),
        "map" | "multimap" => tree(reader, kind, true),
        "set" | "multiset" => tree(reader, kind, false),
        "unordered_map" | "unordered_multimap" => hash(reader, kind, true),
        "unordered_set" | "unordered_multiset" => hash(reader, kind, false),
        "list" => list(reader, &name),
        "forward_list" => forward_list(reader),
        "unique_ptr" => {
            let pointer = first_pointer(&reader.path(&["_M_t"])?, reader.memory, 0)?;
            // Of an array: the pointer is that of an element.
            let held = ty.arguments().into_iter().next()?.ty;
            let head = format!("std::unique_ptr<{}>", crate::type_text::name_of(&held));
            Some(Pretty::Fields(
                head,
                vec![("get()".to_owned(), pointer)],
                false,
            ))
        }
        "shared_ptr" | "weak_ptr" => shared(reader, ty, kind),
        "optional" => optional(reader, ty),
        "deque" => deque(reader, ty),
        "tuple" => tuple(reader),
        "pair" => {
            let part = |name: &str| Some((name.to_owned(), reader.path(&[name])?));
            Some(Pretty::Fields(
                String::new(),
                vec![part("first")?, part("second")?],
                false,
            ))
        }
        _ => cpp_wrappers::pretty(reader, ty, kind),
    }
}

/// Characters of any width, with the mark that a literal of them has.
fn text(reader: &Reader, data: &Value, length: u64) -> Option<Pretty> {
    let character = data.ty.strip().target()?;
    let unit = character.size().unwrap_or(1);
    let text = reader.text(
        data.to_address().ok()?,
        length.checked_mul(unit)?,
        Width::of(unit),
    );
    let mark = match character.strip().name() {
        Some("wchar_t") => "L",
        Some("char16_t") => "u",
        Some("char32_t") => "U",
        _ => return Some(text),
    };
    Some(Pretty::Prefixed(mark.to_owned(), Box::new(text)))
}

fn vector(reader: &Reader) -> Option<Pretty> {
    let start = reader.path(&["_M_impl", "_M_start"])?;
    let Kind::Pointer(_) = start.ty.strip().kind() else {
        return bit_vector(reader);
    };
    let element = start.ty.strip().target()?;
    let size = element.size().filter(|&s| s > 0)?;
    let start = start.to_address().ok()?;
    let end = reader.number(&["_M_impl", "_M_finish"])?;
    let limit = reader.number(&["_M_impl", "_M_end_of_storage"])?;
    let length = end.checked_sub(start)? / size;
    let capacity = limit.checked_sub(start)? / size;
    if length > SANE || capacity < length {
        return None;
    }
    let head = format!("std::vector of length {length}, capacity {capacity}");
    Some(reader.items(head, &element, start, length))
}

/// `std::vector<bool>`: iterators of a word and a bit.
fn bit_vector(reader: &Reader) -> Option<Pretty> {
    let word = |iterator: &str| reader.number(&["_M_impl", iterator, "_M_p"]);
    let bit = |iterator: &str| reader.number(&["_M_impl", iterator, "_M_offset"]);
    let start = word("_M_start")?;
    let bits = |iterator| Some((word(iterator)?.checked_sub(start)?) * 8 + bit(iterator)?);
    let length = bits("_M_finish")?
        .checked_sub(bit("_M_start")?)
        .filter(|&n| n < SANE)?;
    let storage = reader.number(&["_M_impl", "_M_end_of_storage"])?;
    let capacity = storage.checked_sub(start)? * 8;
    let truth = Type::base_in("bool", verde_symbols::Encoding::Bool, 1, Language::Cpp);
    let mut items = Vec::new();
    for i in 0..length.min(reader.limit as u64) {
        let mut byte = [0];
        reader
            .memory
            .read(start.wrapping_add(i / 8), &mut byte)
            .ok()?;
        let set = byte[0] >> (i % 8) & 1;
        items.push(Value::integer(truth.clone(), set.into()));
    }
    let more = (items.len() as u64) < length;
    let head = format!("std::vector<bool> of length {length}, capacity {capacity}");
    Some(Pretty::Items(head, items, more))
}

/// A deque: a map of nodes of 512 bytes (or one element) each.
fn deque(reader: &Reader, ty: &Type) -> Option<Pretty> {
    let element = ty.arguments().into_iter().next()?.ty;
    let size = element.size().filter(|&s| s > 0)?;
    let per_node = (512 / size).max(1);
    let part = |iterator: &str, field: &str| reader.number(&["_M_impl", iterator, field]);
    let (first_node, last_node) = (part("_M_start", "_M_node")?, part("_M_finish", "_M_node")?);
    let head = (part("_M_start", "_M_cur")?.checked_sub(part("_M_start", "_M_first")?)?) / size;
    let tail = (part("_M_finish", "_M_cur")?.checked_sub(part("_M_finish", "_M_first")?)?) / size;
    let nodes = last_node.checked_sub(first_node)? / 8;
    let length = (nodes.checked_mul(per_node)?.checked_add(tail)?).checked_sub(head)?;
    if length > SANE {
        return None;
    }
    let mut items = Vec::new();
    for i in 0..length.min(reader.limit as u64) {
        let at = head + i;
        let node = reader.word(first_node.wrapping_add(8 * (at / per_node)))?;
        items.push(Value::at(
            element.clone(),
            node.wrapping_add((at % per_node).wrapping_mul(size)),
            reader.memory,
        ));
    }
    let more = (items.len() as u64) < length;
    let plural = if length == 1 { "" } else { "s" };
    Some(Pretty::Items(
        format!("std::deque with {length} element{plural}"),
        items,
        more,
    ))
}

/// A tuple: every base holds one part, in `_M_head_impl`, and the rest in its own base.
fn tuple(reader: &Reader) -> Option<Pretty> {
    let mut parts = Vec::new();
    let bases = reader.value.ty.strip().members();
    let first = bases.into_iter().find(|m| m.is_base)?;
    let mut at = Some(reader.value.part(first.ty, first.offset, reader.memory));
    while let Some(level) = at.take() {
        let mut next = None;
        for base in level.ty.strip().members().into_iter().filter(|m| m.is_base) {
            let inner = level.part(base.ty.clone(), base.offset, reader.memory);
            let name = base.ty.strip().name().unwrap_or("").to_owned();
            if name.starts_with("_Tuple_impl") {
                next = Some(inner);
            } else if name.starts_with("_Head_base") {
                let held = base.ty.strip();
                let member = held.members().into_iter().find(|m| !m.is_static)?;
                let value = inner.part(member.ty, member.offset, reader.memory);
                parts.push((format!("[{}]", parts.len() + 1), value));
            }
        }
        if parts.len() > 64 {
            return None;
        }
        at = next;
    }
    let head = if parts.is_empty() {
        "empty std::tuple"
    } else {
        "std::tuple containing"
    };
    Some(Pretty::Fields(head.to_owned(), parts, false))
}

fn tree(reader: &Reader, kind: &str, pairs: bool) -> Option<Pretty> {
    let tree = reader.path(&["_M_t"])?;
    let held = tree.ty.strip().arguments().into_iter().nth(1)?.ty;
    let header = path(&tree, &["_M_impl", "_M_header"], reader.memory)?;
    let base = header.ty.strip();
    let offset = |name: &str| base.find_member(name).map(|m| m.offset);
    let (left, right, parent) = (
        offset("_M_left")?,
        offset("_M_right")?,
        offset("_M_parent")?,
    );
    let count = path(&tree, &["_M_impl", "_M_node_count"], reader.memory)?;
    let count = count.to_integer().ok().filter(|&n| (n as u64) < SANE)? as u64;
    let plural = if count == 1 { "" } else { "s" };
    let head = format!("std::{kind} with {count} element{plural}");
    let first = base
        .size()?
        .next_multiple_of(held.stated_align().unwrap_or(8).max(1));
    let end = header.address()?;
    let mut node = path(&header, &["_M_left"], reader.memory)?
        .to_address()
        .ok()?;
    let mut values = Vec::new();
    while values.len() < count.min(reader.limit as u64) as usize && node != end {
        values.push(Value::at(
            held.clone(),
            node.wrapping_add(first),
            reader.memory,
        ));
        // The next in order: leftmost of the right side, else up to the first parent from the left.
        let mut next = reader.word(node.wrapping_add(right))?;
        if next != 0 {
            let mut steps = 0;
            while let Some(down) = reader.word(next.wrapping_add(left)).filter(|&a| a != 0) {
                next = down;
                steps += 1;
                if steps > 128 {
                    return None;
                }
            }
        } else {
            let mut child = node;
            next = reader.word(child.wrapping_add(parent))?;
            let mut steps = 0;
            while next != end && reader.word(next.wrapping_add(right))? == child {
                child = next;
                next = reader.word(child.wrapping_add(parent))?;
                steps += 1;
                if steps > 128 {
                    return None;
                }
            }
        }
        node = next;
    }
    let more = (values.len() as u64) < count;
    Some(held_values(head, values, pairs, more, reader.memory))
}

fn held_values(
    head: String,
    values: Vec<Value>,
    pairs: bool,
    more: bool,
    memory: &dyn Memory,
) -> Pretty {
    if !pairs {
        let numbered = values.into_iter().enumerate();
        let fields = numbered.map(|(i, v)| (format!("[{i}]"), v)).collect();
        return Pretty::Fields(head, fields, more);
    }
    let split = |value: Value| {
        let key = path(&value, &["first"], memory)?;
        Some((key, path(&value, &["second"], memory)?))
    };
    Pretty::Pairs(head, values.into_iter().filter_map(split).collect(), more)
}

fn hash(reader: &Reader, kind: &str, pairs: bool) -> Option<Pretty> {
    let table = reader.path(&["_M_h"])?;
    let held = table.ty.strip().arguments().into_iter().nth(1)?.ty;
    let count = path(&table, &["_M_element_count"], reader.memory)?
        .to_integer()
        .ok()? as u64;
    let plural = if count == 1 { "" } else { "s" };
    let head = format!("std::{kind} with {count} element{plural}");
    let before = path(&table, &["_M_before_begin"], reader.memory)?;
    let base = before.ty.strip().size()?;
    let first = base.next_multiple_of(held.stated_align().unwrap_or(8).max(1));
    let mut node = path(&before, &["_M_nxt"], reader.memory)?
        .to_address()
        .ok()?;
    let mut values = Vec::new();
    while node != 0 && (values.len() as u64) < count.min(reader.limit as u64) {
        values.push(Value::at(
            held.clone(),
            node.wrapping_add(first),
            reader.memory,
        ));
        // A broken chain: what was found is shown.
        let Some(next) = reader.word(node) else { break };
        node = next;
    }
    let more = (values.len() as u64) < count;
    Some(held_values(head, values, pairs, more, reader.memory))
}

fn list(reader: &Reader, name: &str) -> Option<Pretty> {
    let held = reader.value.ty.strip().arguments().into_iter().next()?.ty;
    let header = reader.path(&["_M_impl", "_M_node"])?;
    let end = header.address()?;
    // Links first, then the value.
    let first = 16u64.next_multiple_of(held.stated_align().unwrap_or(8).max(1));
    let mut node = reader.word(end)?;
    let mut items = Vec::new();
    while node != end && node != 0 && items.len() < reader.limit {
        let value = Value::at(held.clone(), node.wrapping_add(first), reader.memory);
        items.push((format!("[{}]", items.len()), value));
        node = reader.word(node)?;
    }
    let head = name.split('<').next()?.to_owned();
    let head = if items.is_empty() {
        format!("empty {head}")
    } else {
        head
    };
    Some(Pretty::Fields(head, items, false))
}

/// A chain of nodes, each with the link first.
fn forward_list(reader: &Reader) -> Option<Pretty> {
    let held = reader.value.ty.strip().arguments().into_iter().next()?.ty;
    let first = 8u64.next_multiple_of(held.stated_align().unwrap_or(8).max(1));
    let mut node = reader.number(&["_M_impl", "_M_head", "_M_next"])?;
    let mut items = Vec::new();
    while node != 0 && items.len() < reader.limit {
        let value = Value::at(held.clone(), node.wrapping_add(first), reader.memory);
        items.push((format!("[{}]", items.len()), value));
        node = reader.word(node)?;
    }
    let head = match items.is_empty() {
        true => "empty std::forward_list",
        false => "std::forward_list",
    };
    Some(Pretty::Fields(head.to_owned(), items, node != 0))
}

fn shared(reader: &Reader, ty: &Type, kind: &str) -> Option<Pretty> {
    let pointer = reader.path(&["_M_ptr"])?;
    let inner = crate::type_text::name_of(&ty.arguments().into_iter().next()?.ty);
    let control = reader.path(&["_M_refcount", "_M_pi"])?;
    let at = control.to_address().ok()?;
    let state = if at == 0 {
        "(empty)".to_owned()
    } else {
        let block = Value::at(control.ty.strip().target()?, at, reader.memory);
        let count = |name| path(&block, &[name], reader.memory)?.to_integer().ok();
        let (used, weak) = (count("_M_use_count")?, count("_M_weak_count")?);
        match used {
            0 => format!("(expired, weak count {weak})"),
            n => format!("(use count {n}, weak count {})", weak - 1),
        }
    };
    let head = format!("std::{kind}<{inner}> {state}");
    Some(Pretty::Fields(
        head,
        vec![("get()".to_owned(), pointer)],
        false,
    ))
}

fn optional(reader: &Reader, ty: &Type) -> Option<Pretty> {
    let held = ty.arguments().into_iter().next()?.ty;
    let payload = reader.path(&["_M_payload"])?;
    let engaged = path(&payload, &["_M_engaged"], reader.memory)?
        .to_bool()
        .ok()?;
    let name = cpp_wrappers::short_name(&held);
    if !engaged {
        let head = format!("std::optional<{name}> [no contained value]");
        return Some(Pretty::Fields(head, Vec::new(), false));
    }
    let head = format!("std::optional<{name}>");
    let value = payload.part(held, 0, reader.memory);
    Some(Pretty::Fields(
        head,
        vec![("[contained value]".to_owned(), value)],
        false,
    ))
}

/// Where a virtual base lies in an object: the virtual table says, below its start.
pub(crate) fn virtual_base_offset(
    object: &Value,
    member: &Member,
    memory: &dyn Memory,
) -> Option<u64> {
    let table = extend(object.bytes().ok()?.get(..8)?, false) as u64;
    let at = table.checked_sub(member.offset)?;
    memory.read_u64(at).ok()
}
