//! The base classes of an object. A virtual one lies where the object's virtual table says.

use crate::builtin;
use crate::error::EvalError;
use crate::ir::{Node, Op};
use crate::nodes::{constant, deref, offset};
use crate::value::Value;
use verde_symbols::{Kind, Member, Type};

/// How deep classes may derive before a file is taken for corrupt.
const DEEPEST: usize = 16;

/// Words of the virtual table below its start: the offset to the whole object.
const TO_WHOLE: i64 = 2;

/// The part of an object that one of its bases is, virtual ones included; the object itself when
/// that is the class.
pub(crate) fn base_part(object: &Node, class: &Type) -> Option<Node> {
    find(object, 0, &|part: &Node| {
        is_class(&part.ty.strip(), class).then(|| part.clone())
    })
}

/// A member that only a virtual base has.
pub(crate) fn member_of_base(object: &Node, name: &str) -> Option<(Node, Member)> {
    find(object, 0, &|part: &Node| {
        let member = part.ty.strip().find_member(name)?;
        Some((part.clone(), member))
    })
}

/// Whether a class derives virtually from another.
pub(crate) fn derives_virtually(class: &Type, base: &Type) -> bool {
    fn search(class: &Type, base: &Type, through: bool, depth: usize) -> bool {
        let bases = bases_of(class).into_iter();
        depth < DEEPEST
            && bases.into_iter().any(|m| {
                let (ty, through) = (m.ty.strip(), through || m.is_virtual);
                (through && is_class(&ty, base)) || search(&ty, base, through, depth + 1)
            })
    }
    search(class, base, false, 0)
}

/// The object that a pointer to its virtual base is a part of, as a pointer to another class.
pub(crate) fn whole_object(part: Node, to: Type) -> Result<Node, EvalError> {
    let distance = table_word(&part, TO_WHOLE)?;
    Ok(moved(part, distance, to))
}

fn is_class(ty: &Type, class: &Type) -> bool {
    ty == class || (ty.name().is_some() && ty.qualified_name() == class.qualified_name())
}

pub(crate) fn bases_of(class: &Type) -> Vec<Member> {
    let whole = class.definition();
    let members = whole.as_ref().unwrap_or(class).members();
    members.into_iter().filter(|m| m.is_base).collect()
}

/// The first that is found in an object and its bases.
fn find<T>(object: &Node, depth: usize, wanted: &dyn Fn(&Node) -> Option<T>) -> Option<T> {
    if let Some(found) = wanted(object) {
        return Some(found);
    }
    if depth >= DEEPEST || !matches!(object.ty.strip().kind(), Kind::Record(_)) {
        return None;
    }
    bases_of(&object.ty.strip()).into_iter().find_map(|base| {
        let part = match base.is_virtual {
            true => virtual_part(object, &base).ok()?,
            false => {
                let op = Op::Member(object.clone().boxed(), base.offset, None);
                Node::new(base.ty.clone(), op)
            }
        };
        find(&part, depth + 1, wanted)
    })
}

fn virtual_part(object: &Node, base: &Member) -> Result<Node, EvalError> {
    let pointer = object.ty.pointer_to();
    let this = Node::new(pointer, Op::Address(object.clone().boxed()));
    let distance = table_word(&this, (base.offset / 8) as i64)?;
    deref(moved(this, distance, base.ty.pointer_to()))
}

/// A word of an object's virtual table, so many words below its start.
fn table_word(this: &Node, below: i64) -> Result<Node, EvalError> {
    let tables = builtin::long().pointer_to().pointer_to();
    let object = Node::new(tables, Op::Reinterpret(this.clone().boxed()));
    let index = constant(Value::integer(builtin::long(), below.into()));
    deref(offset(deref(object)?, index, -1))
}

fn moved(pointer: Node, distance: Node, ty: Type) -> Node {
    Node::new(ty, Op::Offset(pointer.boxed(), distance.boxed(), 1))
}
