//! CPU affinity of a thread.

use crate::Tid;
use crate::error::{Result, SysError};

/// A set of CPUs.
#[derive(Clone, Copy)]
pub struct CpuSet(pub(crate) libc::cpu_set_t);

impl CpuSet {
    /// Where the calling thread may run.
    pub fn current() -> Result<CpuSet> {
        CpuSet::of(Tid(0))
    }

    /// Where a thread (0: the caller) may run.
    pub fn of(tid: Tid) -> Result<CpuSet> {
        // SAFETY: cpu_set_t is plain bits, all zero is the empty set.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: `set` has the size given.
        if unsafe { libc::sched_getaffinity(tid.0, size_of::<libc::cpu_set_t>(), &mut set) } != 0 {
            return Err(SysError::last("sched_getaffinity"));
        }
        Ok(CpuSet(set))
    }

    /// Just one CPU.
    pub fn only(cpu: usize) -> CpuSet {
        // SAFETY: as above; CPU_SET ignores numbers outside of the set.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(cpu, &mut set);
            CpuSet(set)
        }
    }

    /// The CPU that the calling thread is on now, as a set.
    pub fn here() -> CpuSet {
        CpuSet::only(CpuSet::cpu_here())
    }

    /// The CPU that the calling thread is on now.
    pub fn cpu_here() -> usize {
        // SAFETY: no memory is involved.
        unsafe { libc::sched_getcpu() }.max(0) as usize
    }

    /// Whether a CPU is in the set.
    pub fn contains(&self, cpu: usize) -> bool {
        // SAFETY: reads the set; numbers outside of it are not in it.
        unsafe { libc::CPU_ISSET(cpu, &self.0) }
    }

    /// How many CPUs are in the set.
    pub fn count(&self) -> usize {
        // SAFETY: reads the set.
        unsafe { libc::CPU_COUNT(&self.0) as usize }
    }

    /// Keeps a thread (0: the caller) on these CPUs.
    pub fn apply(&self, tid: Tid) -> Result<()> {
        // SAFETY: the set has the size given.
        if unsafe { libc::sched_setaffinity(tid.0, size_of::<libc::cpu_set_t>(), &self.0) } != 0 {
            return Err(SysError::last("sched_setaffinity"));
        }
        Ok(())
    }
}

impl std::fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CpuSet({} CPUs)", self.count())
    }
}
