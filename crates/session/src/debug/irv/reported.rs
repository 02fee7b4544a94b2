//! Violations that were reported. No restore takes one back, and one that comes again because the
//! program was taken back before it is the same one.

use crate::report::ViolationRow;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

#[derive(Clone, Default)]
pub struct Reported {
    count: u64,
    /// All that were found in any history, each behind the one that was found before it in the same.
    found: Vec<Found>,
    /// The last one of the present history.
    last: Mark,
    /// How often each was found in histories that were given up, and has not come again.
    given_up: FxHashMap<u64, u32>,
}

#[derive(Clone, Copy)]
struct Found {
    /// What tells it from others.
    identity: u64,
    before: Mark,
}

/// A moment of a history: so many of all that were found up to its last one, 0 before the first.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(usize);

impl Reported {
    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// One was found. Whether it is a new one.
    pub fn add(&mut self, row: &ViolationRow) -> bool {
        self.add_found(identity(row))
    }

    fn add_found(&mut self, identity: u64) -> bool {
        self.push(identity);
        if let Some(times) = self.given_up.get_mut(&identity).filter(|t| **t > 0) {
            *times -= 1;
            return false;
        }
        self.count += 1;
        true
    }

    fn push(&mut self, identity: u64) {
        let before = self.last;
        self.found.push(Found { identity, before });
        self.last = Mark(self.found.len());
    }

    /// The present, to come back to.
    pub fn mark(&self) -> Mark {
        self.last
    }

    /// The program was taken to another moment, of this history or of one that was given up: what
    /// was found only here may come again, and what was found only there is present.
    pub fn go_to(&mut self, mark: Mark) {
        let mark = mark.min(Mark(self.found.len()));
        let (mut here, mut there) = (self.last, mark);
        self.last = mark;
        // Who was found later cannot be in the other's past.
        while here != there {
            let later = here.max(there);
            let Some(found) = later.0.checked_sub(1).and_then(|i| self.found.get(i)) else {
                return;
            };
            let times = self.given_up.entry(found.identity).or_default();
            if here > there {
                *times += 1;
                here = found.before;
            } else {
                *times = times.saturating_sub(1);
                there = found.before;
            }
        }
    }

    /// What was reported of another program before this one, which replaced it.
    pub fn continue_from(&mut self, former: Reported) {
        let now = std::mem::replace(self, former);
        self.count += now.count;
        for found in now.found {
            self.push(found.identity);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_comes_again_is_no_new_one() {
        let mut reported = Reported::default();
        let start = reported.mark();
        assert!(reported.add_found(7));
        assert!(reported.add_found(7));
        reported.go_to(start);
        assert!(!reported.add_found(7));
        assert!(!reported.add_found(7));
        assert!(reported.add_found(7));
        assert_eq!(reported.count(), 3);
    }

    #[test]
    fn a_history_that_was_given_up_can_be_gone_on_with() {
        let mut reported = Reported::default();
        let start = reported.mark();
        assert!(reported.add_found(1));
        let first = reported.mark();
        reported.go_to(start);
        // The other way, by `restart undo`: what was found there is present again.
        reported.go_to(first);
        assert!(reported.add_found(1));
        let second = reported.mark();
        reported.go_to(start);
        assert!(!reported.add_found(1));
        assert!(reported.add_found(2));
        // From one branch to the other.
        reported.go_to(second);
        assert!(!reported.add_found(2));
        assert!(reported.add_found(1));
        assert_eq!(reported.count(), 4);
    }
}
