//! Which checkpoints are of the present's past: every restore begins another
//! future, and what was saved in the former one is no way back from this one.

use std::collections::BTreeMap;
use std::iter::successors;

/// When a checkpoint was taken: the later ones of a future are greater, and so are those of
/// futures that began later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment {
    future: usize,
    serial: u64,
    /// The first that was taken where the program stood then.
    first_here: u64,
}

impl Moment {
    /// The future that it is of.
    pub fn future(self) -> usize {
        self.future
    }
}

/// The futures of a session; the last is the present one.
#[derive(Default)]
pub(super) struct Timeline {
    /// The moments at which those after the first began; `None`: with a new run.
    begun: Vec<Option<Moment>>,
    count: u64,
    /// The first checkpoint of where the program stands; `None`: there is none.
    here: Option<u64>,
}

impl Timeline {
    /// A checkpoint is taken.
    pub fn moment(&mut self) -> Moment {
        self.count += 1;
        Moment {
            future: self.begun.len(),
            serial: self.count,
            first_here: *self.here.get_or_insert(self.count),
        }
    }

    /// The program is what it was then.
    pub fn restored(&mut self, then: Moment) {
        self.begun.push(Some(then));
        self.here = Some(then.first_here);
    }

    /// The program was started.
    pub fn started(&mut self) {
        self.begun.push(None);
        self.here = None;
    }

    /// The program runs.
    pub fn runs(&mut self) {
        self.here = None;
    }

    /// The program stands where it stood then: nothing of it has run since.
    pub fn is_here(&self, moment: Moment) -> bool {
        self.here == Some(moment.first_here)
    }

    /// The present has come from there.
    pub fn is_past(&self, moment: Moment) -> bool {
        let mut way = self.way_to(self.begun.len(), u64::MAX);
        let last = way.find(|(future, _)| *future <= moment.future);
        last.is_some_and(|(future, last)| future == moment.future && moment.serial <= last)
    }

    /// Tells of a moment whether the present or one of these has come from there.
    pub fn leads_to(&self, these: &[Moment]) -> impl Fn(Moment) -> bool + use<> {
        let present = (self.begun.len(), u64::MAX);
        let ends = these.iter().map(|m| (m.future, m.serial));
        let mut reached = BTreeMap::new();
        for (future, serial) in ends.chain([present]) {
            for (future, last) in self.way_to(future, serial) {
                let known = reached.entry(future).or_insert(0);
                if *known >= last {
                    // The rest of the way is known, too.
                    break;
                }
                *known = last;
            }
        }
        move |moment| {
            let last = reached.get(&moment.future);
            last.is_some_and(|last| moment.serial <= *last)
        }
    }

    /// The futures through which a moment was reached, the latest first, with the last serial
    /// that counts in each.
    fn way_to(&self, future: usize, serial: u64) -> impl Iterator<Item = (usize, u64)> {
        successors(Some((future, serial)), |(future, _)| {
            // Each began in an earlier one.
            let from = self.begun[future.checked_sub(1)?]?;
            Some((from.future, from.serial))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_saved_in_another_future_is_not_past() {
        let mut line = Timeline::default();
        let first = line.moment();
        let second = line.moment();
        assert!(line.is_past(first) && line.is_past(second));
        line.restored(first);
        assert!(line.is_past(first) && !line.is_past(second));
        let third = line.moment();
        assert!(line.is_past(third));
        line.restored(second);
        assert!(line.is_past(first) && line.is_past(second) && !line.is_past(third));
        line.restored(third);
        assert!(line.is_past(first) && !line.is_past(second) && line.is_past(third));
    }

    #[test]
    fn nothing_is_past_after_a_start() {
        let mut line = Timeline::default();
        let before = line.moment();
        line.started();
        assert!(!line.is_past(before));
        let now = line.moment();
        line.restored(before);
        assert!(line.is_past(before) && !line.is_past(now));
    }

    #[test]
    fn what_leads_to_something_that_is_kept_is_known() {
        let mut line = Timeline::default();
        let first = line.moment();
        let second = line.moment();
        let kept = line.moment();
        let beyond = line.moment();
        line.restored(first);
        let other = line.moment();
        line.restored(first);
        let now = line.moment();
        let leads = line.leads_to(&[kept]);
        assert!([first, second, kept, now].into_iter().all(&leads));
        assert!(!leads(beyond) && !leads(other));
        let leads = line.leads_to(&[]);
        assert!(leads(first) && leads(now) && !leads(second) && !leads(kept));
        line.started();
        let leads = line.leads_to(&[other]);
        assert!(leads(first) && leads(other) && !leads(second) && !leads(now));
    }

    #[test]
    fn the_program_stands_where_it_was_saved_until_it_runs() {
        let mut line = Timeline::default();
        let first = line.moment();
        let same = line.moment();
        assert!(line.is_here(first) && line.is_here(same));
        line.runs();
        let second = line.moment();
        assert!(line.is_here(second) && !line.is_here(first));
        line.runs();
        assert!(!line.is_here(second));
        line.restored(same);
        assert!(line.is_here(first) && line.is_here(same) && !line.is_here(second));
        line.started();
        assert!(!line.is_here(first));
    }
}
