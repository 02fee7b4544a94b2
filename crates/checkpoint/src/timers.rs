//! Timers of the process, which a fork does not inherit: interval timers and
//! POSIX timers.

use crate::Result;
use crate::leader::Leader;
use crate::signals::Pending;
use crate::snapshot::{Item, Items};
use verde_engine::Tid;
use verde_sys::number as n;
use verde_sys::payload;
use verde_sys::procfs::{self, PosixTimer};

/// Lets `timer_create` take the id to give (Linux 6.15).
const PR_TIMER_CREATE_RESTORE_IDS: u64 = 77;
/// Without it, as many timers are made as it takes.
const MOST_TRIES: u64 = 4096;
/// Where in the scratch memory the id goes, and the times.
const ID: u64 = 64;
const TIMES: u64 = 128;

/// Period and time left of the real, virtual and profiling timer.
pub(crate) type Intervals = [[u64; 4]; payload::INTERVALS];
const _: () = assert!(size_of::<[u64; 4]>() as u64 == payload::INTERVAL_SIZE);

const REAL: usize = 0;
const NONE: [u64; 2] = [0, 0];
const AT_ONCE: [u64; 2] = [0, 1];

/// The timers of a process.
pub(crate) struct Timers {
    intervals: Intervals,
    posix: Vec<(PosixTimer, [u64; 4])>,
}

impl Timers {
    /// The interval timers have been read already, the pending signals before them.
    pub fn save(
        pid: Tid,
        leader: &mut Leader,
        mut intervals: Intervals,
        pending: &Pending,
    ) -> Result<Timers> {
        let [period @ .., _, _] = intervals[REAL];
        // A periodic one that has expired stands still until its signal is taken.
        if intervals[REAL][2..] == NONE && period != NONE {
            intervals[REAL][2..].copy_from_slice(match pending.has(n::SIGALRM) {
                true => &period,
                false => &AT_ONCE,
            });
        }
        let at = leader.scratch.data.0;
        let mut posix = Vec::new();
        for timer in procfs::timers(pid)? {
            let args = [timer.id as u64, at];
            leader.call("timer_gettime", n::SYS_timer_gettime, &args)?;
            posix.push((timer, leader.words(0)?));
        }
        Ok(Timers { intervals, posix })
    }

    /// A POSIX timer that expires again and again.
    pub fn is_periodic(&self, id: i32) -> bool {
        let mut posix = self.posix.iter();
        posix.any(|(timer, [seconds, rest, ..])| timer.id == id && (*seconds, *rest) != (0, 0))
    }

    pub fn is_empty(&self) -> bool {
        self.posix.is_empty() && self.intervals.iter().flatten().all(|w| *w == 0)
    }

    pub fn restore(
        &self,
        leader: &mut Leader,
        without: &Items,
        now: impl Fn(Tid) -> Tid,
    ) -> Result<()> {
        if without.contains(Item::PosixTimers) {
            return Ok(());
        }
        for (kind, times) in self.intervals.iter().enumerate() {
            if times.iter().any(|w| *w != 0) {
                let at = leader.place(TIMES, &bytes(times))?;
                leader.call("setitimer", n::SYS_setitimer, &[kind as u64, at, 0])?;
            }
        }
        if self.posix.is_empty() {
            return Ok(());
        }
        let prctl = |leader: &mut Leader, on| {
            leader.call("prctl", n::SYS_prctl, &[PR_TIMER_CREATE_RESTORE_IDS, on])
        };
        let by_id = prctl(leader, 1).is_ok();
        for (timer, times) in &self.posix {
            create(leader, timer, by_id, &now)?;
            let at = leader.place(TIMES, &bytes(times))?;
            let args = [timer.id as u64, 0, at, 0];
            leader.call("timer_settime", n::SYS_timer_settime, &args)?;
        }
        if by_id {
            prctl(leader, 0)?;
        }
        Ok(())
    }
}

fn create(
    leader: &mut Leader,
    timer: &PosixTimer,
    by_id: bool,
    now: impl Fn(Tid) -> Tid,
) -> Result<()> {
    let mut event = [0u8; 64];
    event[..8].copy_from_slice(&timer.value.to_ne_bytes());
    event[8..12].copy_from_slice(&timer.signal.to_ne_bytes());
    event[12..16].copy_from_slice(&timer.notify.to_ne_bytes());
    let thread = timer.thread.map_or(0, |t| now(t).0);
    event[16..20].copy_from_slice(&thread.to_ne_bytes());
    let event = leader.place(0, &event)?;
    for _ in 0..MOST_TRIES {
        let id = leader.place(ID, &(timer.id as u32).to_ne_bytes())?;
        let args = [timer.clock as u64, event, id];
        leader.call("timer_create", n::SYS_timer_create, &args)?;
        let [got] = leader.words(ID)?;
        if by_id || got as i32 == timer.id {
            break;
        }
        leader.call("timer_delete", n::SYS_timer_delete, &[got & 0xffff_ffff])?;
    }
    Ok(())
}

fn bytes(words: &[u64; 4]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_ne_bytes()).collect()
}
