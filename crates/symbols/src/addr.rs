//! Addresses as a file counts them.

use std::fmt;

/// An address inside an object file, before the loader adds the module's bias.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FileAddr(pub u64);

impl FileAddr {
    /// Where this address is at run time in a module loaded with this bias.
    pub fn at(self, bias: u64) -> u64 {
        self.0.wrapping_add(bias)
    }

    /// The file's address of a run-time address in a module loaded with this bias.
    pub fn of(addr: u64, bias: u64) -> FileAddr {
        FileAddr(addr.wrapping_sub(bias))
    }

    /// The address `n` bytes further.
    pub fn plus(self, n: u64) -> FileAddr {
        FileAddr(self.0.wrapping_add(n))
    }
}

impl fmt::Display for FileAddr {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::LowerHex for FileAddr {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        fmt::LowerHex::fmt(&self.0, f)
    }
}
