//! Descriptors with a small state of their own: event counters, sets of
//! signals, timers, terminals.

use crate::Result;
use crate::snapshot::{Item, Items};
use std::os::fd::{AsFd, OwnedFd, RawFd};
use verde_engine::Tid;
use verde_sys::descriptor::Descriptor;
use verde_sys::descriptors::{self, TerminalModes, Time};
use verde_sys::pidfd::PidFd;

/// Event counters (eventfd).
pub(super) struct Counters(Vec<(RawFd, i32, u64)>);

fn count(d: &Descriptor) -> Option<u64> {
    u64::from_str_radix(d.field("eventfd-count")?, 16).ok()
}

impl Counters {
    pub fn save(list: &[Descriptor]) -> Counters {
        let events = list.iter().filter(|d| d.anonymous() == Some("[eventfd]"));
        let counters = events.filter_map(|d| Some((d.number, d.flags(), count(d)?)));
        Counters(counters.collect())
    }

    pub fn restore(&self, pid: Tid, handle: &PidFd, without: &Items) -> Result<()> {
        if without.contains(Item::Counters) {
            return Ok(());
        }
        for (number, flags, then) in &self.0 {
            // One that has not changed is left alone, for whoever waits for changes.
            if count(&Descriptor::of(pid, *number)?) != Some(*then) {
                // A semaphore gives one at a time.
                while descriptors::take_message(handle.descriptor(*number)?)?.is_some() {}
                if *then != 0 {
                    descriptors::fill(handle.descriptor(*number)?, &then.to_ne_bytes())?;
                }
            }
            super::set_flags_of(&handle.descriptor(*number)?, *flags)?;
        }
        Ok(())
    }
}

/// Sets of signals that are read (signalfd).
pub(super) struct SignalSets(Vec<(RawFd, i32, u64)>);

impl SignalSets {
    pub fn save(list: &[Descriptor]) -> SignalSets {
        let sets = list.iter().filter(|d| d.anonymous() == Some("[signalfd]"));
        let signals = |d: &Descriptor| u64::from_str_radix(d.field("sigmask")?, 16).ok();
        let sets = sets.filter_map(|d| Some((d.number, d.flags(), signals(d)?)));
        SignalSets(sets.collect())
    }

    pub fn restore(&self, handle: &PidFd, without: &Items) -> Result<()> {
        if without.contains(Item::SignalSets) {
            return Ok(());
        }
        for (number, flags, signals) in &self.0 {
            let fd = handle.descriptor(*number)?;
            descriptors::set_signals(fd.as_fd(), *signals)?;
            super::set_flags_of(&fd, *flags)?;
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
    /// Expirations that were not read.
    expired: u64,
}

/// `(3, 499999999)`
fn time(text: &str) -> Option<Time> {
    let (seconds, rest) = text.strip_prefix('(')?.strip_suffix(')')?.split_once(',')?;
    Some((seconds.trim().parse().ok()?, rest.trim().parse().ok()?))
}

const NEVER: Time = (0, 0);

impl Timer {
    fn of(d: &Descriptor) -> Option<Timer> {
        Some(Timer {
            number: d.number,
            value: time(d.field("it_value")?)?,
            interval: time(d.field("it_interval")?)?,
            expired: d.field("ticks")?.parse().ok()?,
        })
    }

    /// A periodic timer that has expired stands still until it is asked.
    fn stands_still(&self) -> bool {
        self.expired > 0 && self.interval != NEVER
    }
}

impl Timers {
    pub fn save(pid: Tid, list: &[Descriptor], handle: &PidFd) -> Result<Timers> {
        let mut timers = Vec::new();
        for d in list.iter().filter(|d| d.anonymous() == Some("[timerfd]")) {
            let Some(mut timer) = Timer::of(d) else {
                continue;
            };
            if timer.stands_still() {
                descriptors::count_expirations(handle.descriptor(d.number)?.as_fd())?;
                let now = Descriptor::of(pid, d.number)?;
                timer = Timer::of(&now).unwrap_or(timer);
            }
            // Again, by then.
            if timer.stands_still() && timer.value == NEVER {
                timer.value = timer.interval;
            }
            timers.push(timer);
        }
        Ok(Timers(timers))
    }

    pub fn restore(&self, handle: &PidFd, without: &Items) -> Result<()> {
        if without.contains(Item::Timers) {
            return Ok(());
        }
        for timer in &self.0 {
            let fd = handle.descriptor(timer.number)?;
            descriptors::set_timer(fd.as_fd(), timer.value, timer.interval)?;
            if timer.expired > 0 && !descriptors::set_expirations(fd.as_fd(), timer.expired) {
                // One of them, then.
                descriptors::set_timer(fd.as_fd(), (0, 1), timer.interval)?;
            }
        }
        Ok(())
    }
}

/// Modes and window sizes of terminals.
pub(super) struct Terminals(Vec<(RawFd, TerminalModes)>);

fn may_be_terminal(d: &Descriptor) -> bool {
    d.is_device() && !d.is_plain_device()
}

/// The other side of a pseudo terminal.
fn is_master(d: &Descriptor) -> bool {
    may_be_terminal(d) && matches!(d.target(), "/dev/ptmx" | "/dev/pts/ptmx")
}

impl Terminals {
    /// Also the numbers of those with data on their way that the program
    /// itself sends: it has both sides.
    pub fn save(list: &[Descriptor], handle: &PidFd) -> (Terminals, Vec<RawFd>) {
        let is_terminal = |d: &&Descriptor| {
            let named = ["/dev/pts/", "/dev/tty"];
            may_be_terminal(d) && named.iter().any(|at| d.target().starts_with(at))
        };
        let masters = list.iter().filter(|d| is_master(d));
        let mut unread = Vec::new();
        let mut look = |d: &Descriptor, fd: &OwnedFd| {
            if descriptors::has_unread(fd.as_fd()) {
                unread.push(d.number);
            }
        };
        let mut own = false;
        for master in masters {
            own = true;
            if let Ok(fd) = handle.descriptor(master.number) {
                look(master, &fd);
            }
        }
        let terminals = list.iter().filter(is_terminal).filter(|d| !is_master(d));
        let terminals = terminals.filter_map(|d| {
            let fd = handle.descriptor(d.number).ok()?;
            let modes = TerminalModes::of(fd.as_fd())?;
            if own {
                look(d, &fd);
            }
            Some((d.number, modes))
        });
        let terminals = Terminals(terminals.collect());
        (terminals, unread)
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
