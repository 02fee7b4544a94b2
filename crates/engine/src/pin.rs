//! Engine and program on one CPU while one thread has all the hits, or
//! several that do little else: a stop there costs a fraction of one across
//! CPUs.
//!
//! Where another CPU is idle the kernel wakes the thread there, away from the
//! engine, at every resume. So the thread is *held* on the engine's CPU, and
//! must not notice: while it is held it runs its own code only. It is resumed
//! to its next system call, where it parts before the kernel hears of it; and
//! every other stop than a hit, step, remote call or detach parts it too.
//! Another thread or process that asks for its set of CPUs does see the one it
//! is held on. One that gives it another set is obeyed, unless that is this
//! very CPU.

use crate::crowd::{Crowd, Ticker};
use crate::process::RING_TICK;
use crate::thread::{State, Thread};
use crate::{Process, Tid};
use std::time::Instant;
use verde_sys::affinity::CpuSet;
use verde_sys::doorbell::Doorbell;
use verde_sys::procfs::Stat;

/// So many hits in a row make a thread the only one that matters.
const ROW: u32 = 32;
/// How many waits pass between two looks at the thread's CPU.
const EVERY: u32 = 64;
/// A spell of so many hits ends by itself: the scheduler may know a better CPU.
const LONGEST: u32 = 1024;
/// A spell of fewer hits was not worth its system call stop.
const WORTH: u32 = 2;
/// So many of them in a row tell nothing: the loader's traps and that at the program's entry
/// are hit once, before a program comes to those that matter.
const FORGIVEN: u32 = 4;
/// After more the time apart doubles each time, up to 256 hits, for programs that call the
/// system between any two.
const MOST_SHORT: u32 = FORGIVEN + 8;

#[derive(Debug)]
pub struct Pin {
    original: Option<CpuSet>,
    now: Option<usize>,
    countdown: u32,
    /// The threads that are held.
    held: Vec<Tid>,
    /// Who had the last hit, and how many in a row.
    last: Tid,
    row: u32,
    spells: Spells,
    crowd: Crowd,
    ticker: Option<Ticker>,
}

/// A thread held on a CPU, and where it may run by itself.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    own: CpuSet,
    cpu: usize,
}

/// When to hold the thread: hits together and apart.
#[derive(Debug)]
struct Spells {
    together: u32,
    apart: u32,
    /// How many more were too short than were not.
    short: u32,
}

impl Spells {
    /// The hits apart before the next spell.
    fn patience(&self) -> u32 {
        1 << self.short.saturating_sub(FORGIVEN)
    }

    fn parted(&mut self) {
        self.short = if self.together < WORTH {
            (self.short + 1).min(MOST_SHORT)
        } else {
            self.short.saturating_sub(1)
        };
        self.together = 0;
        self.apart = 0;
    }
}

const SELF: Tid = Tid(0);

impl Pin {
    pub fn new() -> Pin {
        Pin {
            original: CpuSet::current().ok().filter(|set| set.count() > 1),
            now: None,
            countdown: 0,
            held: Vec::new(),
            last: SELF,
            row: 0,
            spells: Spells {
                together: 0,
                apart: 0,
                short: 0,
            },
            crowd: Crowd::new(),
            ticker: None,
        }
    }

    /// Where the engine's thread may run when it is not pinned.
    pub fn original(&self) -> Option<CpuSet> {
        self.original
    }

    fn to(&mut self, cpu: usize) {
        if self.original.is_some() && self.now != Some(cpu) {
            // Not allowed there: stay unpinned, only slower.
            self.now = CpuSet::only(cpu).apply(SELF).is_ok().then_some(cpu);
        }
    }

    /// Goes back to where the thread was allowed to run.
    pub fn undo(&mut self) {
        if self.now.take().is_some()
            && let Some(set) = &self.original
            && let Err(error) = set.apply(SELF)
        {
            tracing::warn!(%error, "affinity not restored");
        }
    }

    /// Holds a thread on the engine's CPU. One that may not run here is not held.
    fn hold(&mut self, thread: &mut Thread) {
        let cpu = CpuSet::cpu_here();
        self.to(cpu);
        if self.now == Some(cpu)
            && let Ok(own) = CpuSet::of(thread.tid)
            && own.count() > 1
            && own.contains(cpu)
            && CpuSet::only(cpu).apply(thread.tid).is_ok()
        {
            thread.held = Some(Held { own, cpu });
            self.held.push(thread.tid);
        }
    }

    /// A thread has ended: whoever has its id next is somebody else.
    pub fn forget(&mut self, tid: Tid) {
        self.held.retain(|held| *held != tid);
    }

    /// All have ended, or go on as other programs.
    pub fn forget_all(&mut self) {
        self.held.clear();
    }

    /// Gives a held thread its own set of CPUs back, unless another thread has
    /// given it a set meanwhile.
    pub fn part(&mut self, thread: &mut Thread) {
        if thread.held.is_some() && !self.crowd.is_together() {
            self.spells.parted();
        }
        self.let_go(thread);
    }

    /// The same, but how long the thread was held tells nothing of it.
    fn let_go(&mut self, thread: &mut Thread) {
        if let Some(Held { own, cpu }) = thread.held.take() {
            self.forget(thread.tid);
            let ours = |now: CpuSet| now.count() == 1 && now.contains(cpu);
            if CpuSet::of(thread.tid).is_ok_and(ours)
                && let Err(error) = own.apply(thread.tid)
                && !error.is_gone()
            {
                tracing::warn!(%error, "the thread's affinity is not restored");
            }
        }
    }
}

impl Pin {
    /// Sees to it that threads held together are looked at now and then.
    fn tick(&mut self, doorbell: &Doorbell) -> bool {
        match &self.ticker {
            Some(ticker) => {
                ticker.turn(true);
                true
            }
            None => {
                self.ticker = Ticker::start(doorbell.button(), RING_TICK).ok();
                self.ticker.is_some()
            }
        }
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.undo();
    }
}

impl Process {
    /// Called before each wait.
    pub(crate) fn follow_cpu(&mut self) {
        if !self.pin.held.is_empty() {
            return;
        }
        if self.threads.len() != 1 {
            self.pin.undo();
            return;
        }
        if self.pin.countdown > 0 {
            self.pin.countdown -= 1;
            return;
        }
        self.pin.countdown = EVERY;
        let pid = self.pid;
        for thread in self.threads.values_mut() {
            if thread.state != State::Running {
                continue;
            }
            if thread.stat.is_none() {
                thread.stat = Stat::open(pid, thread.tid).ok();
            }
            if let Some(cpu) = thread.stat.as_ref().and_then(Stat::cpu) {
                self.pin.to(cpu);
            }
        }
    }

    /// A thread goes on from a hit: holds it here, or lets it part.
    pub(crate) fn hold_or_part(&mut self, tid: Tid) {
        let alone = self.threads.len() == 1;
        let pin = &mut self.pin;
        pin.row = match pin.last == tid {
            true => pin.row.saturating_add(1),
            false => 0,
        };
        pin.last = tid;
        if pin.original.is_none() {
            return;
        }
        match (alone || pin.row >= ROW) && !self.options.hold_all {
            true => self.hold_one(tid),
            false => self.hold_some(tid),
        }
    }

    /// One thread has all the hits.
    fn hold_one(&mut self, tid: Tid) {
        let pin = &mut self.pin;
        pin.crowd.disperse();
        if pin.held == [tid] {
            pin.spells.together += 1;
            if pin.spells.together > LONGEST {
                self.part_all();
                self.pin.undo();
            }
            return;
        }
        // From stop to stop it goes on growing: who was let go for a stop is held again at once.
        pin.spells.apart = pin.spells.apart.saturating_add(1);
        let eager = pin.spells.apart >= pin.spells.patience();
        self.part_all();
        if eager && let Some(thread) = self.threads.get_mut(&tid) {
            self.pin.hold(thread);
        }
    }

    /// Several threads hit in turns.
    fn hold_some(&mut self, tid: Tid) {
        if !self.pin.crowd.hit(Instant::now) && !self.options.hold_all {
            self.part_all();
            return;
        }
        let Some(thread) = self.threads.get_mut(&tid) else {
            return;
        };
        thread.hit_lately = true;
        if thread.held.is_none() && self.pin.tick(&self.doorbell) {
            self.pin.hold(thread);
        }
    }

    /// Held threads that have not hit for a while part.
    #[cold]
    pub(crate) fn part_idle(&mut self) {
        for tid in self.pin.held.clone() {
            if let Some(thread) = self.threads.get_mut(&tid)
                && !std::mem::take(&mut thread.hit_lately)
            {
                self.pin.part(thread);
            }
        }
    }

    /// Nothing is held any more. Also right while threads run.
    pub(crate) fn part_all(&mut self) {
        self.part_all_by(Pin::part);
    }

    /// Nothing is held any more, for the world stops. That ends a spell early which might have been
    /// worth its while.
    pub(crate) fn part_in_stop(&mut self) {
        self.part_all_by(Pin::let_go);
        self.pin.spells.together = 0;
    }

    fn part_all_by(&mut self, part: fn(&mut Pin, &mut Thread)) {
        if let Some(ticker) = &self.pin.ticker {
            ticker.turn(false);
        }
        for tid in std::mem::take(&mut self.pin.held) {
            if let Some(thread) = self.threads.get_mut(&tid) {
                part(&mut self.pin, thread);
            }
        }
    }
}
