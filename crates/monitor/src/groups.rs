//! Slots of one level that agree on some of its parameters, for events that
//! bind fewer parameters than the slices they reach. Each group is a list
//! through the slots themselves, in the order of their creation.

use crate::cell::{Cell, Tag};
use crate::index::Index;
use verde_property::Mask;

#[derive(Clone, Debug)]
pub struct Groups {
    pub mask: Mask,
    /// Records of `1 + 2 * len` words: first and last slot plus one, then key cells.
    records: Vec<u64>,
    free: Vec<u32>,
    index: Index,
}

impl Groups {
    pub fn new(mask: Mask) -> Self {
        Groups {
            mask,
            records: Vec::new(),
            free: Vec::new(),
            index: Index::default(),
        }
    }

    fn stride(&self) -> usize {
        1 + 2 * self.mask.len()
    }

    fn at(&self, record: u32) -> usize {
        record as usize * self.stride()
    }

    /// `key` gives the cells of the mask's parameters.
    pub fn find(&self, hash: u64, key: &[Cell]) -> Option<u32> {
        self.index.find(hash, |r| {
            let at = self.at(r) + 1;
            key.iter().enumerate().all(|(i, c)| {
                self.records[at + 2 * i] == c.bits && self.records[at + 2 * i + 1] == c.tag as u64
            })
        })
    }

    fn hash_of(records: &[u64], stride: usize, record: u32) -> u64 {
        let at = record as usize * stride;
        let (words, _) = records[at + 1..at + stride].as_chunks::<2>();
        hash_cells(words.iter().map(|[bits, tag]| Cell {
            bits: *bits,
            tag: Tag::from_byte(*tag as u8),
        }))
    }

    pub fn make(&mut self, hash: u64, key: &[Cell]) -> u32 {
        let stride = self.stride();
        let record = self.free.pop().unwrap_or_else(|| {
            self.records.resize(self.records.len() + stride, 0);
            (self.records.len() / stride) as u32 - 1
        });
        let at = self.at(record);
        self.records[at] = 0;
        for (i, c) in key.iter().enumerate() {
            self.records[at + 1 + 2 * i] = c.bits;
            self.records[at + 2 + 2 * i] = c.tag as u64;
        }
        let records = &self.records;
        self.index
            .insert(hash, record, |r| Self::hash_of(records, stride, r));
        record
    }

    pub fn drop_record(&mut self, hash: u64, record: u32) {
        self.index.remove(hash, record);
        self.free.push(record);
    }

    /// First and last slot, each plus one.
    pub fn ends(&self, record: u32) -> (u32, u32) {
        let w = self.records[self.at(record)];
        (w as u32, (w >> 32) as u32)
    }

    pub fn set_ends(&mut self, record: u32, first: u32, last: u32) {
        let at = self.at(record);
        self.records[at] = first as u64 | (last as u64) << 32;
    }

    pub fn bytes(&self) -> usize {
        self.records.len() * 8 + self.index.bytes()
    }
}

/// Mixes a key.
#[inline]
pub fn hash(cells: &[Cell]) -> u64 {
    hash_cells(cells.iter().copied())
}

#[inline]
fn hash_cells(cells: impl ExactSizeIterator<Item = Cell>) -> u64 {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut h = K ^ cells.len() as u64;
    for c in cells {
        // -1 and 2^64 - 1 share their bits; other tags do not collide in practice.
        let word = c.bits ^ if c.tag == Tag::UInt { K } else { 0 };
        let wide = (h ^ word) as u128 * (K | 1) as u128;
        h = (wide as u64) ^ (wide >> 64) as u64;
        h = h.rotate_left(29).wrapping_mul(0xff51_afd7_ed55_8ccd);
    }
    h ^ (h >> 31)
}
