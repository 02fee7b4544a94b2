//! Memory in the program for relocated instructions.

use crate::Addr;
use crate::relocate::{Relocated, SLOT, Undo};
use verde_sys::procfs::Mapping;

/// Size of one region of slots.
pub const REGION: u64 = 64 * 1024;

/// A jump or rip-relative operand reaches 2 GiB; some room for the rest.
const REACH: u64 = 0x7ff0_0000;

/// The regions mapped into the program.
#[derive(Debug, Default, Clone)]
pub struct Slots {
    regions: Vec<Region>,
}

#[derive(Debug, Clone)]
struct Region {
    base: Addr,
    /// Those that were ever taken: every checkpoint has a copy of them.
    slots: Vec<Option<Tenant>>,
    /// Those of them that were given back.
    free: Vec<u16>,
}

impl Region {
    /// The slot that is taken next.
    fn next(&self) -> Option<usize> {
        const COUNT: usize = REGION as usize / SLOT;
        let given_back = self.free.last().map(|index| usize::from(*index));
        given_back.or_else(|| (self.slots.len() < COUNT).then_some(self.slots.len()))
    }
}

#[derive(Debug, Clone, Copy)]
struct Tenant {
    origin: Addr,
    len: u8,
    after: Option<u8>,
    undo: Undo,
}

/// Where a thread found in a slot really is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// The instruction of this address has not run, after undoing.
    Before(Addr, Undo),
    /// It has run; this is the next one.
    After(Addr),
}

impl Slots {
    /// Adds a region that was mapped at `base`.
    pub fn add_region(&mut self, base: Addr) {
        self.regions.push(Region {
            base,
            slots: Vec::new(),
            free: Vec::new(),
        });
    }

    /// Every region's address.
    pub fn regions(&self) -> impl Iterator<Item = Addr> {
        self.regions.iter().map(|r| r.base)
    }

    /// A free slot in reach of `near`. Take it with `occupy`.
    pub fn free_near(&self, near: Addr) -> Option<Addr> {
        let regions = self.regions.iter();
        let mut reached = regions.filter(|r| r.base.0.abs_diff(near.0) < REACH);
        reached.find_map(|r| Some(r.base + (r.next()? * SLOT) as u64))
    }

    /// Notes what is in a slot given by `free_near`.
    pub fn occupy(&mut self, slot: Addr, origin: Addr, len: usize, code: &Relocated) {
        let Some((region, index)) = self.locate(slot) else {
            return;
        };
        let region = &mut self.regions[region];
        // `free_near` offers the last one that was given back, or else the next.
        region.free.pop_if(|free| usize::from(*free) == index);
        if region.slots.len() <= index {
            region.slots.resize(index + 1, None);
        }
        region.slots[index] = Some(Tenant {
            origin,
            len: len as u8,
            after: code.after,
            undo: code.undo,
        });
    }

    /// Gives a slot back. No thread may be in it.
    pub fn vacate(&mut self, slot: Addr) {
        if let Some((region, index)) = self.locate(slot) {
            let region = &mut self.regions[region];
            let tenant = region.slots.get_mut(index).and_then(Option::take);
            if tenant.is_some() {
                region.free.push(index as u16);
            }
        }
    }

    fn locate(&self, pc: Addr) -> Option<(usize, usize)> {
        let region = self
            .regions
            .iter()
            .position(|r| pc >= r.base && pc.0 < r.base.0 + REGION)?;
        Some((region, ((pc - self.regions[region].base) as usize) / SLOT))
    }

    /// Where a thread with this pc really is; `None` outside of slots.
    pub fn position(&self, pc: Addr) -> Option<Position> {
        let (region, index) = self.locate(pc)?;
        let region = &self.regions[region];
        let tenant = (*region.slots.get(index)?)?;
        let offset = (pc - region.base) as usize % SLOT;
        Some(match tenant.after {
            _ if offset == 0 => Position::Before(tenant.origin, Undo::Nothing),
            Some(after) if offset >= after as usize => {
                Position::After(tenant.origin + u64::from(tenant.len))
            }
            _ => Position::Before(tenant.origin, tenant.undo),
        })
    }

    /// Forgets everything (the address space is gone).
    pub fn clear(&mut self) {
        self.regions.clear();
    }
}

/// A free address range of `size` bytes near `near`, by the memory map; not where the heap will
/// grow to as long as there are others.
pub fn find_hole(maps: &[Mapping], near: Addr, size: u64) -> Option<Addr> {
    const FOR_HEAP: u64 = 1 << 30;
    let far_above = find_hole_above(maps, near, size, FOR_HEAP);
    far_above.or_else(|| find_hole_above(maps, near, size, GAP))
}

/// A region must not look like the growth of a stack or of the heap.
const GAP: u64 = 1 << 20;

/// The same with so much room above what is there where there is much room.
fn find_hole_above(maps: &[Mapping], near: Addr, size: u64, room: u64) -> Option<Addr> {
    const MUCH: u64 = 1 << 28;
    const LOWEST: u64 = 0x1_0000;
    const HIGHEST: u64 = 0x7fff_ffff_0000;
    let mut best: Option<(u64, Addr)> = None;
    let mut consider = |from: u64, to: u64| {
        let (from, to) = (from.max(LOWEST), to.min(HIGHEST));
        let gap = if to.saturating_sub(from) > MUCH {
            room
        } else {
            GAP
        };
        let (from, to) = (from + gap, to.saturating_sub(GAP));
        if to < from || to - from < size {
            return;
        }
        // The end of the hole nearest to the code.
        let base = if to <= near.0 { to - size } else { from } & !0xfff;
        let distance = base.abs_diff(near.0);
        if distance < REACH && best.is_none_or(|(d, _)| distance < d) {
            best = Some((distance, Addr(base)));
        }
    };
    let mut end = 0;
    for map in maps {
        consider(end, map.start.0);
        end = end.max(map.end.0);
    }
    consider(end, HIGHEST);
    best.map(|(_, base)| base)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(start: u64, end: u64) -> Mapping {
        Mapping {
            start: Addr(start),
            end: Addr(end),
            read: true,
            write: false,
            execute: true,
            shared: false,
            offset: 0,
            inode: 0,
            name: String::new(),
        }
    }

    #[test]
    fn holes_are_near_and_free() {
        let maps = [
            map(0x5555_5555_4000, 0x5555_5556_0000),
            map(0x7fff_f7d0_0000, 0x7fff_f7ff_f000),
        ];
        for near in [0x5555_5555_5000, 0x7fff_f7d0_1000] {
            let hole = find_hole(&maps, Addr(near), REGION).expect("a hole");
            assert!(hole.0.abs_diff(near) < REACH);
            assert!(
                maps.iter()
                    .all(|m| hole.0 + REGION <= m.start.0 || hole >= m.end)
            );
        }
    }

    #[test]
    fn the_heap_has_room() {
        let heap = 0x5555_5557_0000;
        let mut maps = vec![
            map(0x5555_5555_4000, heap),
            map(0x7fff_f7d0_0000, 0x7fff_f7ff_f000),
        ];
        for _ in 0..1500 {
            let hole = find_hole(&maps, Addr(0x5555_5555_4000), REGION).expect("a hole");
            let is_far = hole.0 > heap + (1 << 29);
            assert!(is_far || hole.0 < heap, "{hole}");
            maps.push(map(hole.0, hole.0 + REGION));
            maps.sort_by_key(|m| m.start);
        }
    }

    #[test]
    fn positions_in_a_slot() {
        let mut slots = Slots::default();
        slots.add_region(Addr(0x10_0000));
        let slot = slots.free_near(Addr(0x20_0000)).expect("a slot");
        let code = Relocated {
            code: vec![0x55],
            after: Some(1),
            undo: Undo::Nothing,
        };
        slots.occupy(slot, Addr(0x20_0000), 1, &code);
        assert_eq!(
            slots.position(slot),
            Some(Position::Before(Addr(0x20_0000), Undo::Nothing))
        );
        assert_eq!(
            slots.position(slot + 1),
            Some(Position::After(Addr(0x20_0001)))
        );
        assert_eq!(slots.position(Addr(0x20_0000)), None);
        assert_ne!(slots.free_near(Addr(0x20_0000)), Some(slot));
        slots.vacate(slot);
        assert_eq!(slots.position(slot), None);
    }

    #[test]
    fn a_region_is_full_when_every_slot_is_taken() {
        let near = Addr(0x20_0000);
        let mut slots = Slots::default();
        slots.add_region(Addr(0x10_0000));
        let code = Relocated {
            code: vec![0x55],
            after: Some(1),
            undo: Undo::Nothing,
        };
        let mut taken = Vec::new();
        while let Some(slot) = slots.free_near(near) {
            slots.occupy(slot, near, 1, &code);
            taken.push(slot);
        }
        assert_eq!(taken.len(), REGION as usize / SLOT);
        let inside = |slot: &Addr| slot.0 >= 0x10_0000 && slot.0 < 0x10_0000 + REGION;
        assert!(taken.iter().all(inside));
        slots.vacate(taken[7]);
        assert_eq!(slots.free_near(near), Some(taken[7]));
        taken.sort();
        taken.dedup();
        assert_eq!(taken.len(), REGION as usize / SLOT);
    }
}
