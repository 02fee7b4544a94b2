//! Every way an expression can fail, in one line each.

use verde_symbols::LocationError;

/// What is said of a type where a value is wanted, in gdb's words.
pub(crate) const TYPE_NAME: &str = "Attempt to use a type name as an expression";

/// Why an expression could not be parsed, bound or evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// The text is no expression; names what stands where it stopped.
    #[error("A syntax error in expression, near `{0}'.")]
    Syntax(String),
    /// A number too large for any type.
    #[error("Numeric constant too large.")]
    TooLarge,
    /// A name nobody knows.
    #[error("No symbol \"{0}\" in current context.")]
    UnknownName(String),
    /// A type nobody knows.
    #[error("No {0} type named {1}.")]
    UnknownType(&'static str, String),
    /// A symbol of the linker, without a type.
    #[error("'{0}' has unknown type; cast it to its declared type")]
    UnknownSymbolType(String),
    /// A function of unknown result.
    #[error("'{0}' has unknown return type; cast the call to its declared return type")]
    UnknownResult(String),
    /// A member that the type does not have.
    #[error("There is no member named {0}.")]
    NoMember(String),
    /// An index beyond the end, and the length.
    #[error("Index {0} is out of range: the length is {1}.")]
    OutOfRange(i128, i128),
    /// An operation that the types do not allow.
    #[error("{0}")]
    BadType(String),
    /// A value that has no address.
    #[error("Attempt to take address of value not located in memory.")]
    NoAddress,
    /// A register variable has no address either.
    #[error("Attempt to take address of value in a register.")]
    InRegister,
    /// The left side cannot be written.
    #[error("Left operand of assignment is not an lvalue.")]
    NotLvalue,
    /// As in the machine.
    #[error("Division by zero")]
    DivisionByZero,
    /// A register this machine does not have.
    #[error("Invalid register `{0}'")]
    UnknownRegister(String),
    /// The compiler has left nothing of it here.
    #[error("value has been optimized out")]
    OptimizedOut,
    /// The value is not there, and why.
    #[error("{0}")]
    Location(LocationError),
    /// The operation needs a program.
    #[error("{0}")]
    NoProcess(&'static str),
    /// What the program's side said: a call that did not return, memory that cannot be written.
    #[error("{0}")]
    Program(String),
    /// More bytes than a debugger should copy.
    #[error("value requires {0} bytes, which is more than max-value-size")]
    TooMuch(u64),
}

impl From<LocationError> for EvalError {
    fn from(e: LocationError) -> Self {
        match e {
            LocationError::OptimizedOut => EvalError::OptimizedOut,
            LocationError::NoFrame => EvalError::NoProcess("No frame selected."),
            other => EvalError::Location(other),
        }
    }
}
