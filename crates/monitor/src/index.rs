//! A table from hashes to slots. It stores no keys: the caller compares. Slots
//! keep their numbers when the table grows.
//!
//! A million slices are looked up at random, so what counts is how much memory
//! the table takes of the caches, and that the processor need not guess where a
//! search ends: a wrong guess is noticed only when the memory answers. A line of
//! the cache therefore holds twelve entries, which are compared at once.

use crate::words::Words;

/// A cache line in words: a byte for each entry, 0 when there is none and else a
/// part of the hash; in the upper half of word 1 how many entries lie further
/// on because the line was full when they came; then the slots, two in a word.
type Line = [u64; WORDS];

const WORDS: usize = 8;
const ENTRIES: usize = 12;
/// Entries for each line, on average, at which the table grows.
const FULL: usize = 10;
const PASSED: u64 = 1 << 32;

#[derive(Clone, Debug)]
pub struct Index {
    words: Words,
    used: usize,
}

impl Default for Index {
    fn default() -> Self {
        Index {
            words: Words::zeroed(WORDS),
            used: 0,
        }
    }
}

/// The line where the search for a hash begins: its upper half as a fraction of the table.
#[inline]
fn home(hash: u64, lines: usize) -> usize {
    (((hash >> 32) * lines as u64) >> 32) as usize
}

/// What an entry remembers of its hash, never 0.
#[inline]
fn tag(hash: u64) -> u8 {
    (hash as u8).max(1)
}

/// The entries of a line with this tag, as bits in an order of their own; perhaps some more.
#[inline]
fn with_tag(line: &Line, tag: u8) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let zeros = |w: u64| w.wrapping_sub(ONES) & !w & (ONES << 7);
    let wanted = u64::from(tag) * ONES;
    zeros(line[0] ^ wanted) >> 7 | (zeros(line[1] ^ wanted) & 0xffff_ffff) >> 6
}

/// The entry of the lowest bit of [`with_tag`].
#[inline]
fn first(bits: u64) -> usize {
    let bit = bits.trailing_zeros() as usize;
    (bit >> 3) + ((bit & 1) << 3)
}

#[inline]
fn slot(line: &Line, entry: usize) -> u32 {
    let word = line[(2 + entry / 2) % WORDS];
    (word >> (32 * (entry & 1))) as u32
}

fn set(line: &mut Line, entry: usize, tag: u8, slot: u32) {
    let put = |w: &mut u64, shift: usize, mask: u64, v: u64| {
        *w = *w & !(mask << shift) | v << shift;
    };
    put(&mut line[entry / 8], 8 * (entry % 8), 0xff, tag.into());
    let shift = 32 * (entry & 1);
    put(&mut line[2 + entry / 2], shift, 0xffff_ffff, slot.into());
}

impl Index {
    fn lines(&self) -> usize {
        self.words.len() / WORDS
    }

    #[inline]
    pub fn find(&self, hash: u64, mut same: impl FnMut(u32) -> bool) -> Option<u32> {
        let (lines, _) = self.words.as_chunks::<WORDS>();
        let tag = tag(hash);
        let mut at = home(hash, lines.len());
        for _ in 0..lines.len() {
            let line = &lines[at];
            let mut found = with_tag(line, tag);
            while found != 0 {
                let slot = slot(line, first(found));
                if same(slot) {
                    return Some(slot);
                }
                found &= found - 1;
            }
            if line[1] < PASSED {
                return None;
            }
            at += 1;
            if at == lines.len() {
                at = 0;
            }
        }
        None
    }

    /// Reads the line where the search for a hash begins, and nothing else.
    #[inline]
    pub fn touch(&self, hash: u64) -> u64 {
        let words: &[u64] = &self.words;
        words[home(hash, words.len() / WORDS) * WORDS]
    }

    /// The slot where a hash most likely leads, by that line alone.
    #[inline]
    pub fn guess(&self, hash: u64) -> Option<u32> {
        let (lines, _) = self.words.as_chunks::<WORDS>();
        let line = lines.get(home(hash, lines.len()))?;
        let found = with_tag(line, tag(hash));
        (found != 0).then(|| slot(line, first(found)))
    }

    /// The caller knows that the key is not there. `hash_of` gives the hash of
    /// any slot in the table, for when it must grow.
    pub fn insert(&mut self, hash: u64, slot: u32, hash_of: impl Fn(u32) -> u64) {
        if self.used >= self.lines() * FULL {
            self.grow(hash_of);
        }
        self.place(hash, slot);
    }

    #[cold]
    fn grow(&mut self, hash_of: impl Fn(u32) -> u64) {
        // By a half: a table that is mostly empty is slow, too.
        let lines = self.lines() + self.lines() / 2 + 1;
        let mut bigger = Index {
            words: Words::zeroed(lines * WORDS),
            used: 0,
        };
        let (lines, _) = self.words.as_chunks::<WORDS>();
        for line in lines {
            for entry in (0..ENTRIES).filter(|e| !is_free(line, *e)) {
                let slot = slot(line, entry);
                bigger.place(hash_of(slot), slot);
            }
        }
        *self = bigger;
    }

    /// The lines from the home of a hash on, until one gives the entry to change;
    /// `by` is added to what has passed over those before it.
    fn walk(
        &mut self,
        hash: u64,
        by: i32,
        entry: impl Fn(&Line) -> Option<usize>,
    ) -> Option<(&mut Line, usize)> {
        let (lines, _) = self.words.as_chunks_mut::<WORDS>();
        let (before, from) = lines.split_at_mut(home(hash, lines.len()));
        for line in from.iter_mut().chain(before) {
            if let Some(e) = entry(line) {
                return Some((line, e));
            }
            line[1] = line[1].wrapping_add_signed(i64::from(by) << 32);
        }
        None
    }

    fn place(&mut self, hash: u64, slot: u32) {
        self.used += 1;
        let free = |line: &Line| (0..ENTRIES).find(|e| is_free(line, *e));
        if let Some((line, entry)) = self.walk(hash, 1, free) {
            set(line, entry, tag(hash), slot);
        }
    }

    /// The caller knows that it is there.
    pub fn remove(&mut self, hash: u64, removed: u32) {
        self.used -= 1;
        let it =
            |line: &Line| (0..ENTRIES).find(|e| !is_free(line, *e) && slot(line, *e) == removed);
        if let Some((line, entry)) = self.walk(hash, -1, it) {
            set(line, entry, 0, 0);
        }
    }

    pub fn bytes(&self) -> usize {
        self.words.bytes()
    }
}

fn is_free(line: &Line, entry: usize) -> bool {
    line[entry / 8] >> (8 * (entry % 8)) & 0xff == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn agrees_with_a_map_under_random_use() {
        let mut seed = 1u64;
        let mut random = move || {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            seed >> 33
        };
        // Few distinct homes and tags, so that lines overflow and entries look alike.
        let crowded = |k: u64| ((k % 7) << 61) | (k % 5);
        let spread = |k: u64| k.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for (hash, keys_in_use) in [(crowded as fn(u64) -> u64, 300), (spread, 30_000)] {
            let mut index = Index::default();
            let mut map: HashMap<u64, u32> = HashMap::new();
            let mut keys: Vec<u64> = Vec::new();
            for _ in 0..100_000 {
                let k = random() % keys_in_use;
                match map.get(&k) {
                    Some(&slot) if random() % 2 == 0 => {
                        index.remove(hash(k), slot);
                        map.remove(&k);
                    }
                    Some(_) => {}
                    None => {
                        let slot = keys.len() as u32;
                        keys.push(k);
                        index.insert(hash(k), slot, |s| hash(keys[s as usize]));
                        map.insert(k, slot);
                    }
                }
                let probe = random() % keys_in_use;
                assert_eq!(
                    index.find(hash(probe), |s| keys[s as usize] == probe),
                    map.get(&probe).copied()
                );
            }
            assert_eq!(index.used, map.len());
            for (k, slot) in map {
                index.remove(hash(k), slot);
            }
            assert!(index.words.iter().all(|w| *w == 0), "nothing is left over");
        }
    }
}
