//! Interrupts a block that does not end.
//!
//! Every block has a number. A thread looks at the number a few times within
//! the limit; when it has been the same for the whole limit, the thread that
//! runs Python gets a signal, whose handler raises in the block. A block that
//! ends meanwhile is not the one that the signal is meant for, and the handler
//! then does nothing.

use std::io::Write as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Python's own use of this signal is rare, and its default action is not needed here.
pub const SIGNAL: i32 = libc::SIGVTALRM;

/// Number of the block that runs now; 0 while none does.
static RUNNING: AtomicU64 = AtomicU64::new(0);
static STARTED: AtomicU64 = AtomicU64::new(0);
/// The block that has used up its time.
static EXPIRED: AtomicU64 = AtomicU64::new(0);
static LIMIT_MS: OnceLock<u64> = OnceLock::new();
/// How many limits the code that runs now may take.
static LIMITS: AtomicU64 = AtomicU64::new(1);

/// What runs, and how long it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Block,
    /// A file of functions: importing large modules takes its time.
    File,
}

impl What {
    fn limits(self) -> u64 {
        match self {
            What::Block => 1,
            What::File => 10,
        }
    }
}

/// Marks a block as running until it is dropped. Blocks do not nest.
pub struct Running(());

pub fn enter(what: What) -> Running {
    LIMITS.store(what.limits(), Ordering::Relaxed);
    let number = STARTED.fetch_add(1, Ordering::Relaxed) + 1;
    RUNNING.store(number, Ordering::Release);
    Running(())
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.store(0, Ordering::Release);
    }
}

/// The block waits for somebody else until this is dropped.
pub struct Paused(u64);

pub fn pause() -> Paused {
    Paused(RUNNING.swap(0, Ordering::AcqRel))
}

impl Drop for Paused {
    fn drop(&mut self) {
        if self.0 != 0 {
            // Under a new number: its time begins again.
            let number = STARTED.fetch_add(1, Ordering::Relaxed) + 1;
            RUNNING.store(number, Ordering::Release);
        }
    }
}

/// The limit in milliseconds if the block that runs now has used it up, else 0.
pub fn expired() -> u64 {
    let running = RUNNING.load(Ordering::Acquire);
    if running != 0 && running == EXPIRED.load(Ordering::Acquire) {
        LIMIT_MS.get().copied().unwrap_or(0) * LIMITS.load(Ordering::Relaxed)
    } else {
        0
    }
}

/// Watches the calling thread.
pub fn start(limit_ms: u64) -> std::io::Result<()> {
    if LIMIT_MS.set(limit_ms).is_err() {
        return Ok(());
    }
    // SAFETY: no preconditions.
    let python = unsafe { libc::pthread_self() };
    let limit = Duration::from_millis(limit_ms);
    std::thread::Builder::new()
        .name("verde-watchdog".into())
        .spawn(move || watch(python, limit))
        .map(drop)
}

fn watch(python: libc::pthread_t, limit: Duration) {
    let mut seen = (0, Instant::now());
    let mut told = 0;
    loop {
        std::thread::sleep((limit / 8).clamp(Duration::from_millis(1), Duration::from_millis(100)));
        let running = RUNNING.load(Ordering::Acquire);
        let limit = limit * LIMITS.load(Ordering::Relaxed) as u32;
        if running != seen.0 {
            seen = (running, Instant::now());
        } else if running != 0 && seen.1.elapsed() >= limit {
            EXPIRED.store(running, Ordering::Release);
            // SAFETY: the thread that started Python lives as long as the process uses the plugin.
            // Sent again until the block is gone: it may have swallowed the exception.
            unsafe { libc::pthread_kill(python, SIGNAL) };
            if told != running && seen.1.elapsed() >= limit * 2 {
                told = running;
                explain(seen.1.elapsed());
            }
        }
    }
}

/// Signals are looked at between two instructions of Python, and a call of C code is one of them.
/// It cannot be left safely; whoever waits for it should know.
fn explain(time: Duration) {
    let mut err = std::io::stderr();
    // Nobody is there to hear of a closed stderr.
    let _ = writeln!(
        err,
        "verde: a block of Python has run for {:.1} s and is inside a call that cannot be interrupted \
         (a builtin such as sum, or a library's function): it is ended when that call returns",
        time.as_secs_f64()
    );
}
