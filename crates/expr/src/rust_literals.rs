//! Values as Rust writes them: arrays, bytes.

use crate::ast::Ast;
use crate::bind::Binder;
use crate::builtin;
use crate::concrete::Still;
use crate::error::EvalError;
use crate::eval::eval;
use crate::ir::Node;
use crate::known::Known;
use crate::nodes::{bad, constant, decay, is_number};
use crate::overloads::same;
use crate::value::Value;
use verde_symbols::{Kind, Type};

/// Bytes of an array that is written down; a larger one nobody reads.
const MOST_BYTES: u64 = 1 << 20;

impl Binder<'_> {
    /// `[a, b]`: the elements are of one type.
    pub(crate) fn list(&self, parts: &[Ast]) -> Result<Node, EvalError> {
        let nodes = parts.iter().map(|p| self.listed(p));
        let nodes: Vec<Node> = nodes.collect::<Result<_, _>>()?;
        let Some(first) = nodes.first() else {
            return bad("An array needs elements here: their type is not known.");
        };
        let ty = match nodes.iter().all(|n| is_number(&n.ty)) {
            true => nodes
                .iter()
                .fold(first.ty.clone(), |ty, n| element_of_both(&ty, &n.ty)),
            false => first.ty.clone(),
        };
        let fits = |n: &Node| is_number(&ty) && is_number(&n.ty) || same(&n.ty, &ty, 0);
        if !nodes.iter().all(fits) {
            return bad("The elements of an array are of one type.");
        }
        let nodes = nodes.into_iter().map(|n| self.convert(n, ty.clone()));
        let nodes: Vec<Node> = nodes.collect::<Result<_, _>>()?;
        Ok(Known::List.of(ty.array_of(nodes.len() as u64), nodes))
    }

    /// `[a; n]`. The length is a constant in Rust: that of a variable is what it is now.
    pub(crate) fn filled(&self, element: &Ast, count: &Ast) -> Result<Node, EvalError> {
        let element = self.listed(element)?;
        let count = eval(&self.operand(count)?, &mut Still::of(self.lookup.scope))?;
        let count = count.to_integer()?;
        let size = element.ty.size().unwrap_or(1).max(1);
        let most = i128::from(MOST_BYTES / size);
        let Some(count) = u64::try_from(count).ok().filter(|n| i128::from(*n) <= most) else {
            return bad(format!(
                "An array of {count} elements cannot be written here."
            ));
        };
        Ok(Known::Filled(count).of(element.ty.array_of(count), vec![element]))
    }

    /// An element: an array in an array stays one.
    fn listed(&self, ast: &Ast) -> Result<Node, EvalError> {
        let node = self.value(ast)?;
        Ok(match node.ty.strip().kind() {
            Kind::Array(..) => node,
            _ => decay(node),
        })
    }
}

/// `b"text"`
pub(crate) fn bytes(bytes: &[u8]) -> Node {
    let ty = builtin::byte_of_text().array_of(bytes.len() as u64);
    constant(Value::of(ty, bytes.to_vec()))
}

/// The type of an array's elements: a literal takes the other's type. DWARF types are never
/// literals' types.
fn element_of_both(left: &Type, right: &Type) -> Type {
    let (left, right) = (left.strip(), right.strip());
    match (left.die().is_some(), right.die().is_some()) {
        (false, true) => right,
        (true, false) => left,
        _ if right.size() > left.size() => right,
        _ => left,
    }
}
