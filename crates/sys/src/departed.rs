//! Processes that were killed and need not be waited for: whoever waits for a
//! child sees their ends in passing. Those that nobody has met when all is over
//! are seen off here, so that none is left for others to find.

use crate::{Tid, wait};
use std::cell::RefCell;
use std::time::{Duration, Instant};

thread_local! {
    /// Children of this thread, killed and not reaped.
    static KILLED: RefCell<Vec<Tid>> = const { RefCell::new(Vec::new()) };
}

/// Somebody has killed a child of this thread and does not wait for it.
pub(crate) fn killed(pid: Tid) {
    // At the end of the thread there may be no list any more.
    let _ = KILLED.try_with(|all| all.borrow_mut().push(pid));
}

/// A child of this thread was killed by somebody who does not wait for it.
pub(crate) fn is_expected(pid: Tid) -> bool {
    let is_it = KILLED.try_with(|all| all.borrow().contains(&pid));
    is_it.unwrap_or(false)
}

/// A child of this thread was reaped.
pub(crate) fn reaped(pid: Tid) {
    let _ = KILLED.try_with(|all| all.borrow_mut().retain(|p| *p != pid));
}

/// Waits until all of them are gone, but not longer than that.
pub fn see_off(limit: Duration) {
    let deadline = Instant::now() + limit;
    loop {
        let left = KILLED.with_borrow(Vec::clone);
        for pid in &left {
            // Somebody else has reaped it.
            if wait::try_task(*pid).is_err() {
                reaped(*pid);
            }
        }
        if left.is_empty() || Instant::now() > deadline {
            return;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pidfd::PidFd;

    #[test]
    fn those_that_were_killed_are_gone() -> crate::Result<()> {
        let child = std::process::Command::new("sleep").arg("1000").spawn();
        let pid = Tid(child.expect("a child").id() as i32);
        PidFd::open(pid)?.kill()?;
        see_off(Duration::from_secs(30));
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
        assert!(KILLED.with_borrow(Vec::is_empty));
        Ok(())
    }

    #[test]
    fn whoever_waits_for_another_meets_them() -> crate::Result<()> {
        let start = |seconds: &str| {
            let child = std::process::Command::new("sleep").arg(seconds).spawn();
            Tid(child.expect("a child").id() as i32)
        };
        let (gone, other) = (start("1000"), start("0.1"));
        PidFd::open(gone)?.kill()?;
        wait::task(other)?;
        // It may have taken longer to die.
        see_off(Duration::from_secs(30));
        assert!(KILLED.with_borrow(Vec::is_empty));
        assert!(wait::try_task(gone).is_err());
        Ok(())
    }
}
