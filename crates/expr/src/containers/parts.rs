//! Parts of containers that expressions name: an element, the length, what an iterator points to.

use super::{Pretty, Reader, data_pointer, path, pretty};
use crate::value::{Data, Value};
use verde_symbols::{Kind, Language, Memory, Type};

/// Elements that are counted or searched through; a chain of broken links may have no end.
const MOST: usize = 1 << 20;

/// How a container keeps its elements.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    /// One after the other, behind a pointer.
    Pointed,
    /// In itself (`std::array`).
    Inside,
    /// In pieces that are counted through.
    Scattered(Type),
    /// In nodes that lead to each other: no element has a number.
    Linked(Type),
    /// Values by keys.
    Map(Type),
    /// Another container inside.
    Around,
    /// Text without elements of its own.
    Text,
}

/// The name of a standard type of C++ without its arguments and inline namespaces.
fn cpp_name(ty: &Type) -> Option<String> {
    let name = ty.qualified_name()?;
    let rest = name.strip_prefix("std::")?;
    let rest = rest.strip_prefix("__cxx11::").unwrap_or(rest);
    let rest = rest.strip_prefix("__detail::").unwrap_or(rest);
    rest.split('<').next().map(str::to_owned)
}

/// How a container keeps its elements; `None` for what is no container.
pub(crate) fn shape(ty: &Type) -> Option<Shape> {
    if !matches!(ty.kind(), Kind::Record(_)) {
        return None;
    }
    let argument = |n: usize| Some(ty.arguments().into_iter().nth(n)?.ty);
    if ty.language() == Language::Rust {
        let name = ty.qualified_name()?;
        return match name.split('<').next()? {
            "alloc::string::String" | "&str" | "&mut str" => Some(Shape::Text),
            "alloc::collections::vec_deque::VecDeque" => Some(Shape::Scattered(argument(0)?)),
            "std::collections::hash::map::HashMap" | "alloc::collections::btree::map::BTreeMap" => {
                Some(Shape::Map(argument(1)?))
            }
            "std::collections::hash::set::HashSet" | "alloc::collections::btree::set::BTreeSet" => {
                Some(Shape::Linked(argument(0)?))
            }
            _ => data_pointer(ty).map(|_| Shape::Pointed),
        };
    }
    match cpp_name(ty)?.as_str() {
        "vector" => match data_pointer(ty) {
            Some(_) => Some(Shape::Pointed),
            None => Some(Shape::Scattered(argument(0)?)),
        },
        "basic_string" | "basic_string_view" => Some(Shape::Pointed),
        "array" => Some(Shape::Inside),
        "deque" => Some(Shape::Scattered(argument(0)?)),
        "list" | "forward_list" | "set" | "multiset" | "unordered_set" | "unordered_multiset" => {
            Some(Shape::Linked(argument(0)?))
        }
        "map" | "unordered_map" | "multimap" | "unordered_multimap" => {
            Some(Shape::Map(argument(1)?))
        }
        "stack" | "queue" | "priority_queue" => Some(Shape::Around),
        _ => None,
    }
}

/// What the first and last elements are, for a container that has such.
pub(crate) fn element(ty: &Type, shape: &Shape) -> Option<Type> {
    match shape {
        Shape::Pointed => Some(data_pointer(ty)?.1),
        Shape::Inside => ty.find_member("_M_elems")?.ty.strip().target(),
        Shape::Scattered(element) => Some(element.clone()),
        Shape::Linked(element) => cpp_name(ty)?.contains("list").then(|| element.clone()),
        _ => None,
    }
}

/// Whether it is text: a string or a view of one.
pub(crate) fn is_text(ty: &Type) -> bool {
    let Some(name) = ty.qualified_name() else {
        return false;
    };
    let is_char = |ty: &Type| {
        let first = ty.arguments().into_iter().next();
        first.is_some_and(|a| a.ty.size() == Some(1))
    };
    match ty.language() {
        Language::Rust => matches!(name.as_str(), "alloc::string::String" | "&str" | "&mut str"),
        Language::Cpp => {
            let name = cpp_name(ty);
            matches!(name.as_deref(), Some("basic_string" | "basic_string_view")) && is_char(ty)
        }
        _ => false,
    }
}

/// How many elements a container has.
pub(crate) fn length(value: &Value, memory: &dyn Memory) -> Option<u64> {
    let ty = value.ty.strip();
    let number = |names: &[&str]| {
        let found = path(value, names, memory)?.to_integer().ok()?;
        u64::try_from(found).ok()
    };
    if ty.language() == Language::Rust {
        let lengths: [&[&str]; 5] = [
            &["len"],
            &["length"],
            &["vec", "len"],
            &["base", "table", "table", "items"],
            &["base", "map", "table", "table", "items"],
        ];
        let found = lengths.into_iter().find_map(number);
        return found.or_else(|| number(&["map", "length"]));
    }
    match cpp_name(&ty)?.as_str() {
        "basic_string" => number(&["_M_string_length"]),
        "basic_string_view" => number(&["_M_len"]),
        "list" => number(&["_M_impl", "_M_node", "_M_size"]),
        "map" | "multimap" | "set" | "multiset" => number(&["_M_t", "_M_impl", "_M_node_count"]),
        "unordered_map" | "unordered_multimap" | "unordered_set" | "unordered_multiset" => {
            number(&["_M_h", "_M_element_count"])
        }
        "array" => match ty.find_member("_M_elems")?.ty.strip().kind() {
            Kind::Array(_, count) => *count,
            _ => Some(0),
        },
        "stack" | "queue" | "priority_queue" => length(&path(value, &["c"], memory)?, memory),
        "vector" if data_pointer(&ty).is_some() => {
            let size = data_pointer(&ty)?.1.size().filter(|&s| s > 0)?;
            let start = number(&["_M_impl", "_M_start"])?;
            Some(number(&["_M_impl", "_M_finish"])?.checked_sub(start)? / size)
        }
        // Counted through.
        _ => match pretty(value, memory, MOST)? {
            Pretty::Items(_, items, _) => Some(items.len() as u64),
            Pretty::Fields(_, fields, _) => Some(fields.len() as u64),
            _ => None,
        },
    }
}

/// An element by its number, in the order in which they are shown.
pub(crate) fn nth(value: &Value, index: u64, memory: &dyn Memory) -> Option<Value> {
    let ty = value.ty.strip();
    if let Some((offset, element)) = data_pointer(&ty) {
        let pointer = value.part(element.pointer_to(), offset, memory);
        let start = pointer.to_address().ok()?;
        let at = start.wrapping_add(index.wrapping_mul(element.size()?));
        return Some(Value::at(element, at, memory));
    }
    if let Some(Shape::Inside) = shape(&ty) {
        let array = path(value, &["_M_elems"], memory)?;
        let element = array.ty.strip().target()?;
        let offset = index.checked_mul(element.size()?)?;
        return Some(array.part(element, offset, memory));
    }
    let limit = usize::try_from(index).ok()?.checked_add(1)?;
    match pretty(value, memory, limit)? {
        Pretty::Items(_, items, _) => items.into_iter().nth(limit - 1),
        Pretty::Fields(_, fields, _) => fields.into_iter().nth(limit - 1).map(|f| f.1),
        _ => None,
    }
}

/// The keys and values of a map.
pub(crate) fn pairs(value: &Value, memory: &dyn Memory) -> Option<Vec<(Value, Value)>> {
    if !matches!(shape(&value.ty.strip()), Some(Shape::Map(_))) {
        return None;
    }
    match pretty(value, memory, MOST)? {
        Pretty::Pairs(_, pairs, _) => Some(pairs),
        // An empty one has a heading only.
        Pretty::Items(..) | Pretty::Fields(..) => Some(Vec::new()),
        _ => None,
    }
}

/// What an iterator points to or an optional holds.
pub(crate) fn held_type(ty: &Type) -> Option<Type> {
    if ty.language() != Language::Cpp || !matches!(ty.kind(), Kind::Record(_)) {
        return None;
    }
    let name = cpp_name(ty)?;
    let is_iterator = node_pointer(&name).is_some();
    if !is_iterator && name != "optional" {
        return None;
    }
    let argument = ty.arguments().into_iter().next().map(|a| a.ty);
    argument.or_else(|| pointed_to(ty))
}

/// What an iterator's `*` gives: compilers leave out the arguments of some.
fn pointed_to(ty: &Type) -> Option<Type> {
    let methods = ty.methods();
    let star = &methods.iter().find(|m| m.name == "operator*")?.ty;
    let Kind::Function(result, ..) = star.kind() else {
        return None;
    };
    star.follow(result).strip().target()
}

/// The member that leads to an iterator's node, and what is in the node before the value.
fn node_pointer(name: &str) -> Option<(&'static str, u64)> {
    Some(match name {
        "_Rb_tree_iterator" | "_Rb_tree_const_iterator" => ("_M_node", 32),
        "_List_iterator" | "_List_const_iterator" => ("_M_node", 16),
        "_Fwd_list_iterator" | "_Fwd_list_const_iterator" => ("_M_node", 8),
        "_Node_iterator" | "_Node_const_iterator" => ("_M_cur", 8),
        "_Deque_iterator" => ("_M_cur", 0),
        _ => return None,
    })
}

/// The value that an iterator points to or an optional holds.
pub(crate) fn held(value: &Value, memory: &dyn Memory) -> Option<Value> {
    let ty = value.ty.strip();
    let held = held_type(&ty)?;
    let Some((member, before)) = node_pointer(&cpp_name(&ty)?) else {
        return match pretty(value, memory, 1)? {
            Pretty::Fields(_, fields, _) => fields.into_iter().next().map(|f| f.1),
            _ => None,
        };
    };
    let node = path(value, &[member], memory)?.to_address().ok()?;
    let align = held.stated_align().unwrap_or(8).max(1);
    let at = node.wrapping_add(before.next_multiple_of(align));
    let found = Value::at(held, at, memory);
    (node != 0 && !matches!(found.data, Data::Missing(_))).then_some(found)
}

/// An iterator is shown as what it points to.
pub(super) fn iterator(reader: &Reader, kind: &str) -> Option<Pretty> {
    node_pointer(kind)?;
    let found = held(reader.value, reader.memory)?;
    Some(Pretty::Same(Box::new(found)))
}
