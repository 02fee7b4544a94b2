//! What a C++ object is, whatever the program takes it for: its virtual table says.

use crate::ast::{Ast, TypeName};
use crate::bases::base_part;
use crate::bind::Binder;
use crate::error::EvalError;
use crate::eval::eval;
use crate::ir::{Node, Op, OrElse};
use crate::nodes::{bad, constant, decay, deref, follow_reference};
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
        Kind::Pointer(_) | Kind::Reference(_) | Kind::RvalueReference(_) => {
            let at = extend(value.bytes().ok()?, false) as u64;
            let target = plain.target()?;
            let (class, whole) = class_of(&target, at, scope)?;
            let ty = match plain.kind() {
                Kind::Pointer(_) => class.pointer_to(),
                _ => class.reference_to(),
            };
            Some(Value::integer(ty, whole.into()))
        }
        Kind::Record(_) if !matches!(value.data, Data::Missing(_)) => {
            let (class, whole) = class_of(&plain, value.address()?, scope)?;
            Some(Value::at(class, whole, &View(scope)))
        }
        _ => None,
    }
}

/// The part of a pointer's object that is of the class a pointer type leads to; `None`: it has none.
pub(crate) fn part_of_object(
    pointer: &Value,
    to: &Type,
    scope: &mut dyn Scope,
) -> Result<Option<Value>, EvalError> {
    if pointer.to_address()? == 0 {
        return Ok(None);
    }
    let Some(whole) = whole_object(pointer, scope) else {
        return bad("couldn't determine value's most derived type for dynamic_cast");
    };
    let class = to.strip().target().unwrap_or_else(Type::void).strip();
    if matches!(class.kind(), Kind::Void) {
        let at = whole.to_address()?;
        return Ok(Some(Value::integer(to.clone(), at.into())));
    }
    let Some(part) = base_part(&deref(constant(whole))?, &class) else {
        return Ok(None);
    };
    let address = Node::new(to.clone(), Op::Address(part.boxed()));
    eval(&address, scope).map(Some)
}

impl Binder<'_> {
    /// `dynamic_cast<T*>(p)`, `dynamic_cast<T&>(r)`.
    pub(crate) fn dynamic_cast(&self, name: &TypeName, operand: &Ast) -> Result<Node, EvalError> {
        let ty = self.lookup.type_name(name)?;
        let to = ty.strip();
        let otherwise = match to.kind() {
            Kind::Pointer(_) => OrElse::Null,
            Kind::Reference(_) | Kind::RvalueReference(_) => OrElse::Failure,
            _ => return bad("Argument to dynamic_cast must be a pointer or reference type"),
        };
        let target = to.target().unwrap_or_else(Type::void);
        let node = follow_reference(self.node(operand)?);
        let pointer = match otherwise {
            OrElse::Null => decay(node),
            OrElse::Failure => self.address(node)?,
        };
        let from = match pointer.ty.strip().kind() {
            Kind::Pointer(_) => pointer.ty.strip().target(),
            _ => None,
        };
        let from = from.map(|t| t.strip());
        let Some(from) = from.filter(|t| matches!(t.kind(), Kind::Record(_))) else {
            return bad("Argument to dynamic_cast does not have pointer to class type");
        };
        let part = match base_part(&deref(pointer.clone())?, &target.strip()) {
            // A base of the class that the program takes it for.
            Some(_) => self.convert(pointer, target.pointer_to())?,
            None if !has_table(&from, 0) => {
                return bad("Argument to dynamic_cast does not have a polymorphic type");
            }
            None => Node::new(target.pointer_to(), Op::Dynamic(pointer.boxed(), otherwise)),
        };
        match otherwise {
            OrElse::Null => Ok(part),
            OrElse::Failure => deref(part),
        }
    }
}
