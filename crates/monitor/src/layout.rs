//! How a slice lies in memory: words at fixed offsets, no pointers, so that the
//! same memory can be shared, copied for a checkpoint, or read by generated code.

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
    pub groups: usize,
    pub keys: usize,
    pub env: usize,
}

pub const META: usize = 0;
pub const CREATED: usize = 1;
pub const HISTORY: usize = 2;
const LINKS: usize = 3;

/// The violation of this slice was reported.
pub const REPORTED: u64 = 1 << 24;
pub const LIVE: u64 = 1 << 25;

impl Layout {
    pub fn link(&self, group: usize) -> usize {
        LINKS + group
    }

    pub fn key(&self, i: usize) -> usize {
        LINKS + self.groups + i
    }

    pub fn env(&self, i: usize) -> usize {
        LINKS + self.groups + self.keys + i
    }

    /// Word and shift of the tag of key `i`, or of environment cell `i - keys`.
    #[inline]
    pub fn tag(&self, i: usize) -> (usize, u32) {
        let first = LINKS + self.groups + self.keys + self.env;
        (first + (i >> 3), ((i & 7) as u32) << 3)
    }

    /// Whole cache lines: a slot never straddles one more than it must.
    pub fn stride(&self) -> usize {
        let words = LINKS + self.groups + self.keys + self.env + (self.keys + self.env).div_ceil(8);
        words.next_multiple_of(8)
    }
}
