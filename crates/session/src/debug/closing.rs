//! The end of a session.

use super::Debugger;
use std::time::Duration;
use verde_sys::departed;

/// Copies with much memory of their own take their time to go.
const LIMIT: Duration = Duration::from_secs(1);

impl Drop for Debugger {
    /// Nothing of the session is left behind: no file, and no process that others could find.
    fn drop(&mut self) {
        self.leave_no_files();
        self.live = None;
        self.forget_checkpoints();
        departed::see_off(LIMIT);
    }
}
