//! Building blocks of bound expressions: conversions that every operator shares.

use crate::builtin;
use crate::error::EvalError;
use crate::ir::{Node, Op};
use crate::known::Known;
use crate::value::{Lvalue, Value};
use verde_symbols::{Encoding, Kind, Type};

/// A refusal in words.
pub(crate) fn bad<T>(text: impl Into<String>) -> Result<T, EvalError> {
    Err(EvalError::BadType(text.into()))
}

pub(crate) fn constant(value: Value) -> Node {
    Node::new(value.ty.clone(), Op::Constant(value))
}

impl Node {
    /// Whether it is the address of an array that the expression itself writes down.
    pub(crate) fn is_written_array(&self) -> bool {
        let of = match &self.op {
            Op::Address(of) => &of.op,
            _ => return false,
        };
        matches!(of, Op::Known(Known::List | Known::Filled(_), _))
    }

    /// What is at the place of a value, whatever becomes of the way that led there; `None`: it is
    /// not in memory.
    pub fn at_place_of(value: &Value) -> Option<Node> {
        let at = |ty: &Type, addr: u64| {
            let pointer = constant(Value::integer(ty.pointer_to(), addr.into()));
            Node::new(ty.clone(), Op::Deref(pointer.boxed()))
        };
        match (value.address(), &value.lvalue, value.bits) {
            (Some(addr), ..) => Some(at(&value.ty, addr)),
            (None, Some(Lvalue::Memory(holder)), Some(bits)) => {
                let holder = at(&value.ty, *holder).boxed();
                Some(Node::new(
                    value.ty.clone(),
                    Op::Member(holder, 0, Some(bits)),
                ))
            }
            _ => None,
        }
    }
}

/// Reads through a C++ reference.
pub(crate) fn follow_reference(node: Node) -> Node {
    let plain = node.ty.strip();
    match plain.kind() {
        Kind::Reference(_) | Kind::RvalueReference(_) => {
            let target = plain.target().unwrap_or_else(Type::void);
            Node::new(target, Op::Deref(node.boxed()))
        }
        _ => node,
    }
}

/// Arrays and functions become pointers.
pub(crate) fn decay(node: Node) -> Node {
    let plain = node.ty.strip();
    match plain.kind() {
        Kind::Array(..) => {
            let element = plain.target().unwrap_or_else(Type::void);
            Node::new(element.pointer_to(), Op::Address(node.boxed()))
        }
        Kind::Function(..) => Node::new(plain.pointer_to(), Op::Address(node.boxed())),
        _ => node,
    }
}

pub(crate) fn deref(node: Node) -> Result<Node, EvalError> {
    let plain = node.ty.strip();
    match plain.kind() {
        Kind::Pointer(_) => {
            let target = plain.target().unwrap_or_else(Type::void);
            if matches!(target.strip().kind(), Kind::Void) {
                return bad("Attempt to dereference a generic pointer.");
            }
            Ok(Node::new(target, Op::Deref(node.boxed())))
        }
        // gdb reads the int that an integer points to.
        _ if node.ty.is_integral() => {
            let ty = builtin::int();
            let pointer = Node::new(ty.pointer_to(), Op::Convert(node.boxed()));
            Ok(Node::new(ty, Op::Deref(pointer.boxed())))
        }
        _ => match smart(&node) {
            Some(target) => Ok(target),
            None => bad("Attempt to take contents of a non-pointer value."),
        },
    }
}

/// What a smart pointer points to.
pub(crate) fn smart(node: &Node) -> Option<Node> {
    if let Some(guarded) = guarded(node) {
        return Some(guarded);
    }
    let (offset, pointer, inner) = crate::containers::smart_pointer(&node.ty.strip())?;
    let target = pointer.strip().target()?;
    let raw = Node::new(pointer, Op::Member(node.clone().boxed(), offset, None));
    let whole = Node::new(target.clone(), Op::Deref(raw.boxed()));
    match inner {
        None => Some(whole),
        Some(member) => {
            let op = Op::Member(whole.boxed(), member.offset, None);
            Some(Node::new(member.ty, op))
        }
    }
}

/// What the lock of a Rust guard guards.
fn guarded(node: &Node) -> Option<Node> {
    let member = |node: Node, name: &str| {
        let found = node.ty.strip().find_member(name)?;
        let op = Op::Member(node.boxed(), found.offset, None);
        Some(Node::new(found.ty, op))
    };
    let name = node.ty.strip().qualified_name()?;
    let kind = name.split('<').next()?;
    let is_guard = kind.ends_with("::MutexGuard") || kind.ends_with("::RwLockWriteGuard");
    if !kind.starts_with("std::sync::") || !is_guard {
        return None;
    }
    let lock = deref(member(node.clone(), "lock")?).ok()?;
    member(member(lock, "data")?, "value")
}

pub(crate) fn is_pointer(ty: &Type) -> bool {
    matches!(
        ty.strip().kind(),
        Kind::Pointer(_) | Kind::MemberPointer(..)
    )
}

pub(crate) fn is_number(ty: &Type) -> bool {
    ty.is_integral() || ty.is_float()
}

pub(crate) fn is_bool(ty: &Type) -> bool {
    matches!(ty.strip().kind(), Kind::Base(Encoding::Bool))
}

pub(crate) fn element_size(pointer: &Type) -> i64 {
    let size = pointer.strip().target().and_then(|t| t.size());
    // void and functions count in bytes.
    size.filter(|&s| s > 0).unwrap_or(1) as i64
}

pub(crate) fn offset(pointer: Node, index: Node, sign: i64) -> Node {
    let size = element_size(&pointer.ty) * sign;
    let ty = pointer.ty.clone();
    Node::new(ty, Op::Offset(pointer.boxed(), index.boxed(), size))
}

/// How far a pointer moves when it is cast between a class and one of its bases.
pub(crate) fn base_shift(from: &Type, to: &Type) -> Option<i64> {
    let class = |t: &Type| {
        let target = t.strip().target()?.strip();
        matches!(target.kind(), Kind::Record(_)).then_some(target)
    };
    if !is_pointer(from) || !is_pointer(to) {
        return None;
    }
    let (from, to) = (class(from)?, class(to)?);
    let up = base_offset(&from, &to, 0).map(|o| o as i64);
    let down = || base_offset(&to, &from, 0).map(|o| -(o as i64));
    up.or_else(down).filter(|&o| o != 0)
}

pub(crate) fn base_offset(class: &Type, base: &Type, depth: usize) -> Option<u64> {
    if depth > 16 {
        return None;
    }
    let bases = class
        .members()
        .into_iter()
        .filter(|m| m.is_base && !m.is_virtual);
    for member in bases {
        let ty = member.ty.strip();
        if ty == *base || (ty.name().is_some() && ty.name() == base.name() && depth < 16) {
            return Some(member.offset);
        }
        if let Some(inner) = base_offset(&ty, base, depth + 1) {
            return Some(member.offset + inner);
        }
    }
    None
}
