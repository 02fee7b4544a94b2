//! Memory in the program that is lent to system calls in place of their own.

use crate::{Addr, Process, Result, Tid};
use verde_sys::number as n;

/// Enough for most calls.
const USUAL: u64 = 64 * 1024;
/// More is not lent to one call.
const MOST: u64 = 16 << 20;
/// What is lent begins at such addresses.
const ALIGNED: u64 = 64;

/// The regions mapped into the program, and who has what of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lent {
    regions: Vec<Region>,
}

#[derive(Clone, Debug)]
struct Region {
    base: Addr,
    size: u64,
    /// Beginning, end and owner, by rising address.
    blocks: Vec<(u64, u64, Tid)>,
}

impl Region {
    fn take(&mut self, tid: Tid, size: u64) -> Option<Addr> {
        let mut from = 0;
        let mut index = 0;
        for (begin, end, _) in &self.blocks {
            if begin - from >= size {
                break;
            }
            from = end.next_multiple_of(ALIGNED);
            index += 1;
        }
        let end = from.checked_add(size).filter(|end| *end <= self.size)?;
        self.blocks.insert(index, (from, end, tid));
        Some(self.base + from)
    }
}

impl Lent {
    pub fn is_empty(&self) -> bool {
        self.regions.is_empty()
    }

    /// Lends memory to a thread that has none; `None`: there is no room.
    pub fn take(&mut self, tid: Tid, size: u64) -> Option<Addr> {
        self.regions.iter_mut().find_map(|r| r.take(tid, size))
    }

    /// A thread gives back what it has.
    pub fn give_back(&mut self, tid: Tid) {
        for region in &mut self.regions {
            region.blocks.retain(|(_, _, owner)| *owner != tid);
        }
    }

    /// The same memory with nothing lent.
    pub fn unused(&self) -> Lent {
        let mut lent = self.clone();
        for region in &mut lent.regions {
            region.blocks.clear();
        }
        lent
    }

    fn add(&mut self, base: Addr, size: u64) {
        self.regions.push(Region {
            base,
            size,
            blocks: Vec::new(),
        });
    }
}

impl Process {
    /// Maps memory that can be lent, so much at least in one piece. `false`:
    /// that would be too much.
    pub(crate) fn map_lent(&mut self, size: u64) -> Result<bool> {
        if size > MOST {
            return Ok(false);
        }
        let size = size.next_power_of_two().max(USUAL);
        let base = self.map_hole(size)?;
        self.lent.add(base, size);
        Ok(true)
    }

    /// Gives the memory back to the program. Nobody has any of it.
    pub(crate) fn unmap_lent(&mut self) {
        let lent = self.lent.unused();
        for region in &lent.regions {
            let args = [region.base.0, region.size, 0, 0, 0, 0];
            if let Err(error) = self.remote_call("munmap", n::SYS_munmap, args) {
                tracing::debug!(%error, "lent memory stays mapped");
            }
        }
        self.lent = lent;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_lent_and_given_back() {
        let mut lent = Lent::default();
        assert_eq!(lent.take(Tid(1), 8), None);
        lent.add(Addr(0x1000), 0x200);
        assert_eq!(lent.take(Tid(1), 100), Some(Addr(0x1000)));
        assert_eq!(lent.take(Tid(2), 100), Some(Addr(0x1080)));
        assert_eq!(lent.take(Tid(3), 0x200), None, "no room");
        assert_eq!(lent.take(Tid(3), 0x100), Some(Addr(0x1100)));
        lent.give_back(Tid(2));
        assert_eq!(lent.take(Tid(4), 0x80), Some(Addr(0x1080)));
        assert_eq!(lent.take(Tid(5), 1), None);
        assert_eq!(lent.unused().take(Tid(5), 0x200), Some(Addr(0x1000)));
    }
}
