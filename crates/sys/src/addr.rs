//! Newtypes for the two numbers a debugger must never confuse.

use std::fmt;
use std::ops::{Add, Sub};

/// An address in a running process (not an address of a file).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Addr(pub u64);

impl Addr {
    /// The address `by` bytes away, wrapping as the CPU does.
    pub fn offset(self, by: i64) -> Addr {
        Addr(self.0.wrapping_add_signed(by))
    }

    /// The start of the 4 KiB page that holds this address.
    pub fn page(self) -> Addr {
        Addr(self.0 & !0xfff)
    }
}

impl Add<u64> for Addr {
    type Output = Addr;
    fn add(self, by: u64) -> Addr {
        Addr(self.0.wrapping_add(by))
    }
}

impl Sub<u64> for Addr {
    type Output = Addr;
    fn sub(self, by: u64) -> Addr {
        Addr(self.0.wrapping_sub(by))
    }
}

impl Sub<Addr> for Addr {
    type Output = u64;
    fn sub(self, other: Addr) -> u64 {
        self.0.wrapping_sub(other.0)
    }
}

impl fmt::Debug for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Display for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// A kernel task: a thread, or a process by the id of its first thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tid(pub i32);

impl fmt::Debug for Tid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for Tid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
