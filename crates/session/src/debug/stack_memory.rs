//! The memory of a process while a stack is unwound.

use super::live::ProcessMemory;
use std::cell::RefCell;
use verde_engine::{Addr, Process};
use verde_symbols::{LocationError, Memory};

/// So many bytes are read at once; they are in one page.
const AHEAD: usize = 1024;

/// Stacks are read word by word, and those of a frame and its callers are near each other.
pub(super) struct StackMemory<'a> {
    process: ProcessMemory<'a>,
    ahead: RefCell<Ahead>,
}

/// What was read last.
struct Ahead {
    start: u64,
    length: usize,
    bytes: [u8; AHEAD],
}

impl Ahead {
    fn copy(&self, addr: u64, buf: &mut [u8]) -> Option<()> {
        let offset = usize::try_from(addr.checked_sub(self.start)?).ok()?;
        let known = &self.bytes[..self.length];
        let part = known.get(offset..offset.checked_add(buf.len())?)?;
        buf.copy_from_slice(part);
        Some(())
    }
}

impl<'a> StackMemory<'a> {
    pub fn new(process: &'a Process) -> StackMemory<'a> {
        StackMemory {
            process: ProcessMemory(process),
            ahead: RefCell::new(Ahead {
                start: 0,
                length: 0,
                bytes: [0; AHEAD],
            }),
        }
    }
}

impl Memory for StackMemory<'_> {
    fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), LocationError> {
        let ahead = &mut *self.ahead.borrow_mut();
        if ahead.copy(addr, buf).is_some() {
            return Ok(());
        }
        ahead.start = addr & !(AHEAD as u64 - 1);
        let start = Addr(ahead.start);
        ahead.length = self.process.0.read_some(start, &mut ahead.bytes);
        match ahead.copy(addr, buf) {
            Some(()) => Ok(()),
            None => self.process.read(addr, buf),
        }
    }
}
