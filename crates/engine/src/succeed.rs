//! Going on with a copy of the process, made at an earlier moment, as if it
//! were the process: what the engine knew then about the memory comes back,
//! what it wants now is set.

use crate::arrive::unless_gone;
use crate::exchange::Exchange;
use crate::lent::Lent;
use crate::modules::Modules;
use crate::page_windows::Window;
use crate::pages::Pages;
use crate::plant::take_out;
use crate::scratch::Scratch;
use crate::shadow::ShadowStack;
use crate::sites::{Exit, Site, Sites};
use crate::slots::Slots;
use crate::thread::{Cut, Happening, State, Thread};
use crate::transfer::Transfer;
use crate::watch::wanted;
use crate::{
    Addr, Cause, End, Error, On, Owner, Process, Result, SigInfo, Stop, Tid, Trap, TrapId,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::rc::Rc;
use verde_sys::memory::{Contents, Memory};
use verde_sys::namespace::Namespace;
use verde_sys::ptrace::{self, IfTracerDies};
use verde_sys::{WaitStatus, number, procfs, signals, wait};

/// How far below its frame a stack pointer still belongs to it.
const SAME_STACK: u64 = 64 << 20;

/// What the engine knew about a process at one moment, besides what is in its
/// memory. Good for any number of successions.
pub struct Knowledge {
    program: u64,
    created: usize,
    threads: Vec<Known>,
    sites: Sites,
    slots: Slots,
    return_sites: FxHashMap<TrapId, Vec<Addr>>,
    modules: Modules,
    pages: Pages,
    queue: Vec<Tid>,
    ready: Vec<Stop>,
    exits_seen: bool,
    shadow_stack: bool,
    syscall_instruction: Option<Addr>,
    scratch: Option<Scratch>,
    lent: Lent,
    namespace: Option<Rc<Namespace>>,
}

impl Knowledge {
    /// A `syscall` instruction of the program.
    pub fn syscall_instruction(&self) -> Option<Addr> {
        self.syscall_instruction
    }

    /// Where int3 were, and what is there without them.
    pub(crate) fn planted(&self) -> impl Iterator<Item = (Addr, u8)> {
        self.sites.planted()
    }

    pub(crate) fn pages(&self) -> &Pages {
        &self.pages
    }
}

/// One thread of then.
struct Known {
    tid: Tid,
    origin: Tid,
    number: usize,
    happening: Option<Happening>,
    passed: Option<Addr>,
    replays: SmallVec<[(Addr, u64); 2]>,
    signal: Option<SigInfo>,
    queued: Option<i32>,
    given: u64,
    entry_told: bool,
    cut: Option<Cut>,
    foretold: Option<(Addr, Exchange)>,
    transfer: Option<Transfer>,
    /// Watches that saw a write of the kernel's.
    written: Option<Vec<TrapId>>,
    shadow: ShadowStack,
    trapped: bool,
}

/// What a succession changed for the owner of the process.
#[derive(Debug, Default)]
pub struct Succession {
    /// Threads that have another id than their predecessor of now: the old
    /// and the new one.
    pub renamed: Vec<(Tid, Tid)>,
    /// Traps of now that mean nothing in the program of then; they are gone.
    pub lost: Vec<(TrapId, Trap)>,
    /// The process of then ran another program: every trap on an address is
    /// gone.
    pub other_program: bool,
}

impl Process {
    /// Whether the debugger started the process. One that it attached to is
    /// the child of somebody who would notice its replacement.
    pub fn is_launched(&self) -> bool {
        self.fate == IfTracerDies::Kill
    }

    /// Whether it is a child that the debugger has followed: another process
    /// of the program is its parent.
    pub fn is_followed(&self) -> bool {
        self.followed
    }

    /// The id that a thread had before any restore; it may have got others since.
    pub fn origin(&self, tid: Tid) -> Tid {
        self.threads.get(&tid).map_or(tid, |t| t.origin)
    }

    /// Whether the program has a PID namespace of its own: it knows its tasks
    /// by other ids.
    pub fn has_namespace(&self) -> bool {
        self.namespace.is_some()
    }

    /// A `syscall` instruction of the program, for remote calls.
    pub fn syscall_instruction(&self) -> Result<Addr> {
        self.syscall_instruction.ok_or(Error::Gone)
    }

    /// What is known now. All threads are stopped and calm.
    pub fn knowledge(&self) -> Knowledge {
        let known = |thread: &Thread| Known {
            tid: thread.tid,
            origin: thread.origin,
            number: thread.number,
            happening: thread.happening,
            passed: thread.passed,
            replays: thread.replays.clone(),
            signal: thread.signal,
            queued: thread.queued,
            given: thread.given,
            entry_told: thread.entry_told,
            cut: thread.cut,
            foretold: thread.foretold,
            transfer: thread.transfer.as_ref().map(|t| t.for_copy(self.pid)),
            written: thread.window.as_ref().and_then(Window::told),
            shadow: thread.shadow.clone(),
            trapped: thread.trapped,
        };
        Knowledge {
            threads: self.threads.values().map(known).collect(),
            queue: self.queue.iter().copied().collect(),
            ready: self
                .ready
                .iter()
                .filter(|s| repeatable(s))
                .cloned()
                .collect(),
            ..self.knowledge_of_memory()
        }
    }

    /// What is known now that does not depend on threads.
    pub(crate) fn knowledge_of_memory(&self) -> Knowledge {
        Knowledge {
            program: self.program,
            created: self.created,
            threads: Vec::new(),
            sites: self.sites.clone(),
            slots: self.slots.clone(),
            return_sites: self.return_sites.clone(),
            modules: self.modules.clone(),
            pages: self.watches.pages.clone(),
            queue: Vec::new(),
            ready: Vec::new(),
            exits_seen: self.exits_seen,
            shadow_stack: self.shadow_stack,
            syscall_instruction: self.syscall_instruction,
            scratch: self.scratch,
            lent: self.lent.unused(),
            namespace: self.namespace.clone(),
        }
    }

    /// A thread was found to have ended by whoever borrowed it for remote
    /// calls: the engine must know, for the kernel tells once.
    pub fn heard_of_end(&mut self, tid: Tid, status: WaitStatus) -> Result<()> {
        self.arrived(tid, status)
    }

    /// Return addresses are checked by the CPU.
    pub fn has_shadow_stacks(&self) -> bool {
        self.shadow_stack
    }

    /// Kills the process to make place for a successor and waits until its
    /// ids are free. Until [`Process::succeed`] it counts as killed. Nothing
    /// happens to one that has ended.
    pub fn make_place(&mut self) -> Result<()> {
        if self.end.is_some() {
            return Ok(());
        }
        let tids: Vec<Tid> = self.threads.keys().copied().collect();
        for tid in &tids {
            self.cancel_step(*tid)?;
        }
        if let Err(error) = self.doom(&tids) {
            // It lives on, and reports what it did.
            for tid in &tids {
                unless_gone(ptrace::suspend_seccomp(*tid, self.fate, false))?;
            }
            return Err(error);
        }
        self.kill_born()?;
        self.former = self.threads.values().map(|t| (t.tid, t.origin)).collect();
        for h in self.watches.hardware.iter_mut() {
            h.events.clear();
        }
        for tid in tids.into_iter().filter(|t| *t != self.pid) {
            reap(tid);
        }
        self.reap_first_thread();
        self.threads.clear();
        self.queue.clear();
        self.ready.clear();
        self.ended_threads.clear();
        self.strangers.clear();
        self.parked.clear();
        self.end = Some(End::Killed(number::SIGKILL));
        Ok(())
    }

    /// Kills the process, without the stops of the dying.
    fn doom(&self, tids: &[Tid]) -> Result<()> {
        for tid in tids {
            unless_gone(ptrace::only_kill(*tid, false))?;
        }
        unless_gone(signals::send(self.pid, number::SIGKILL))
    }

    /// Waits for the end of the killed process. A first thread ends after all others: those that
    /// nobody has met are seen off.
    fn reap_first_thread(&self) {
        let mut waited = false;
        loop {
            match wait::try_task(self.pid) {
                Ok(Some(status)) if status.is_end() => return,
                Ok(Some(_)) => {
                    let _ = ptrace::resume(self.pid, ptrace::Go::Continue, 0);
                }
                // To look for others takes about as long as to end.
                Ok(None) if !waited => {
                    waited = true;
                    std::thread::yield_now();
                }
                Ok(None) => {
                    let threads = procfs::threads(self.pid).unwrap_or_default();
                    for tid in threads.into_iter().filter(|t| *t != self.pid) {
                        if let Ok(Some(_)) = wait::try_task(tid) {
                            let _ = ptrace::resume(tid, ptrace::Go::Continue, 0);
                        }
                    }
                    std::thread::yield_now();
                }
                Err(_) => return,
            }
        }
    }

    /// Goes on with a copy of the process of then. `tids` gives for each
    /// thread of then the id it has in the copy, the first thread first; all
    /// are stopped and have the registers of then. The present one has made
    /// its place. The traps of now are set in the copy. `memory`: that of the copy.
    pub fn succeed(
        &mut self,
        then: &Knowledge,
        tids: &[(Tid, Tid)],
        memory: Contents,
    ) -> Result<Succession> {
        let Some(&(_, pid)) = tids.first() else {
            return Err(Error::Gone);
        };
        let new_id = |old: Tid| tids.iter().find(|(then, _)| *then == old).map(|t| t.1);
        self.pid = pid;
        self.memory = Memory::of(memory)?;
        self.end = None;
        self.end_reported = false;
        self.group = None;
        self.fate = IfTracerDies::Kill;
        self.borrowers.clear();
        self.created = then.created;
        self.pin.forget_all();
        self.threads.clear();
        for known in &then.threads {
            if let Some(tid) = new_id(known.tid) {
                let mut thread = known.revive(tid, &new_id);
                thread.regs = ptrace::regs(tid)?;
                thread.transfer = known.transfer.as_ref().map(|t| t.in_copy(pid));
                self.threads.insert(tid, thread);
            }
        }
        self.queue = then.queue.iter().filter_map(|t| new_id(*t)).collect();
        self.ready = then
            .ready
            .iter()
            .map(|stop| {
                let mut stop = stop.clone();
                stop.tid = new_id(stop.tid).unwrap_or(stop.tid);
                stop
            })
            .collect();
        self.take_over(then)
    }

    /// The memory is a copy of that of then; the traps of now are set in it.
    pub(crate) fn take_over(&mut self, then: &Knowledge) -> Result<Succession> {
        self.syscall_instruction = then.syscall_instruction;
        self.shadow_stack = then.shadow_stack;
        self.scratch = then.scratch;
        self.lent = then.lent.clone();
        self.namespace = then.namespace.clone();
        let mut change = Succession {
            other_program: self.program != then.program,
            ..Succession::default()
        };
        self.rename_threads(&mut change);
        self.reconcile_code(then, &mut change)?;
        self.reconcile_watches(then, &mut change)?;
        self.former.clear();
        Ok(change)
    }

    /// Traps bound to threads follow them to their new ids.
    fn rename_threads(&mut self, change: &mut Succession) {
        let former = std::mem::take(&mut self.former);
        let now: FxHashMap<Tid, Tid> = self.threads.values().map(|t| (t.origin, t.tid)).collect();
        let successor = |tid: Tid| former.get(&tid).and_then(|origin| now.get(origin).copied());
        let bound: Vec<(TrapId, Trap)> = self
            .traps
            .iter()
            .filter(|(_, e)| e.trap.thread.is_some())
            .map(|(id, e)| (id, e.trap))
            .collect();
        for (id, trap) in bound {
            match trap.thread.and_then(successor) {
                Some(tid) => self.traps.rebind(id, tid),
                None => self.lose(id, change),
            }
        }
        self.pass_on_watches(successor);
        change.renamed = former
            .keys()
            .filter_map(|old| Some((*old, successor(*old)?)))
            .filter(|(old, new)| old != new)
            .collect();
    }

    /// Forgets a trap that cannot be set in the program of then.
    fn lose(&mut self, id: TrapId, change: &mut Succession) {
        if let Some(trap) = self.traps.discard(id) {
            for list in [
                &mut self.syscall_traps,
                &mut self.signal_traps,
                &mut self.thread_traps,
                &mut self.start_traps,
                &mut self.instruction_traps,
            ] {
                list.retain(|i| *i != id);
            }
            change.lost.push((id, trap));
        }
    }

    /// The memory has the int3 and slots of then; the traps are those of now.
    fn reconcile_code(&mut self, then: &Knowledge, change: &mut Succession) -> Result<()> {
        if change.other_program {
            self.forget_addresses();
            self.scratch = then.scratch;
            self.lent = then.lent.clone();
        }
        let observed: Vec<(Addr, Option<Exit>)> = self.sites.leaving().collect();
        self.sites = then.sites.clone();
        self.slots = then.slots.clone();
        self.return_sites = then.return_sites.clone();
        let loader = self.modules.trap;
        self.modules = then.modules.clone();
        self.modules.trap = loader;
        self.exits_seen |= then.exits_seen;
        self.program = then.program;
        let traps = &self.traps;
        let known = |id: TrapId| !change.other_program && traps.get(id).is_some();
        let obsolete = self.sites.retain(known);
        self.return_sites.retain(|id, _| known(*id));
        for thread in self.threads.values_mut() {
            thread.shadow.retain(known);
        }
        for (at, byte) in obsolete {
            take_out(&self.memory, at, byte)?;
        }
        if change.other_program
            && let Some(at) = self.modules.notify
        {
            let trap = Trap::new(On::Exec(at), Owner::Loader);
            self.modules.trap = Some(self.insert(trap)?);
        }
        for (at, exit) in observed {
            // Unless its library was loaded later.
            let observe = |site: &mut Site| {
                site.leaves_frames = true;
                site.exit = exit;
            };
            if let Err(error) = self.need_site(at, observe) {
                tracing::debug!(%at, %error, "exits not observed after a restore");
            }
        }
        let awake = self.traps.iter().filter(|(_, e)| e.references > 0);
        let wanted: Vec<(TrapId, Trap)> = awake.map(|(id, e)| (id, e.trap)).collect();
        for (id, trap) in wanted {
            let done = match trap.on {
                On::Exec(at) if !self.sites.get(at).is_some_and(|s| s.exec.contains(&id)) => {
                    self.need_site(at, |site| site.exec.push(id))
                }
                On::Return(at) | On::Call(at) | On::Enter(at)
                    if !self.sites.get(at).is_some_and(|s| s.entry.contains(&id)) =>
                {
                    self.need_site(at, |site| site.entry.push(id))
                }
                _ => Ok(()),
            };
            match done {
                Ok(()) => {}
                Err(Error::NoCode(_) | Error::Sys(_)) => self.lose(id, change),
                Err(error) => return Err(error),
            }
        }
        // Awake then, they rest now.
        self.rest_entries()?;
        self.trim_resting()
    }

    fn reconcile_watches(&mut self, then: &Knowledge, change: &mut Succession) -> Result<()> {
        let watched = self.watches.slots.keys().copied();
        let bound = self.watches.ends.values().flatten().copied();
        let stale: Vec<TrapId> = watched
            .chain(bound)
            .filter(|id| self.traps.get(*id).is_none())
            .collect();
        for id in stale {
            self.tear_down_watch(id)?;
        }
        let guarded: Vec<TrapId> = self.watches.pages.users();
        // The memory has the guards of then.
        self.watches.pages = then.pages.clone();
        self.open_all_pages();
        self.watches.pages = then.pages.all_former();
        let watches: Vec<(TrapId, Trap)> = self
            .traps
            .iter()
            .filter(|(_, e)| wanted(e.trap.on).is_some() || e.trap.on == On::Instruction)
            .map(|(id, e)| (id, e.trap))
            .collect();
        for (id, trap) in watches {
            if !self.frame_lives(&trap) {
                self.lose(id, change);
                self.tear_down(id, trap)?;
                continue;
            }
            let Some(want) = wanted(trap.on).filter(|_| guarded.contains(&id)) else {
                continue;
            };
            match self.protect(id, &want) {
                Err(Error::CannotWatch { .. }) => self.lose(id, change),
                other => other?,
            }
        }
        self.arm_again()?;
        for place in self.watches.hardware.places() {
            self.remember_value(place);
        }
        Ok(())
    }

    /// The frame that a watch is bound to exists in the program of then.
    fn frame_lives(&self, trap: &Trap) -> bool {
        let Some(frame) = trap.frame else {
            return true;
        };
        let inside = |t: &&Thread| {
            trap.thread.is_none_or(|tid| tid == t.tid)
                && t.regs.sp() < frame.cfa
                && frame.cfa - t.regs.sp() < SAME_STACK
        };
        self.threads.values().any(|t| inside(&t))
            && self
                .read_u64(frame.cfa - 8)
                .is_ok_and(|word| word == frame.return_to.0)
    }
}

impl Known {
    fn revive(&self, tid: Tid, new_id: &impl Fn(Tid) -> Option<Tid>) -> Thread {
        let mut thread = Thread::new(tid, State::Stopped);
        thread.origin = self.origin;
        thread.number = self.number;
        thread.happening = match self.happening {
            Some(Happening::Clone(new)) => Some(Happening::Clone(new_id(new).unwrap_or(new))),
            other => other,
        };
        thread.passed = self.passed;
        thread.replays = self.replays.clone();
        thread.signal = self.signal;
        thread.queued = self.queued;
        thread.given = self.given;
        thread.entry_told = self.entry_told;
        thread.cut = self.cut;
        thread.foretold = self.foretold;
        thread.window = self.written.clone().map(Window::after);
        thread.shadow = self.shadow.clone();
        thread.trapped = self.trapped;
        // The kernel knows nothing of its signal.
        thread.disturbed = true;
        thread
    }
}

/// A stop that can be reported once more after a restore: children do not
/// come back.
fn repeatable(stop: &Stop) -> bool {
    !stop.causes.iter().any(|c| matches!(c, Cause::Fork { .. }))
}

/// Waits for the end of a task that was killed.
pub(crate) fn reap(tid: Tid) {
    // An error: somebody else has reaped it.
    while wait::task(tid).is_ok_and(|status| !status.is_end()) {
        // A stop from before the signal.
        let _ = ptrace::resume(tid, ptrace::Go::Continue, 0);
    }
}
