//! Fields of a Rust enum: those of the variant that it holds now.

use crate::bind::Binder;
use crate::concrete::Still;
use crate::error::{EvalError, TYPE_NAME};
use crate::eval::eval;
use crate::ir::{Node, Op};
use crate::nodes::{bad, constant, is_number};
use crate::rust_print::active_variant;
use crate::scope::Scope;
use crate::type_text::name_of;
use crate::value::{Value, WHOLE};
use verde_symbols::{Memory, Type, Variant};

impl Binder<'_> {
    /// `Enum::Variant` of an enum whose variants can have fields: the value, if this one has none.
    pub(crate) fn unit_variant(&self, path: &str) -> Result<Option<Node>, EvalError> {
        let enumeration = path.rsplit_once("::").and_then(|(class, name)| {
            let class = self.lookup.find_type(None, class)?;
            Some((class.variant_part()?, class, name))
        });
        let Some((part, class, name)) = enumeration else {
            return Ok(None);
        };
        let called = |v: &&Variant| {
            let held = v.member.name.as_deref();
            held.or_else(|| v.member.ty.name()) == Some(name)
        };
        let Some(variant) = part.variants.iter().find(called) else {
            return Ok(None);
        };
        if !variant.member.ty.strip().members().is_empty() {
            return bad(TYPE_NAME);
        }
        let Some(size) = class.size().filter(|size| *size <= WHOLE) else {
            return Ok(None);
        };
        let mut bytes = vec![0; size as usize];
        if let (Some(tag), Some(value)) = (&part.discriminant, variant.value) {
            let from = tag.offset as usize;
            let size = tag.ty.size().unwrap_or(0).min(16) as usize;
            let Some(place) = bytes.get_mut(from..from.saturating_add(size)) else {
                return Ok(None);
            };
            place.copy_from_slice(&value.to_le_bytes()[..size]);
        }
        Ok(Some(constant(Value::of(class, bytes))))
    }
}

/// The field of an enum, if any of its variants has it, or if it is known which one is held. Which one is read is decided when it is
/// read; the type is what the variants agree on, the widest of their numbers, or else that of the
/// variant which is held now.
pub(crate) fn field(object: &Node, class: &Type, name: &str, scope: &dyn Scope) -> Option<Node> {
    let part = class.variant_part()?;
    let types = part.variants.iter().filter_map(|v| {
        let member = v.member.ty.strip().find_member(name)?;
        Some(member.ty)
    });
    let types: Vec<Type> = types.collect();
    let agree = types.iter().all(|t| *t == types[0]) || types.iter().all(is_number);
    let held = match agree {
        true => None,
        false => held_field(object, class, name, scope),
    };
    let wider = |a: Type, b: Type| match is_number(&a) && is_number(&b) && b.size() > a.size() {
        true => b,
        false => a,
    };
    let ty = match held.or_else(|| types.into_iter().reduce(wider)) {
        Some(ty) => ty,
        // The variant that is held says what there is instead.
        None => held_variant(object, class, scope).map(|_| Type::void())?,
    };
    let op = Op::Active(object.clone().boxed(), name.to_owned());
    Some(Node::new(ty, op))
}

/// The type of a field in the variant that an enum holds now.
fn held_field(object: &Node, class: &Type, name: &str, scope: &dyn Scope) -> Option<Type> {
    let variant = held_variant(object, class, scope)?;
    let member = variant.member.ty.strip().find_member(name)?;
    Some(member.ty)
}

/// The variant that an enum holds now, where it can be read.
fn held_variant(object: &Node, class: &Type, scope: &dyn Scope) -> Option<Variant> {
    let mut still = Still::of(scope);
    let value = eval(object, &mut still).ok()?;
    active_variant(&value, class, &still)
}

/// The field of the variant that an enum holds, `wanted` being what the expression was bound for.
pub(crate) fn active_field(
    object: &Value,
    name: &str,
    wanted: &Type,
    memory: &dyn Memory,
) -> Result<Value, EvalError> {
    object.bytes()?;
    let class = object.ty.strip();
    let Some(variant) = active_variant(object, &class, memory) else {
        return bad("The enum holds none of its variants.");
    };
    let held = variant.member.ty.strip();
    let Some(member) = held.find_member(name) else {
        return Err(absent(&class, &variant, name));
    };
    let fits = member.ty == *wanted || (is_number(&member.ty) && is_number(wanted));
    if !fits {
        let path = path_of(&class, &variant);
        let name = name.trim_start_matches("__");
        return bad(format!(
            "Field {name} of variant {path} is of type {}; cast or print it where this variant is held",
            name_of(&member.ty)
        ));
    }
    let offset = variant.member.offset.wrapping_add(member.offset);
    Ok(object.part(member.ty, offset, memory))
}

fn path_of(class: &Type, variant: &Variant) -> String {
    let name = class.qualified_name().unwrap_or_default();
    let held = variant.member.name.clone();
    let held = held.or_else(|| variant.member.ty.name().map(str::to_owned));
    format!("{name}::{}", held.unwrap_or_default())
}

/// Why the variant does not have the field, in gdb's words.
fn absent(class: &Type, variant: &Variant, name: &str) -> EvalError {
    let path = path_of(class, variant);
    let fields = variant.member.ty.strip().members();
    let first = fields.first().and_then(|m| m.name.as_deref());
    let is_tuple = first.is_some_and(|n| n.starts_with("__"));
    let text = match (name.strip_prefix("__"), is_tuple) {
        (Some(number), false) if number.parse().is_ok_and(|n: usize| n < fields.len()) => {
            format!("Variant {path} is not a tuple variant")
        }
        (Some(number), _) => format!(
            "Cannot access field {number} of variant {path}, there are only {} fields",
            fields.len()
        ),
        (None, true) => format!(
            "Attempting to access named field {name} of tuple variant {path}, which has only anonymous fields"
        ),
        (None, false) => format!("Could not find field {name} of struct variant {path}"),
    };
    EvalError::BadType(text)
}
