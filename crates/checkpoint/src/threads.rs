//! What the kernel keeps for each thread, as a table.

use crate::Result;
use crate::snapshot::{Item, Items};
use crate::timers::Intervals;
use verde_engine::{Addr, Process, Regs, Scratch, Tid, XState};
use verde_sys::affinity::CpuSet;
use verde_sys::memory::Contents;
use verde_sys::number as n;
use verde_sys::payload::{self, AltStack, Attributes, CloneArgs, SaveEntry, ThreadEntry};
use verde_sys::remote::Remote;
use verde_sys::task::{self, Rseq, Scheduling};
use verde_sys::{procfs, ptrace};

/// A call that resumes by a record in the kernel, which a copy lacks.
const RESTART_BY_RECORD: u64 = -516i64 as u64;
const NO_CALL: u64 = u64::MAX;

/// One thread.
pub(crate) struct ThreadState {
    pub tid: Tid,
    /// The id it knows itself by.
    pub inner: Tid,
    pub regs: Regs,
    pub mask: u64,
    pub xstate: XState,
    rseq: Rseq,
    /// Its list of robust futexes and the size of its head.
    pub robust: (u64, u64),
    affinity: Option<CpuSet>,
    pub scheduling: Option<Scheduling>,
    name: [u8; 16],
    stack: AltStack,
    pub clear_tid: u64,
    attributes: Attributes,
}

/// What was read of a process.
pub(crate) struct Saved {
    /// The first thread first.
    pub threads: Vec<ThreadState>,
    pub intervals: Intervals,
    /// Orphans among its descendants become its children (`PR_SET_CHILD_SUBREAPER`).
    pub adopts_orphans: bool,
    /// Threads with a keyring of their own; the first one also if the process has one.
    pub keyrings: Vec<Tid>,
    /// The processes that its threads have started.
    pub children: Vec<Tid>,
    /// The copy that was made in passing.
    pub copy: Option<Tid>,
    /// The first thread, borrowed.
    pub remote: Remote,
}

/// Bytes of the process's own, and of what it is copied with.
const OF_PROCESS: u64 = payload::OF_PROCESS + CloneArgs::SIZE;

/// As much memory for so many threads.
pub(crate) fn room(threads: usize) -> u64 {
    threads as u64 * SaveEntry::SIZE + OF_PROCESS
}

/// Reads the table of a stopped, calm process, and its interval timers on the way. `place`: memory
/// for that and where calls are made. `copy`: how to copy it in passing. `own`: the CPUs of the
/// first thread, which is elsewhere for our sake.
pub(crate) fn save(
    process: &Process,
    contents: &Contents,
    place: (Scratch, Addr),
    copy: Option<&CloneArgs>,
    own: Option<CpuSet>,
) -> Result<Saved> {
    let (scratch, instruction) = place;
    let pid = process.pid();
    let mut tids = process.threads();
    tids.retain(|t| *t != pid);
    tids.insert(0, pid);
    let mut remotes = Vec::with_capacity(tids.len());
    let mut table = Vec::with_capacity(tids.len());
    for tid in &tids {
        let mask = ptrace::signal_mask(*tid)?;
        table.push(ThreadState {
            tid: *tid,
            inner: match process.has_namespace() {
                true => procfs::inner_id(pid, *tid).unwrap_or(*tid),
                false => *tid,
            },
            regs: process.regs_for_copy(*tid)?,
            mask,
            xstate: ptrace::xstate(*tid)?,
            // Old kernels cannot tell; then there is none to lose either.
            rseq: task::rseq(*tid).unwrap_or_default(),
            robust: task::robust_list(*tid)?,
            affinity: match *tid == pid {
                true => own,
                false => CpuSet::of(*tid).ok(),
            },
            scheduling: Scheduling::of(*tid).ok(),
            name: [0; 16],
            stack: AltStack::OFF,
            clear_tid: 0,
            attributes: Attributes::default(),
        });
    }
    let room = scratch.data + tids.len() as u64 * SaveEntry::SIZE;
    let fork = room + payload::OF_PROCESS;
    if let Some(copy) = copy {
        contents.write(fork, &copy.encode())?;
    }
    // In all threads at once.
    for (i, thread) in table.iter().enumerate() {
        let regs = *process.regs(thread.tid)?;
        let mut remote = Remote::begin_known(thread.tid, regs, thread.mask, instruction)?;
        let entry = scratch.data + i as u64 * SaveEntry::SIZE;
        remote.start(payload::save(scratch.code), |regs| {
            regs.rbx = entry.0;
            // They are the process's, so one thread is enough.
            regs.r12 = if i == 0 { room.0 } else { 0 };
            regs.r13 = if i == 0 && copy.is_some() { fork.0 } else { 0 };
        })?;
        remotes.push(remote);
    }
    // The first one comes first: when the program is killed, whoever looks for its copies must find
    // the one that it has just made.
    let mut forked = None;
    for remote in &mut remotes {
        let answer = remote.finish()?.rax as i64;
        forked.get_or_insert(answer);
    }
    let mut bytes = vec![0; crate::threads::room(table.len()) as usize];
    process.read(scratch.data, &mut bytes)?;
    let (entries, of_process) = bytes.split_at(table.len() * SaveEntry::SIZE as usize);
    let entries = entries.chunks_exact(SaveEntry::SIZE as usize);
    let mut keyrings = Vec::new();
    for (thread, entry) in table.iter_mut().zip(entries) {
        if let Some(entry) = SaveEntry::decode(entry) {
            thread.stack = entry.stack;
            thread.clear_tid = entry.clear_tid;
            thread.attributes = entry.attributes;
            thread.name = entry.name;
            if entry.has_keyring {
                keyrings.push(thread.tid);
            }
        }
    }
    let mut intervals = Intervals::default();
    let mut words = of_process.as_chunks::<8>().0.iter().copied();
    for (word, bytes) in intervals.iter_mut().flatten().zip(&mut words) {
        *word = u64::from_ne_bytes(bytes);
    }
    let adopts_orphans = words.next().is_some_and(|w| w[0] != 0);
    let no_children = words.next().map(i64::from_ne_bytes) == Some(-i64::from(n::ECHILD));
    let children = match no_children {
        true => Vec::new(),
        false => procfs::children(pid, &tids),
    };
    let of_process = words.next().map(u64::from_ne_bytes);
    if of_process.is_some_and(payload::is_keyring) && !keyrings.contains(&pid) {
        keyrings.push(pid);
    }
    let answer = forked.filter(|_| copy.is_some());
    let copied = answer.and_then(|id| i32::try_from(id).ok());
    Ok(Saved {
        // An error: it is tried again in the ordinary way, which has an answer to it.
        copy: copied.filter(|id| *id > 0).map(Tid),
        threads: table,
        intervals,
        adopts_orphans,
        keyrings,
        children,
        remote: remotes.swap_remove(0),
    })
}

impl ThreadState {
    /// The registers to go on with in a copy.
    pub fn registers(&self, without: &Items) -> Regs {
        let mut regs = self.regs;
        if regs.orig_rax != NO_CALL
            && regs.rax == RESTART_BY_RECORD
            && !without.contains(Item::Restart)
        {
            // Call again with the same arguments.
            regs.rip -= 2;
            regs.rax = regs.orig_rax;
            regs.orig_rax = NO_CALL;
        }
        regs
    }

    /// The entry at `at` that creates the thread. The first one exists and
    /// only sets its own state.
    pub fn entry(
        &self,
        at: Addr,
        leader: &ThreadState,
        keeps_rseq: bool,
        without: &Items,
    ) -> ThreadEntry {
        let keep = |item: Item| !without.contains(item);
        let mut flags = n::CLONE_VM
            | n::CLONE_FS
            | n::CLONE_FILES
            | n::CLONE_SIGHAND
            | n::CLONE_THREAD
            | n::CLONE_SYSVSEM
            | n::CLONE_SETTLS
            | n::CLONE_PTRACE
            | n::CLONE_UNTRACED;
        let mut clone = CloneArgs {
            tls: self.regs.fs_base,
            ..CloneArgs::default()
        };
        if self.clear_tid != 0 && keep(Item::ClearTid) {
            flags |= n::CLONE_CHILD_CLEARTID;
            clone.child_tid = self.clear_tid;
        }
        clone.flags = flags as u32 as u64;
        if keep(Item::Ids) {
            clone.set_tid = at.0 + ThreadEntry::TID;
            clone.set_tid_size = 1;
        }
        let rseq = match keeps_rseq || !keep(Item::Rseq) {
            true => (0, 0, 0),
            false => (
                self.rseq.at,
                u64::from(self.rseq.size),
                u64::from(self.rseq.signature),
            ),
        };
        ThreadEntry {
            clone,
            tid: self.inner.0,
            robust: if keep(Item::Robust) {
                self.robust
            } else {
                (0, 0)
            },
            rseq,
            stack: if keep(Item::AltStack) {
                self.stack.settable()
            } else {
                AltStack::OFF
            },
            name: if keep(Item::Name) { self.name } else { [0; 16] },
            attributes: match keep(Item::Attributes) {
                true => self.attributes.beyond(&leader.attributes),
                false => Attributes::default(),
            },
            tiles: keep(Item::Vectors) && self.xstate.has_tiles(),
        }
    }

    /// Gives a new thread what can be set from outside. `false`: the kernel
    /// refused its place among the CPUs.
    pub fn apply(&self, tid: Tid, like: &ThreadState, without: &Items) -> Result<bool> {
        let mut complete = true;
        if !without.contains(Item::Affinity)
            && let Some(affinity) = &self.affinity
        {
            complete &= affinity.apply(tid).is_ok();
        }
        // Inherited from the first thread, and usually the same.
        let inherited = self.scheduling == like.scheduling
            && !like.scheduling.is_some_and(|s| s.is_not_inherited());
        if !without.contains(Item::Scheduling)
            && !inherited
            && let Some(scheduling) = &self.scheduling
        {
            complete &= scheduling.apply(tid).is_ok();
        }
        if !without.contains(Item::Vectors) {
            ptrace::set_xstate(tid, &self.xstate)?;
        }
        Ok(complete)
    }
}
