//! Taking a snapshot.

use crate::descriptors::{Descriptors, Open};
use crate::filter::Passage;
use crate::fork::Frozen;
use crate::leader::Leader;
use crate::loan::Words;
use crate::memory::{self, Maps, Shared};
use crate::present::words_of_ends;
use crate::signals::Pending;
use crate::snapshot::{Beyond, Body, Group, Kept, Options, Program, Snapshot};
use crate::threads::Saved;
use crate::timers::Timers;
use crate::together::Together;
use crate::{Error, Result, Warning, descriptors, filter, fork, threads, unfinished};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;
use verde_engine::{Process, StopGuard, Tid};
use verde_sys::affinity::CpuSet;
use verde_sys::before_change::Pause;
use verde_sys::number as n;
use verde_sys::payload::ThreadEntry;
use verde_sys::procfs::Stat;
use verde_sys::remote::RemoteError;
use verde_sys::sizes::Sizes;
use verde_sys::{limits, procfs, sysv, task, wait};

/// What becomes of the memory of a process that is saved.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    /// The snapshot has a copy.
    Copied,
    /// The snapshot has it itself: the process is about to end.
    Moved,
}

/// A process that was saved.
pub(crate) struct Taken {
    pub snapshot: Snapshot,
    pub warnings: Vec<Warning>,
    /// What the kernel changes in moved memory when the process ends, as it is now.
    pub words: Words,
}

/// Also the threads that ran before, and are stopped still: moved memory must not change any more.
pub(crate) fn take(
    process: &mut Process,
    options: &Options,
    memory: Memory,
) -> Result<(Taken, Vec<Tid>)> {
    Snapshot::check(process)?;
    // Each holds one.
    limits::more_descriptors();
    let start = Instant::now();
    let mut world = process.stop_all()?;
    let taken = take_stopped(&mut world, options, memory, start);
    if let Ok(taken) = &taken
        && !taken.snapshot.children.is_empty()
    {
        world.remember_children(&taken.snapshot.children);
    }
    match taken {
        Ok(taken) if taken.snapshot.moved => Ok((taken, world.release())),
        Ok(taken) => Ok((taken, Vec::new())),
        Err(error) => Err(translate(&mut world, error)),
    }
}

/// Looks for what will be refused.
pub(crate) fn look(process: &Process) -> Result<()> {
    Snapshot::check(process)?;
    let pid = process.pid();
    let targets = verde_sys::descriptor::targets(pid)?;
    let maps = procfs::maps(pid)?;
    let bound = descriptors::bound(targets.iter().filter_map(|t| t.strip_prefix("anon_inode:")))
        .or_else(|| maps.iter().find_map(memory::bound));
    match bound {
        Some(what) => Err(Error::Unsupported(what)),
        None => filter::pass(process, process.threads()).map(drop),
    }
}

fn take_stopped(
    world: &mut StopGuard<'_>,
    options: &Options,
    memory: Memory,
    start: Instant,
) -> Result<Taken> {
    world.calm()?;
    let tids = world.threads();
    let count = tids.len() as u64;
    let pid = world.pid();
    // Before anything is done.
    let Passage { open, others } = filter::pass(world, tids.clone())?;
    let filtered = open.is_some();
    let room = ((count + 1) * ThreadEntry::SIZE).max(threads::room(tids.len()));
    // From here on it makes calls for us.
    let own = CpuSet::of(pid).ok();
    let mut together = Together::new(world.own_cpus());
    if let Some(own) = own {
        together.with_thread(pid, own);
    }
    let scratch = world.scratch(room)?;
    let instruction = world.syscall_instruction()?;
    if let Some(open) = &open {
        // The engine's own calls have switched them on again.
        open.renew()?;
    }
    // From here on nothing runs but our calls.
    let _pause = Pause::new();
    let mut warnings = Vec::new();
    let is_apart = |tid: &Tid| others.contains(tid) || task::is_apart(pid, *tid);
    let apart = tids
        .iter()
        .copied()
        .filter(|tid| *tid != pid && is_apart(tid));
    let apart: Vec<Tid> = apart.collect();
    if !apart.is_empty() {
        warnings.push(Warning::ThreadsApart(apart));
    }
    let knowledge = world.knowledge();
    let pending = Pending::save(world)?;
    let open_files = Open::look(pid)?;
    // Where there are shadow stacks, who shares memory gets another one.
    let moving = memory == Memory::Moved && !world.has_shadow_stacks();
    // One stop does for both. What is refused further on is the copy's loss.
    let plain = (!world.has_namespace()).then(|| fork::plain_copy(moving));
    let contents = world.contents()?;
    let group = Group::of(pid)?;
    let saved = threads::save(
        world,
        &contents,
        (scratch, instruction),
        plain.as_ref(),
        own,
    );
    if plain.is_some() && saved.is_err() {
        unfinished::end_untold(pid);
    }
    let Saved {
        copy,
        threads,
        intervals,
        adopts_orphans,
        keyrings,
        children,
        remote,
    } = saved?;
    // At once: one that is killed ends for certain, and does not wait at its end for an answer.
    let freeze = |copy| Frozen::new(fork::born(copy)?, group, filtered);
    let copy = copy.map(freeze).transpose()?;
    if !keyrings.is_empty() {
        warnings.push(Warning::Keyrings(keyrings));
    }
    let mut leader =
        Leader::new(remote, scratch, world.has_namespace(), filtered).with_memory(contents);
    let timers = Timers::save(pid, &mut leader, intervals, &pending)?;
    let overruns: Vec<i32> = pending
        .timers()
        .filter(|t| timers.is_periodic(*t))
        .collect();
    if !overruns.is_empty() {
        warnings.push(Warning::Overruns(overruns));
    }
    let maps = Maps::of(world);
    let sizes = Sizes::of(pid);
    if let Some(bytes) = maps.scarce_huge_pages()? {
        warnings.push(Warning::HugePages(bytes));
    }
    let shared = Shared::save(&maps, &mut leader, &mut warnings)?;
    let descriptors = Descriptors::save(
        world,
        open_files,
        &children,
        options,
        &shared,
        &mut warnings,
    )?;
    outside_of_processes(pid, &children, &mut warnings);
    if !children.is_empty() {
        warnings.push(Warning::Children(children.clone()));
    }
    let files = options.layers.as_ref().map(|l| l.save(pid)).transpose()?;
    let is_shared = |child: &Tid| task::shares_memory(pid, *child);
    // A child that has the memory would go on with it.
    let moved = moving && !children.iter().any(is_shared);
    let (frozen, ranges) = match (moved, copy) {
        (true, Some(copy)) => (copy, None),
        (true, None) => (memory::share(&mut leader, group)?, None),
        (false, copy) => {
            // One that shares the memory is none.
            let made = copy.filter(|_| !moving).map(|copy| (copy, sizes));
            let (frozen, ranges) = memory::fork_all(&mut leader, group, &maps, made)?;
            (frozen, Some(ranges))
        }
    };
    let words = match moved {
        true => words_of_ends(&threads, &maps, leader.memory()?)?,
        false => Vec::new(),
    };
    drop(leader);
    drop(open);
    together.with_frozen(&frozen);
    let is_large = sizes.is_some_and(|sizes| sizes.writable > LARGE);
    let oom_score = is_large.then(|| procfs::oom_score(pid)).flatten();
    let program = Program {
        pid,
        namespaced: world.has_namespace(),
        group,
        own_session: task::session(pid)? == pid,
        adopts_orphans,
        filtered,
        has_shadow_stacks: world.has_shadow_stacks(),
        oom_score,
    };
    if !moved {
        program.offer(frozen.pid);
    }
    let borrow = || Leader::borrow(frozen.pid, instruction, scratch, &program);
    let mut copy = None;
    if program.own_session {
        if Stat::open(pid, pid)?.has_terminal() {
            warnings.push(Warning::OwnTerminal);
        }
        // As a member of the session it would keep the number in use that its successor needs.
        let copy = Leader::get_or_borrow(&mut copy, borrow)?;
        let called = copy.call("setsid", n::SYS_setsid, &[]);
        called.map_err(of_copy)?;
    }
    let released = descriptors.release(&mut copy, borrow);
    released.map_err(of_copy)?;
    drop(copy);
    drop(together);
    if !frozen.alive() {
        return Err(Error::Lost);
    }
    let place = (instruction, scratch);
    let body = Body {
        listed: program.listed(&frozen, place, &descriptors),
        frozen,
        ranges,
        loan: None,
    };
    let kept = Kept {
        body: body.into(),
        program,
        threads,
        knowledge,
        beyond: Beyond {
            descriptors,
            timers,
            pending,
            shared,
            files,
        },
        scratch,
        children,
        saved_in: start.elapsed(),
        moved,
        as_large: Cell::new(false),
    };
    Ok(Taken {
        snapshot: Snapshot(Rc::new(kept)),
        warnings,
        words,
    })
}

/// Where memory runs out, processes that may be smaller are hardly chosen.
const LARGE: u64 = 8 << 20;

/// What the program uses that is no process's own.
fn outside_of_processes(pid: Tid, children: &[Tid], warnings: &mut Vec<Warning>) {
    let pids: Vec<Tid> = children.iter().copied().chain([pid]).collect();
    let queues = sysv::queues_used_by(&pids);
    if !queues.is_empty() {
        warnings.push(Warning::SystemVQueues(queues));
    }
    let semaphores = sysv::semaphores_used_by(&pids);
    if !semaphores.is_empty() {
        warnings.push(Warning::SystemVSemaphores(semaphores));
    }
}

/// A process is not there any more, or is being reaped.
pub(crate) fn has_ended(pid: Tid) -> bool {
    let state = procfs::status_field(pid, pid, "State");
    state.is_none_or(|s| s.starts_with(['Z', 'X']))
}

/// Whose end is told when a call is made in a copy.
fn of_copy(error: Error) -> Error {
    match error {
        Error::Remote(RemoteError::Ended(_)) => Error::Lost,
        other => other,
    }
}

/// A program that was killed meanwhile is no failure of ours; the engine must
/// know of its end.
fn translate(world: &mut StopGuard<'_>, error: Error) -> Error {
    // Where the program still stands it was the copy.
    let ended = |world: &StopGuard<'_>| match wait::is_going(world.pid()) {
        true => Error::Ended,
        false => Error::Lost,
    };
    match error {
        Error::Remote(RemoteError::Ended(status)) => {
            let pid = world.pid();
            match world.heard_of_end(pid, status) {
                Ok(()) => Error::Ended,
                Err(error) => error.into(),
            }
        }
        error if error.is_of_gone() => ended(world),
        error if error.is_known_end() => Error::Ended,
        Error::Engine(verde_engine::Error::Running(_) | verde_engine::Error::NoThread(_)) => {
            Error::Ended
        }
        Error::Engine(verde_engine::Error::NotNow(why)) => Error::NotNow(why),
        // Its open files went with it.
        Error::Files(..) if has_ended(world.pid()) => Error::Ended,
        Error::Remote(RemoteError::Refused(e))
        | Error::Engine(verde_engine::Error::Remote(RemoteError::Refused(e))) => Error::Refused(e),
        other => other,
    }
}
