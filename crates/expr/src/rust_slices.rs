//! Slices and text of Rust as arguments: what is behind a reference, with its length.

use crate::bind::Binder;
use crate::containers::{data_pointer, is_text};
use crate::error::EvalError;
use crate::eval::Evaluator;
use crate::ir::{Node, Op};
use crate::known;
use crate::nodes::{constant, deref, is_pointer};
use crate::overloads::same;
use crate::value::{Value, WHOLE};
use verde_symbols::{Kind, Language, Type};

const TEXT: [&str; 2] = ["&str", "&mut str"];

/// Whether it is a reference that knows how long what it refers to is.
fn is_slice(ty: &Type) -> bool {
    let name = ty.qualified_name().unwrap_or_default();
    ty.language() == Language::Rust
        && (TEXT.contains(&name.as_str()) || ["&[", "&mut ["].iter().any(|p| name.starts_with(p)))
}

impl Binder<'_> {
    /// What rustc passes for a parameter that is a slice or a text: of an array, a vector, a string
    /// or a literal by reference, or of another slice. `None`: it would not.
    pub(crate) fn as_slice(&self, node: &Node, wanted: &Type) -> Option<Node> {
        if !is_slice(wanted) {
            return None;
        }
        let (_, element) = data_pointer(wanted)?;
        let is_str = wanted
            .qualified_name()
            .is_some_and(|n| TEXT.contains(&n.as_str()));
        let all = match literal(node) {
            Some(text) if is_str => text,
            Some(_) => return None,
            None => self
                .referred(node)
                .filter(|all| is_str == is_of_text(all))?,
        };
        let own = all.ty.strip().target()?;
        // A byte of a literal shows as a character.
        let is_byte = |ty: &Type| ty.name() == Some("u8");
        let fits = is_str || same(&own, &element, 0) || (is_byte(&own) && is_byte(&element));
        fits.then(|| Node::new(wanted.clone(), Op::Borrowed(all.boxed())))
    }

    /// What a reference refers to, as an array.
    fn referred(&self, node: &Node) -> Option<Node> {
        let target = match &node.op {
            Op::Slice(..) => return Some(node.clone()),
            // It need not have a place.
            Op::Address(of) => (**of).clone(),
            _ if is_pointer(&node.ty.strip()) => deref(node.clone()).ok()?,
            _ if is_slice(&node.ty.strip()) => node.clone(),
            // Of arrays of bytes the literal is a reference.
            Op::Constant(_) if matches!(node.ty.strip().kind(), Kind::Array(..)) => node.clone(),
            _ => return None,
        };
        let plain = target.ty.strip();
        if matches!(plain.kind(), Kind::Array(..)) {
            return Some(target);
        }
        let length = known::length(&target)?;
        self.all_of(&bytes_of_string(target), length).ok()
    }

    /// So many elements of a slice or vector.
    pub(crate) fn all_of(&self, holder: &Node, length: Node) -> Result<Node, EvalError> {
        let data = self.sequence(holder)?;
        let element = data.ty.strip().target().unwrap_or_else(Type::void);
        let op = Op::Slice(data.boxed(), None, Some(length.boxed()));
        Ok(Node::new(element.array_of(1), op))
    }
}

/// The vector in a `String`; other things as they are.
pub(crate) fn bytes_of_string(node: Node) -> Node {
    let plain = node.ty.strip();
    let bytes = plain.find_member("vec").filter(|_| is_text(&plain));
    match bytes {
        Some(bytes) if plain.language() == Language::Rust => {
            Node::new(bytes.ty, Op::Member(node.boxed(), bytes.offset, None))
        }
        _ => node,
    }
}

/// A text that is written down, without the zero that C would have behind it.
fn literal(node: &Node) -> Option<Node> {
    let Op::Constant(value) = &node.op else {
        return None;
    };
    let element = value.ty.strip().target()?;
    let is_text = element.name() == Some("char") && element.size() == Some(1);
    let (_, text) = value.bytes().ok().filter(|_| is_text)?.split_last()?;
    let ty = element.array_of(text.len() as u64);
    Some(constant(Value::of(ty, text.to_vec())))
}

/// Whether an array's elements are those of a text.
fn is_of_text(all: &Node) -> bool {
    let Op::Slice(base, ..) = &all.op else {
        return false;
    };
    let mut holder = &**base;
    while let Op::Member(of, ..) = &holder.op {
        if is_text(&of.ty.strip()) {
            return true;
        }
        holder = of;
    }
    false
}

impl Evaluator<'_> {
    /// A reference to an array with its length. One that is nowhere is put into the program.
    pub(crate) fn borrowed_array(&mut self, node: &Node, of: &Node) -> Result<Value, EvalError> {
        let array = self.value(of)?;
        let plain = array.ty.strip();
        let Kind::Array(_, Some(count)) = plain.kind() else {
            return Err(EvalError::BadType("How long it is is not known.".into()));
        };
        let addr = match array.address() {
            Some(addr) => addr,
            None => {
                let bytes = array.bytes()?.to_vec();
                self.put(&bytes)?
            }
        };
        let plain = node.ty.strip();
        let mut bytes = vec![0; plain.size().unwrap_or(16).min(WHOLE) as usize];
        for (name, word) in [("data_ptr", addr), ("length", *count)] {
            let place = plain.find_member(name).map(|m| m.offset as usize);
            if let Some(part) = place.and_then(|at| bytes.get_mut(at..at.saturating_add(8))) {
                part.copy_from_slice(&word.to_le_bytes());
            }
        }
        Ok(Value::of(node.ty.clone(), bytes))
    }
}
