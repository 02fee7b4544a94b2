//! Arrays of words for tables of any size.
//!
//! A table of a million slices is read at random: with pages of 4 KiB nearly
//! every access misses the TLB, which costs more than the cache miss. Large
//! arrays therefore live in huge pages where the kernel grants them.

use memmap2::{Advice, MmapMut};
use std::ops::{Deref, DerefMut};

/// From this size on, in words, an array gets pages of its own.
const LARGE: usize = (1 << 20) / 8;
const HUGE_PAGE: usize = (2 << 20) / 8;

#[derive(Debug)]
enum Store {
    Heap(Vec<u64>),
    Pages(MmapMut),
}

/// A growable array of words; new ones are 0.
#[derive(Debug)]
pub struct Words {
    store: Store,
    len: usize,
}

impl Words {
    pub fn zeroed(len: usize) -> Words {
        Words {
            store: Store::with_capacity(len),
            len,
        }
    }

    fn capacity(&self) -> usize {
        match &self.store {
            Store::Heap(v) => v.len(),
            Store::Pages(m) => m.len() / 8,
        }
    }

    /// Adds `more` words.
    pub fn extend(&mut self, more: usize) {
        let len = self.len + more;
        if len > self.capacity() {
            // By a quarter: a table of millions must not hold twice its size.
            let capacity = (self.len + self.len / 4).max(len).max(64);
            let mut store = Store::with_capacity(capacity);
            store.words_mut()[..self.len].copy_from_slice(self);
            self.store = store;
        }
        self.len = len;
    }

    /// Memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.capacity() * 8
    }
}

impl Store {
    fn with_capacity(words: usize) -> Store {
        if words >= LARGE
            && let Ok(pages) = MmapMut::map_anon(words.next_multiple_of(HUGE_PAGE) * 8)
        {
            // Without huge pages it is only slower.
            let _ = pages.advise(Advice::HugePage);
            return Store::Pages(pages);
        }
        Store::Heap(vec![0; words])
    }

    #[inline]
    fn words_mut(&mut self) -> &mut [u64] {
        match self {
            Store::Heap(v) => v,
            Store::Pages(m) => bytemuck::cast_slice_mut(m),
        }
    }
}

impl Default for Words {
    fn default() -> Self {
        Words::zeroed(0)
    }
}

impl Clone for Words {
    fn clone(&self) -> Self {
        let mut copy = Words::zeroed(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

impl Deref for Words {
    type Target = [u64];

    #[inline]
    fn deref(&self) -> &[u64] {
        match &self.store {
            Store::Heap(v) => &v[..self.len],
            Store::Pages(m) => &bytemuck::cast_slice(m)[..self.len],
        }
    }
}

impl DerefMut for Words {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u64] {
        let len = self.len;
        &mut self.store.words_mut()[..len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_from_the_heap_into_pages() {
        let mut w = Words::default();
        for i in 0..LARGE * 3 / 1000 {
            w.extend(1000);
            let at = i * 1000;
            assert_eq!(w[at], 0);
            w[at] = i as u64 + 1;
        }
        assert!(matches!(w.store, Store::Pages(_)));
        let copy = w.clone();
        assert!((0..LARGE * 3 / 1000).all(|i| w[i * 1000] == i as u64 + 1));
        assert_eq!(&w[..], &copy[..]);
    }
}
