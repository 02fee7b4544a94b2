//! What expressions ask of the standard libraries' containers, answered from their layouts: nothing
//! is called, so it works where a function was never instantiated or has been inlined. Also gdb's
//! own functions (`$_streq`).

use crate::ast::Binary;
use crate::builtin;
use crate::containers::{self, Shape};
use crate::error::EvalError;
use crate::ir::{Node, Op};
use crate::nodes::{bad, constant, deref, follow_reference, is_number, smart};
use crate::rust_print::active_variant;
use crate::strings::text_of;
use crate::value::{Data, Value};
use verde_symbols::{Kind, Language, Memory, Type};

/// Text that is compared; far more than anybody compares.
const MOST_TEXT: usize = 1 << 20;

/// A question that is answered without the program.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Known {
    /// An element by its number, or a value by its key.
    Item,
    /// What an iterator points to or an optional holds.
    Held,
    /// Whether an optional holds something.
    Holds,
    /// How many elements there are.
    Length,
    /// Whether there are none.
    IsEmpty,
    /// The first element.
    First,
    /// The last element.
    Last,
    /// The pointer of a trait object, as long as its virtual table is this one.
    Behind(u64),
    /// A comparison of texts.
    Texts(Binary),
    /// Whether an enum holds a variant.
    IsVariant(String),
    /// A Rust tuple of the parts.
    Tuple,
    /// Values of one type, one after the other.
    List,
    /// One value, so many times.
    Filled(u64),
    /// `$_strlen(s)`
    TextLength,
    /// `$_streq(a, b)`
    SameText,
    /// `$_memeq(a, b, n)`
    SameMemory,
    /// `$_regex(s, pattern)`
    Matches,
}

impl Known {
    pub fn of(self, ty: Type, parts: Vec<Node>) -> Node {
        Node::new(ty, Op::Known(self, parts))
    }

    /// The answer, from the values of what it is asked about.
    pub fn answer(
        &self,
        ty: &Type,
        values: &[Value],
        memory: &dyn Memory,
    ) -> Result<Value, EvalError> {
        let number = |n: i128| Ok(Value::integer(ty.clone(), n));
        let first = values.first().ok_or(EvalError::NoAddress)?;
        if let Data::Missing(why) = &first.data {
            return Err(why.clone().into());
        }
        let length = || {
            let length = containers::length(first, memory);
            length.ok_or_else(|| unreadable(&first.ty))
        };
        match (self, values) {
            (Known::Length, _) => number(length()?.into()),
            (Known::IsEmpty, _) => number((length()? == 0).into()),
            (Known::First, _) => element(first, 0, length()?, memory),
            (Known::Last, _) => {
                let length = length()?;
                element(first, i128::from(length) - 1, length, memory)
            }
            (Known::Holds, _) => number(containers::held(first, memory).is_some().into()),
            (Known::Held, _) => {
                let held = containers::held(first, memory);
                held.ok_or_else(|| EvalError::BadType("It holds no value.".to_owned()))
            }
            (Known::Behind(wanted), [pointer, table]) => match table.to_address()? == *wanted {
                true => number(pointer.to_integer()?),
                false => bad("The object behind the trait is of another type now."),
            },
            (Known::Item, [_, key]) => item_of(first, key, memory),
            (Known::Texts(operator), [a, b]) => {
                let order = text(a, memory)?.cmp(&text(b, memory)?);
                let truth = match operator {
                    Binary::Eq => order.is_eq(),
                    Binary::Ne => order.is_ne(),
                    Binary::Lt => order.is_lt(),
                    Binary::Gt => order.is_gt(),
                    Binary::Le => order.is_le(),
                    _ => order.is_ge(),
                };
                number(truth.into())
            }
            (Known::IsVariant(name), _) => {
                let held = active_variant(first, &first.ty.strip(), memory);
                let held = held.and_then(|v| v.member.name);
                number((held.as_deref() == Some(name)).into())
            }
            (Known::Tuple, parts) => tuple_of(ty, parts),
            (Known::List, parts) => list_of(ty, parts),
            (Known::Filled(count), _) => {
                let count = usize::try_from(*count).unwrap_or(0);
                Ok(Value::of(ty.clone(), first.bytes()?.repeat(count)))
            }
            (Known::TextLength, _) => number(text(first, memory)?.len() as i128),
            (Known::SameText, [a, b]) => number((text(a, memory)? == text(b, memory)?).into()),
            (Known::SameMemory, [a, b, n]) => {
                let size = usize::try_from(n.to_integer()?).unwrap_or(0).min(MOST_TEXT);
                let bytes = |v: &Value| -> Result<Vec<u8>, EvalError> {
                    let mut bytes = vec![0; size];
                    memory.read(v.to_address()?, &mut bytes)?;
                    Ok(bytes)
                };
                number((bytes(a)? == bytes(b)?).into())
            }
            (Known::Matches, [s, pattern]) => {
                let pattern = text(pattern, memory)?;
                let pattern = regex_lite::Regex::new(&format!("^(?:{pattern})"));
                let pattern = pattern.map_err(|e| {
                    EvalError::BadType(
                        format!("The pattern is not regular: {e}").replace('\n', " "),
                    )
                })?;
                number(pattern.is_match(&text(s, memory)?).into())
            }
            _ => bad("too few values"),
        }
    }
}

fn unreadable(ty: &Type) -> EvalError {
    let name = crate::type_text::name_of(ty);
    EvalError::BadType(format!(
        "The {name} does not look like one: is it initialised?"
    ))
}

fn text(value: &Value, memory: &dyn Memory) -> Result<String, EvalError> {
    value.bytes()?;
    let found = text_of(value, memory, MOST_TEXT);
    found.ok_or_else(|| EvalError::BadType("The value is not text.".to_owned()))
}

fn element(
    value: &Value,
    index: i128,
    length: u64,
    memory: &dyn Memory,
) -> Result<Value, EvalError> {
    if !(0..i128::from(length)).contains(&index) {
        return Err(EvalError::OutOfRange(index, length.into()));
    }
    let found = containers::nth(value, index as u64, memory);
    found.ok_or_else(|| unreadable(&value.ty))
}

/// An element by its number, or what a map has for a key.
fn item_of(value: &Value, key: &Value, memory: &dyn Memory) -> Result<Value, EvalError> {
    let Some(pairs) = containers::pairs(value, memory) else {
        let length = containers::length(value, memory).ok_or_else(|| unreadable(&value.ty))?;
        return element(value, key.to_integer()?, length, memory);
    };
    let wanted = text_of(key, memory, MOST_TEXT).filter(|_| !is_number(&key.ty));
    let same = |own: &Value| match &wanted {
        Some(text) => text_of(own, memory, MOST_TEXT).as_ref() == Some(text),
        None if own.ty.is_float() => own.to_float() == key.to_float(),
        None => own.to_integer().is_ok() && own.to_integer() == key.to_integer(),
    };
    match pairs.into_iter().find(|(own, _)| same(own)) {
        Some((_, found)) => Ok(found),
        None => bad("There is no element with this key."),
    }
}

/// A number for an expression.
pub(crate) fn count_node(count: u64) -> Node {
    constant(Value::integer(builtin::unsigned_long(), count.into()))
}

/// An index that has to be below a length.
pub(crate) fn within(index: Node, length: Node) -> Node {
    let ty = index.ty.clone();
    Node::new(ty, Op::Within(index.boxed(), length.boxed()))
}

/// How long a container is.
pub(crate) fn length(base: &Node) -> Option<Node> {
    containers::shape(&base.ty.strip())?;
    Some(Known::Length.of(builtin::unsigned_long(), vec![base.clone()]))
}

/// An element of a container that has no pointer to all of them.
pub(crate) fn item(base: &Node, index: &Node) -> Option<Node> {
    let ty = base.ty.strip();
    match containers::shape(&ty)? {
        Shape::Inside => {
            let elements = ty
                .find_member("_M_elems")
                .filter(|_| index.ty.is_integral())?;
            let element = elements.ty.strip().target()?;
            let index = within(index.clone(), length(base)?);
            let op = Op::Member(base.clone().boxed(), elements.offset, None);
            let array = Node::new(elements.ty, op);
            Some(Node::new(
                element,
                Op::Element(array.boxed(), index.boxed()),
            ))
        }
        Shape::Scattered(element) if index.ty.is_integral() => {
            Some(Known::Item.of(element, vec![base.clone(), index.clone()]))
        }
        Shape::Map(value) => {
            let key = literal(index.clone());
            Some(Known::Item.of(value, vec![base.clone(), key]))
        }
        _ => None,
    }
}

/// What an iterator points to or an optional holds.
pub(crate) fn held(node: &Node) -> Option<Node> {
    let ty = containers::held_type(&node.ty.strip())?;
    Some(Known::Held.of(ty, vec![node.clone()]))
}

/// The pointer in a smart pointer of C++.
pub(crate) fn pointer_of(node: &Node) -> Option<Node> {
    let ty = node.ty.strip();
    if ty.language() != Language::Cpp {
        return None;
    }
    let (offset, pointer, _) = containers::smart_pointer(&ty)?;
    Some(Node::new(
        pointer,
        Op::Member(node.clone().boxed(), offset, None),
    ))
}

/// A literal is text of ours: it need not be put into the program to be looked at.
fn literal(node: Node) -> Node {
    match node.op {
        Op::Address(of) if matches!(of.op, Op::Constant(_)) => *of,
        op => Node::new(node.ty, op),
    }
}

/// A comparison of texts, one of which is a string of a library.
pub(crate) fn texts(operator: Binary, operands: &[Node; 2], language: Language) -> Option<Node> {
    use Binary::*;
    if !matches!(operator, Eq | Ne | Lt | Gt | Le | Ge) {
        return None;
    }
    let is_string = |node: &Node| {
        let mut ty = node.ty.strip();
        if language == Language::Rust && matches!(ty.kind(), Kind::Pointer(_)) {
            ty = ty.target()?.strip();
        }
        Some(containers::is_text(&ty))
    };
    let is_literal = |node: &Node| {
        let target = node.ty.strip().target().map(|t| t.strip());
        target.is_some_and(|t| crate::strings::is_character(&t))
    };
    let [a, b] = operands;
    let strings = [is_string(a) == Some(true), is_string(b) == Some(true)];
    let fits = match strings {
        [true, true] => true,
        [true, false] => is_literal(b),
        [false, true] => is_literal(a),
        _ => false,
    };
    if !fits {
        return None;
    }
    let parts = vec![literal(a.clone()), literal(b.clone())];
    Some(Known::Texts(operator).of(builtin::truth(language), parts))
}

/// Whether an enum holds the variant that a path names; an error if that has fields.
pub(crate) fn is_variant(object: &Node, path: &str) -> Option<Result<Node, EvalError>> {
    let class = object.ty.strip();
    let part = class.variant_part()?;
    let (scope, name) = path.rsplit_once("::").unwrap_or(("", path));
    let own = class.qualified_name()?;
    let own = own.split('<').next()?;
    let is_own = scope.is_empty() || own == scope || own.ends_with(&format!("::{scope}"));
    let named = |v: &&verde_symbols::Variant| v.member.name.as_deref() == Some(name);
    let variant = part.variants.iter().find(named).filter(|_| is_own)?;
    let fields = variant.member.ty.strip().members();
    if fields.iter().any(|m| !m.is_artificial) {
        return Some(bad(format!(
            "Variant {own}::{name} has fields: compare those that it holds"
        )));
    }
    let ty = builtin::truth(Language::Rust);
    Some(Ok(
        Known::IsVariant(name.to_owned()).of(ty, vec![object.clone()])
    ))
}

/// A tuple of values, laid out one after the other.
pub(crate) fn tuple(parts: Vec<Node>) -> Node {
    let mut members = Vec::new();
    let mut at = 0u64;
    for (i, part) in parts.iter().enumerate() {
        members.push((format!("__{i}"), part.ty.clone(), at));
        at += part.ty.size().unwrap_or(0).next_multiple_of(8);
    }
    let names: Vec<String> = parts
        .iter()
        .map(|p| crate::type_text::name_of(&p.ty))
        .collect();
    let name = match names.len() {
        1 => format!("({},)", names[0]),
        _ => format!("({})", names.join(", ")),
    };
    let borrowed: Vec<(&str, Type, u64)> = members
        .iter()
        .map(|(name, ty, at)| (name.as_str(), ty.clone(), *at))
        .collect();
    let ty = Type::tuple(&name, at, &borrowed);
    match parts.is_empty() {
        true => constant(Value::of(ty, Vec::new())),
        false => Known::Tuple.of(ty, parts),
    }
}

fn tuple_of(ty: &Type, parts: &[Value]) -> Result<Value, EvalError> {
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend_from_slice(part.bytes()?);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
    }
    Ok(Value::of(ty.clone(), bytes))
}

fn list_of(ty: &Type, parts: &[Value]) -> Result<Value, EvalError> {
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend_from_slice(part.bytes()?);
    }
    Ok(Value::of(ty.clone(), bytes))
}

/// Whether gdb has a function of this name, without the dollar.
pub(crate) fn is_function(name: &str) -> bool {
    function_of(name).is_some()
}

fn function_of(name: &str) -> Option<(Known, usize)> {
    Some(match name {
        "_strlen" => (Known::TextLength, 1),
        "_streq" => (Known::SameText, 2),
        "_memeq" => (Known::SameMemory, 3),
        "_regex" => (Known::Matches, 2),
        _ => return None,
    })
}

/// A call of one of gdb's functions.
pub(crate) fn function(name: &str, arguments: Vec<Node>) -> Result<Node, EvalError> {
    let Some((known, count)) = function_of(name) else {
        return Err(EvalError::UnknownName(format!("${name}")));
    };
    if arguments.len() != count {
        return bad(format!("${name} takes {count} arguments"));
    }
    Ok(known.of(builtin::int(), arguments))
}

impl crate::bind::Binder<'_> {
    /// What a smart pointer, an optional or a container of C++ has, by the names of its methods.
    fn of_holder(
        &self,
        node: &Node,
        name: &str,
        arguments: &[Node],
    ) -> Result<Option<Node>, EvalError> {
        let ty = node.ty.strip();
        if ty.language() != Language::Cpp {
            return Ok(None);
        }
        let is_optional = || {
            let name = ty.qualified_name();
            name.is_some_and(|n| n.starts_with("std::optional<"))
        };
        Ok(match (name, arguments) {
            ("get", []) => pointer_of(node),
            ("has_value", []) if is_optional() => {
                let truth = builtin::truth(Language::Cpp);
                Some(Known::Holds.of(truth, vec![node.clone()]))
            }
            ("value", []) if is_optional() => held(node),
            ("at", [index]) if containers::shape(&ty).is_some() => {
                Some(self.subscript(node.clone(), index.clone())?)
            }
            _ => None,
        })
    }

    /// A method of a container that its layout answers.
    pub(crate) fn known_method(
        &self,
        object: &Node,
        name: &str,
        arguments: &[Node],
        arrow: bool,
    ) -> Result<Option<Node>, EvalError> {
        let mut node = object.clone();
        if let Kind::Pointer(_) = node.ty.strip().kind() {
            node = follow_reference(deref(node)?);
        } else if arrow && let Some(target) = smart(&node) {
            node = target;
        }
        let ty = node.ty.strip();
        if let Some(answer) = self.of_holder(&node, name, arguments)? {
            return Ok(Some(answer));
        }
        if let (Kind::Array(_, Some(count)), Language::Rust, []) =
            (ty.kind(), self.language, arguments)
        {
            return Ok(match (name, &node.op) {
                ("len", Op::Slice(_, None, Some(length))) => Some((**length).clone()),
                // How many are between two bounds is known when they are.
                (_, Op::Slice(..) | Op::Repeat(..)) => None,
                ("len", _) => Some(count_node(*count)),
                ("is_empty", _) => Some(constant(Value::integer(
                    builtin::truth(Language::Rust),
                    i128::from(*count == 0),
                ))),
                _ => None,
            });
        }
        let Some(shape) = containers::shape(&ty) else {
            return Ok(None);
        };
        let is_rust = ty.language() == Language::Rust;
        let size = match is_rust {
            true => builtin::rust_type("usize").unwrap_or_else(builtin::unsigned_long),
            false => builtin::unsigned_long(),
        };
        let truth = builtin::truth(ty.language());
        let element = containers::element(&ty, &shape);
        let parts = vec![node.clone()];
        Ok(match (name, arguments, element) {
            ("size" | "length", [], _) if !is_rust => Some(Known::Length.of(size, parts)),
            ("len", [], _) if is_rust => Some(Known::Length.of(size, parts)),
            ("empty", [], _) if !is_rust => Some(Known::IsEmpty.of(truth, parts)),
            ("is_empty", [], _) if is_rust => Some(Known::IsEmpty.of(truth, parts)),
            ("front", [], Some(element)) if !is_rust => Some(Known::First.of(element, parts)),
            ("back", [], Some(element)) if !is_rust => Some(Known::Last.of(element, parts)),
            ("c_str" | "data", [], Some(_)) if !is_rust => {
                let found = containers::data_pointer(&ty);
                found.map(|(offset, element)| {
                    let op = Op::Member(node.boxed(), offset, None);
                    Node::new(element.constant().pointer_to(), op)
                })
            }
            _ => None,
        })
    }
}
