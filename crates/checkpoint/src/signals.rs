//! Signals that wait to be delivered, which a fork does not inherit.

use crate::Result;
use crate::leader::Leader;
use crate::snapshot::{Item, Items};
use verde_engine::{Process, SigInfo, Tid};
use verde_sys::number as n;
use verde_sys::ptrace;

/// The pending signals of a process and of its threads.
pub(crate) struct Pending {
    process: Vec<SigInfo>,
    threads: Vec<(Tid, Vec<SigInfo>)>,
}

impl Pending {
    pub fn save(process: &Process) -> Result<Pending> {
        let mut threads = Vec::new();
        for tid in process.threads() {
            let pending = ptrace::pending(tid, false)?;
            if !pending.is_empty() {
                threads.push((tid, pending));
            }
        }
        Ok(Pending {
            process: ptrace::pending(process.pid(), true)?,
            threads,
        })
    }

    /// The process has been sent this one.
    pub fn has(&self, signal: i32) -> bool {
        self.process.iter().any(|info| info.signal() == signal)
    }

    /// The POSIX timers that they tell of.
    pub fn timers(&self) -> impl Iterator<Item = i32> {
        let threads = self.threads.iter().flat_map(|(_, pending)| pending);
        self.process
            .iter()
            .chain(threads)
            .filter_map(SigInfo::timer)
    }

    /// Sends them again. The kernel lets only a thread itself say where a
    /// signal came from.
    pub fn restore(
        &self,
        pid: Tid,
        now: impl Fn(Tid) -> Tid,
        borrow: impl Fn(Tid) -> Result<Leader>,
        without: &Items,
    ) -> Result<()> {
        if without.contains(Item::Signals) {
            return Ok(());
        }
        if !self.process.is_empty() {
            let mut leader = borrow(pid)?;
            let inner = leader.call("getpid", n::SYS_getpid, &[])?;
            for info in &self.process {
                let at = leader.place(0, info.bytes())?;
                let args = [inner, info.signal() as u64, at];
                leader.call("rt_sigqueueinfo", n::SYS_rt_sigqueueinfo, &args)?;
            }
        }
        for (tid, pending) in &self.threads {
            let mut thread = borrow(now(*tid))?;
            let group = thread.call("getpid", n::SYS_getpid, &[])?;
            let inner = thread.call("gettid", n::SYS_gettid, &[])?;
            for info in pending {
                let at = thread.place(0, info.bytes())?;
                let args = [group, inner, info.signal() as u64, at];
                thread.call("rt_tgsigqueueinfo", n::SYS_rt_tgsigqueueinfo, &args)?;
            }
        }
        Ok(())
    }
}
