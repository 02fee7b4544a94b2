//! Why a command failed, in one line.

use verde_expr::EvalError;

/// A command that failed. The session goes on.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Failure(pub String);

/// Result of a command.
pub type Result<T> = std::result::Result<T, Failure>;

pub(super) const NOT_RUN: &str = "The program is not being run.";
pub(super) const NO_LINES: &str = "No symbol table is loaded.  Compile the program with -g.";
pub(super) const NO_STACK: &str = "No stack.";

/// A failure with this text.
pub(super) fn failure<T>(text: impl Into<String>) -> Result<T> {
    Err(Failure(text.into()))
}

impl From<EvalError> for Failure {
    fn from(e: EvalError) -> Failure {
        Failure(e.to_string())
    }
}

impl From<verde_engine::Error> for Failure {
    fn from(e: verde_engine::Error) -> Failure {
        Failure(e.to_string())
    }
}

impl From<verde_symbols::Error> for Failure {
    fn from(e: verde_symbols::Error) -> Failure {
        Failure(e.to_string())
    }
}

const OUTPUT_CLOSED: &str = "The output is closed.";

impl Failure {
    /// Nobody reads what the debugger says any more.
    pub fn is_output_closed(&self) -> bool {
        self.0 == OUTPUT_CLOSED
    }
}

impl From<std::io::Error> for Failure {
    fn from(e: std::io::Error) -> Failure {
        if e.kind() == std::io::ErrorKind::BrokenPipe {
            return Failure(OUTPUT_CLOSED.to_owned());
        }
        Failure(e.to_string())
    }
}
