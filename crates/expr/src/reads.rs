//! What a bound expression looks at: memory, and what is in none.

use crate::eval::Evaluator;
use crate::ir::{Node, Op};
use crate::scope::Scope;
use std::sync::Arc;
use verde_symbols::{DieId, Kind, Module};

impl Node {
    /// The nodes that this one is made of.
    fn children(&self) -> Vec<&Node> {
        match &self.op {
            Op::Constant(_)
            | Op::Variable(..)
            | Op::Elsewhere(..)
            | Op::Argument(..)
            | Op::Symbol(..)
            | Op::Register(..)
            | Op::Convenience(_)
            | Op::History(_) => Vec::new(),
            Op::Deref(a)
            | Op::Address(a)
            | Op::Member(a, ..)
            | Op::Active(a, _)
            | Op::Temporary(a)
            | Op::Borrowed(a)
            | Op::SizeOf(a)
            | Op::Negate(a)
            | Op::Not(a)
            | Op::Complement(a)
            | Op::Convert(a)
            | Op::Dynamic(a, _)
            | Op::Reinterpret(a) => vec![a],
            Op::Element(a, b)
            | Op::Within(a, b)
            | Op::Repeat(a, b)
            | Op::Arithmetic(_, a, b, _)
            | Op::Compare(_, a, b, _)
            | Op::Offset(a, b, _)
            | Op::Distance(a, b, _)
            | Op::And(a, b)
            | Op::Or(a, b)
            | Op::Comma(a, b)
            | Op::Assign(a, b)
            | Op::PostAdd(a, b) => vec![a, b],
            Op::Choose(a, b, c) => vec![a, b, c],
            Op::Slice(a, b, c) => [Some(a), b.as_ref(), c.as_ref()]
                .into_iter()
                .flatten()
                .map(|n| &**n)
                .collect(),
            Op::Known(_, args) => args.iter().collect(),
            Op::Call(f, args, _) => std::iter::once(&**f).chain(args).collect(),
        }
    }

    /// Whether it names something that only a frame has: a local, a parameter, a register.
    pub fn needs_frame(&self) -> bool {
        match &self.op {
            Op::Variable(variable, _) => !variable.is_static() && !variable.is_thread_local(),
            Op::Argument(..) | Op::Register(..) => true,
            _ => self.children().iter().any(|n| n.needs_frame()),
        }
    }

    /// Whether it names something that can change: not only functions and constants.
    pub fn names_data(&self) -> bool {
        match &self.op {
            Op::Constant(_) | Op::Symbol(_, Some(_)) => false,
            Op::Variable(..)
            | Op::Elsewhere(..)
            | Op::Argument(..)
            | Op::Symbol(_, None)
            | Op::Register(..)
            | Op::Convenience(_)
            | Op::History(_)
            | Op::Deref(_) => true,
            _ => self.children().iter().any(|n| n.names_data()),
        }
    }

    /// Whether it stands for an object of the program, not for a value made here.
    pub(crate) fn is_object(&self) -> bool {
        let is_named = match &self.op {
            Op::Variable(..) | Op::Elsewhere(..) | Op::Argument(..) | Op::Symbol(..) => true,
            Op::Deref(_) | Op::Active(..) | Op::Element(..) => true,
            Op::Member(base, ..) => base.is_object(),
            _ => false,
        };
        is_named && matches!(self.ty.strip().kind(), Kind::Record(_))
    }

    /// Whether it names variables of functions that are not those of the selected frame.
    pub fn names_other_frames(&self) -> bool {
        matches!(self.op, Op::Elsewhere(..))
            || self.children().iter().any(|n| n.names_other_frames())
    }

    /// Whether it names something that each thread has for itself.
    pub fn is_thread_local(&self) -> bool {
        match &self.op {
            Op::Variable(variable, _) => variable.is_thread_local(),
            _ => self.children().iter().any(|n| n.is_thread_local()),
        }
    }

    /// The files whose thread-local variables it names.
    pub fn thread_local_modules(&self) -> Vec<&Arc<Module>> {
        match &self.op {
            Op::Variable(variable, home) if variable.is_thread_local() => vec![&home.0],
            _ => {
                let children = self.children().into_iter();
                children.flat_map(Node::thread_local_modules).collect()
            }
        }
    }

    /// Whether it names variables of a certain function's activation.
    pub fn reads_locals(&self) -> bool {
        match &self.op {
            Op::Variable(variable, _) => !variable.is_static(),
            Op::Argument(..) => true,
            _ => self.children().iter().any(|n| n.reads_locals()),
        }
    }

    /// The variables of functions that it names, each time that it does: what it means by its names.
    pub fn locals(&self) -> Vec<DieId> {
        match &self.op {
            Op::Variable(variable, _) if !variable.is_static() && !variable.is_thread_local() => {
                vec![variable.die]
            }
            Op::Argument(argument, ..) => vec![argument.variable.die],
            _ => self.children().into_iter().flat_map(Node::locals).collect(),
        }
    }

    /// Whether it reads where a number leads that is too small to be an address.
    pub fn follows_small_number(&self) -> bool {
        let is_small = |node: &Node| match &node.op {
            Op::Convert(of) => of.ty.is_integral() && of.ty.size() < Some(8),
            _ => false,
        };
        matches!(&self.op, Op::Deref(pointer) if is_small(pointer))
            || self.children().iter().any(|n| n.follows_small_number())
    }

    /// Whether evaluating it changes something: it assigns or calls.
    pub fn has_effects(&self) -> bool {
        matches!(self.op, Op::Assign(..) | Op::PostAdd(..) | Op::Call(..))
            || self.children().iter().any(|n| n.has_effects())
    }
}

/// What an expression reads now.
#[derive(Default)]
pub struct Reads {
    /// Ranges of memory (address and bytes): first what it stands for if that is in memory, then the
    /// pointers and indices that lead there.
    pub memory: Vec<(u64, u64)>,
    /// Some of it is in no memory: in registers, or made from them.
    pub elsewhere: bool,
}

/// What an expression reads now.
pub fn reads(node: &Node, scope: &mut dyn Scope) -> Reads {
    let mut out = Reads::default();
    collect(node, &mut Evaluator { scope }, &mut out);
    out
}

fn collect(node: &Node, evaluator: &mut Evaluator, out: &mut Reads) {
    if let Some(range) = range(node, evaluator) {
        out.memory.push(range);
        return lead(node, evaluator, out);
    }
    // What has no size is nowhere.
    let has_bytes = node.ty.size() != Some(0);
    out.elsewhere |= has_bytes && node.children().is_empty() && node.needs_frame();
    for child in node.children() {
        collect(child, evaluator, out);
    }
}

/// The bytes that an expression stands for. A bit field's are those with bits of it, which it may
/// share with others.
fn range(node: &Node, evaluator: &mut Evaluator) -> Option<(u64, u64)> {
    if let Op::Member(base, _, Some((first, width))) = &node.op {
        let at = evaluator.locate(base).ok()??;
        let end = first.checked_add(*width)?.div_ceil(8);
        let start = first / 8;
        return (start < end).then_some((at.wrapping_add(start), end - start));
    }
    let at = evaluator.locate(node).ok()??;
    let size = node.ty.size().filter(|&size| size > 0)?;
    Some((at, size))
}

/// What is read on the way to a place, but not the place itself.
fn lead(node: &Node, evaluator: &mut Evaluator, out: &mut Reads) {
    match &node.op {
        Op::Deref(pointer) => collect(pointer, evaluator, out),
        Op::Member(base, ..) => lead(base, evaluator, out),
        // Which variant it is decides, so the whole is looked at.
        Op::Active(base, _) => collect(base, evaluator, out),
        Op::Known(_, parts) => parts.iter().for_each(|p| collect(p, evaluator, out)),
        Op::Element(base, index) => {
            lead(base, evaluator, out);
            collect(index, evaluator, out);
        }
        _ => {}
    }
}
