//! Keeping the tracer on the CPU of the only thread that runs: a stop there
//! costs a fraction of one across CPUs.

use crate::thread::State;
use crate::{Process, Tid};
use verde_sys::affinity::CpuSet;
use verde_sys::procfs::Stat;

/// How many waits pass between two looks at the thread's CPU.
const EVERY: u32 = 64;

#[derive(Debug)]
pub struct Pin {
    original: Option<CpuSet>,
    now: Option<usize>,
    countdown: u32,
}

const SELF: Tid = Tid(0);

impl Pin {
    pub fn new() -> Pin {
        Pin {
            original: CpuSet::current().ok().filter(|set| set.count() > 1),
            now: None,
            countdown: 0,
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
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.undo();
    }
}

impl Process {
    /// Called before each wait.
    pub(crate) fn follow_cpu(&mut self) {
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
}
