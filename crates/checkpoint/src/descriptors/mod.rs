//! State behind descriptors. A copy of the process shares its open files with
//! the original, so what was done to them since must be taken back.

mod counters;
mod epoll;
mod files;
mod leases;
mod locks;
mod numbers;
mod others;
mod own_files;
mod owners;
mod pairs;
mod pidfds;
mod pipes;
mod theirs;

use crate::leader::Leader;
use crate::memory::Shared;
use crate::snapshot::{Item, Items};
use crate::{Error, Options, Result, Warning};
use counters::{Counters, SignalSets, Terminals, Timers};
use epoll::Epolls;
use files::{Files, Found};
use leases::Leases;
use locks::Locks;
use own_files::OwnFiles;
use owners::Owners;
use pairs::Pairs;
use pidfds::PidFds;
use pipes::{Inputs, Pipes};
use std::os::fd::{AsFd, OwnedFd, RawFd};
use theirs::Theirs;
use verde_engine::{Process, Tid};
use verde_sys::descriptor::{self, Descriptor};
use verde_sys::descriptors;
use verde_sys::limits;
use verde_sys::pidfd::PidFd;

/// Files that work with the memory of the process that made them, and with no
/// copy of it.
const BOUND: [(&str, &str); 3] = [
    ("[io_uring]", "io_uring"),
    ("[userfaultfd]", "userfaultfd"),
    ("kvm-vm", "a virtual machine (KVM)"),
];

/// Which of those is among the kinds of files that are none elsewhere.
pub(crate) fn bound<'a>(mut kinds: impl Iterator<Item = &'a str>) -> Option<&'static str> {
    kinds.find_map(|kind| {
        let found = BOUND.iter().find(|(name, _)| *name == kind);
        found.map(|(_, what)| *what)
    })
}

/// The open descriptors of a process that can be copied.
pub(crate) struct Open {
    handle: PidFd,
    list: Vec<Descriptor>,
}

impl Open {
    /// Before anything is copied: a copy may wait for who reads of it from one of these files.
    pub fn look(pid: Tid) -> Result<Open> {
        let handle = PidFd::open(pid)?;
        let list = descriptor::of_process(&handle)?;
        match bound(list.iter().filter_map(Descriptor::anonymous)) {
            Some(what) => Err(Error::Unsupported(what)),
            None => Ok(Open { handle, list }),
        }
    }
}

/// What was behind the descriptors of a process.
pub(crate) struct Descriptors {
    files: Files,
    pipes: Pipes,
    pairs: Pairs,
    counters: Counters,
    signal_sets: SignalSets,
    timers: Timers,
    terminals: Terminals,
    epolls: Epolls,
    locks: Locks,
    leases: Leases,
    pidfds: PidFds,
    own_files: OwnFiles,
    owners: Owners,
    /// A number above all of theirs.
    above: u64,
}

/// The ids of threads in a restored copy.
pub(crate) trait Ids {
    /// The id that we have for a thread of then.
    fn now(&self, then: Tid) -> Tid;
    /// The id that it has for itself.
    fn inner(&self, then: Tid) -> Tid;
}

impl Descriptors {
    /// Reads it from a stopped process. What will not come back is a warning.
    /// `children`: those of this process. `shared`: what is kept of its shared memory.
    pub fn save(
        process: &Process,
        open: Open,
        children: &[Tid],
        options: &Options,
        shared: &Shared,
        warnings: &mut Vec<Warning>,
    ) -> Result<Descriptors> {
        let Open { handle, list } = open;
        let pid = handle.pid();
        if list.iter().any(holds_record_lock) {
            warnings.push(Warning::RecordLocks);
        }
        let theirs = Theirs::of(process, children);
        let mut of_children = pipes::of_children(&list, &handle, &theirs);
        let above = numbers::above(&list);
        // Where the limit of a process leaves no room nothing can be made anew.
        let (theirs, renewable) = match numbers::room(pid, above) {
            Ok(_) => (theirs, list.as_slice()),
            Err(error) => {
                tracing::debug!(%pid, %error, "no room for descriptors");
                if list.iter().any(|d| would_be_new(pid, d)) {
                    warnings.push(Warning::NoRoom {
                        highest: above.saturating_sub(1),
                        limit: limits::descriptors(pid)?,
                    });
                }
                (theirs.without_room(), [].as_slice())
            }
        };
        let (pairs, others) = Pairs::save(&list, &handle, &theirs)?;
        of_children.extend(others.of_children);
        if !of_children.is_empty() {
            warnings.push(Warning::OfChildren(of_children));
        }
        if !others.external.is_empty() {
            warnings.push(Warning::Sockets(others.external));
        }
        if !others.carrying.is_empty() {
            warnings.push(Warning::TravellingDescriptors(others.carrying));
        }
        if !others.urgent.is_empty() {
            warnings.push(Warning::UrgentData(others.urgent));
        }
        let (terminals, unread) = Terminals::save(&list, &handle);
        if !unread.is_empty() {
            warnings.push(Warning::Terminals(unread));
        }
        if list.iter().any(|d| d.anonymous() == Some("inotify")) {
            warnings.push(Warning::Inotify);
        }
        let Found { files, queues } = Files::save(pid, &list, &handle, options.keep_input, shared);
        if !queues.is_empty() {
            warnings.push(Warning::Queues(queues));
        }
        let epolls = Epolls::save(pid, &list);
        let inputs = Inputs {
            keep: options.keep_input,
            epolls: &epolls,
        };
        let (pipes, external) = Pipes::save(&list, &handle, &theirs, inputs)?;
        if !external.is_empty() {
            warnings.push(Warning::Pipes(external));
        }
        let others = others::among(&list);
        if !others.is_empty() {
            warnings.push(Warning::Others(others));
        }
        Ok(Descriptors {
            files,
            pipes,
            pairs,
            counters: Counters::save(&list),
            signal_sets: SignalSets::save(&list),
            timers: Timers::save(pid, &list, &handle)?,
            terminals,
            epolls,
            locks: Locks::save(pid, &list),
            leases: Leases::save(&list, &handle),
            pidfds: PidFds::save(pid, renewable),
            own_files: OwnFiles::save(pid, renewable),
            owners: Owners::save(&list, &handle),
            above,
        })
    }

    /// Lets a frozen copy hold nothing that others could wait for. `borrow`
    /// gives that copy.
    pub fn release(
        &self,
        frozen: &mut Option<Leader>,
        borrow: impl FnOnce() -> Result<Leader>,
    ) -> Result<()> {
        if !self.pipes.are_own()
            && !self.pairs.are_own()
            && self.pidfds.are_none()
            && self.own_files.are_none()
            && self.locks.are_none()
        {
            return Ok(());
        }
        let frozen = Leader::get_or_borrow(frozen, borrow)?;
        self.pipes.close(frozen)?;
        self.pairs.close(frozen)?;
        self.pidfds.close(frozen)?;
        self.own_files.close(frozen)?;
        self.locks.part(frozen)
    }

    /// Numbers of the files that a frozen copy shares and with which locks may be taken.
    pub fn lockable(&self) -> Vec<RawFd> {
        self.locks.lockable()
    }

    /// Brings it back in a copy of the process.
    pub fn restore(
        &self,
        pid: Tid,
        leader: &mut Option<Leader>,
        borrow: impl Fn() -> Result<Leader>,
        ids: &impl Ids,
        without: &Items,
        warnings: &mut Vec<Warning>,
    ) -> Result<()> {
        let handle = PidFd::open(pid)?;
        // Not there: nothing is made.
        let room = numbers::room(pid, self.above).ok();
        if self.pipes.are_own() {
            let leader = Leader::get_or_borrow(leader, &borrow)?;
            self.pipes.make(leader, &handle, without)?;
        }
        if self.pairs.are_own() {
            let leader = Leader::get_or_borrow(leader, &borrow)?;
            self.pairs.make(leader, &handle, without)?;
        }
        if !self.pidfds.are_none() {
            let leader = Leader::get_or_borrow(leader, &borrow)?;
            self.pidfds.make(leader, ids, without)?;
        }
        if !self.own_files.are_none() {
            let leader = Leader::get_or_borrow(leader, &borrow)?;
            self.own_files.make(pid, leader, ids, without, warnings)?;
        }
        if !self.locks.are_none() && !without.contains(Item::Locks) {
            let leader = Leader::get_or_borrow(leader, &borrow)?;
            self.locks.part(leader)?;
        }
        self.locks.restore(&handle, without, warnings)?;
        drop(room);
        self.files.restore(pid, &handle, without, warnings)?;
        self.pipes.restore(&handle, without)?;
        self.pairs.restore(&handle, without)?;
        self.counters.restore(pid, &handle, without)?;
        self.signal_sets.restore(&handle, without)?;
        self.timers.restore(&handle, without)?;
        self.terminals.restore(&handle, without)?;
        self.leases.restore(&handle, without, warnings)?;
        self.owners.restore(&handle, ids, without)?;
        if self.owners.tell_numbers() {
            let leader = Leader::get_or_borrow(leader, &borrow)?;
            self.owners.tell(leader, without)?;
        }
        if self.epolls.is_empty() {
            return Ok(());
        }
        let leader = Leader::get_or_borrow(leader, borrow)?;
        let new = |number| {
            self.pipes.are_new(number)
                || self.pairs.are_new(number)
                || self.pidfds.are_new(number)
                || self.own_files.are_new(number)
        };
        self.epolls.restore(pid, leader, new, without)
    }
}

/// One of the kinds that a copy gets anew where it can.
fn would_be_new(pid: Tid, d: &Descriptor) -> bool {
    d.pipe().or(d.socket()).is_some() || pidfds::is(d) || own_files::is(pid, d)
}

fn holds_record_lock(descriptor: &Descriptor) -> bool {
    descriptor.lock_lines().any(|l| l.contains("POSIX"))
}

/// The flags an open file had.
fn set_flags_of(fd: &OwnedFd, flags: i32) -> Result<()> {
    descriptors::set_flags(fd.as_fd(), flags)?;
    Ok(())
}
