//! Values of the program as arguments of events.

use super::reads::width;
use crate::json::Json;
use verde_expr::{EvalError, PrintOptions, Scope, Value, name_of, print_value, text_of};
use verde_monitor::Arg;
use verde_property::declared_types;
use verde_property::ir::Types;
use verde_symbols::{Encoding, Kind, Memory, Type};

/// How long a string may be before it is cut.
const LONGEST_TEXT: usize = 1 << 16;
/// Elements of an array, and how deep structures go.
const MOST_ELEMENTS: u64 = 256;
const DEEPEST: usize = 4;

/// An argument that nobody else owns.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Owned {
    /// It could not be read.
    #[default]
    None,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    Str(String),
    /// A structure, as JSON text.
    Json(String),
}

/// What a declared type makes of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Plain,
    /// `: str`.
    Text,
    /// `: bool` of another number.
    Truth,
    /// `: double` of another number.
    Real,
    /// An integer of so many bytes, as a cast of C makes it of another number.
    Integer {
        bytes: u8,
        signed: bool,
    },
}

impl Form {
    pub fn of(declared: Option<&str>) -> Form {
        match declared.map(str::trim) {
            Some("str" | "string" | "String" | "&str" | "std::string") => Form::Text,
            Some("bool" | "_Bool") => Form::Truth,
            Some("float" | "double" | "f32" | "f64") => Form::Real,
            // Of a pointer's type a number is an address, and that is all of it.
            Some(ty) if declared_types(ty) == Types::INT && !ty.contains(['*', '&']) => {
                let (bytes, signed) = width(Some(ty));
                Form::Integer { bytes, signed }
            }
            _ => Form::Plain,
        }
    }

    /// What it makes of values of a type of the program: a character of Unicode is never cut.
    pub fn of_type(self, ty: &Type) -> Form {
        match (self, ty.strip().kind()) {
            (Form::Integer { .. }, Kind::Base(Encoding::Utf)) => Form::Plain,
            (form, _) => form,
        }
    }
}

impl Owned {
    pub fn uint(u: u64) -> Owned {
        match i64::try_from(u) {
            Ok(i) => Owned::Int(i),
            Err(_) => Owned::UInt(u),
        }
    }

    pub fn integer(i: i128) -> Owned {
        match (i64::try_from(i), u64::try_from(i)) {
            (Ok(i), _) => Owned::Int(i),
            (_, Ok(u)) => Owned::UInt(u),
            // JSON's numbers have no end, and Python's neither.
            _ => Owned::Json(i.to_string()),
        }
    }

    pub fn arg(&self) -> Arg<'_> {
        match self {
            Owned::None => Arg::None,
            Owned::Bool(b) => Arg::Bool(*b),
            Owned::Int(i) => Arg::Int(*i),
            Owned::UInt(u) => Arg::UInt(*u),
            Owned::Float(f) => Arg::Float(*f),
            Owned::Str(t) => Arg::Str(t),
            Owned::Json(t) => Arg::Json(t),
        }
    }

    /// A value of the program. What cannot be read is `None`.
    pub fn of(value: &Value, form: Form, scope: &dyn Scope) -> Owned {
        let memory = Reading(scope);
        if form == Form::Text {
            return match text_of(value, &memory, LONGEST_TEXT) {
                Some(text) => Owned::Str(text),
                None => Owned::None,
            };
        }
        let form = form.of_type(&value.ty);
        plain(value, scope, 0).unwrap_or_default().formed(form)
    }

    /// A number as the declared type has it.
    fn formed(self, form: Form) -> Owned {
        match (form, self) {
            (Form::Truth, Owned::Int(i)) => Owned::Bool(i != 0),
            (Form::Truth, Owned::UInt(u)) => Owned::Bool(u != 0),
            (Form::Real, Owned::Int(i)) => Owned::Float(i as f64),
            (Form::Real, Owned::UInt(u)) => Owned::Float(u as f64),
            (Form::Integer { .. }, Owned::Bool(b)) => Owned::Int(b.into()),
            (Form::Integer { bytes, signed }, Owned::Int(i)) => {
                cast(i.cast_unsigned(), bytes, signed)
            }
            (Form::Integer { bytes, signed }, Owned::UInt(u)) => cast(u, bytes, signed),
            (_, other) => other,
        }
    }
}

/// The lowest bytes of a number, as a number with or without a sign.
pub(super) fn cast(number: u64, bytes: u8, signed: bool) -> Owned {
    let unused = 64 - 8 * u32::from(bytes.clamp(1, 8));
    match signed {
        true => Owned::Int((number << unused).cast_signed() >> unused),
        false => Owned::uint(number << unused >> unused),
    }
}

/// The memory of a scope.
struct Reading<'a>(&'a dyn Scope);

impl Memory for Reading<'_> {
    fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), verde_symbols::LocationError> {
        self.0.read(addr, buf)
    }
}

fn plain(value: &Value, scope: &dyn Scope, depth: usize) -> Option<Owned> {
    let ty = value.ty.strip();
    Some(match ty.kind() {
        Kind::Base(Encoding::Bool) => Owned::Bool(value.to_integer().ok()? != 0),
        Kind::Base(Encoding::Float) => Owned::Float(value.to_float().ok()?),
        Kind::Base(Encoding::ComplexFloat) => shown(value, scope)?,
        Kind::Base(_) | Kind::Enum | Kind::Pointer(_) => Owned::integer(value.to_integer().ok()?),
        Kind::MemberPointer(..) | Kind::Unspecified => Owned::integer(value.to_integer().ok()?),
        // A reference to a number is the number; to an object, the object's address.
        Kind::Reference(_) | Kind::RvalueReference(_) => {
            let target = ty.target()?;
            let bytes = value.bytes().ok()?;
            let mut word = [0; 8];
            word[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
            let at = u64::from_le_bytes(word);
            match target.strip().kind() {
                Kind::Base(_) | Kind::Enum | Kind::Pointer(_) => {
                    return plain(&Value::at(target, at, &Reading(scope)), scope, depth);
                }
                _ => Owned::uint(at),
            }
        }
        Kind::Function(..) => Owned::uint(value.address()?),
        Kind::Array(_, Some(count)) if depth < DEEPEST => {
            let element = ty.target()?;
            let size = element.size()?;
            let memory = Reading(scope);
            let parts: Option<Vec<String>> = (0..(*count).min(MOST_ELEMENTS))
                .map(|i| {
                    let part = value.part(element.clone(), i * size, &memory);
                    json(&plain(&part, scope, depth + 1)?)
                })
                .collect();
            Owned::Json(format!("[{}]", parts?.join(",")))
        }
        // Their members are nobody's but the library's.
        Kind::Record(_) if is_of_library(&ty) => shown(value, scope)?,
        Kind::Record(_) if depth < DEEPEST && ty.variant_part().is_none() => {
            let mut parts = Vec::new();
            fields(value, scope, depth, &mut parts)?;
            Owned::Json(format!("{{{}}}", parts.join(",")))
        }
        Kind::Void => Owned::None,
        _ => shown(value, scope)?,
    })
}

/// What the C++ library makes of more than its members say.
const LIBRARY: [&str; 19] = [
    "string",
    "basic_string",
    "vector<",
    "map<",
    "set<",
    "multi",
    "unordered_",
    "deque<",
    "list<",
    "forward_list<",
    "stack<",
    "queue<",
    "priority_queue<",
    "optional<",
    "variant<",
    "shared_ptr<",
    "weak_ptr<",
    "unique_ptr<",
    "function<",
];

/// The same of Rust's.
const RUST_LIBRARY: [&str; 7] = [
    "alloc::string::String",
    "alloc::vec::Vec<",
    "alloc::collections::",
    "alloc::rc::",
    "alloc::sync::",
    "std::collections::",
    "&str",
];

fn is_of_library(ty: &Type) -> bool {
    let name = name_of(ty);
    if RUST_LIBRARY.iter().any(|l| name.starts_with(l)) {
        return true;
    }
    let name = name.strip_prefix("std::");
    let name = name.map(|n| n.strip_prefix("__cxx11::").unwrap_or(n));
    name.is_some_and(|n| LIBRARY.iter().any(|l| n.starts_with(l)))
}

/// The members of a structure, each with its name. Those of what has no name of its own, and of base classes,
/// are members of the whole.
fn fields(value: &Value, scope: &dyn Scope, depth: usize, out: &mut Vec<String>) -> Option<()> {
    if depth > DEEPEST + 2 {
        return Some(());
    }
    let memory = Reading(scope);
    for member in value.ty.strip().members().iter().filter(|m| !m.is_static) {
        let Some(part) = value.member(member, &memory) else {
            continue;
        };
        let name = member
            .name
            .as_deref()
            .filter(|n| !n.is_empty() && !member.is_base);
        let Some(name) = name else {
            fields(&part, scope, depth + 1, out)?;
            continue;
        };
        let part = plain(&part, scope, depth + 1).unwrap_or_default();
        out.push(format!(
            "{}:{}",
            json(&Owned::Str(name.to_owned()))?,
            json(&part)?
        ));
    }
    Some(())
}

/// What has no better form is the text that the prompt prints.
fn shown(value: &Value, scope: &dyn Scope) -> Option<Owned> {
    // Of what is not there, or only in part, a text would look like a value.
    if value
        .bytes()
        .is_err_and(|e| !matches!(e, EvalError::TooMuch(_)))
    {
        return None;
    }
    let text = print_value(value, scope, &PrintOptions::default()).ok()?;
    Some(Owned::Str(text))
}

fn json(value: &Owned) -> Option<String> {
    serde_json::to_string(&Json::of_arg(value.arg())).ok()
}
