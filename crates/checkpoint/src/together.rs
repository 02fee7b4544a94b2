//! Everybody on one CPU while they wait for each other.

use crate::fork::Frozen;
use verde_engine::Tid;
use verde_sys::affinity::CpuSet;

/// Keeps this thread and stopped ones, and so the tasks that they create, on
/// one CPU: each of them runs for a moment while we wait, and a wake-up across
/// CPUs costs many times what one on the same does. It is only for speed.
pub(crate) struct Together {
    here: CpuSet,
    /// Where we run afterwards, if that is not here.
    ours: Option<CpuSet>,
    /// Where whoever never runs may die.
    anywhere: Option<CpuSet>,
    /// Who gets which CPUs afterwards.
    after: Vec<(Tid, CpuSet)>,
}

const SELF: Tid = Tid(0);

impl Together {
    /// `anywhere`: where this thread may run when the engine does not keep it on one CPU.
    pub fn new(anywhere: Option<CpuSet>) -> Together {
        let now = CpuSet::current().ok();
        // The engine may have it there already.
        let ours = now.filter(|set| set.count() > 1);
        let here = CpuSet::here();
        if ours.is_some() {
            let _ = here.apply(SELF);
        }
        Together {
            here,
            ours,
            anywhere: anywhere.or(now),
            after: Vec::new(),
        }
    }

    /// With a thread of the program, which gets its `own` CPUs back. One that may not run here
    /// stays away.
    pub fn with_thread(&mut self, tid: Tid, own: CpuSet) {
        if own.count() > 1 && own.contains(CpuSet::cpu_here()) && self.here.apply(tid).is_ok() {
            self.after.push((tid, own));
        }
    }

    /// With a copy that never runs. A large one may die anywhere, best out of our way. The pages
    /// of a small one would be elsewhere then when they are copied next, which takes longer.
    pub fn with_frozen(&mut self, frozen: &Frozen) {
        if let Some(anywhere) = self.anywhere
            && self.here.apply(frozen.pid).is_ok()
            && !frozen.is_small
        {
            self.after.push((frozen.pid, anywhere));
        }
    }

    /// A task has ended: whoever has its id next is somebody else.
    pub fn without(&mut self, tid: Tid) {
        self.after.retain(|(t, _)| *t != tid);
    }
}

impl Drop for Together {
    fn drop(&mut self) {
        let ours = self.ours.map(|set| (SELF, set));
        for (tid, set) in self.after.drain(..).chain(ours) {
            match set.apply(tid) {
                Err(error) if !error.is_gone() => {
                    tracing::warn!(%error, "affinity not restored");
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn every_task_has_its_cpus_afterwards_unless_it_has_ended() {
        let mut sleep = Command::new("sleep");
        let mut spare = sleep.arg("100").spawn().expect("a process");
        let pid = Tid(spare.id() as i32);
        let own = CpuSet::of(pid).expect("its CPUs");
        let before = own.count();
        let mut together = Together::new(None);
        together.with_thread(pid, own);
        let meanwhile = CpuSet::of(pid).expect("its CPUs").count();
        drop(together);
        let after = CpuSet::of(pid).expect("its CPUs").count();
        let mut together = Together::new(None);
        together.with_thread(pid, own);
        together.without(pid);
        drop(together);
        let successor = CpuSet::of(pid).expect("its CPUs").count();
        spare.kill().expect("killed");
        spare.wait().expect("reaped");
        assert_eq!((meanwhile, after, successor), (1, before, 1));
    }
}
