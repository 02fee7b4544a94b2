//! Every way a file can fail to give its symbols, named.

use std::path::PathBuf;

/// Why a file could not be opened as a module.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be opened, inspected or mapped.
    #[error("{}: {source}", path.display())]
    Open {
        /// The file asked for.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Directories, devices and pipes have no symbols.
    #[error("{}: not a regular file", .0.display())]
    NotRegular(PathBuf),
    /// The file does not start as an ELF file does.
    #[error("{}: not an ELF file", .0.display())]
    NotElf(PathBuf),
    /// An ELF file for another machine (or another word size or byte order).
    #[error("{}: foreign architecture ({machine}); only x86-64 is supported", path.display())]
    Foreign {
        /// The file asked for.
        path: PathBuf,
        /// The machine the file is for.
        machine: String,
    },
    /// The ELF headers contradict themselves.
    #[error("{}: malformed ELF file: {detail}", path.display())]
    Malformed {
        /// The file asked for.
        path: PathBuf,
        /// What contradicts what.
        detail: String,
    },
}

/// Why a location or a value could not be computed. Shown in place of the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocationError {
    /// The compiler kept no location for this pc.
    #[error("optimized out")]
    OptimizedOut,
    /// A register of an outer frame that nobody saved.
    #[error("register {0} is not available in this frame")]
    NoRegister(u16),
    /// Where the convention puts it depends on options that the file does not tell.
    #[error("the file does not tell whether vectors are in registers")]
    UnknownConvention,
    /// The location is relative to a frame and there is none.
    #[error("no frame selected")]
    NoFrame,
    /// The bytes cannot be read.
    #[error("Cannot access memory at address {0:#x}")]
    Memory(u64),
    /// Thread-local storage of this module is not allocated or cannot be found.
    #[error("Cannot find thread-local storage of this thread")]
    NoTls,
    /// The DWARF expression is malformed or uses an unknown operation.
    #[error("cannot evaluate DWARF expression: {0}")]
    Dwarf(String),
}

impl From<gimli::Error> for LocationError {
    fn from(e: gimli::Error) -> Self {
        LocationError::Dwarf(e.to_string())
    }
}
