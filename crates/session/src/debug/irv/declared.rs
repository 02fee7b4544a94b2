//! The types that a property declares for its parameters, against those of the program.

use super::values::Form;
use verde_expr::{Scope, name_of, type_named};
use verde_property::ir::Types;
use verde_property::{ParamSpec, declared_types};
use verde_symbols::{Encoding, Kind, Module, Type};

/// What the language knows beyond the numbers: of Python's kind, and names of the C library that a
/// program may use without describing them.
const KNOWN: [&str; 20] = [
    "void",
    "ptr",
    "pointer",
    "object",
    "any",
    "FILE",
    "DIR",
    "wchar_t",
    "mode_t",
    "time_t",
    "uid_t",
    "gid_t",
    "dev_t",
    "ino_t",
    "off64_t",
    "ptrdiff_t",
    "socklen_t",
    "clockid_t",
    "i128",
    "u128",
];

/// A declared type must be one that the language or the program knows. `actual` is the type of what
/// it is declared for, if that is a variable.
pub fn check(
    param: &ParamSpec,
    actual: Option<&Type>,
    module: &Module,
    scope: &dyn Scope,
) -> Result<(), String> {
    let Some(declared) = param.ty.as_deref().map(str::trim) else {
        return Ok(());
    };
    let name = pointed_to(declared);
    // Instances of templates, slices and the like have more than one spelling.
    let path = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | ' ');
    if is_known(name) || !name.chars().all(path) {
        return Ok(());
    }
    let is_its_own = |ty: &Type| last_word(pointed_to(&name_of(ty))) == last_word(name);
    match type_named(name, scope) {
        Ok((ty, true)) if name == declared => match actual {
            Some(actual) if is_whole(&ty) && is_number(actual) => Err(misfit(param, actual)),
            _ => Ok(()),
        },
        Ok((_, true)) => Ok(()),
        // What is only declared, and never defined, is known by that alone.
        _ if actual.is_some_and(is_its_own) => Ok(()),
        _ => {
            let near = module.nearest_types(last_word(name), 3);
            let near = match near.is_empty() {
                true => String::new(),
                false => format!("; near it: {}", near.join(", ")),
            };
            Err(format!(
                "`{}`: the program has no type `{name}`{near}",
                param.text
            ))
        }
    }
}

fn is_known(name: &str) -> bool {
    let numbers = Types::INT.union(Types::BOOL).union(Types::FLOAT);
    let is_number = declared_types(name) != Types::ANY && numbers.has(declared_types(name));
    is_number || Form::of(Some(name)) != Form::Plain || KNOWN.contains(&last_word(name))
}

fn last_word(name: &str) -> &str {
    name.rsplit([' ', ':']).next().unwrap_or(name)
}

/// A type without the pointers and references to it, of C's and of Rust's kind.
fn pointed_to(declared: &str) -> &str {
    let mut name = declared.trim();
    loop {
        let before = name;
        for word in ["*const ", "*mut ", "&mut ", "&", "const ", "volatile "] {
            name = name.strip_prefix(word).unwrap_or(name).trim();
        }
        for word in ["*", "&", " const", " volatile"] {
            name = name.strip_suffix(word).unwrap_or(name).trim();
        }
        if name == before {
            return name;
        }
    }
}

fn is_whole(ty: &Type) -> bool {
    matches!(ty.strip().kind(), Kind::Record(_))
}

fn is_number(ty: &Type) -> bool {
    let ty = ty.strip();
    matches!(ty.kind(), Kind::Base(_) | Kind::Enum | Kind::Pointer(_))
}

fn misfit(param: &ParamSpec, ty: &Type) -> String {
    format!(
        "`{}` is of type `{}`, which does not convert to `{}`",
        param.text,
        name_of(ty),
        param.ty.as_deref().unwrap_or_default()
    )
}

/// Whether values of a type of the program can become what the property declares. The error says
/// what they are.
pub fn converts(param: &ParamSpec, ty: &Type) -> Result<(), String> {
    let mut plain = ty.strip();
    if let Kind::Reference(_) | Kind::RvalueReference(_) = plain.kind() {
        match plain.target().map(|t| t.strip()) {
            Some(t) if matches!(t.kind(), Kind::Base(_) | Kind::Enum | Kind::Pointer(_)) => {
                plain = t;
            }
            // Of an object there is its address.
            _ => return Ok(()),
        }
    }
    let text = param.ty.as_deref();
    let declared = text.map_or(Types::ANY, declared_types);
    let to_pointer = text.is_some_and(|t| t.contains('*'));
    let fits = match (Form::of(text), plain.kind()) {
        // A word may be a pointer that nobody declared.
        (Form::Text, Kind::Base(Encoding::Signed | Encoding::Unsigned)) => plain.size() == Some(8),
        (Form::Text, Kind::Base(_) | Kind::Enum) => false,
        (Form::Text, _) => true,
        (_, Kind::Base(_) | Kind::Enum) if to_pointer && plain.size() < Some(8) => false,
        (_, Kind::Base(Encoding::Float)) => declared.has(Types::FLOAT),
        (_, Kind::Base(Encoding::ComplexFloat)) => declared.has(Types::OTHER),
        (_, Kind::Base(_) | Kind::Enum | Kind::Pointer(_)) => {
            let number = Types::INT.union(Types::BOOL).union(Types::FLOAT);
            declared.has(number)
        }
        (_, Kind::Record(_) | Kind::Array(..)) => declared.has(Types::OTHER),
        _ => true,
    };
    match fits {
        true => Ok(()),
        false => Err(misfit(param, ty)),
    }
}
