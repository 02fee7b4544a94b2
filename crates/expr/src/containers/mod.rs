//! Containers by their meaning. Layouts are read from DWARF by the names of members; only which
//! member means what is known here.

mod cpp;
mod cpp_wrappers;
mod parts;
mod rust;
mod rust_btree;
mod rust_cells;

pub(crate) use cpp::virtual_base_offset;
pub(crate) use cpp_wrappers::short_name;
pub(crate) use parts::{Shape, element, held, held_type, is_text, length, nth, pairs, shape};

use crate::text::Width;
use crate::value::{Data, Value};
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
    /// A text or a value before which something is said.
    Prefixed(String, Box<Pretty>),
    /// One value, as it is.
    Same(Box<Value>),
    /// A heading and one value in braces of its own.
    Wrapped(String, Box<Value>),
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
        Language::Rust => rust::pretty(&reader, &ty),
        Language::Cpp => cpp::pretty(&reader, &ty),
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
        let is_slice = ["&[", "&mut [", "alloc::boxed::Box<["];
        let is_text = ["&str", "&mut str", "alloc::boxed::Box<str, "];
        if is_slice.iter().chain(&is_text).any(|p| name.starts_with(p)) {
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
    let is_text = name.starts_with("std::__cxx11::basic_string<");
    let is_view = name.starts_with("std::basic_string_view<");
    if is_text || is_view || name.starts_with("std::vector<") {
        let members: &[&str] = match (is_text, is_view) {
            (true, _) => &["_M_dataplus", "_M_p"],
            (_, true) => &["_M_str"],
            _ => &["_M_impl", "_M_start"],
        };
        let mut offset = 0;
        let mut at = ty.clone();
        for name in members {
            let member = at.find_member(name)?;
            offset += member.offset;
            at = member.ty.strip();
        }
        // The bits of a `std::vector<bool>` have no pointer.
        let Kind::Pointer(_) = at.kind() else {
            return None;
        };
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
    let owners = [
        "std::unique_ptr<",
        "std::shared_ptr<",
        "alloc::boxed::Box<",
        "__gnu_cxx::__normal_iterator<",
        "core::cell::Ref<",
        "core::cell::RefMut<",
        "std::sync::poison::rwlock::RwLockReadGuard<",
        "std::sync::rwlock::RwLockReadGuard<",
    ];
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
            let value = Value::at(
                element.clone(),
                start.wrapping_add(i.wrapping_mul(size)),
                self.memory,
            );
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
