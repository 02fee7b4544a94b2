//! Several threads that hit in turns: on the engine's CPU together, or left
//! where the scheduler puts them?
//!
//! When they do little but hit, the engine is what they all wait for, and
//! every stop across CPUs makes it later. When they compute between hits,
//! one CPU for all is worse. Nobody can tell from outside, so both are tried
//! and what took less time goes on for longer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use verde_sys::doorbell::Button;

/// Hits between two looks at the clock.
const WINDOW: u32 = 64;
/// A window that takes longer has other work in it than hits.
const DENSE: Duration = Duration::from_millis(8);
/// The longest time in one of the two ways, in windows.
const LONGEST: u32 = 128;

#[derive(Debug)]
pub struct Crowd {
    together: bool,
    hits: u32,
    since: Option<Instant>,
    /// The window in which the way changed counts for neither.
    settling: bool,
    /// What a window took apart.
    apart: Duration,
    /// Windows until the other way is tried.
    left: u32,
    /// How long to stay together, and apart, the next time.
    spell: u32,
    patience: u32,
}

impl Crowd {
    pub fn new() -> Crowd {
        Crowd {
            together: false,
            hits: 0,
            since: None,
            settling: true,
            apart: Duration::MAX,
            left: 1,
            spell: 1,
            patience: 1,
        }
    }

    pub fn is_together(&self) -> bool {
        self.together
    }

    /// One thread has all the hits now.
    pub fn disperse(&mut self) {
        self.together = false;
        self.settling = true;
    }

    /// Another hit in turns: whether its thread should be with the others.
    pub fn hit(&mut self, now: impl FnOnce() -> Instant) -> bool {
        self.hits += 1;
        if self.hits >= WINDOW {
            self.hits = 0;
            let now = now();
            let took = self.since.replace(now).map(|then| now - then);
            let settled = !std::mem::take(&mut self.settling);
            if let (true, Some(took)) = (settled, took) {
                self.judge(took);
            }
        }
        self.together
    }

    fn judge(&mut self, took: Duration) {
        self.left = self.left.saturating_sub(1);
        if !self.together {
            self.apart = took;
            if self.left == 0 && took <= DENSE {
                self.change(true, self.spell);
            }
        } else if took >= self.apart {
            self.spell = 1;
            self.patience = (self.patience * 2).min(LONGEST);
            self.change(false, self.patience);
        } else if self.left == 0 {
            // A window apart shows whether that has become better.
            self.spell = (self.spell * 2).min(LONGEST);
            self.patience = 1;
            self.change(false, 1);
        }
    }

    fn change(&mut self, together: bool, windows: u32) {
        self.together = together;
        self.left = windows;
        self.settling = true;
    }
}

/// Rings now and then while threads are held together, so that those that
/// went on to something longer are let go.
#[derive(Debug)]
pub struct Ticker {
    on: Arc<AtomicBool>,
    thread: std::thread::Thread,
}

const TICK: Duration = Duration::from_millis(5);

impl Ticker {
    pub fn start(button: Button, reason: u32) -> std::io::Result<Ticker> {
        let on = Arc::new(AtomicBool::new(true));
        let theirs = Arc::downgrade(&on);
        let thread = std::thread::Builder::new()
            .name("ticker".into())
            .spawn(move || tick(&theirs, &button, reason))?
            .thread()
            .clone();
        Ok(Ticker { on, thread })
    }

    pub fn turn(&self, on: bool) {
        if self.on.swap(on, Ordering::Relaxed) != on && on {
            self.thread.unpark();
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.on = Arc::default();
        self.thread.unpark();
    }
}

/// Until nobody can turn it on any more.
fn tick(on: &Weak<AtomicBool>, button: &Button, reason: u32) {
    while let Some(on) = on.upgrade().map(|on| on.load(Ordering::Relaxed)) {
        match on {
            true => {
                std::thread::sleep(TICK);
                button.ring(reason);
            }
            false => std::thread::park(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hits with the time that each takes together and apart; how many were together.
    fn share(hits: u32, together: Duration, apart: Duration) -> u32 {
        let mut crowd = Crowd::new();
        let mut now = Instant::now();
        let mut is = false;
        let mut count = 0;
        for _ in 0..hits {
            now += if is { together } else { apart };
            is = crowd.hit(|| now);
            count += u32::from(is);
        }
        count
    }

    #[test]
    fn what_takes_less_time_goes_on() {
        let us = Duration::from_micros;
        assert!(share(100_000, us(8), us(34)) > 90_000);
        assert!(share(100_000, us(30), us(15)) < 5_000);
        assert_eq!(share(10_000, us(8), us(300)), 0, "other work");
    }
}
