//! Watchpoints by page protection: any number, at the price of a stop for
//! every access to the page.
//!
//! Protection is the whole process's: while a page is open for one thread's
//! instruction, all others are stopped, or within system calls of which they
//! come out with a stop.

use crate::access::{self, Touch};
use crate::calls::Causes;
use crate::elements::exact_touches;
use crate::forced::Action;
use crate::thread::{Happening, State, Thread};
use crate::watch::{Wanted, wanted};
use crate::{Addr, Error, Process, Regs, Result, SigInfo, Tid, TrapId};
use iced_x86::Instruction;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use verde_sys::memory::Memory;
use verde_sys::ptrace::{self, Go};
use verde_sys::remote::{Remote, RemoteError};
use verde_sys::siginfo::SEGV_ACCERR;
use verde_sys::{WaitStatus, number, wait};

pub(crate) const PAGE: u64 = 4096;

/// What is behind a thread pointer. The C library has there what the kernel
/// writes when a thread goes on (restartable sequences) and when it ends; it
/// would kill the program if it could not.
const CONTROL_BLOCK: u64 = 2560;

#[derive(Clone, Default)]
pub(crate) struct Pages {
    pub(crate) map: FxHashMap<u64, Page>,
    /// Guarded before: a fault may be on its way.
    former: FxHashSet<u64>,
    /// Traps whose memory the program has unmapped: their watches are over.
    lost: Vec<TrapId>,
    /// To be guarded again, as soon as a thread can do it.
    pub(crate) left_open: Vec<u64>,
    /// The program's action for SIGSEGV, while that is known.
    pub(crate) action: Option<Action>,
}

#[derive(Clone)]
pub(crate) struct Page {
    /// What the program set.
    protection: i32,
    pub(crate) users: SmallVec<[TrapId; 4]>,
    /// Loads are watched too.
    reads: bool,
    /// Other processes may have it as well.
    shared: bool,
}

impl Page {
    fn guarded(&self) -> i32 {
        if self.reads {
            number::PROT_NONE
        } else {
            self.protection & !number::PROT_WRITE
        }
    }

    /// What the program itself may do there.
    pub(crate) fn own_protection(&self) -> i32 {
        self.protection
    }

    pub(crate) fn is_shared(&self) -> bool {
        self.shared
    }

    /// The kernel can read it while it is guarded.
    pub(crate) fn is_readable(&self) -> bool {
        self.guarded() & number::PROT_READ != 0
    }
}

impl Pages {
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// None is guarded any more, but faults on all of them may be on their way.
    pub fn all_former(&self) -> Pages {
        let known = self.former.iter().chain(self.map.keys());
        Pages {
            former: known.copied().collect(),
            ..Pages::default()
        }
    }

    /// No page is or was guarded: faults are the program's own.
    pub fn never_used(&self) -> bool {
        self.map.is_empty() && self.former.is_empty()
    }

    /// The program has unmapped a page.
    fn drop_page(&mut self, at: u64) {
        if let Some(page) = self.map.remove(&at) {
            self.former.insert(at);
            self.lost.extend(page.users);
        }
    }

    /// All that are guarded.
    pub fn guarded(&self) -> Vec<u64> {
        self.map.keys().copied().collect()
    }

    /// The traps that need guarded pages.
    pub fn users(&self) -> Vec<TrapId> {
        self.map.values().flat_map(|p| p.users.clone()).collect()
    }

    /// A fault on a guarded page.
    pub fn guards(&self, info: &SigInfo) -> bool {
        info.signal() == number::SIGSEGV
            && info.code() == SEGV_ACCERR
            && self.map.contains_key(&info.address().page().0)
    }
}

fn pages_of(at: Addr, len: u64) -> impl Iterator<Item = u64> {
    let last = at.0.saturating_add(len.max(1) - 1) / PAGE;
    (at.0 / PAGE..=last).map(|n| n * PAGE)
}

/// What a fault of a thread was.
pub(crate) enum Fault {
    /// None of ours.
    ItsOwn,
    /// The instruction is done.
    Done,
    /// The instruction is still to be made.
    Again,
}

/// What a fault of a child was that has the memory on loan.
pub(crate) enum BorrowerFault {
    /// None of ours.
    ItsOwn,
    /// The access is done.
    Passed,
    /// Something else came of it: its end, or a fault on another page.
    Then(WaitStatus),
}

/// The pages that an instruction needs which faulted on one.
fn opened_for(page: u64, touched: &[Touch]) -> SmallVec<[u64; 4]> {
    let mut open: SmallVec<[u64; 4]> = SmallVec::new();
    open.push(page);
    for touch in touched {
        open.extend(pages_of(touch.at, touch.len));
    }
    open.sort_unstable();
    open.dedup();
    open
}

/// What an instruction touches with which a thread faulted.
fn touched_by(
    tid: Tid,
    instruction: Option<&Instruction>,
    regs: &Regs,
    info: &SigInfo,
    protection: i32,
) -> SmallVec<[Touch; 2]> {
    let vectors = || ptrace::xstate(tid).ok();
    let mut touched = instruction.map_or_else(SmallVec::new, |i| exact_touches(i, regs, vectors));
    let page = info.address().page().0;
    if !touched
        .iter()
        .any(|t| pages_of(t.at, t.len).any(|p| p == page))
    {
        // An access that is not in the operands: take the kernel's word.
        touched.push(Touch {
            at: info.address(),
            len: 1,
            read: true,
            write: protection & number::PROT_WRITE != 0,
        });
    }
    touched
}

/// The program itself may touch the page so.
fn allowed(touched: &[Touch], page: u64, protection: i32) -> bool {
    let writes = touched
        .iter()
        .any(|t| t.write && pages_of(t.at, t.len).any(|p| p == page));
    protection != number::PROT_NONE && (!writes || protection & number::PROT_WRITE != 0)
}

impl Process {
    /// Guards the pages of a watched range. All threads are stopped.
    pub(crate) fn protect(&mut self, id: TrapId, want: &Wanted) -> Result<()> {
        const MOST: u64 = 1 << 20;
        if want.len > MOST {
            return Err(Error::CannotWatch {
                at: want.at,
                len: want.len,
                why: "longer than 1 MiB",
            });
        }
        let near = |t: &Thread| t.regs.fs_base..t.regs.fs_base.saturating_add(CONTROL_BLOCK);
        let blocks: Vec<_> = self.threads.values().map(near).collect();
        let is_control = |page: u64| blocks.iter().any(|b| b.start < page + PAGE && page < b.end);
        if pages_of(want.at, want.len).any(is_control) {
            return Err(Error::CannotWatch {
                at: want.at,
                len: want.len,
                why: "no hardware slot is free, and its page cannot be guarded: \
                      the kernel writes there when it likes (the thread's control block)",
            });
        }
        if self.lent.is_empty()
            && let Err(error) = self.map_lent(0)
        {
            tracing::debug!(%error, "nothing to lend to system calls");
        }
        if self.watches.pages.is_empty() {
            self.learn_action();
        }
        let maps = self.memory.maps()?;
        for page in pages_of(want.at, want.len) {
            let mapping = maps.iter().find(|m| m.contains(Addr(page)));
            let Some(mapping) = mapping else {
                self.unprotect(id)?;
                return Err(Error::CannotWatch {
                    at: want.at,
                    len: want.len,
                    why: "not mapped",
                });
            };
            let entry = self.watches.pages.map.entry(page).or_insert(Page {
                protection: mapping.protection(),
                users: SmallVec::new(),
                reads: false,
                shared: mapping.shared,
            });
            entry.users.push(id);
            entry.reads |= want.read;
            let guarded = entry.guarded();
            if let Err(error) = self.set_protection(page, guarded) {
                self.unprotect(id)?;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Takes a trap off its pages.
    pub(crate) fn unprotect(&mut self, id: TrapId) -> Result<()> {
        let pages = &mut self.watches.pages.map;
        let mut open: Vec<(u64, i32)> = Vec::new();
        for (at, page) in pages.iter_mut() {
            let before = page.users.len();
            page.users.retain(|i| *i != id);
            if page.users.is_empty() && before > 0 {
                open.push((*at, page.protection));
            }
        }
        for (page, protection) in open {
            self.watches.pages.map.remove(&page);
            self.watches.pages.former.insert(page);
            if self.end.is_none() {
                self.set_protection(page, protection)?;
            }
        }
        Ok(())
    }

    /// Gives every page its protection back, as far as that can be done: who
    /// lets the program go must not stop half way.
    pub(crate) fn open_all_pages(&mut self) {
        let pages = self.watches.pages.guarded();
        for page in pages {
            if let Err(error) = self.open_pages(&[page]) {
                tracing::debug!(%error, page = %Addr(page), "a page stays guarded");
            }
        }
    }

    /// The same in a forked child's copy.
    pub(crate) fn unprotect_in(&self, child: Tid, pages: &Pages) -> Result<()> {
        if pages.is_empty() {
            return Ok(());
        }
        self.protect_in(child, pages, &pages.guarded(), |entry| entry.protection)
    }

    /// Opens pages by way of another process that has the same memory.
    pub(crate) fn open_in(&self, child: Tid, pages: &[u64]) -> Result<()> {
        self.protect_in(child, &self.watches.pages, pages, |entry| entry.protection)
    }

    /// Guards them again, but for those that a system call still needs open.
    pub(crate) fn close_in(&self, child: Tid, pages: &[u64]) -> Result<()> {
        let in_use = self.pages_in_use();
        let close = pages.iter().copied().filter(|p| !in_use.contains(p));
        let close: Vec<u64> = close.collect();
        self.protect_in(child, &self.watches.pages, &close, Page::guarded)
    }

    /// Guards what was left open, by a child that gave the memory back or when
    /// all threads slept, by way of a thread that is about to go on.
    pub(crate) fn close_left_open(&mut self, tid: Tid) -> Result<()> {
        let able = |t: &Thread| t.idle() && !t.vforking && !t.at_entry && !t.exiting;
        if self.watches.pages.left_open.is_empty() || !self.threads.get(&tid).is_some_and(able) {
            return Ok(());
        }
        let pages = std::mem::take(&mut self.watches.pages.left_open);
        self.close_pages(&pages)
    }

    /// Sets the protection of guarded pages by way of another process.
    fn protect_in(
        &self,
        child: Tid,
        known: &Pages,
        pages: &[u64],
        protection: impl Fn(&Page) -> i32,
    ) -> Result<()> {
        let Some(instruction) = self.syscall_instruction else {
            return Ok(());
        };
        let mut remote = Remote::begin(child, instruction)?;
        for page in pages {
            if let Some(entry) = known.map.get(page) {
                let args = [*page, PAGE, protection(entry) as u64, 0, 0, 0];
                match remote.call("mprotect", number::SYS_mprotect, args) {
                    // It is not in the child's memory, or no longer.
                    Err(RemoteError::Refused(e)) if e.errno == number::ENOMEM => {}
                    other => {
                        other?;
                    }
                }
            }
        }
        Ok(())
    }

    /// A page that the program has unmapped meanwhile is guarded no more.
    fn set_protection(&mut self, page: u64, protection: i32) -> Result<()> {
        let args = [page, PAGE, protection as u64, 0, 0, 0];
        match self.remote_call("mprotect", number::SYS_mprotect, args) {
            Err(Error::Remote(RemoteError::Refused(e))) if e.errno == number::ENOMEM => {
                self.watches.pages.drop_page(page);
                Ok(())
            }
            other => other.map(|_| ()),
        }
    }

    /// After a call that changes the memory map, with the pages open: what the
    /// program has made of them.
    pub(crate) fn look_again(&mut self, pages: &[u64]) -> Result<()> {
        let maps = self.memory.maps()?;
        for page in pages {
            let mapping = maps.iter().find(|m| m.contains(Addr(*page)));
            match (mapping, self.watches.pages.map.get_mut(page)) {
                (Some(mapping), Some(entry)) => {
                    entry.protection = mapping.protection();
                    entry.shared = mapping.shared;
                }
                (None, Some(_)) => self.watches.pages.drop_page(*page),
                (_, None) => {}
            }
        }
        Ok(())
    }

    /// Ends the watches whose memory the program has unmapped.
    pub(crate) fn end_lost_watches(&mut self, causes: &mut Causes) -> Result<()> {
        for id in std::mem::take(&mut self.watches.pages.lost) {
            if self.traps.get(id).is_some() {
                self.end_watch(id, None, causes)?;
            }
        }
        Ok(())
    }

    /// A SIGSEGV: what it was, dealt with if it was ours.
    #[inline(never)]
    pub(crate) fn page_fault(
        &mut self,
        tid: Tid,
        info: &SigInfo,
        causes: &mut Causes,
    ) -> Result<Fault> {
        if !self.watches.pages.guards(info) {
            return Ok(match self.is_stale_fault(tid, info)? {
                true => Fault::Again,
                false => Fault::ItsOwn,
            });
        }
        let page = info.address().page().0;
        let regs = *self.regs(tid)?;
        let Some((instruction, touched)) = self.guarded_access(tid, &regs, info) else {
            return Ok(Fault::ItsOwn);
        };
        let begun = self.before_exchange(&touched);
        let emulated = instruction.and_then(|i| self.emulate(&i, &regs, page));
        match emulated {
            Some(after) => {
                let thread = self.stopped_mut(tid)?;
                thread.regs = after;
                thread.regs_changed = true;
                thread.passed = None;
                // The CPU has not seen this access.
                let slots = self.slots_touched(tid, &touched);
                self.slots_hit(tid, slots, causes)?;
            }
            None => {
                let Some(slots) = self.step_open(tid, page, &touched)? else {
                    return Ok(Fault::Again);
                };
                self.slots_hit(tid, slots, causes)?;
            }
        }
        self.after_exchange(tid, begun);
        self.report_touches(tid, &touched, causes)?;
        Ok(Fault::Done)
    }

    /// An access to a guarded page that the program could have made without us: the instruction, and
    /// what it touches.
    fn guarded_access(
        &self,
        tid: Tid,
        regs: &Regs,
        info: &SigInfo,
    ) -> Option<(Option<Instruction>, SmallVec<[Touch; 2]>)> {
        let page = info.address().page().0;
        let entry = self.watches.pages.map.get(&page)?;
        let instruction = self.instruction_at(regs.pc());
        let touched = touched_by(tid, instruction.as_ref(), regs, info, entry.protection);
        allowed(&touched, page, entry.protection).then_some((instruction, touched))
    }

    /// The program would not have faulted so without us.
    pub(crate) fn is_of_guard(&self, tid: Tid, info: &SigInfo) -> Result<bool> {
        match self.watches.pages.guards(info) {
            true => Ok(self.guarded_access(tid, self.regs(tid)?, info).is_some()),
            false => self.is_stale_fault(tid, info),
        }
    }

    /// Does an instruction on a guarded page in place of the CPU. What loads and
    /// stores is left to it where somebody else could come in between.
    fn emulate(&self, i: &Instruction, regs: &Regs, page: u64) -> Option<Regs> {
        let shared = self.watches.pages.map.get(&page).is_none_or(|p| p.shared);
        let open = shared || self.pages_in_use().contains(&page);
        if open && access::touches(i, regs).iter().any(|t| t.read && t.write) {
            return None;
        }
        let memory: &Memory = &self.memory;
        access::emulate(
            i,
            regs,
            |at, into| memory.read(at, into).is_ok(),
            |at, from| memory.write(at, from).is_ok(),
        )
    }

    /// A child that has the memory on loan faulted on a guarded page: its access
    /// is let through in silence, as its other hits are. How it is stopped now.
    pub(crate) fn borrower_fault(&mut self, child: Tid) -> Result<BorrowerFault> {
        let info = ptrace::siginfo(child)?;
        if !self.watches.pages.guards(&info) {
            return Ok(BorrowerFault::ItsOwn);
        }
        let page = info.address().page().0;
        let regs = ptrace::regs(child)?;
        let Some((instruction, touched)) = self.guarded_access(child, &regs, &info) else {
            return Ok(BorrowerFault::ItsOwn);
        };
        if let Some(after) = instruction.and_then(|i| self.emulate(&i, &regs, page)) {
            ptrace::set_regs(child, &after)?;
            return Ok(BorrowerFault::Passed);
        }
        let others = self.stop_threads(None)?;
        let open = opened_for(page, &touched);
        self.open_in(child, &open)?;
        ptrace::resume(child, Go::Step, 0)?;
        let status = wait::task(child)?;
        if !status.is_end() {
            self.close_in(child, &open)?;
        }
        for other in others {
            self.go(other)?;
        }
        Ok(match status {
            WaitStatus::Signal(number::SIGTRAP) => BorrowerFault::Passed,
            status => BorrowerFault::Then(status),
        })
    }

    /// A fault on a page that was guarded when it happened, and would not
    /// happen now: the access is made again.
    fn is_stale_fault(&self, tid: Tid, info: &SigInfo) -> Result<bool> {
        let page = info.address().page();
        let access = info.signal() == number::SIGSEGV && info.code() == SEGV_ACCERR;
        if !access || !self.watches.pages.former.contains(&page.0) {
            return Ok(false);
        }
        let regs = *self.regs(tid)?;
        let touched = match self.instruction_at(regs.pc()) {
            Some(instruction) => exact_touches(&instruction, &regs, || ptrace::xstate(tid).ok()),
            None => return Ok(false),
        };
        let maps = self.memory.maps()?;
        let mapping = maps.iter().find(|m| m.contains(page));
        let protection = mapping.map_or(number::PROT_NONE, |m| m.protection());
        let allowed = |t: &Touch| match t.write {
            true => protection & number::PROT_WRITE != 0,
            false => protection & number::PROT_READ != 0,
        };
        let mut here = touched
            .iter()
            .filter(|t| pages_of(t.at, t.len).any(|p| p == page.0))
            .peekable();
        Ok(here.peek().is_some() && here.all(allowed))
    }

    pub(crate) fn instruction_at(&self, pc: Addr) -> Option<Instruction> {
        let mut bytes = [0u8; 16];
        let got = self.read_some(pc, &mut bytes);
        crate::relocate::decode(&bytes[..got], pc)
    }

    /// The watches on pages that see a write of these bytes.
    pub(crate) fn watches_of_writes(&self, at: u64, len: u64) -> SmallVec<[TrapId; 4]> {
        let pages = pages_of(Addr(at), len).filter_map(|p| self.watches.pages.map.get(&p));
        let sees = |id: &TrapId| {
            let want = self.traps.get(*id).and_then(|e| wanted(e.trap.on));
            want.is_some_and(|w| w.write && w.at.0 < at + len && at < w.at.0.saturating_add(w.len))
        };
        let users = pages.flat_map(|p| p.users.iter().copied());
        users.filter(sees).collect()
    }

    fn report_touches(&mut self, tid: Tid, touched: &[Touch], causes: &mut Causes) -> Result<()> {
        let mut seen: SmallVec<[TrapId; 4]> = SmallVec::new();
        for touch in touched {
            for page in pages_of(touch.at, touch.len) {
                let users = match self.watches.pages.map.get(&page) {
                    Some(entry) => entry.users.clone(),
                    None => continue,
                };
                for id in users {
                    let overlaps = self
                        .traps
                        .get(id)
                        .and_then(|e| wanted(e.trap.on))
                        .is_some_and(|w| {
                            w.at.0 < touch.at.0.saturating_add(touch.len)
                                && touch.at.0 < w.at.0.saturating_add(w.len)
                                && match (touch.write, w.write) {
                                    (true, true) => true,
                                    (true, false) => touch.read && self.reads_in_writes(id),
                                    (false, _) => w.read,
                                }
                        });
                    if overlaps && !seen.contains(&id) {
                        seen.push(id);
                        let on = self.traps.get(id).and_then(|e| wanted(e.trap.on));
                        let write = touch.write && on.is_some_and(|w| w.write);
                        self.watch_hit(tid, id, write, causes)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Runs one instruction with its pages open and everybody else stopped.
    /// The hardware slots it set off, as bits; `None`: something else happened
    /// first, which is queued.
    fn step_open(&mut self, tid: Tid, page: u64, touched: &[Touch]) -> Result<Option<u8>> {
        let others = self.stop_users_of_pages(tid)?;
        let done = self.step_with(tid, &opened_for(page, touched));
        for other in others {
            self.go(other)?;
        }
        done
    }

    fn step_with(&mut self, tid: Tid, open: &[u64]) -> Result<Option<u8>> {
        self.open_pages(open)?;
        let done = self.step_now(tid);
        self.close_pages(open)?;
        done
    }

    pub(crate) fn open_pages(&mut self, pages: &[u64]) -> Result<()> {
        for page in pages {
            if let Some(entry) = self.watches.pages.map.get(page) {
                let protection = entry.protection;
                self.set_protection(*page, protection)?;
            }
        }
        Ok(())
    }

    /// Guards pages again, but for those that a system call still needs open.
    pub(crate) fn close_pages(&mut self, pages: &[u64]) -> Result<()> {
        let needed = self.pages_in_use();
        for page in pages.iter().filter(|p| !needed.contains(p)) {
            if let Some(entry) = self.watches.pages.map.get(page) {
                let guarded = entry.guarded();
                self.set_protection(*page, guarded)?;
            }
        }
        Ok(())
    }
}

impl Process {
    /// Steps a stopped thread by one instruction and waits for it. Everybody
    /// who could disturb is stopped. The hardware slots it set off, as bits;
    /// `None`: something else happened first, which is queued.
    fn step_now(&mut self, tid: Tid) -> Result<Option<u8>> {
        // While the plan is aside nothing else decides how it is resumed.
        let plan = self.threads.get_mut(&tid).and_then(|t| t.plan.take());
        let before = std::mem::replace(&mut self.stopping, true);
        let result = self.step_and_wait(tid);
        self.stopping = before;
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.plan = plan;
        }
        result
    }

    fn step_and_wait(&mut self, tid: Tid) -> Result<Option<u8>> {
        self.go_with(tid, true)?;
        while self
            .threads
            .get(&tid)
            .is_some_and(|t| t.state == State::Running)
        {
            match wait::task(tid) {
                Ok(status) => self.arrived(tid, status)?,
                Err(_) => return Ok(None),
            }
        }
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(None);
        };
        let Some(Happening::Step(slots)) = thread.happening else {
            return Ok(None);
        };
        thread.happening = None;
        self.queue.retain(|t| *t != tid);
        Ok(Some(slots))
    }
}
