//! How a slice lies in memory: words at fixed offsets, no pointers, so that the
//! same memory can be shared, copied for a checkpoint, or read by generated code.

use crate::cell::{Cell, Tag};

/// Raised whenever the meaning of a word below changes.
pub const LAYOUT_VERSION: u32 = 1;

/// Words of a slot, the same for all slots of a level:
///
/// | word | meaning |
/// |---|---|
/// | 0 | bits 0-15 state, 16-23 level of the parent, 24-31 flags |
/// | 1 | creation number; in a free slot the next free one plus one |
/// | 2 | last entry in the history ring |
/// | 3 .. | one word for each group that the level's slots are linked in: previous and next slot plus one |
/// | .. | the key's words |
/// | .. | the environment's words |
/// | .. | one byte for the tag of each of these words |
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub keys: usize,
    /// The first of the key's and the environment's words.
    cells: usize,
    /// The first word of tags.
    tags: usize,
}

pub const META: usize = 0;
pub const CREATED: usize = 1;
pub const HISTORY: usize = 2;
const LINKS: usize = 3;

/// The violation of this slice was reported.
pub const REPORTED: u64 = 1 << 24;
pub const LIVE: u64 = 1 << 25;

impl Layout {
    pub fn new(groups: usize, keys: usize, env: usize) -> Layout {
        let cells = LINKS + groups;
        Layout {
            keys,
            cells,
            tags: cells + keys + env,
        }
    }

    pub fn link(&self, group: usize) -> usize {
        LINKS + group
    }

    /// How many cells a slot has: its key's, then its environment's.
    pub fn cells(&self) -> usize {
        self.tags - self.cells
    }

    /// Where a cell is: the key's first, then the environment's.
    #[inline]
    fn place(&self, i: usize) -> Place {
        Place {
            word: (self.cells + i) as u32,
            tags: (self.tags + (i >> 3)) as u32,
            shift: ((i & 7) << 3) as u8,
        }
    }

    /// Where a cell of the environment is.
    pub fn env(&self, i: usize) -> Place {
        self.place(self.keys + i)
    }

    /// A cell of the slot whose words these are.
    #[inline]
    pub fn cell(&self, slot: &[u64], i: usize) -> Cell {
        self.place(i).get(slot)
    }

    #[inline]
    pub fn set_cell(&self, slot: &mut [u64], i: usize, c: Cell) {
        self.place(i).set(slot, c);
    }

    /// Whole cache lines: a slot never straddles one more than it must.
    pub fn stride(&self) -> usize {
        let words = self.tags + self.cells().div_ceil(8);
        words.next_multiple_of(8)
    }
}

/// Where a cell is in a slot: its word, and the byte of its tag.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    word: u32,
    tags: u32,
    shift: u8,
}

impl Place {
    pub fn word(self) -> usize {
        self.word as usize
    }

    /// The word where its tag is.
    pub fn tags(self) -> usize {
        self.tags as usize
    }

    pub fn shift(self) -> u32 {
        self.shift.into()
    }

    #[inline]
    pub fn get(self, slot: &[u64]) -> Cell {
        Cell {
            bits: slot[self.word as usize],
            tag: Tag::from_byte((slot[self.tags as usize] >> (self.shift & 63)) as u8),
        }
    }

    #[inline]
    pub fn set(self, slot: &mut [u64], c: Cell) {
        let shift = self.shift & 63;
        slot[self.word as usize] = c.bits;
        let tags = &mut slot[self.tags as usize];
        *tags = *tags & !(0xff << shift) | (c.tag as u64) << shift;
    }
}
