//! Methods that a Rust trait provides itself: each type that uses one has an instance of it, named by
//! the type (`describe<shop::Till>`).

use crate::bind::Binder;
use crate::error::EvalError;
use crate::ir::{Node, Op};
use crate::nodes::bad;
use verde_symbols::Language;

impl Binder<'_> {
    /// The instance of a provided method for the type of a path.
    pub(crate) fn provided(&self, path: &str, name: &str) -> Result<Option<Node>, EvalError> {
        if self.language != Language::Rust {
            return Ok(None);
        }
        let mut all = self.lookup.free_functions(name, Language::Rust);
        all.retain(|node| is_instance(node, path, name));
        let one = all.pop();
        match all.is_empty() {
            true => Ok(one),
            false => bad(format!(
                "Several traits provide a method {name} for {path}."
            )),
        }
    }
}

fn is_instance(node: &Node, path: &str, name: &str) -> bool {
    let Op::Symbol(at, Some(function)) = &node.op else {
        return false;
    };
    let own = format!("::{name}<{path}");
    let Some((_, rest)) = function.name.rsplit_once(own.as_str()) else {
        return false;
    };
    // The type is the first of the instance's, and the method's own follow.
    if !(rest == ">" || rest.starts_with(", ")) {
        return false;
    }
    let parameters = function.die.map(|die| at.module.parameters(die));
    let first = parameters.iter().flatten().next();
    first.is_some_and(|p| p.name == "self")
}
