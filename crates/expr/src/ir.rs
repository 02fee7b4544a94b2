//! A bound expression: every name has a place, every node a type. Made once, evaluated often.

use crate::ast::Binary;
use crate::known::Known;
use crate::value::Value;
use std::sync::Arc;
use verde_symbols::{DieId, EntryArgument, FileAddr, Function, Language, Module, Type, Variable};

/// A node of a bound expression.
#[derive(Clone, Debug)]
pub struct Node {
    /// What its value will be.
    pub ty: Type,
    pub(crate) op: Op,
}

/// A symbol's place in its module.
#[derive(Clone)]
pub(crate) struct At {
    pub module: Arc<Module>,
    pub addr: FileAddr,
}

impl std::fmt::Debug for At {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}", self.addr)
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Constant(Value),
    Variable(Variable, Home),
    /// A variable of another function than the selected frame's: of its innermost frame.
    Elsewhere(Variable, Home, DieId),
    /// A parameter at the function's first instruction.
    Argument(Box<EntryArgument>, Home, FileAddr),
    /// Code or data at a fixed place.
    Symbol(At, Option<Box<Function>>),
    /// DWARF number, first byte, bytes.
    Register(u16, u64, u64),
    Convenience(String),
    History(i64),
    Deref(Box<Node>),
    Address(Box<Node>),
    /// Reads a reference's pointer as such.
    Member(Box<Node>, u64, Option<(u64, u64)>),
    /// A field of the variant that a Rust enum holds.
    Active(Box<Node>, String),
    /// What is known of the libraries' containers and of gdb's functions, without a call.
    Known(Known, Vec<Node>),
    /// An index that has to be below a length.
    Within(Box<Node>, Box<Node>),
    /// The address of a value, which is put into the program if it is not there.
    Temporary(Box<Node>),
    /// A slice of Rust: the address of an array's elements and how many they are.
    Borrowed(Box<Node>),
    /// The bytes of an array whose length is known at run time.
    SizeOf(Box<Node>),
    /// Element of an array value; with a pointer on the left see `Add`.
    Element(Box<Node>, Box<Node>),
    /// `count` elements from a value on.
    Repeat(Box<Node>, Box<Node>),
    /// Elements from .. to of an array or what a pointer leads to.
    Slice(Box<Node>, Option<Box<Node>>, Option<Box<Node>>),
    Negate(Box<Node>),
    Not(Box<Node>),
    Complement(Box<Node>),
    /// Both sides converted to the type given, then combined.
    Arithmetic(Binary, Box<Node>, Box<Node>, Type),
    Compare(Binary, Box<Node>, Box<Node>, Type),
    /// Pointer plus or minus a number of elements of a size.
    Offset(Box<Node>, Box<Node>, i64),
    /// Elements of a size between two pointers.
    Distance(Box<Node>, Box<Node>, i64),
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    Choose(Box<Node>, Box<Node>, Box<Node>),
    Comma(Box<Node>, Box<Node>),
    Convert(Box<Node>),
    /// The same bytes seen as another type.
    Reinterpret(Box<Node>),
    /// A pointer to the part of a class that the object behind a pointer has, as its virtual
    /// table says: null where it has none, or a failure.
    Dynamic(Box<Node>, OrElse),
    Assign(Box<Node>, Box<Node>),
    /// Writes left + right, gives the value before.
    PostAdd(Box<Node>, Box<Node>),
    Call(Box<Node>, Vec<Node>, Language),
}

/// What a `dynamic_cast` to a class that the object is not gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OrElse {
    Null,
    Failure,
}

/// The module of a variable.
#[derive(Clone)]
pub(crate) struct Home(pub Arc<Module>);

impl std::fmt::Debug for Home {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}", self.0.path().display())
    }
}

impl Node {
    pub(crate) fn new(ty: Type, op: Op) -> Node {
        Node { ty, op }
    }

    pub(crate) fn boxed(self) -> Box<Node> {
        Box::new(self)
    }
}
