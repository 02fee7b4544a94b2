//! `std::any`: what it holds is known by the function that manages it.

use crate::containers::{Pretty, short_name};
use crate::print::{View, symbol_text};
use crate::scope::Scope;
use crate::type_named;
use crate::value::Value;
use verde_symbols::Type;

/// The meaning of a `std::any`; `None` for other values.
pub(crate) fn pretty(value: &Value, scope: &dyn Scope) -> Option<Pretty> {
    if value.ty.strip().qualified_name()?.as_str() != "std::any" {
        return None;
    }
    let memory = View(scope);
    let member = |of: &Value, name: &str| {
        let found = of.ty.strip().find_member(name)?;
        Some(of.part(found.ty, found.offset, &memory))
    };
    let manager = member(value, "_M_manager")?.to_address().ok()?;
    if manager == 0 {
        let head = "std::any [no contained value]".to_owned();
        return Some(Pretty::Fields(head, Vec::new(), false));
    }
    let (ty, is_inside) = managed(&symbol_text(scope, manager, true)?, scope)?;
    let storage = member(value, "_M_storage")?;
    let held = match is_inside {
        true => storage.part(ty.clone(), 0, &memory),
        false => {
            let at = member(&storage, "_M_ptr")?.to_address().ok()?;
            Value::at(ty.clone(), at, &memory)
        }
    };
    let head = format!("std::any containing {}", short_name(&ty));
    let held = vec![("[contained value]".to_owned(), held)];
    Some(Pretty::Fields(head, held, false))
}

/// The type that a manager manages, and whether its values are in the `any` itself.
fn managed(manager: &str, scope: &dyn Scope) -> Option<(Type, bool)> {
    let rest = manager.strip_prefix("<std::any::_Manager_")?;
    let (rest, is_inside) = match rest.strip_prefix("internal<") {
        Some(rest) => (rest, true),
        None => (rest.strip_prefix("external<")?, false),
    };
    let name = rest.split_once(">::_S_manage(")?.0.trim_end();
    Some((type_named(name, scope).ok()?.0, is_inside))
}
