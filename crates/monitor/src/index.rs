//! An open-addressing table from hashes to slots. It stores no keys: the caller
//! compares. Slots keep their numbers when the table grows.

use crate::words::Words;

/// A bucket holds the upper half of the hash and the slot plus one; 0 is empty.
#[derive(Clone, Debug)]
pub struct Index {
    buckets: Words,
    used: usize,
}

impl Default for Index {
    fn default() -> Self {
        Index {
            buckets: Words::zeroed(8),
            used: 0,
        }
    }
}

impl Index {
    fn pack(hash: u64, slot: u32) -> u64 {
        (hash & 0xffff_ffff_0000_0000) | (slot as u64 + 1)
    }

    fn home(&self, hash: u64) -> usize {
        // The bits that the bucket remembers, so that growing needs no keys.
        (hash >> 32) as usize & (self.buckets.len() - 1)
    }

    #[inline]
    pub fn find(&self, hash: u64, mut same: impl FnMut(u32) -> bool) -> Option<u32> {
        let buckets: &[u64] = &self.buckets;
        let mask = buckets.len() - 1;
        let mut i = (hash >> 32) as usize & mask;
        loop {
            let b = buckets[i];
            if b == 0 {
                return None;
            }
            if (b ^ hash) >> 32 == 0 {
                let slot = (b as u32) - 1;
                if same(slot) {
                    return Some(slot);
                }
            }
            i = (i + 1) & mask;
        }
    }

    /// The caller knows that the key is not there.
    pub fn insert(&mut self, hash: u64, slot: u32) {
        if (self.used + 1) * 4 > self.buckets.len() * 3 {
            self.grow();
        }
        self.place(Self::pack(hash, slot));
        self.used += 1;
    }

    fn place(&mut self, bucket: u64) {
        let mask = self.buckets.len() - 1;
        let mut i = self.home(bucket);
        while self.buckets[i] != 0 {
            i = (i + 1) & mask;
        }
        self.buckets[i] = bucket;
    }

    fn grow(&mut self) {
        let bigger = Words::zeroed(self.buckets.len() * 2);
        let old = std::mem::replace(&mut self.buckets, bigger);
        for b in old.iter().filter(|b| **b != 0) {
            self.place(*b);
        }
    }

    pub fn remove(&mut self, hash: u64, slot: u32) {
        let mask = self.buckets.len() - 1;
        let wanted = Self::pack(hash, slot);
        let mut i = self.home(hash);
        while self.buckets[i] != wanted {
            if self.buckets[i] == 0 {
                return;
            }
            i = (i + 1) & mask;
        }
        // Move back what the hole would cut off from its home.
        let mut hole = i;
        let mut j = i;
        loop {
            j = (j + 1) & mask;
            let b = self.buckets[j];
            if b == 0 {
                break;
            }
            let home = self.home(b);
            let between = (j.wrapping_sub(home) & mask) >= (j.wrapping_sub(hole) & mask);
            if between {
                self.buckets[hole] = b;
                hole = j;
            }
        }
        self.buckets[hole] = 0;
        self.used -= 1;
    }

    pub fn bytes(&self) -> usize {
        self.buckets.bytes()
    }
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
        let mut index = Index::default();
        let mut map: HashMap<u64, u32> = HashMap::new();
        let mut keys: Vec<u64> = Vec::new();
        // Few distinct homes, so that runs collide.
        let hash = |k: u64| (k % 37) << 32 | 1 << 63 | (k << 40);
        for _ in 0..20_000 {
            let k = random() % 300;
            match map.get(&k) {
                Some(&slot) if random() % 2 == 0 => {
                    index.remove(hash(k), slot);
                    map.remove(&k);
                }
                Some(_) => {}
                None => {
                    let slot = keys.len() as u32;
                    keys.push(k);
                    index.insert(hash(k), slot);
                    map.insert(k, slot);
                }
            }
            let probe = random() % 300;
            assert_eq!(
                index.find(hash(probe), |s| keys[s as usize] == probe),
                map.get(&probe).copied()
            );
        }
    }
}
