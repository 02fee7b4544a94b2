//! Containers by their meaning. Layouts are read from DWARF by the names of members; only which
//! member means what is known here.

use crate::text::Width;
use crate::value::{Data, Value, extend};
use verde_symbols::{Kind, Language, LocationError, Member, Memory, Type};

/// What a container holds.
#[derive(Clone, Debug)]
pub(crate) enum Pretty {
    /// Text; whether it was cut.
    Text(Vec<u8>, Width, bool),
    /// A heading and elements; whether there are more.
    Items(String, Vec<Value>, bool),
    /// A heading and pairs; whether there are more.
    Pairs(String, Vec<(Value, Value)>, bool),
    /// A heading and named parts; whether there are more.
    Fields(String, Vec<(String, Value)>, bool),
    /// A Rust slice: its type and its elements as an array.
    Slice(String, Value),
    /// Not readable, and why.
    Missing(LocationError),
}

/// The meaning of a value, when its type is a known container that looks sane.
pub(crate) fn pretty(value: &Value, memory: &dyn Memory, limit: usize) -> Option<Pretty> {
    let ty = value.ty.strip();
    if !matches!(ty.kind(), Kind::Record(_)) || !matches!(value.data, Data::Bytes(_)) {
        return None;
    }
    let reader = Reader {
        value,
        memory,
        limit,
    };
    match ty.language() {
        Language::Rust => rust(&reader, &ty),
        Language::Cpp => cpp(&reader, &ty),
        _ => None,
    }
}

struct Reader<'a> {
    value: &'a Value,
    memory: &'a dyn Memory,
    limit: usize,
}

/// A member reached by a path of names, through bases.
fn path(value: &Value, names: &[&str], memory: &dyn Memory) -> Option<Value> {
    let mut at = value.clone();
    for name in names {
        let member = at.ty.strip().find_member(name)?;
        at = at.part(member.ty, member.offset, memory);
    }
    Some(at)
}

/// The first pointer in a value, through wrappers.
fn first_pointer(value: &Value, memory: &dyn Memory, depth: usize) -> Option<Value> {
    let ty = value.ty.strip();
    if depth > 12 {
        return None;
    }
    match ty.kind() {
        Kind::Pointer(_) => Some(value.clone()),
        Kind::Record(_) => ty.members().iter().filter(|m| !m.is_static).find_map(|m| {
            first_pointer(
                &value.part(m.ty.clone(), m.offset, memory),
                memory,
                depth + 1,
            )
        }),
        _ => None,
    }
}

/// Where the pointer to the elements of a slice or vector lies, and what they are.
pub(crate) fn data_pointer(ty: &Type) -> Option<(u64, Type)> {
    let name = ty.qualified_name()?;
    if ty.language() == Language::Rust {
        if name.starts_with("&[") || name.starts_with("&mut [") {
            let member = ty.find_member("data_ptr")?;
            return Some((member.offset, member.ty.strip().target()?));
        }
        if name.starts_with("alloc::vec::Vec<") {
            let element = ty.arguments().into_iter().next()?.ty;
            let buffer = ty.find_member("buf")?;
            return Some((buffer.offset + pointer_member(&buffer.ty, 0)?.0, element));
        }
        return None;
    }
    if name.starts_with("std::vector<") {
        let members = ["_M_impl", "_M_start"];
        let mut offset = 0;
        let mut at = ty.clone();
        for name in members {
            let member = at.find_member(name)?;
            offset += member.offset;
            at = member.ty.strip();
        }
        return Some((offset, at.target()?));
    }
    None
}

/// A smart pointer: where its pointer lies, the pointer's type, and the member it leads to when that
/// is not the whole.
pub(crate) fn smart_pointer(ty: &Type) -> Option<(u64, Type, Option<Member>)> {
    if !matches!(ty.kind(), Kind::Record(_)) {
        return None;
    }
    let name = ty.qualified_name()?;
    let counted = ["alloc::rc::Rc<", "alloc::sync::Arc<"];
    let owners = ["std::unique_ptr<", "std::shared_ptr<", "alloc::boxed::Box<"];
    let is = |list: &[&str]| list.iter().any(|p| name.starts_with(p));
    if !is(&counted) && !is(&owners) {
        return None;
    }
    let (offset, pointer) = pointer_member(ty, 0)?;
    let inner = pointer
        .strip()
        .target()
        .filter(|_| is(&counted))
        .and_then(|t| {
            let t = t.strip();
            t.find_member("value").or_else(|| t.find_member("data"))
        });
    Some((offset, pointer, inner))
}

/// The first pointer in a type, through wrappers.
fn pointer_member(ty: &Type, depth: usize) -> Option<(u64, Type)> {
    let plain = ty.strip();
    if depth > 12 {
        return None;
    }
    match plain.kind() {
        Kind::Pointer(_) => Some((0, plain)),
        Kind::Record(_) => plain
            .members()
            .iter()
            .filter(|m| !m.is_static)
            .find_map(|m| {
                let (offset, pointer) = pointer_member(&m.ty, depth + 1)?;
                Some((m.offset + offset, pointer))
            }),
        _ => None,
    }
}

impl Reader<'_> {
    fn path(&self, names: &[&str]) -> Option<Value> {
        path(self.value, names, self.memory)
    }

    fn number(&self, names: &[&str]) -> Option<u64> {
        Some(self.path(names)?.to_integer().ok()? as u64)
    }

    fn word(&self, addr: u64) -> Option<u64> {
        self.memory.read_u64(addr).ok()
    }

    fn items(&self, head: String, element: &Type, start: u64, count: u64) -> Pretty {
        let size = element.size().unwrap_or(1);
        let read = count.min(self.limit as u64);
        let mut items = Vec::new();
        for i in 0..read {
            let value = Value::at(element.clone(), start.wrapping_add(i * size), self.memory);
            if let Data::Missing(why) = &value.data {
                if i == 0 {
                    return Pretty::Missing(why.clone());
                }
                break;
            }
            items.push(value);
        }
        let more = (items.len() as u64) < count;
        Pretty::Items(head, items, more)
    }

    fn text(&self, start: u64, bytes: u64, width: Width) -> Pretty {
        let shown = bytes.min(self.limit as u64 * width.bytes() as u64);
        let mut text = vec![0; shown as usize];
        match self.memory.read(start, &mut text) {
            Ok(()) => Pretty::Text(text, width, shown < bytes),
            Err(LocationError::Memory(_)) => Pretty::Missing(LocationError::Memory(start)),
            Err(why) => Pretty::Missing(why),
        }
    }
}

/// How long a container may claim to be before it is taken for uninitialised.
const SANE: u64 = 1 << 40;

fn rust(reader: &Reader, ty: &Type) -> Option<Pretty> {
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
    for (prefix, label) in [("alloc::rc::Rc<", "Rc"), ("alloc::sync::Arc<", "Arc")] {
        if name.starts_with(prefix) {
            return counted(reader, label);
        }
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
    None
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
        let at = (head + i) % capacity.max(1);
        items.push(Value::at(
            element.clone(),
            start.wrapping_add(at * size),
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

/// A counted pointer: what it points to, and how many do.
fn counted(reader: &Reader, label: &str) -> Option<Pretty> {
    let pointer = first_pointer(reader.value, reader.memory, 0)?;
    let target = pointer.ty.strip().target()?;
    let inner = Value::at(target, pointer.to_address().ok()?, reader.memory);
    let count = |name: &str| {
        let value = path(&inner, &[name], reader.memory)?;
        // Through the cell or the atomic around the number.
        let bytes = value.bytes().ok()?.get(..8)?.to_vec();
        Some(extend(&bytes, false))
    };
    let (strong, weak) = (count("strong")?, count("weak")?);
    let inside = path(&inner, &["value"], reader.memory)
        .or_else(|| path(&inner, &["data"], reader.memory))?;
    // All strong pointers together hold one weak one.
    let head = format!("{label}(strong={strong}, weak={})", weak - 1);
    Some(Pretty::Fields(
        head,
        vec![("value".to_owned(), inside)],
        false,
    ))
}

fn cpp(reader: &Reader, ty: &Type) -> Option<Pretty> {
    let name = ty.qualified_name()?;
    let rest = name.strip_prefix("std::")?;
    let rest = rest.strip_prefix("__cxx11::").unwrap_or(rest);
    let kind = rest.split('<').next()?;
    match kind {
        "basic_string" => {
            let data = reader.path(&["_M_dataplus", "_M_p"])?;
            let length = reader.number(&["_M_string_length"])?;
            let unit = data.ty.strip().target()?.size().unwrap_or(1);
            Some(reader.text(
                data.to_address().ok()?,
                length.checked_mul(unit)?,
                Width::of(unit),
            ))
        }
        "basic_string_view" => {
            let data = reader.path(&["_M_str"])?;
            let length = reader.number(&["_M_len"])?;
            let unit = data.ty.strip().target()?.size().unwrap_or(1);
            Some(reader.text(
                data.to_address().ok()?,
                length.checked_mul(unit)?,
                Width::of(unit),
            ))
        }
        "vector" => vector(reader),
        "map" | "multimap" => tree(reader, kind, true),
        "set" | "multiset" => tree(reader, kind, false),
        "unordered_map" | "unordered_multimap" => hash(reader, kind, true),
        "unordered_set" | "unordered_multiset" => hash(reader, kind, false),
        "list" => list(reader, &name),
        "unique_ptr" => {
            let pointer = first_pointer(&reader.path(&["_M_t"])?, reader.memory, 0)?;
            let inner = crate::type_text::name_of(&pointer.ty.strip().target()?);
            let head = format!("std::unique_ptr<{inner}>");
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
        _ => None,
    }
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
        reader.memory.read(start + i / 8, &mut byte).ok()?;
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
        let node = reader.word(first_node + 8 * (at / per_node))?;
        items.push(Value::at(
            element.clone(),
            node + (at % per_node) * size,
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
                parts.push((format!("[{}]", parts.len()), value));
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
        values.push(Value::at(held.clone(), node + first, reader.memory));
        // The next in order: leftmost of the right side, else up to the first parent from the left.
        let mut next = reader.word(node + right)?;
        if next != 0 {
            let mut steps = 0;
            while let Some(down) = reader.word(next + left).filter(|&a| a != 0) {
                next = down;
                steps += 1;
                if steps > 128 {
                    return None;
                }
            }
        } else {
            let mut child = node;
            next = reader.word(child + parent)?;
            let mut steps = 0;
            while next != end && reader.word(next + right)? == child {
                child = next;
                next = reader.word(child + parent)?;
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
        values.push(Value::at(held.clone(), node + first, reader.memory));
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
        let value = Value::at(held.clone(), node + first, reader.memory);
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
    let name = crate::type_text::name_of(&held);
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
    let class = object.ty.strip();
    let bases: Vec<Member> = class
        .members()
        .into_iter()
        .filter(|m| m.is_virtual)
        .collect();
    let index = bases.iter().position(|m| m.die == member.die)? as u64;
    let table = extend(object.bytes().ok()?.get(..8)?, false) as u64;
    // Offsets of virtual bases stand before the offset to the top and the type information.
    let at = table.checked_sub(24 + 8 * index)?;
    memory.read_u64(at).ok()
}
