//! Member functions: where they are declared, and which one a call means.

use crate::bases::base_part;
use crate::bind::Binder;
use crate::builtin;
use crate::error::EvalError;
use crate::ir::{Node, Op};
use crate::nodes::{bad, constant, deref, follow_reference, offset};
use crate::overloads::choose;
use crate::value::Value;
use verde_symbols::{Kind, Language, MemberFunction, Type};

/// How deep classes may derive before a file is taken for corrupt.
const DEEPEST: usize = 16;

/// A method with the class that declares it.
pub(crate) struct Declared {
    pub class: Type,
    pub method: MemberFunction,
}

/// The method of a class or of its bases; of several the one that takes these arguments.
pub(crate) fn declared(
    class: &Type,
    name: &str,
    arguments: &[Node],
    depth: usize,
) -> Result<Option<Declared>, EvalError> {
    let whole = class.definition();
    let class = whole.as_ref().unwrap_or(class);
    let mut named = class.methods();
    named.retain(|m| m.name == name && !m.is_deleted);
    let method = match named.len() {
        0 | 1 => named.pop(),
        _ => {
            let path = class.qualified_name().unwrap_or_default();
            let of = |m: &MemberFunction| (m.ty.clone(), usize::from(!m.is_static));
            Some(choose(&format!("{path}::{name}"), named, arguments, of)?)
        }
    };
    if let Some(method) = method {
        return Ok(Some(Declared {
            class: class.clone(),
            method,
        }));
    }
    if depth >= DEEPEST {
        return Ok(None);
    }
    let bases = class.members().into_iter();
    for base in bases.filter(|m| m.is_base) {
        if let Some(found) = declared(&base.ty.strip(), name, arguments, depth + 1)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

impl Binder<'_> {
    /// A member function, and the object it is called on unless it needs none.
    pub(crate) fn method(
        &self,
        object: Node,
        name: &str,
        arguments: &[Node],
        arrow: bool,
    ) -> Result<Option<(Node, Option<Node>)>, EvalError> {
        let mut node = object;
        if let Kind::Pointer(_) = node.ty.strip().kind() {
            node = follow_reference(deref(node)?);
        }
        let class = node.ty.strip();
        let Some(path) = class.qualified_name() else {
            return Ok(None);
        };
        if !matches!(class.kind(), Kind::Record(_)) {
            return self.provided_method(&path, name, node);
        }
        if class.find_member(name).is_some() {
            return Ok(None);
        }
        let mut found = declared(&class, name, arguments, 0)?;
        // `u->f()` of a smart pointer.
        if found.is_none()
            && let Some(target) = self.pointed_to(&node, arrow)?
            && let Some(of_target) = declared(&target.ty.strip(), name, arguments, 0)?
        {
            found = Some(of_target);
            node = target;
        }
        let Some(found) = found else {
            if class.language() == Language::Cpp {
                return bad(format!("Couldn't find method {path}::{name}"));
            }
            return self.implemented_method(node, &path, name, arrow).map(Some);
        };
        if class.language() == Language::Rust {
            return self.rust_method(node, &found, name).map(Some);
        }
        self.bound_method(node, &found, name).map(Some)
    }

    /// A method that the class does not have itself but a function has the name of: one of a
    /// trait's. That of a trait object is the concrete type's.
    fn implemented_method(
        &self,
        node: Node,
        path: &str,
        name: &str,
        arrow: bool,
    ) -> Result<(Node, Option<Node>), EvalError> {
        let full = format!("{path}::{name}");
        if let Ok(callee) = self.lookup.name(&full) {
            let this = self.receiver(&callee.ty.strip(), node)?;
            return Ok((callee, this));
        }
        if let Some(found) = self.provided_method(path, name, node.clone())? {
            return Ok(found);
        }
        let target = self.pointed_to(&node, arrow)?;
        let behind = target.as_ref().and_then(|t| t.ty.strip().qualified_name());
        let (Some(target), Some(behind)) = (target, behind) else {
            return bad(format!("Cannot evaluate function {full} -- may be inlined"));
        };
        if let Some(found) = self.provided_method(&behind, name, target.clone())? {
            return Ok(found);
        }
        let full = format!("{behind}::{name}");
        match self.lookup.name(&full) {
            Ok(callee) => {
                let this = self.receiver(&callee.ty.strip(), target)?;
                Ok((callee, this))
            }
            Err(_) if self.concrete(&node).is_some() => bad(format!(
                "Could not find a method {name} of {behind}, which is behind {path}."
            )),
            Err(_) => bad(format!("Cannot evaluate function {full} -- may be inlined")),
        }
    }

    /// A method that a trait provides for the type of a path, and what it works on.
    fn provided_method(
        &self,
        path: &str,
        name: &str,
        node: Node,
    ) -> Result<Option<(Node, Option<Node>)>, EvalError> {
        let Some(callee) = self.provided(path, name)? else {
            return Ok(None);
        };
        let this = self.receiver(&callee.ty.strip(), node)?;
        Ok(Some((callee, this)))
    }

    /// A method of Rust.
    fn rust_method(
        &self,
        node: Node,
        found: &Declared,
        name: &str,
    ) -> Result<(Node, Option<Node>), EvalError> {
        let this = self.receiver(&found.method.ty, node)?;
        Ok((self.code_of(found, name)?, this))
    }

    /// What a method of Rust works on: its first parameter says whether it takes the object or a
    /// reference to it.
    fn receiver(&self, ty: &Type, node: Node) -> Result<Option<Node>, EvalError> {
        let first = match ty.kind() {
            Kind::Function(_, parameters, ..) => parameters.first().map(|p| ty.follow(p).strip()),
            _ => None,
        };
        Ok(match first {
            Some(first) if matches!(first.kind(), Kind::Pointer(_)) => Some(self.address(node)?),
            Some(_) => Some(node),
            None => None,
        })
    }

    /// The function of a method that was found, and the part of the object it works on.
    pub(crate) fn bound_method(
        &self,
        node: Node,
        found: &Declared,
        name: &str,
    ) -> Result<(Node, Option<Node>), EvalError> {
        let part = base_part(&node, &found.class).unwrap_or(node);
        // What a call returned has no place in the program yet.
        let this = Node::new(part.ty.pointer_to(), Op::Temporary(part.boxed()));
        let method = &found.method;
        let callee = match method.slot.filter(|_| method.is_virtual) {
            Some(slot) => through_table(&this, slot, &method.ty)?,
            None => self.code_of(found, name)?,
        };
        Ok((callee, (!method.is_static).then_some(this)))
    }

    /// A call of the operator that a class declares for these operands.
    pub(crate) fn member_operator(
        &self,
        object: &Node,
        name: &str,
        arguments: &[Node],
    ) -> Result<Option<Node>, EvalError> {
        let Some(found) = declared(&object.ty.strip(), name, arguments, 0)? else {
            return Ok(None);
        };
        let takes = match found.method.ty.kind() {
            Kind::Function(_, parameters, ..) => parameters.len(),
            _ => 0,
        };
        if takes != arguments.len() + usize::from(!found.method.is_static) {
            return Ok(None);
        }
        let (callee, this) = self.bound_method(object.clone(), &found, name)?;
        let bound = this.into_iter().chain(arguments.iter().cloned()).collect();
        self.invoke(callee, bound, name, None).map(Some)
    }

    /// The code of a method that is not dispatched. A library may have it without debug
    /// information: its class says what it takes and returns.
    pub(crate) fn code_of(&self, found: &Declared, name: &str) -> Result<Node, EvalError> {
        let linked = found.method.linkage_name.as_deref();
        let by_linkage = linked.and_then(|n| self.lookup.name(n).ok());
        let path = found.class.qualified_name().unwrap_or_default();
        let full = format!("{path}::{name}");
        // The one that the compiler made code of may be an overload of the one that is meant.
        let same = |node: &Node| match (&node.op, linked) {
            (Op::Symbol(_, Some(other)), Some(linked)) => {
                other.linkage_name.as_deref().is_none_or(|o| o == linked)
            }
            _ => true,
        };
        let only_one = || self.only_one(&full).filter(same);
        let with_object = || self.code_with_object(&found.class, name).filter(same);
        let Some(callee) = by_linkage.or_else(only_one).or_else(with_object) else {
            return bad(format!("Cannot evaluate function {full} -- may be inlined"));
        };
        Ok(match callee.ty.strip().die() {
            Some(_) => callee,
            None => Node::new(found.method.ty.clone(), callee.op),
        })
    }

    /// The only function of a name that works on an object of a class: that of a lambda, which the
    /// linker has no name for.
    fn code_with_object(&self, class: &Type, name: &str) -> Option<Node> {
        let mut all = self.lookup.free_functions(name, Language::Cpp);
        all.retain(|f| {
            let ty = f.ty.strip();
            let Kind::Function(_, parameters, ..) = ty.kind() else {
                return false;
            };
            let object = parameters
                .first()
                .and_then(|p| ty.follow(p).strip().target());
            object.is_some_and(|object| object.strip() == *class)
        });
        let only = all.pop()?;
        all.is_empty().then_some(only)
    }

    /// What a name means if that is one thing: of several functions it may be the wrong one.
    fn only_one(&self, name: &str) -> Option<Node> {
        let node = self.lookup.name(name).ok()?;
        let at = node.op.function_at();
        let several = at.is_some_and(|at| self.lookup.overloads(name, at).len() > 1);
        (!several).then_some(node)
    }
}

/// The function that the object's virtual table has in a slot.
fn through_table(this: &Node, slot: u64, ty: &Type) -> Result<Node, EvalError> {
    let word = builtin::long();
    let tables = word.pointer_to().pointer_to();
    let object = Node::new(tables, Op::Reinterpret(this.clone().boxed()));
    let index = constant(Value::integer(builtin::long(), slot.into()));
    let code = deref(offset(deref(object)?, index, 1))?;
    Ok(Node::new(ty.pointer_to(), Op::Reinterpret(code.boxed())))
}
