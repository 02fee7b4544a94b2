//! Which checkpoints are of the present's past: every restore begins another
//! future, and what was saved in the former one is no way back from this one.

/// When a checkpoint was taken: the later ones of a future are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment {
    future: usize,
    serial: u64,
}

/// The futures of a session; the last is the present one.
#[derive(Default)]
pub(super) struct Timeline {
    /// The moments at which those after the first began; `None`: with a new run.
    begun: Vec<Option<Moment>>,
    count: u64,
}

impl Timeline {
    /// A checkpoint is taken.
    pub fn moment(&mut self) -> Moment {
        self.count += 1;
        Moment {
            future: self.begun.len(),
            serial: self.count,
        }
    }

    /// The program is what it was then.
    pub fn restored(&mut self, then: Moment) {
        self.begun.push(Some(then));
    }

    /// The program was started.
    pub fn started(&mut self) {
        self.begun.push(None);
    }

    /// The present has come from there.
    pub fn is_past(&self, moment: Moment) -> bool {
        let (mut future, mut last) = (self.begun.len(), u64::MAX);
        while moment.future < future {
            // Each began in an earlier one.
            match self.begun[future - 1] {
                Some(from) => (future, last) = (from.future, from.serial),
                None => return false,
            }
        }
        moment.future == future && moment.serial <= last
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
}
