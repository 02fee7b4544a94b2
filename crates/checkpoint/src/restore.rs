//! Restoring a snapshot.

use crate::descriptors::Ids;
use crate::filter::{self, Suspended};
use crate::fork::{Copy, Frozen, fork};
use crate::leader::Leader;
use crate::loan::Space;
use crate::memory;
use crate::snapshot::{Group, Item, Items, Program, Snapshot};
use crate::threads::ThreadState;
use crate::together::Together;
use crate::unfinished::Unfinished;
use crate::{Error, Present, Result, Warning, WhyNewIds};
use std::time::{Duration, Instant};
use verde_engine::{Addr, Owner, Process, Succession, Tid, Trap};
use verde_sys::affinity::CpuSet;
use verde_sys::memory::Contents;
use verde_sys::number as n;
use verde_sys::payload::{self, CloneArgs, ThreadEntry};
use verde_sys::ptrace::{self, IfTracerDies};
use verde_sys::remote::{Remote, RemoteError};
use verde_sys::sizes::Sizes;
use verde_sys::{SysError, procfs, task, wait};

/// What a restore did.
#[derive(Debug)]
pub struct Restored {
    /// How long it took.
    pub elapsed: Duration,
    /// What is not as it was.
    pub warnings: Vec<Warning>,
    /// What the owner of the process must know.
    pub change: Succession,
    /// The ids of the threads at the checkpoint, with those of now.
    pub ids: Vec<(Tid, Tid)>,
    /// What was replaced, if it was to be kept.
    pub present: Option<Snapshot>,
}

impl Restored {
    /// The id that a thread of the checkpoint has now.
    pub fn id_now(&self, then: Tid) -> Tid {
        let found = self.ids.iter().find(|(t, _)| *t == then);
        found.map_or(then, |(_, now)| *now)
    }
}

pub(crate) fn restore(
    snapshot: &Snapshot,
    process: &mut Process,
    present: Option<Present>,
    without: &Items,
) -> Result<Restored> {
    let start = Instant::now();
    let has_memory = present.as_ref().is_some_and(Present::has_memory);
    let Place {
        holder,
        mut together,
        lends,
    } = match make_place(snapshot, process, has_memory) {
        Ok(place) => place,
        Err(error) => {
            if let Some(present) = present {
                present.abandon(process);
            }
            return Err(error);
        }
    };
    let present = present.and_then(Present::outlive);
    together.with_frozen(&snapshot.body.borrow().frozen);
    let result = replace(snapshot, lends, process, without);
    drop(together);
    drop(holder);
    match result {
        Ok(mut restored) => {
            restored.elapsed = start.elapsed();
            let children = present.as_ref().map(|present| running(&present.children));
            if let Some(left) = children.filter(|left| !left.is_empty()) {
                restored.warnings.push(Warning::Orphans(left));
            }
            restored.present = present;
            Ok(restored)
        }
        Err(error) => {
            let put_back = present.and_then(|present| {
                present.settle().ok()?;
                replace(&present, false, process, &Items::default()).ok()
            });
            let source = match error {
                // It was not the program that was refused.
                Error::Refused(error) => Error::Sys(error),
                Error::Remote(RemoteError::Ended(_)) => Error::Ended,
                error if error.is_of_gone() || error.is_known_end() => Error::Ended,
                other => other,
            };
            Err(Error::Broken {
                source: Box::new(source),
                put_back: put_back.map(Box::new),
            })
        }
    }
}

/// Where a process was.
struct Place {
    /// Who has its memory until it can be torn down.
    holder: Option<Frozen>,
    together: Together,
    /// The memory of the snapshot can go on in its place, and be copied later.
    lends: bool,
}

/// Ends the present process. `kept`: its memory stays.
fn make_place(snapshot: &Snapshot, process: &mut Process, kept: bool) -> Result<Place> {
    Snapshot::check(process)?;
    if !snapshot.is_alive() {
        return Err(Error::Lost);
    }
    let lends = snapshot.can_lend();
    if !lends {
        snapshot.settle()?;
    }
    // Tearing the memory down takes as long as copying it: later, elsewhere.
    let space = Space::of(process.pid());
    let stays = kept || space.as_ref().is_some_and(|space| !space.is_empty());
    let is_large = || Sizes::of(process.pid()).is_none_or(|sizes| !memory::is_small(&sizes));
    let holder = match !stays && process.ended().is_none() && is_large() {
        true => hold(process),
        false => None,
    };
    let mut together = Together::new(process.own_cpus());
    let pid = process.pid();
    if process.ended().is_none()
        && let Ok(own) = CpuSet::of(pid)
    {
        together.with_thread(pid, own);
    }
    if let Some(space) = &space {
        space.is_left();
    }
    if let Err(error) = process.make_place() {
        if let Some(space) = &space {
            space.has_program(pid);
        }
        return Err(error.into());
    }
    if let Some(space) = &space {
        space.offer();
    }
    together.without(pid);
    Ok(Place {
        holder,
        together,
        lends,
    })
}

/// Those of these processes that have not ended.
fn running(pids: &[Tid]) -> Vec<Tid> {
    let mut list = pids.to_vec();
    list.retain(|pid| {
        let state = procfs::status_field(*pid, *pid, "State");
        state.is_some_and(|s| !s.starts_with(['Z', 'X']))
    });
    list
}

/// A process that shares the memory of the present one, to outlive it.
fn hold(process: &mut Process) -> Option<Frozen> {
    let mut world = process.stop_all().ok()?;
    world.calm().ok()?;
    let scratch = world.scratch(ThreadEntry::SIZE).ok()?;
    let pid = world.pid();
    let instruction = world.syscall_instruction().ok()?;
    // Its filter might object, or its session keep the id in use; it is only for speed.
    if filter::look(&world, &world.threads()).map_or(true, |looked| looked.filtered)
        || task::session(pid).is_ok_and(|leader| leader == pid)
    {
        return None;
    }
    let program = Program {
        namespaced: world.has_namespace(),
        ..Program::plain(pid)
    };
    let mut leader = Leader::borrow(pid, instruction, scratch, &program).ok()?;
    let holder = memory::share(&mut leader, Group::of(pid).ok()?).ok()?;
    drop(leader);
    world.keep();
    Some(holder)
}

/// `lends`: with the memory of the snapshot, instead of a copy.
fn replace(
    snapshot: &Snapshot,
    lends: bool,
    process: &mut Process,
    without: &Items,
) -> Result<Restored> {
    let mut warnings = Vec::new();
    let instruction = snapshot
        .knowledge
        .syscall_instruction()
        .ok_or(Error::Lost)?;
    let leader = snapshot.threads.first().ok_or(Error::Lost)?;
    let mut refused = None;
    let mut revived = |shares| revive(snapshot, shares, instruction, without, &mut refused);
    let mut shared = || Ok::<_, Error>((snapshot.lend()?, revived(true)?));
    let sharing = match lends.then(&mut shared).transpose() {
        Ok(sharing) => sharing,
        Err(error) => {
            tracing::debug!(%error, "memory is not shared");
            None
        }
    };
    let keeps_rseq = sharing.is_none();
    let (space, unfinished) = match sharing {
        Some((space, unfinished)) => (Some(space), unfinished),
        None => {
            snapshot.settle()?;
            (None, revived(false)?)
        }
    };
    let pid = unfinished.pid();
    let mut copy = Revived {
        pid,
        refused,
        memory: Contents::open(pid)?,
        snapshot,
        keeps_rseq,
        without,
    };
    let filtered = snapshot.program.filtered;
    let tids = copy.threads(leader, instruction, &mut warnings)?;
    let open = filtered
        .then(|| Suspended::new(tids.iter().map(|(_, now)| *now).collect()))
        .transpose()?;
    if copy.patch_ids(&tids)? {
        warnings.push(Warning::NewIds(copy.why_new_ids()));
    }
    copy.beyond(&tids, instruction, &mut warnings)?;
    drop(open);
    // The traps of now are not those of then.
    if let Some(space) = space {
        space.has_program(pid);
    }
    let change = process.succeed(&snapshot.knowledge, &tids, copy.memory)?;
    unfinished.keep();
    // Ends of steps and events of properties are set anew where they are due.
    let users = |(_, trap): &&(_, Trap)| trap.owner == Owner::User;
    let lost = change.lost.iter().filter(users).count();
    if lost > 0 {
        warnings.push(Warning::LostTraps(lost));
    }
    Ok(Restored {
        elapsed: Duration::ZERO,
        warnings,
        change,
        ids: tids,
        present: None,
    })
}

/// The kernel will not give this id to a new task: not allowed, or in use.
fn no_such_id(error: &SysError) -> bool {
    matches!(error.errno, n::EPERM | n::EEXIST | n::EINVAL)
}

/// Makes the new process, with the id of then if possible; `refused`: why it is not.
/// `share_memory`: with the memory of the frozen one, instead of a copy.
fn revive(
    snapshot: &Snapshot,
    share_memory: bool,
    instruction: Addr,
    without: &Items,
    refused: &mut Option<SysError>,
) -> Result<Unfinished> {
    let leader = snapshot.threads.first().ok_or(Error::Lost)?;
    let program = &snapshot.program;
    // Whose end it was that kept it from being copied.
    let whose = |error: Error| match (&error, snapshot.is_alive()) {
        (Error::Lost, true) => Error::Ended,
        (Error::Sys(_) | Error::Remote(_), false) => Error::Lost,
        _ => error,
    };
    let borrowed = Leader::borrow(
        snapshot.frozen_pid(),
        instruction,
        snapshot.scratch,
        program,
    );
    let mut frozen = borrowed.map_err(whose)?;
    let clear_tid = match without.contains(Item::ClearTid) {
        true => 0,
        false => leader.clear_tid,
    };
    let mut copy = Copy {
        share_memory,
        id: (!without.contains(Item::Ids)).then_some(leader.inner),
        clear_tid,
    };
    let mut result = fork(&mut frozen, copy);
    if let Err(Error::Refused(e)) = &result
        && copy.id.is_some()
        && no_such_id(e)
    {
        *refused = Some(*e);
        copy.id = None;
        result = fork(&mut frozen, copy);
    }
    let unfinished = result.map_err(whose)?;
    let pid = unfinished.pid();
    program.spare(pid);
    // Its threads inherit that, too.
    ptrace::suspend_seccomp(pid, IfTracerDies::Kill, program.filtered)?;
    match program.group {
        // It makes one of its own.
        _ if program.own_session => {}
        Group::Own => task::set_group(pid, None)?,
        Group::Ours => task::set_group(pid, Some(task::group(Tid(0))?))?,
        Group::Other => {}
    }
    Ok(unfinished)
}

/// A fork of the frozen process on its way to what was saved.
struct Revived<'a> {
    pid: Tid,
    /// Why the first task that could not have its id has another.
    refused: Option<SysError>,
    memory: Contents,
    snapshot: &'a Snapshot,
    /// Its first thread has its rseq from who was forked.
    keeps_rseq: bool,
    without: &'a Items<'a>,
}

impl Revived<'_> {
    fn place(&self, i: usize) -> Addr {
        self.snapshot.scratch.data + i as u64 * ThreadEntry::SIZE
    }

    /// Creates the threads and gives all their state; the ids of then and
    /// now.
    fn threads(
        &mut self,
        leader: &ThreadState,
        instruction: Addr,
        warnings: &mut Vec<Warning>,
    ) -> Result<Vec<(Tid, Tid)>> {
        let table = &self.snapshot.threads;
        let mut entries = Vec::with_capacity(table.len() * ThreadEntry::SIZE as usize);
        for (i, thread) in table.iter().enumerate() {
            // If it had any to keep.
            let keeps_rseq = i == 0 && self.keeps_rseq && !self.snapshot.moved;
            let entry = thread.entry(self.place(i), leader, keeps_rseq, self.without);
            entries.extend_from_slice(&entry.encode());
        }
        self.memory.write(self.place(0), &entries)?;
        let adopt = |tid: Tid, thread: &ThreadState| {
            let mask = match self.without.contains(Item::Mask) {
                true => 0,
                false => thread.mask,
            };
            Remote::adopt(tid, thread.registers(self.without), mask, instruction)
        };
        let mut first = adopt(self.pid, leader);
        self.create(&mut first)?;
        let outer = self.outer_ids()?;
        let mut remotes = vec![first];
        for (i, thread) in table.iter().enumerate().skip(1) {
            let inner = Tid(self.memory.read_u64(self.place(i) + ThreadEntry::RESULT)? as i32);
            let tid = outer(inner)?;
            wait::task(tid)?;
            let mut remote = adopt(tid, thread);
            remote.go_on_in(payload::own_state(self.snapshot.scratch.code))?;
            remotes.push(remote);
        }
        let (code, entry, stack) = self.addresses();
        remotes[0].start(payload::own_state(code), |regs| {
            regs.rbx = entry.0;
            regs.rsp = stack;
        })?;
        let mut complete = true;
        let mut tids = Vec::with_capacity(table.len());
        for (remote, thread) in remotes.iter_mut().zip(table) {
            remote.finish()?;
            complete &= thread.apply(remote.tid(), leader, self.without)?;
            tids.push((thread.tid, remote.tid()));
        }
        if !complete {
            warnings.push(Warning::Scheduling);
        }
        Ok(tids)
    }

    /// How to get from an id that the program uses to the one that we use.
    fn outer_ids(&self) -> Result<impl Fn(Tid) -> Result<Tid> + use<>> {
        let mut ids = Vec::new();
        if self.snapshot.program.namespaced {
            for tid in procfs::threads(self.pid)? {
                ids.push((procfs::inner_id(self.pid, tid).unwrap_or(tid), tid));
            }
        }
        let namespaced = self.snapshot.program.namespaced;
        Ok(move |inner: Tid| {
            let known = ids
                .iter()
                .find(|(i, _)| *i == inner)
                .map(|(_, outer)| *outer);
            known.or((!namespaced).then_some(inner)).ok_or(Error::Ended)
        })
    }

    /// Code, first entry and a stack pointer outside of every signal stack.
    fn addresses(&self) -> (Addr, Addr, u64) {
        let scratch = self.snapshot.scratch;
        (scratch.code, scratch.data, scratch.data.0 + scratch.room)
    }

    /// Lets the first thread create the others.
    fn create(&mut self, first: &mut Remote) -> Result<()> {
        let count = self.snapshot.threads.len();
        let (code, _, stack) = self.addresses();
        let mut next = 1;
        while next < count {
            let entry = self.place(next);
            first.start(payload::threads(code), |regs| {
                regs.rbx = entry.0;
                regs.r12 = (count - next) as u64;
                regs.rsp = stack;
            })?;
            let left = first.finish()?.r12 as usize;
            next = count - left.min(count);
            if left == 0 {
                break;
            }
            let failed = self.place(next);
            let result = self.memory.read_u64(failed + ThreadEntry::RESULT)?;
            let error = SysError {
                call: "create thread",
                errno: -(result as i64) as i32,
            };
            let size = failed + CloneArgs::SET_TID_SIZE;
            if !no_such_id(&error) || self.memory.read_u64(size)? == 0 {
                return Err(error.into());
            }
            // With any id, then.
            self.refused.get_or_insert(error);
            self.memory.write(size - 8, &[0; 16])?;
        }
        Ok(())
    }

    fn why_new_ids(&self) -> WhyNewIds {
        match self.refused {
            Some(e) if e.errno == n::EEXIST => WhyNewIds::Taken,
            _ if self.snapshot.program.namespaced || task::is_root() => WhyNewIds::GivenUp,
            _ => WhyNewIds::Ordinary,
        }
    }

    /// Brings back what is neither in threads nor in private memory.
    fn beyond(
        &self,
        tids: &[(Tid, Tid)],
        instruction: Addr,
        warnings: &mut Vec<Warning>,
    ) -> Result<()> {
        let beyond = &self.snapshot.beyond;
        let scratch = self.snapshot.scratch;
        let ids = Known { copy: self, tids };
        let program = &self.snapshot.program;
        let borrow = || Leader::borrow(self.pid, instruction, scratch, program);
        let mut leader = None;
        if program.own_session {
            Leader::get_or_borrow(&mut leader, borrow)?.call("setsid", n::SYS_setsid, &[])?;
        }
        if program.adopts_orphans && !self.without.contains(Item::Attributes) {
            let args = [n::PR_SET_CHILD_SUBREAPER as u64, 1];
            Leader::get_or_borrow(&mut leader, borrow)?.call("prctl", n::SYS_prctl, &args)?;
        }
        if let Some(files) = &beyond.files {
            files.restore(self.pid, &mut leader, borrow, self.without, warnings)?;
        }
        beyond
            .descriptors
            .restore(self.pid, &mut leader, borrow, &ids, self.without, warnings)?;
        let body = self.snapshot.body.borrow();
        if let Some(ranges) = body.ranges.as_ref().filter(|r| !r.is_empty())
            && !self.without.contains(Item::Ranges)
        {
            let leader = Leader::get_or_borrow(&mut leader, borrow)?;
            memory::restore_ranges(leader, ranges)?;
        }
        if !beyond.timers.is_empty() {
            let leader = Leader::get_or_borrow(&mut leader, borrow)?;
            let inner = |then| ids.inner(then);
            beyond.timers.restore(leader, self.without, inner)?;
        }
        let (memory, without) = (&self.memory, self.without);
        beyond
            .shared
            .restore(memory, &mut leader, borrow, without, warnings)?;
        drop(leader);
        let borrow_thread = |tid: Tid| Leader::borrow(tid, instruction, scratch, program);
        let now = |then| ids.now(then);
        beyond
            .pending
            .restore(self.pid, now, borrow_thread, self.without)
    }

    /// Threads know their ids; the C library keeps them where the kernel
    /// clears them at a thread's end.
    /// `true`: some thread has a new one.
    fn patch_ids(&self, tids: &[(Tid, Tid)]) -> Result<bool> {
        let mut changed = false;
        for ((_, now), thread) in tids.iter().zip(&self.snapshot.threads) {
            let (then, now) = (thread.inner, self.inner_id(*now));
            if then == now {
                continue;
            }
            changed = true;
            let mut word = [0; 4];
            let at = Addr(thread.clear_tid);
            if thread.clear_tid != 0
                && self.memory.read(at, &mut word).is_ok()
                && i32::from_ne_bytes(word) == then.0
            {
                self.memory.write(at, &now.0.to_ne_bytes())?;
            }
        }
        Ok(changed)
    }

    /// The id by which the program knows a thread.
    fn inner_id(&self, tid: Tid) -> Tid {
        match self.snapshot.program.namespaced {
            true => procfs::inner_id(self.pid, tid).unwrap_or(tid),
            false => tid,
        }
    }
}

/// The ids of a copy's threads: those of then, and those that we have for them now.
struct Known<'a> {
    copy: &'a Revived<'a>,
    tids: &'a [(Tid, Tid)],
}

impl Ids for Known<'_> {
    fn now(&self, then: Tid) -> Tid {
        let found = self.tids.iter().find(|(t, _)| *t == then);
        found.map_or(then, |(_, now)| *now)
    }

    fn inner(&self, then: Tid) -> Tid {
        self.copy.inner_id(self.now(then))
    }
}
