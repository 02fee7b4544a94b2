//! Violations that were reported. No restore takes one back, and one that comes again because the
//! program was taken back before it is the same one.

use crate::report::ViolationRow;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

#[derive(Clone, Default)]
pub struct Reported {
    count: u64,
    /// Those of the present history, each by what tells it from others.
    present: Vec<u64>,
    /// Those of histories that were given up and have not come again.
    given_up: FxHashMap<u64, u32>,
}

impl Reported {
    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// One was found. Whether it is a new one.
    pub fn add(&mut self, row: &ViolationRow) -> bool {
        let identity = identity(row);
        self.present.push(identity);
        if let Some(times) = self.given_up.get_mut(&identity).filter(|t| **t > 0) {
            *times -= 1;
            return false;
        }
        self.count += 1;
        true
    }

    /// The present, to go back to.
    pub fn mark(&self) -> usize {
        self.present.len()
    }

    /// The program was taken back: what was found since may come again.
    pub fn go_back(&mut self, mark: usize) {
        let mark = mark.min(self.present.len());
        for identity in self.present.drain(mark..) {
            *self.given_up.entry(identity).or_default() += 1;
        }
    }

    /// What was reported of another program before this one, which replaced it.
    pub fn continue_from(&mut self, former: Reported) {
        let now = std::mem::replace(self, former);
        self.count += now.count;
        self.present.extend(now.present);
    }
}

/// Slice, state, event and place.
fn identity(row: &ViolationRow) -> u64 {
    let mut hasher = FxHasher::default();
    let event = row.history.last().map(|h| (h.kind, h.when, &h.event));
    let what = (row.slice.to_string(), &row.state, &row.loc, row.n.is_some());
    (what, event).hash(&mut hasher);
    hasher.finish()
}
