//! What a C++ object is, whatever the program takes it for: its virtual table says.

use crate::print::{View, symbol_text};
use crate::scope::Scope;
use crate::type_named;
use crate::value::{Data, Value, extend};
use verde_symbols::{Kind, Language, Memory, Type};

/// The class of the whole object that an object is a part of, and where that begins.
fn class_of(object: &Type, addr: u64, scope: &dyn Scope) -> Option<(Type, u64)> {
    let class = object.strip();
    if !matches!(class.kind(), Kind::Record(_)) || class.language() != Language::Cpp {
        return None;
    }
    if !has_table(&class, 0) {
        return None;
    }
    let memory = View(scope);
    let table = memory.read_u64(addr).ok()?;
    let symbol = symbol_text(scope, table, true)?;
    let name = symbol.strip_prefix("<vtable for ")?;
    let name = name.rsplit_once('+')?.0;
    let to_whole = memory.read_u64(table.checked_sub(16)?).ok()?;
    let (ty, is_type) = type_named(name, scope).ok()?;
    is_type.then_some((ty, addr.wrapping_add(to_whole)))
}

/// Whether objects of a class begin with the address of a virtual table.
fn has_table(class: &Type, depth: usize) -> bool {
    let whole = class.definition();
    let members = whole.as_ref().unwrap_or(class).members();
    let is_first = |name: &Option<String>| name.as_deref().is_some_and(|n| n.starts_with("_vptr"));
    depth < 16
        && members.iter().any(|m| {
            is_first(&m.name) || m.is_virtual || (m.is_base && has_table(&m.ty.strip(), depth + 1))
        })
}

/// The whole object of a pointer, a reference or an object, as the same: `None` where nothing
/// more is known than the type says.
pub(crate) fn whole_object(value: &Value, scope: &dyn Scope) -> Option<Value> {
    let plain = value.ty.strip();
    match plain.kind() {
        Kind::Pointer(_) => {
            let at = extend(value.bytes().ok()?, false) as u64;
            let target = plain.target()?;
            let (class, whole) = class_of(&target, at, scope)?;
            Some(Value::integer(class.pointer_to(), whole.into()))
        }
        Kind::Record(_) if !matches!(value.data, Data::Missing(_)) => {
            let (class, whole) = class_of(&plain, value.address()?, scope)?;
            Some(Value::at(class, whole, &View(scope)))
        }
        _ => None,
    }
}
