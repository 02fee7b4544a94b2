//! What an expression says, before names have a meaning.

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    /// `-x`
    Minus,
    /// `+x`
    Plus,
    /// `!x`
    Not,
    /// `~x`
    Complement,
    /// `*x`
    Deref,
    /// `&x`
    Address,
    /// `++x`
    PreIncrement,
    /// `--x`
    PreDecrement,
    /// `x++`
    PostIncrement,
    /// `x--`
    PostDecrement,
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Shl,
    Shr,
    And,
    Or,
    Xor,
    Eq,
    Ne,
    Lt,
    Gt,
    Le,
    Ge,
    LogicalAnd,
    LogicalOr,
    /// `x@n`: an array of n values starting at x.
    Repeat,
    Comma,
}

/// What a written function takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    pub types: Vec<TypeName>,
    /// `...`
    pub variadic: bool,
    /// They are said, and not left open as in `int (*)()`.
    pub prototyped: bool,
}

/// A step from a type to another, outermost last.
#[derive(Clone, Debug, PartialEq)]
pub enum Derive {
    /// `*`
    Pointer,
    /// `&`
    Reference,
    /// `[n]`
    Array(u64),
    /// A function returning it.
    Function(Parameters),
    /// `const`
    Const,
}

/// A type as written.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeName {
    /// `struct`, `union`, `enum`, `class` or nothing.
    pub tag: Option<&'static str>,
    /// The name: `unsigned char`, `ns::C`, `Vec<i32>`.
    pub name: String,
    /// What is made of it.
    pub derived: Vec<Derive>,
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Ast {
    /// A whole number, its suffix, and whether it was decimal.
    Integer(u128, String, bool),
    /// A floating-point number and its suffix.
    Float(f64, String),
    /// A character.
    Char(u32),
    /// A string.
    Text(Vec<u8>),
    /// `b"x"` in Rust.
    Bytes(Vec<u8>),
    /// `L'x'`: a wide character and the mark before it.
    WideChar(u32, char),
    /// `L"x"`: text of wide characters and the mark before it.
    WideText(Vec<u8>, char),
    /// A name with its scopes.
    Name(String),
    /// A name of a file or function: `'file.c'::x`, `f::x`.
    In(String, String),
    /// `$name`, `$1`, `$`.
    Dollar(String),
    /// One operand.
    Unary(Unary, Box<Ast>),
    /// Two operands.
    Binary(Binary, Box<Ast>, Box<Ast>),
    /// `a = b`, `a += b`.
    Assign(Option<Binary>, Box<Ast>, Box<Ast>),
    /// `c ? a : b`.
    Choose(Box<Ast>, Box<Ast>, Box<Ast>),
    /// `(type) x`, `x as type`.
    Cast(TypeName, Box<Ast>),
    /// `dynamic_cast<type>(x)`.
    DynamicCast(TypeName, Box<Ast>),
    /// `{type} address`.
    At(TypeName, Box<Ast>),
    /// `sizeof x`.
    SizeOf(Box<Ast>),
    /// `sizeof (type)`.
    SizeOfType(TypeName),
    /// A type alone, for `ptype` and `whatis`.
    Type(TypeName),
    /// `x.name`, or `x->name`.
    Member(Box<Ast>, String, bool),
    /// `x.*p`, or `x->*p`.
    MemberPointer(Box<Ast>, Box<Ast>),
    /// `(a, b)` in Rust.
    Tuple(Vec<Ast>),
    /// `[a, b]` in Rust.
    List(Vec<Ast>),
    /// `[a; n]` in Rust.
    Filled(Box<Ast>, Box<Ast>),
    /// `x[i]`.
    Index(Box<Ast>, Box<Ast>),
    /// `x[a..b]`.
    Slice(Box<Ast>, Option<Box<Ast>>, Option<Box<Ast>>),
    /// `f(a, b)`.
    Call(Box<Ast>, Vec<Ast>),
}
