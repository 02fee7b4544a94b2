//! C++'s pointers to members: a number of bytes for data; for a function its address, or one more
//! than its place in the virtual table, and how far the object's pointer moves.

use crate::ast::Ast;
use crate::bases::base_part;
use crate::bind::Binder;
use crate::builtin;
use crate::error::EvalError;
use crate::ir::{Node, Op};
use crate::nodes::{bad, constant, deref, follow_reference, offset};
use crate::value::Value;
use verde_symbols::{Encoding, Kind, MemberFunction, Type, demangle};

/// How deep classes may derive before a file is taken for corrupt.
const DEEPEST: usize = 16;

/// The address and the type of a class's member that a pointer leads through.
struct Through {
    this: Node,
    pointer: Node,
    target: Type,
}

impl Binder<'_> {
    /// `object.*pointer` of data.
    pub(crate) fn through_member_pointer(
        &self,
        object: &Ast,
        pointer: &Ast,
    ) -> Result<Node, EvalError> {
        let through = self.through(object, pointer)?;
        if let Kind::Function(..) = through.target.strip().kind() {
            return bad(
                "A pointer to a member function can only be called: (object.*pointer)(...)",
            );
        }
        let ty = through.target.pointer_to();
        let distance = Node::new(builtin::long(), Op::Convert(through.pointer.boxed()));
        let op = Op::Offset(through.this.boxed(), distance.boxed(), 1);
        deref(Node::new(ty, op))
    }

    /// The function that `object.*pointer` calls, and the object it is called on.
    pub(crate) fn member_function(
        &self,
        object: &Ast,
        pointer: &Ast,
    ) -> Result<(Node, Node), EvalError> {
        let through = self.through(object, pointer)?;
        if !matches!(through.target.strip().kind(), Kind::Function(..)) {
            let value = self.through_member_pointer(object, pointer)?;
            let text = "The pointer leads to data, which cannot be called with an object.";
            return match value.ty.strip().kind() {
                Kind::Pointer(_) => bad(text),
                _ => bad("Invalid data type for function to be called."),
            };
        }
        let word = |at| {
            let op = Op::Member(through.pointer.clone().boxed(), at, None);
            Node::new(builtin::long(), op)
        };
        let (code, moved) = (word(0), word(8));
        let ty = through.this.ty.clone();
        let op = Op::Offset(through.this.boxed(), moved.boxed(), 1);
        let this = Node::new(ty, op);
        // Code is aligned: an odd number is a place in the virtual table.
        let one = || constant(Value::integer(builtin::long(), 1));
        let odd = Op::Arithmetic(
            crate::ast::Binary::And,
            code.clone().boxed(),
            one().boxed(),
            builtin::long(),
        );
        let odd = Node::new(builtin::long(), odd);
        let tables = builtin::char().pointer_to().pointer_to();
        let table = deref(Node::new(tables, Op::Reinterpret(this.clone().boxed())))?;
        let slot = offset(offset(table, code.clone(), 1), one(), -1);
        let words = builtin::long().pointer_to();
        let entry = deref(Node::new(words, Op::Reinterpret(slot.boxed())))?;
        let chosen = Op::Choose(odd.boxed(), entry.boxed(), code.boxed());
        let chosen = Node::new(builtin::long(), chosen);
        let callee = Node::new(through.target.pointer_to(), Op::Reinterpret(chosen.boxed()));
        Ok((callee, this))
    }

    fn through(&self, object: &Ast, pointer: &Ast) -> Result<Through, EvalError> {
        let mut object = self.value(object)?;
        if let Kind::Pointer(_) = object.ty.strip().kind() {
            object = follow_reference(deref(object)?);
        }
        let pointer = self.value(pointer)?;
        let plain = pointer.ty.strip();
        let Kind::MemberPointer(_, class) = plain.kind() else {
            return bad("non-pointer-to-member value used in pointer-to-member construct");
        };
        if !matches!(object.ty.strip().kind(), Kind::Record(_)) {
            return bad("The left side of a pointer-to-member construct is not an object.");
        }
        let part = base_part(&object, &plain.follow(class).strip()).unwrap_or(object);
        Ok(Through {
            this: self.address(part)?,
            target: plain.target().unwrap_or_else(Type::void),
            pointer,
        })
    }

    /// `&x`, and `&Class::member`.
    pub(crate) fn address_of(&self, operand: &Ast) -> Result<Node, EvalError> {
        let node = self.node(operand);
        let Ast::Name(path) = operand else {
            return self.address(node?);
        };
        // Where a symbol of the linker is can be told, what it is cannot.
        if let Err(EvalError::UnknownSymbolType(_)) = &node
            && let Some(at) = self.lookup.data_symbol(path)
        {
            let ty = Type::base("<data variable, no debug info>", Encoding::Unsigned, 4);
            return self.address(Node::new(ty, Op::Symbol(at, None)));
        }
        let found = path.rsplit_once("::").and_then(|(class, name)| {
            let class = self.lookup.find_type(None, class)?.strip();
            matches!(class.kind(), Kind::Record(_)).then_some((class, name))
        });
        let Some((class, name)) = found else {
            return self.address(node?);
        };
        if let Ok(node) = &node {
            return match self.function_pointer(node, &class, name) {
                Some(pointer) => Ok(pointer),
                None => self.address(node.clone()),
            };
        }
        match class.find_member(name).filter(|m| !m.is_static) {
            Some(member) => {
                let ty = member.ty.member_pointer(&class);
                Ok(constant(Value::integer(ty, member.offset.into())))
            }
            None => self.address(node?),
        }
    }

    /// The pointer to a member function that a name means.
    fn function_pointer(&self, node: &Node, class: &Type, name: &str) -> Option<Node> {
        let at = node.op.function_at()?;
        let method = class.methods().into_iter().find(|m| m.name == name)?;
        if method.is_static {
            return None;
        }
        let mut modules = self.lookup.modules().into_iter();
        let loaded = modules.find(|l| std::sync::Arc::ptr_eq(&l.module, &at.module))?;
        let code = match method.slot.filter(|_| method.is_virtual) {
            Some(slot) => slot * 8 + 1,
            None => at.addr.at(loaded.bias),
        };
        let mut bytes = code.to_le_bytes().to_vec();
        bytes.extend([0; 8]);
        let ty = method.ty.member_pointer(class);
        Some(constant(Value::of(ty, bytes)))
    }
}

/// `&Class::member`: the data member at an offset.
pub(crate) fn data_text(class: &Type, offset: i128) -> Option<String> {
    let members = class.members().into_iter();
    let mut fitting = members.filter(|m| !m.is_static && i128::from(m.offset) == offset);
    let found = fitting.find(|m| !m.is_base && !m.is_artificial)?;
    Some(format!("&{}::{}", class.qualified_name()?, found.name?))
}

/// `&virtual Class::f(int)`: the function in a place of the virtual table.
pub(crate) fn virtual_text(class: &Type, slot: u64) -> Option<String> {
    let method = in_slot(class, slot, 0)?;
    let linkage = method.linkage_name.as_deref()?;
    Some(format!("&virtual {}", demangle(linkage)?))
}

fn in_slot(class: &Type, slot: u64, depth: usize) -> Option<MemberFunction> {
    let whole = class.definition();
    let class = whole.as_ref().unwrap_or(class);
    let mut methods = class.methods().into_iter();
    if let Some(found) = methods.find(|m| m.is_virtual && m.slot == Some(slot)) {
        return Some(found);
    }
    if depth > DEEPEST {
        return None;
    }
    let mut bases = class.members().into_iter().filter(|m| m.is_base);
    bases.find_map(|m| in_slot(&m.ty.strip(), slot, depth + 1))
}
