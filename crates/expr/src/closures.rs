//! Calls of Rust's closures: what one has captured is passed before the arguments.

use crate::bind::Binder;
use crate::error::EvalError;
use crate::ir::{Node, Op};
use crate::nodes::{bad, constant, deref};
use crate::value::Value;
use verde_symbols::{Kind, Type};

/// Boxes and references around one closure.
const DEEPEST: usize = 8;

impl Binder<'_> {
    /// A call of the closure that an object is or leads to; `None`: it is none.
    pub(crate) fn closure_call(
        &self,
        object: &Node,
        arguments: &[Node],
    ) -> Result<Option<Node>, EvalError> {
        let mut object = object.clone();
        for _ in 0..DEEPEST {
            if let Some(path) = code_of(&object.ty) {
                return self.run_closure(object, &path, arguments).map(Some);
            }
            let next = match object.ty.strip().kind() {
                Kind::Pointer(_) => Some(deref(object)?),
                Kind::Record(_) => self.pointed_to(&object, false)?,
                _ => None,
            };
            match next {
                Some(next) => object = next,
                None => return Ok(None),
            }
        }
        Ok(None)
    }

    fn run_closure(&self, object: Node, path: &str, arguments: &[Node]) -> Result<Node, EvalError> {
        let callee = self.lookup.name(path).ok();
        let Some(callee) = callee.filter(|c| c.op.function_at().is_some()) else {
            return bad(format!("{path} has no code to call: it may be inlined."));
        };
        if !borrows(&callee, &object.ty.strip()) {
            return bad(
                "The closure may take what it has captured for itself: a call could use it up.",
            );
        }
        let takes_environment = takes_environment(&callee.ty.strip(), &object.ty.strip());
        let pointer = object.ty.pointer_to();
        let environment = match object.ty.size() {
            // Nothing is behind the address, and nobody looks there.
            Some(0) => constant(Value::integer(pointer, 1)),
            _ => Node::new(pointer, Op::Temporary(object.boxed())),
        };
        let mut passed = arguments.to_vec();
        // The debug information of a closure that has captured something does not mention it.
        if takes_environment {
            passed.insert(0, environment);
            return self.invoke(callee, passed, path, None);
        }
        let mut call = self.invoke(callee, passed, path, None)?;
        if let Op::Call(_, passed, _) = &mut call.op {
            passed.insert(0, environment);
        }
        Ok(call)
    }
}

/// The function of a closure, by the type of what it has captured.
fn code_of(ty: &Type) -> Option<String> {
    let path = ty.strip().qualified_name()?;
    let at = path.rfind("{closure_env#")?;
    Some(format!(
        "{}{}",
        &path[..at],
        path[at..].replacen("_env#", "#", 1)
    ))
}

/// Whether the first parameter of a closure's code is a reference to what was captured.
fn takes_environment(code: &Type, environment: &Type) -> bool {
    let Kind::Function(_, parameters, ..) = code.kind() else {
        return false;
    };
    let first = parameters.first().map(|p| code.follow(p).strip());
    let behind = first.and_then(|p| p.target());
    behind.is_some_and(|t| t.strip() == *environment)
}

/// Whether a closure's code is known to have a reference to what was captured: then one more pointer
/// leads to a captured variable than without.
fn borrows(code: &Node, environment: &Type) -> bool {
    let members = environment.members();
    if members.is_empty() {
        return true;
    }
    let Op::Symbol(at, Some(function)) = &code.op else {
        return false;
    };
    let Some(die) = function.die else {
        return false;
    };
    let blocks = at.module.blocks(die, function.entry);
    let variables = blocks.last().map_or(&[][..], |b| &b.variables);
    let told = variables.iter().find_map(|variable| {
        let followed = variable.pointers_followed()?;
        members.iter().find_map(|m| {
            let name = m.name.as_deref()?;
            let by_reference = name.strip_prefix("_ref__") == Some(variable.name.as_str());
            let of_variable = by_reference || name == variable.name;
            of_variable.then(|| followed > usize::from(by_reference))
        })
    });
    told.unwrap_or(false)
}
