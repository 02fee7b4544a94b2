//! Rust's types around one value: locks, atomics, counted pointers, what guards them.

use super::{Pretty, Reader, first_pointer, path};
use crate::text::Width;
use crate::value::{Value, extend};
use verde_symbols::{Encoding, Kind, Language, Memory, Type};

/// The meaning of a value of such a type.
pub(super) fn pretty(reader: &Reader, name: &str) -> Option<Pretty> {
    let kind = name.split('<').next()?;
    let is_atomic = kind.starts_with("core::sync::atomic::Atomic");
    match kind {
        "alloc::boxed::Box" => boxed(reader, name),
        "alloc::rc::Rc" => counted(reader, "Rc"),
        "alloc::sync::Arc" => counted(reader, "Arc"),
        "alloc::rc::Weak" | "alloc::sync::Weak" => counted(reader, "Weak"),
        "std::sync::poison::mutex::Mutex" | "std::sync::mutex::Mutex" => {
            let held = reader.path(&["inner", "futex", "v", "value"]);
            let held = held.and_then(|v| Some(truth(v.to_integer().ok()? != 0)));
            lock(reader, "Mutex", held)
        }
        "std::sync::poison::rwlock::RwLock" | "std::sync::rwlock::RwLock" => {
            lock(reader, "RwLock", None)
        }
        "core::cell::Ref" | "core::cell::RefMut" => {
            let pointer = first_pointer(&reader.path(&["value"])?, reader.memory, 0)?;
            guarded(reader, kind, &pointer)
        }
        "std::sync::poison::mutex::MutexGuard"
        | "std::sync::mutex::MutexGuard"
        | "std::sync::poison::rwlock::RwLockWriteGuard"
        | "std::sync::rwlock::RwLockWriteGuard" => {
            let lock = target(&reader.path(&["lock"])?, reader.memory)?;
            let value = path(&lock, &["data", "value"], reader.memory)?;
            Some(around(kind, value))
        }
        "std::sync::poison::rwlock::RwLockReadGuard" | "std::sync::rwlock::RwLockReadGuard" => {
            let pointer = first_pointer(&reader.path(&["data"])?, reader.memory, 0)?;
            guarded(reader, kind, &pointer)
        }
        "alloc::collections::linked_list::LinkedList" => list(reader),
        "alloc::collections::binary_heap::BinaryHeap" => {
            let held = super::pretty(&reader.path(&["data"])?, reader.memory, reader.limit)?;
            match held {
                Pretty::Items(head, items, more) => Some(Pretty::Items(
                    head.replace("Vec", "BinaryHeap"),
                    items,
                    more,
                )),
                _ => None,
            }
        }
        "std::path::PathBuf" => {
            super::pretty(&reader.path(&["inner"])?, reader.memory, reader.limit)
        }
        _ if is_atomic => {
            let value = reader.path(&["v", "value"])?;
            let value = match kind.ends_with("Bool") || name.ends_with("<bool>") {
                true => truth(value.to_integer().ok()? != 0),
                false => value,
            };
            Some(Pretty::Same(Box::new(value)))
        }
        _ => None,
    }
}

fn truth(value: bool) -> Value {
    let ty = Type::base_in("bool", Encoding::Bool, 1, Language::Rust);
    Value::integer(ty, value.into())
}

fn target(pointer: &Value, memory: &dyn Memory) -> Option<Value> {
    let at = pointer.to_address().ok()?;
    Some(Value::at(pointer.ty.strip().target()?, at, memory))
}

/// One value under the last part of a type's name.
fn around(kind: &str, value: Value) -> Pretty {
    let head = kind.rsplit("::").next().unwrap_or(kind).to_owned();
    Pretty::Fields(head, vec![("value".to_owned(), value)], false)
}

fn guarded(reader: &Reader, kind: &str, pointer: &Value) -> Option<Pretty> {
    Some(around(kind, target(pointer, reader.memory)?))
}

fn lock(reader: &Reader, head: &str, held: Option<Value>) -> Option<Pretty> {
    let mut fields = vec![("data".to_owned(), reader.path(&["data", "value"])?)];
    fields.extend(held.map(|held| ("locked".to_owned(), held)));
    if let Some(failed) = reader.path(&["poison", "failed", "v", "value"]) {
        let failed = truth(failed.to_integer().ok()? != 0);
        fields.push(("poisoned".to_owned(), failed));
    }
    Some(Pretty::Fields(head.to_owned(), fields, false))
}

/// A pointer with a length beside it, through wrappers.
fn fat_pointer(value: &Value, memory: &dyn Memory, depth: usize) -> Option<(Value, u64)> {
    let ty = value.ty.strip();
    if depth > 8 || !matches!(ty.kind(), Kind::Record(_)) {
        return None;
    }
    if let (Some(data), Some(length)) = (
        path(value, &["data_ptr"], memory),
        path(value, &["length"], memory),
    ) {
        return Some((data, u64::try_from(length.to_integer().ok()?).ok()?));
    }
    ty.members().iter().filter(|m| !m.is_static).find_map(|m| {
        let part = value.part(m.ty.clone(), m.offset, memory);
        fat_pointer(&part, memory, depth + 1)
    })
}

/// `Box<str>` and `Box<[T]>`; other boxes are the pointers they are.
fn boxed(reader: &Reader, name: &str) -> Option<Pretty> {
    let (data, length) = fat_pointer(reader.value, reader.memory, 0)?;
    let at = data.to_address().ok()?;
    if name.starts_with("alloc::boxed::Box<str") {
        return Some(reader.text(at, length, Width::Byte));
    }
    let element = data.ty.strip().target()?;
    let array = Value::at(element.array_of(length), at, reader.memory);
    Some(Pretty::Slice(name.to_owned(), array))
}

/// A counted pointer: what it points to, and how many do.
fn counted(reader: &Reader, label: &str) -> Option<Pretty> {
    let fat = fat_pointer(reader.value, reader.memory, 0);
    let pointer = match &fat {
        Some((data, _)) => data.clone(),
        None => first_pointer(reader.value, reader.memory, 0)?,
    };
    let at = pointer.to_address().ok()?;
    // A `Weak::new()` points to nothing.
    if label == "Weak" && at.wrapping_add(1) < 2 {
        return Some(Pretty::Fields(
            "Weak(dangling)".to_owned(),
            Vec::new(),
            false,
        ));
    }
    let inner = target(&pointer, reader.memory)?;
    let count = |name: &str| {
        let value = path(&inner, &[name], reader.memory)?;
        // Through the cell or the atomic around the number.
        let bytes = value.bytes().ok()?.get(..8)?.to_vec();
        Some(extend(&bytes, false))
    };
    let (strong, weak) = (count("strong")?, count("weak")?);
    // All strong pointers together hold one weak one.
    let weak = weak - i128::from(strong > 0);
    let head = format!("{label}(strong={strong}, weak={weak})");
    if strong == 0 {
        return Some(Pretty::Fields(head, Vec::new(), false));
    }
    let value = path(&inner, &["value"], reader.memory);
    let value = value.or_else(|| path(&inner, &["data"], reader.memory))?;
    let Some((_, length)) = fat else {
        let fields = vec![("value".to_owned(), value)];
        return Some(Pretty::Fields(head, fields, false));
    };
    let start = value.address()?;
    let is_text = inner.ty.strip().qualified_name()?.ends_with("<str>");
    let element = value.ty.clone();
    // Text is an array of C's characters, which is shown as text.
    let element = match is_text {
        true => Type::base("char", Encoding::SignedChar, 1),
        false => element,
    };
    let value = Value::at(element.array_of(length), start, reader.memory);
    Some(Pretty::Fields(
        head,
        vec![("value".to_owned(), value)],
        false,
    ))
}

/// A chain of nodes.
fn list(reader: &Reader) -> Option<Pretty> {
    let head = reader.path(&["head"])?;
    let inner = |ty: &Type| Some(ty.strip().arguments().into_iter().next()?.ty.strip());
    let node_type = inner(&inner(&head.ty)?)?;
    let next = node_type.find_member("next")?.offset;
    let element = node_type.find_member("element")?;
    let length = reader.number(&["len"])?;
    let mut at = extend(head.bytes().ok()?.get(..8)?, false) as u64;
    let mut items = Vec::new();
    while at != 0 && (items.len() as u64) < length.min(reader.limit as u64) {
        let place = at.wrapping_add(element.offset);
        items.push(Value::at(element.ty.clone(), place, reader.memory));
        at = reader.word(at.wrapping_add(next))?;
    }
    let more = (items.len() as u64) < length;
    Some(Pretty::Items(
        format!("LinkedList(size={length})"),
        items,
        more,
    ))
}
