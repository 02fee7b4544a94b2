//! What is done while nobody waits for an answer.

use super::Debugger;
use std::time::Duration;
use verde_checkpoint::Snapshot;

/// Who has not wanted anything for so long thinks.
pub const PAUSE: Duration = Duration::from_millis(50);

impl Debugger {
    /// There is something that will be quicker later if it is done now.
    pub fn has_idle_work(&mut self) -> bool {
        if self.checkpoints.changed {
            let has_work = self.checkpoints.likely().any(Snapshot::can_be_readier);
            self.checkpoints.changed = has_work;
        }
        self.checkpoints.changed
    }

    /// Does it: copies the memory of the checkpoints that are restored next as a rule.
    pub fn use_idle_time(&mut self) {
        self.checkpoints.changed = false;
        let is_likely = |other| self.checkpoints.likely().any(|c| std::ptr::eq(c, other));
        for (_, other) in self.checkpoints.all() {
            if !is_likely(&other.snapshot) {
                other.snapshot.make_unready();
            }
        }
        for likely in self.checkpoints.likely() {
            if let Err(error) = likely.make_ready() {
                tracing::debug!(%error, "a restore will copy memory");
            }
        }
    }
}
