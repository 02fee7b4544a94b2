//! Member functions: where they are declared, and which one a call means.

use crate::ast::Ast;
use crate::bind::Binder;
use crate::builtin;
use crate::error::EvalError;
use crate::ir::{Node, Op};
use crate::nodes::{bad, constant, deref, follow_reference, offset, smart};
use crate::value::Value;
use verde_symbols::{Kind, Language, MemberFunction, Type};

/// How deep classes may derive before a file is taken for corrupt.
const DEEPEST: usize = 16;

/// A method with the class that declares it and where that class is in the object.
struct Declared {
    class: Type,
    offset: u64,
    method: MemberFunction,
}

/// The method of a class or of its bases; of several that with so many arguments.
fn declared(class: &Type, name: &str, arguments: usize, depth: usize) -> Option<Declared> {
    let whole = class.definition();
    let class = whole.as_ref().unwrap_or(class);
    let parameters = |m: &MemberFunction| match m.ty.kind() {
        Kind::Function(_, parameters, ..) => parameters.len(),
        _ => 0,
    };
    let fits = |m: &&MemberFunction| parameters(m) == arguments + usize::from(!m.is_static);
    let all = class.methods();
    let named: Vec<&MemberFunction> = all.iter().filter(|m| m.name == name).collect();
    let found = named.iter().copied().find(fits).or(named.first().copied());
    if let Some(method) = found {
        return Some(Declared {
            class: class.clone(),
            offset: 0,
            method: method.clone(),
        });
    }
    if depth >= DEEPEST {
        return None;
    }
    let bases = class.members().into_iter();
    bases
        .filter(|m| m.is_base && !m.is_virtual)
        .find_map(|base| {
            let mut found = declared(&base.ty.strip(), name, arguments, depth + 1)?;
            found.offset = found.offset.wrapping_add(base.offset);
            Some(found)
        })
}

impl Binder<'_> {
    /// A member function, and the object it is called on unless it needs none.
    pub(crate) fn method(
        &self,
        object: &Ast,
        name: &str,
        arguments: usize,
    ) -> Result<Option<(Node, Option<Node>)>, EvalError> {
        let mut node = self.value(object)?;
        if let Kind::Pointer(_) = node.ty.strip().kind() {
            node = follow_reference(deref(node)?);
        }
        let class = node.ty.strip();
        if !matches!(class.kind(), Kind::Record(_)) || class.find_member(name).is_some() {
            return Ok(None);
        }
        let Some(path) = class.qualified_name() else {
            return Ok(None);
        };
        let mut found = declared(&class, name, arguments, 0);
        // `u->f()` of a smart pointer.
        if found.is_none()
            && let Some(target) = smart(&node)
            && let Some(of_target) = declared(&target.ty.strip(), name, arguments, 0)
        {
            found = Some(of_target);
            node = target;
        }
        let Some(found) = found else {
            if class.language() == Language::Cpp {
                return bad(format!("Couldn't find method {path}::{name}"));
            }
            let full = format!("{path}::{name}");
            let Ok(callee) = self.lookup.name(&full) else {
                return bad(format!("Cannot evaluate function {full} -- may be inlined"));
            };
            return Ok(Some((callee, Some(self.address(node)?))));
        };
        let part = Op::Member(node.boxed(), found.offset, None);
        let this = self.address(Node::new(found.class.clone(), part))?;
        let method = &found.method;
        let callee = match method.slot.filter(|_| method.is_virtual) {
            Some(slot) => through_table(&this, slot, &method.ty)?,
            None => self.code_of(&found, name)?,
        };
        Ok(Some((callee, (!method.is_static).then_some(this))))
    }

    /// The code of a method that is not dispatched. A library may have it without debug
    /// information: its class says what it takes and returns.
    fn code_of(&self, found: &Declared, name: &str) -> Result<Node, EvalError> {
        let by_linkage = found.method.linkage_name.as_deref();
        let by_linkage = by_linkage.and_then(|n| self.lookup.name(n).ok());
        let path = found.class.qualified_name().unwrap_or_default();
        let full = format!("{path}::{name}");
        let callee = match by_linkage {
            Some(callee) => Ok(callee),
            None => self.lookup.name(&full),
        };
        let Ok(callee) = callee else {
            return bad(format!("Cannot evaluate function {full} -- may be inlined"));
        };
        Ok(match callee.ty.strip().die() {
            Some(_) => callee,
            None => Node::new(found.method.ty.clone(), callee.op),
        })
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
