//! Descriptors with a small state of their own: event counters, timers,
//! terminals.

use crate::Result;
use crate::snapshot::{Item, Items};
use std::os::fd::{AsFd, RawFd};
use verde_sys::descriptors::{self, Descriptor, TerminalModes, Time};
use verde_sys::pidfd::PidFd;

/// Event counters (eventfd).
pub(super) struct Counters(Vec<(RawFd, i32, u64)>);

impl Counters {
    pub fn save(list: &[Descriptor]) -> Counters {
        let events = list.iter().filter(|d| d.target == "anon_inode:[eventfd]");
        let counters = events.filter_map(|d| {
            let count = u64::from_str_radix(d.field("eventfd-count")?, 16).ok()?;
            Some((d.number, d.flags(), count))
        });
        Counters(counters.collect())
    }

    pub fn restore(&self, handle: &PidFd, without: &Items) -> Result<()> {
        if without.contains(Item::Counters) {
            return Ok(());
        }
        for (number, flags, count) in &self.0 {
            // A semaphore gives one at a time.
            while descriptors::take_message(handle.descriptor(*number)?)?.is_some() {}
            if *count != 0 {
                descriptors::fill(handle.descriptor(*number)?, &count.to_ne_bytes())?;
            }
            super::set_flags_of(&handle.descriptor(*number)?, *flags)?;
        }
        Ok(())
    }
}

/// Timers (timerfd).
pub(super) struct Timers(Vec<Timer>);

struct Timer {
    number: RawFd,
    value: Time,
    interval: Time,
}

/// `(3, 499999999)`
fn time(text: &str) -> Option<Time> {
    let (seconds, rest) = text.strip_prefix('(')?.strip_suffix(')')?.split_once(',')?;
    Some((seconds.trim().parse().ok()?, rest.trim().parse().ok()?))
}

impl Timers {
    pub fn save(list: &[Descriptor]) -> Timers {
        let timers = list.iter().filter(|d| d.target == "anon_inode:[timerfd]");
        let timers = timers.filter_map(|d| {
            Some(Timer {
                number: d.number,
                value: time(d.field("it_value")?)?,
                interval: time(d.field("it_interval")?)?,
            })
        });
        Timers(timers.collect())
    }

    pub fn restore(&self, handle: &PidFd, without: &Items) -> Result<()> {
        if without.contains(Item::Timers) {
            return Ok(());
        }
        for timer in &self.0 {
            let fd = handle.descriptor(timer.number)?;
            descriptors::set_timer(fd.as_fd(), timer.value, timer.interval)?;
        }
        Ok(())
    }
}

/// Modes of terminals.
pub(super) struct Terminals(Vec<(RawFd, TerminalModes)>);

impl Terminals {
    pub fn save(list: &[Descriptor], handle: &PidFd) -> Terminals {
        let is_terminal =
            |d: &&Descriptor| d.target.starts_with("/dev/pts/") || d.target.starts_with("/dev/tty");
        let terminals = list.iter().filter(is_terminal).filter_map(|d| {
            let fd = handle.descriptor(d.number).ok()?;
            Some((d.number, TerminalModes::of(fd.as_fd())?))
        });
        Terminals(terminals.collect())
    }

    pub fn restore(&self, handle: &PidFd, without: &Items) -> Result<()> {
        if without.contains(Item::Modes) {
            return Ok(());
        }
        for (number, modes) in &self.0 {
            modes.apply(handle.descriptor(*number)?.as_fd())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn times_as_the_kernel_writes_them() {
        assert_eq!(super::time("(3, 499999999)"), Some((3, 499_999_999)));
        assert_eq!(super::time("(0, 0)"), Some((0, 0)));
        assert_eq!(super::time("3"), None);
    }
}
