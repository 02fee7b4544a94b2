//! Operators that a C++ program defines for its classes: called as other functions are.

use crate::ast::{Ast, Binary, Unary};
use crate::bind::Binder;
use crate::builtin;
use crate::error::EvalError;
use crate::ir::{Node, Op};
use crate::known;
use crate::nodes::{constant, deref, follow_reference, smart};
use crate::overloads::{choose, takes};
use crate::value::Value;
use verde_symbols::{Kind, Language};

/// How often `->` may lead to another class that has it.
const MOST_ARROWS: usize = 8;

/// An operator as it is written.
pub(crate) fn binary_symbol(operator: Binary) -> &'static str {
    match operator {
        Binary::Add => "+",
        Binary::Sub => "-",
        Binary::Mul => "*",
        Binary::Div => "/",
        Binary::Rem => "%",
        Binary::Shl => "<<",
        Binary::Shr => ">>",
        Binary::And => "&",
        Binary::Or => "|",
        Binary::Xor => "^",
        Binary::Eq => "==",
        Binary::Ne => "!=",
        Binary::Lt => "<",
        Binary::Gt => ">",
        Binary::Le => "<=",
        Binary::Ge => ">=",
        Binary::LogicalAnd => "&&",
        Binary::LogicalOr => "||",
        Binary::Repeat => "@",
        Binary::Comma => ",",
    }
}

/// An operator as it is written.
pub(crate) fn unary_symbol(operator: Unary) -> &'static str {
    match operator {
        Unary::Minus => "-",
        Unary::Plus => "+",
        Unary::Not => "!",
        Unary::Complement => "~",
        Unary::Deref => "*",
        Unary::Address => "&",
        Unary::PreIncrement | Unary::PostIncrement => "++",
        Unary::PreDecrement | Unary::PostDecrement => "--",
    }
}

/// Whether it is an object of C++.
pub(crate) fn is_class(node: &Node) -> bool {
    let ty = node.ty.strip();
    matches!(ty.kind(), Kind::Record(_)) && ty.language() == Language::Cpp
}

impl Binder<'_> {
    /// The call of an operator that the program defines for these operands, if one of them is an
    /// object and there is such an operator: a member of the first, or a function.
    pub(crate) fn operator(
        &self,
        symbol: &str,
        operands: &[Node],
    ) -> Result<Option<Node>, EvalError> {
        if !operands.iter().any(is_class) {
            return Ok(None);
        }
        let name = format!("operator{symbol}");
        let member = match operands.split_first() {
            Some((object, rest)) if is_class(object) => self.member_operator(object, &name, rest),
            _ => Ok(None),
        };
        if let Ok(Some(_)) = member {
            return member;
        }
        let mut functions = self.lookup.free_functions(&name, Language::Cpp);
        functions.retain(|f| takes(&f.ty.strip(), operands));
        if functions.is_empty() {
            return member;
        }
        let function = choose(&name, functions, operands, |n| (n.ty.strip(), 0))?;
        self.invoke(function, operands.to_vec(), &name, None)
            .map(Some)
    }

    /// An operator of two operands; `!=` is what `==` is not where only that is defined.
    pub(crate) fn binary_operator(
        &self,
        operator: Binary,
        operands: &[Node],
    ) -> Result<Option<Node>, EvalError> {
        let found = self.operator(binary_symbol(operator), operands)?;
        if found.is_some() || operator != Binary::Ne {
            return Ok(found);
        }
        let equal = self.operator(binary_symbol(Binary::Eq), operands)?;
        let not = |node: Node| Node::new(builtin::truth(self.language), Op::Not(node.boxed()));
        Ok(equal.map(|node| not(follow_reference(node))))
    }

    /// `++` and `--`; behind the operand they take a number that says so.
    pub(crate) fn step_operator(
        &self,
        operator: Unary,
        operand: &Node,
    ) -> Result<Option<Node>, EvalError> {
        let mut operands = vec![operand.clone()];
        if matches!(operator, Unary::PostIncrement | Unary::PostDecrement) {
            operands.push(constant(Value::integer(builtin::int(), 0)));
        }
        self.operator(unary_symbol(operator), &operands)
    }

    /// What `*` gives of an object: by what is known of pointers and iterators, else by its operator.
    pub(crate) fn dereferenced(&self, node: &Node) -> Result<Option<Node>, EvalError> {
        if !matches!(node.ty.strip().kind(), Kind::Record(_)) {
            return Ok(None);
        }
        if let Some(all) = self.borrowed(node)? {
            return Ok(Some(all));
        }
        let known = self.concrete(node).or_else(|| smart(node));
        if let Some(target) = known.or_else(|| known::held(node)) {
            return Ok(Some(target));
        }
        let called = self.operator(unary_symbol(Unary::Deref), std::slice::from_ref(node))?;
        Ok(called.map(follow_reference))
    }

    /// The elements behind a borrowed slice of Rust's.
    fn borrowed(&self, node: &Node) -> Result<Option<Node>, EvalError> {
        let class = node.ty.strip();
        let name = class.qualified_name().unwrap_or_default();
        let is_slice = name.starts_with("&[") || name.starts_with("&mut [");
        let length = known::length(node);
        match (class.language(), length) {
            (Language::Rust, Some(length)) if is_slice => self.all_of(node, length).map(Some),
            _ => Ok(None),
        }
    }

    /// What the members behind an object's `->` are those of; a Rust pointer needs no arrow.
    pub(crate) fn pointed_to(&self, node: &Node, arrow: bool) -> Result<Option<Node>, EvalError> {
        if let Some(target) = self.concrete(node).or_else(|| smart(node)) {
            return Ok(Some(target));
        }
        if !arrow {
            return Ok(None);
        }
        if let Some(target) = known::held(node) {
            return Ok(Some(target));
        }
        let mut at = node.clone();
        for _ in 0..MOST_ARROWS {
            let Some(called) = self.operator("->", std::slice::from_ref(&at))? else {
                return Ok(None);
            };
            let called = follow_reference(called);
            match called.ty.strip().kind() {
                Kind::Pointer(_) => return deref(called).map(|n| Some(follow_reference(n))),
                _ => at = called,
            }
        }
        Ok(None)
    }

    /// `x == Shape::Unit` in Rust: whether an enum holds a variant.
    pub(crate) fn variant_test(
        &self,
        operator: Binary,
        left: &Ast,
        right: &Ast,
    ) -> Result<Option<Node>, EvalError> {
        if self.language != Language::Rust || !matches!(operator, Binary::Eq | Binary::Ne) {
            return Ok(None);
        }
        for (object, path) in [(left, right), (right, left)] {
            let Ast::Name(path) = path else {
                continue;
            };
            let Ok(mut object) = self.value(object) else {
                continue;
            };
            while let Kind::Pointer(_) = object.ty.strip().kind() {
                object = deref(object)?;
            }
            if let Some(test) = known::is_variant(&object, path) {
                let test = test?;
                return Ok(Some(match operator {
                    Binary::Eq => test,
                    _ => Node::new(test.ty.clone(), Op::Not(test.boxed())),
                }));
            }
        }
        Ok(None)
    }

    /// `(a, b)` in Rust.
    pub(crate) fn tuple(&self, parts: &[Ast]) -> Result<Node, EvalError> {
        let parts = parts.iter().map(|p| self.value(p));
        let parts: Vec<Node> = parts.collect::<Result<_, _>>()?;
        Ok(known::tuple(parts))
    }
}
