//! What a function is passed: the arguments of a call as its parameters want them.

use crate::bases::base_part;
use crate::bind::Binder;
use crate::error::EvalError;
use crate::ir::{Node, Op};
use crate::nodes::{bad, decay, follow_reference, is_number, is_pointer};
use crate::overloads::same;
use crate::type_text::name_of;
use verde_symbols::{Encoding, Kind, Language, Type};

impl Binder<'_> {
    /// An argument as a parameter of this type. Numbers and pointers are converted; a class is
    /// passed as itself or as one of its bases only, because nothing else of its size is one.
    pub(crate) fn argument(&self, node: Node, ty: Type) -> Result<Node, EvalError> {
        let plain = ty.strip();
        let by_reference = matches!(plain.kind(), Kind::Reference(_) | Kind::RvalueReference(_));
        let wanted = match by_reference {
            true => plain.target().unwrap_or_else(Type::void).strip(),
            false => plain.clone(),
        };
        if matches!(plain.kind(), Kind::RvalueReference(_)) && node.is_object() {
            return bad("The function takes a temporary object: it may empty this one.");
        }
        let node = follow_reference(node);
        let given = node.ty.clone();
        let fitting = match wanted.kind() {
            Kind::Record(_) => as_class(&node, &wanted).or_else(|| self.as_slice(&node, &wanted)),
            _ if is_number(&wanted) || is_pointer(&wanted) => match by_reference {
                true if same(&given, &wanted, 0) => Some(node),
                _ => self.as_scalar(node, &wanted),
            },
            _ => Some(node),
        };
        let Some(node) = fitting else {
            return bad(format!(
                "An argument of type {} cannot be passed as {}.",
                name_of(&given),
                name_of(&ty)
            ));
        };
        match by_reference {
            true => Ok(Node::new(ty, Op::Temporary(node.boxed()))),
            false => self.convert(node, ty),
        }
    }

    fn as_scalar(&self, node: Node, wanted: &Type) -> Option<Node> {
        if self.language == Language::Cpp && is_no_conversion(&node, wanted) {
            return None;
        }
        let node = decay(node);
        let scalar = is_number(&node.ty) || is_pointer(&node.ty);
        let converted = scalar.then(|| self.convert(node, wanted.clone()));
        converted.and_then(Result::ok)
    }

    /// An argument that no parameter is written for.
    pub(crate) fn variable_argument(&self, node: Node) -> Node {
        let node = decay(node);
        let plain = node.ty.strip();
        if plain.is_float() && plain.size() == Some(4) {
            let ty = Type::base("double", Encoding::Float, 8);
            return Node::new(ty, Op::Convert(node.boxed()));
        }
        match plain.is_integral() {
            true => Node::new(self.promoted(&plain), Op::Convert(node.boxed())),
            false => node,
        }
    }
}

/// Whether C++ has no conversion, and none is meant: an address that a program has may be passed as an
/// integer, one that the debugger makes for the call says nothing.
fn is_no_conversion(node: &Node, wanted: &Type) -> bool {
    let from = node.ty.strip();
    let made = match from.kind() {
        Kind::Array(..) => matches!(node.op, Op::Constant(_)),
        Kind::Function(..) => true,
        _ => false,
    };
    let from = decay(node.clone()).ty.strip();
    match (is_pointer(&from), is_pointer(wanted)) {
        (true, false) => made || wanted.is_float() || matches!(wanted.kind(), Kind::Enum),
        (false, true) => from.is_float(),
        _ => false,
    }
}

/// The object as one of a class.
fn as_class(node: &Node, class: &Type) -> Option<Node> {
    let own = node.ty.strip();
    if !matches!(own.kind(), Kind::Record(_)) {
        return None;
    }
    // Types without names are told apart by their units only.
    let nameless = own.name().is_none() && class.name().is_none();
    let alike = same(&own, class, 0) || (nameless && own.size() == class.size());
    match alike {
        true => Some(node.clone()),
        false => base_part(node, class),
    }
}
