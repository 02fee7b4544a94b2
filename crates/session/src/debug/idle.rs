//! What is done while nobody waits for an answer.

use super::Debugger;
use super::failure::Result;
use std::time::Duration;
use verde_checkpoint::{copy_now, is_copy_due, losses};

/// Who has not wanted anything for so long thinks.
pub const PAUSE: Duration = Duration::from_millis(50);

impl Debugger {
    /// There is something that will be quicker later if it is done now.
    pub fn has_idle_work(&self) -> bool {
        is_copy_due()
    }

    /// Does it: when the program goes on after a restore, the checkpoint has its own memory.
    pub fn use_idle_time(&mut self) {
        copy_now();
    }

    /// Says of checkpoints that could not be copied that they are lost.
    pub(super) fn tell_losses(&mut self) -> Result<()> {
        for loss in losses() {
            self.say(&format!("warning: {loss}"))?;
        }
        Ok(())
    }
}
