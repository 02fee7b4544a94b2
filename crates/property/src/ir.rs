//! The typed subset of blocks, as an intermediate representation.
//!
//! Expressions live in one array and name their operands by index, each with
//! the set of types that it can have; statements form a tree. Names are already
//! resolved to the event's parameters (locals) or the slice's environment. An
//! interpreter or a code generator needs nothing of Python's syntax.

use crate::source::Span;

pub type ExprId = u32;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Const {
    None,
    Bool(bool),
    Int(i64),
    /// An integer of 2^63 to 2^64 - 1.
    UInt(u64),
    Float(f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinOp {
    Add,
    Sub,
    Mul,
    /// True division: always a float.
    Div,
    FloorDiv,
    Mod,
    And,
    Or,
    Xor,
    Shl,
    Shr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CmpOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    Const(Const),
    Param(u16),
    Env(u16),
    Neg(ExprId),
    Pos(ExprId),
    Invert(ExprId),
    Not(ExprId),
    Binary(BinOp, ExprId, ExprId),
    Compare(CmpOp, ExprId, ExprId),
    /// `a < b <= c`: each operand is evaluated once, the rest only while it holds.
    Chain(ExprId, Box<[(CmpOp, ExprId)]>),
    /// The value of the operand that decides, as in Python, not a bool.
    And(Box<[ExprId]>),
    Or(Box<[ExprId]>),
    IfElse {
        test: ExprId,
        then: ExprId,
        other: ExprId,
    },
    IsNone(ExprId),
}

/// A set of the types a value can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Types(pub u8);

impl Types {
    pub const EMPTY: Types = Types(0);
    pub const NONE: Types = Types(1);
    pub const BOOL: Types = Types(2);
    pub const INT: Types = Types(4);
    pub const FLOAT: Types = Types(8);
    /// A value only Python has (a string, a list, ...).
    pub const OTHER: Types = Types(16);
    pub const ANY: Types = Types(31);

    pub fn union(self, other: Types) -> Types {
        Types(self.0 | other.0)
    }

    pub fn has(self, other: Types) -> bool {
        self.0 & other.0 != 0
    }

    pub fn without(self, other: Types) -> Types {
        Types(self.0 & !other.0)
    }
}

impl std::fmt::Display for Types {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if *self == Types::ANY {
            return f.write_str("any");
        }
        let names = [
            (Types::NONE, "None"),
            (Types::BOOL, "bool"),
            (Types::INT, "int"),
            (Types::FLOAT, "float"),
            (Types::OTHER, "object"),
        ];
        let mut sep = "";
        for (t, name) in names {
            if self.has(t) {
                write!(f, "{sep}{name}")?;
                sep = " | ";
            }
        }
        Ok(())
    }
}

#[derive(Clone, Debug)]
pub struct Node {
    pub expr: Expr,
    pub ty: Types,
    /// In the property's file, for errors.
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Param(u16),
    Env(u16),
}

/// A part of what `print` writes.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    Text(String),
    /// `str(x)` and `%s`.
    Str(ExprId),
    /// `%d`.
    Decimal(ExprId),
    /// `%x`.
    Hex(ExprId),
}

#[derive(Clone, Debug)]
pub enum Stmt {
    Assign(Box<[Target]>, ExprId),
    If(ExprId, Vec<Stmt>, Vec<Stmt>),
    Return(Option<ExprId>),
    Print(Vec<Piece>),
    Eval(ExprId),
}

#[derive(Clone, Debug, Default)]
pub struct Code {
    pub nodes: Vec<Node>,
    pub body: Vec<Stmt>,
}

impl Code {
    pub fn node(&self, id: ExprId) -> &Node {
        &self.nodes[id as usize]
    }
}
