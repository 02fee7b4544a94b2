//! Watchpoints by page protection: any number, at the price of a stop for
//! every access to the page.
//!
//! Protection is the whole process's: while a page is open for one thread's
//! instruction, all other threads are stopped.

use crate::access::{self, Touch};
use crate::calls::Causes;
use crate::thread::{Happening, State};
use crate::watch::{Wanted, wanted};
use crate::{Addr, Error, Process, Result, SigInfo, Tid, TrapId};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::time::{Duration, Instant};
use verde_sys::memory::Memory;
use verde_sys::ptrace::{self, Go};
use verde_sys::remote::Remote;
use verde_sys::siginfo::SEGV_ACCERR;
use verde_sys::{WaitStatus, number, procfs, wait};

const PAGE: u64 = 4096;

/// How long other threads wait for a system call that touches a watched page.
/// A call that blocks longer may wait for one of them.
const PATIENCE: Duration = Duration::from_millis(20);

#[derive(Default)]
pub(crate) struct Pages {
    map: FxHashMap<u64, Page>,
}

struct Page {
    /// What the program set.
    protection: i32,
    users: SmallVec<[TrapId; 4]>,
    /// Loads are watched too.
    reads: bool,
}

impl Page {
    fn guarded(&self) -> i32 {
        if self.reads {
            number::PROT_NONE
        } else {
            self.protection & !number::PROT_WRITE
        }
    }
}

impl Pages {
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
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
        let maps = procfs::maps(self.pid)?;
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
            if self.end.is_none() {
                self.set_protection(page, protection)?;
            }
        }
        Ok(())
    }

    /// Gives every page its protection back.
    pub(crate) fn open_all_pages(&mut self) -> Result<()> {
        let pages: Vec<u64> = self.watches.pages.map.keys().copied().collect();
        self.open_pages(&pages)
    }

    /// The same in a forked child's copy.
    pub(crate) fn unprotect_in(&self, child: Tid) -> Result<()> {
        let Some(instruction) = self.syscall_instruction else {
            return Ok(());
        };
        if self.watches.pages.is_empty() {
            return Ok(());
        }
        let mut remote = Remote::begin(child, instruction)?;
        for (page, entry) in &self.watches.pages.map {
            let args = [*page, PAGE, entry.protection as u64, 0, 0, 0];
            remote.call("mprotect", number::SYS_mprotect, args)?;
        }
        Ok(())
    }

    fn set_protection(&mut self, page: u64, protection: i32) -> Result<()> {
        let args = [page, PAGE, protection as u64, 0, 0, 0];
        self.remote_call("mprotect", number::SYS_mprotect, args)?;
        Ok(())
    }

    /// A SIGSEGV: `true` if it was ours and has been dealt with.
    pub(crate) fn page_fault(
        &mut self,
        tid: Tid,
        info: &SigInfo,
        causes: &mut Causes,
    ) -> Result<bool> {
        if !self.watches.pages.guards(info) {
            return Ok(false);
        }
        let page = info.address().page().0;
        let Some(entry) = self.watches.pages.map.get(&page) else {
            return Ok(false);
        };
        let protection = entry.protection;
        let regs = *self.regs(tid)?;
        let mut bytes = [0u8; 16];
        let got = self.read_some(regs.pc(), &mut bytes);
        let instruction = crate::relocate::decode(&bytes[..got], regs.pc());
        let mut touched = instruction
            .as_ref()
            .map(|i| access::touches(i, &regs))
            .unwrap_or_default();
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
        let writes = touched
            .iter()
            .any(|t| t.write && pages_of(t.at, t.len).any(|p| p == page));
        if writes && protection & number::PROT_WRITE == 0 || protection == number::PROT_NONE {
            // The program would have faulted without us.
            return Ok(false);
        }
        let emulated = instruction.and_then(|i| {
            let memory: &Memory = &self.memory;
            access::emulate(
                &i,
                &regs,
                |at, into| memory.read(at, into).is_ok(),
                |at, from| memory.write(at, from).is_ok(),
            )
        });
        match emulated {
            Some(after) => {
                let thread = self.stopped_mut(tid)?;
                thread.regs = after;
                thread.regs_changed = true;
                thread.passed = None;
                // The CPU has not seen this access.
                let slots = self.slots_touched(&touched);
                self.slots_hit(tid, slots, causes)?;
            }
            None => {
                let Some(slots) = self.step_open(tid, page, &touched)? else {
                    return Ok(true);
                };
                self.slots_hit(tid, slots, causes)?;
            }
        }
        self.report_touches(tid, &touched, causes)?;
        Ok(true)
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
                                && (touch.write && w.write || touch.read && w.read)
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
        let others = self.stop_threads(Some(tid))?;
        let mut open: SmallVec<[u64; 4]> = SmallVec::new();
        open.push(page);
        for touch in touched {
            open.extend(pages_of(touch.at, touch.len));
        }
        open.sort_unstable();
        open.dedup();
        self.open_pages(&open)?;
        let done = self.step_now(tid);
        self.close_pages(&open)?;
        for other in others {
            self.go(other)?;
        }
        done
    }

    fn open_pages(&mut self, pages: &[u64]) -> Result<()> {
        for page in pages {
            if let Some(entry) = self.watches.pages.map.get(page) {
                let protection = entry.protection;
                self.set_protection(*page, protection)?;
            }
        }
        Ok(())
    }

    fn close_pages(&mut self, pages: &[u64]) -> Result<()> {
        for page in pages {
            if let Some(entry) = self.watches.pages.map.get(page) {
                let guarded = entry.guarded();
                self.set_protection(*page, guarded)?;
            }
        }
        Ok(())
    }

    /// At a system call's entry: the kernel must find the pages it is given
    /// open. Other threads are stopped meanwhile, unless the call blocks.
    /// `true`: the call was taken back, and will be entered again.
    pub(crate) fn open_for_syscall(&mut self, tid: Tid, args: &[u64; 6]) -> Result<bool> {
        let mapped = self.watches.pages.map.keys().copied();
        let pages: Vec<u64> = mapped.filter(|page| reaches(args, *page)).collect();
        let opened = self.threads.get(&tid).is_none_or(|t| t.window.is_some());
        if pages.is_empty() || opened {
            return Ok(false);
        }
        let others = self.stop_threads(Some(tid))?;
        let before = self.watched_bytes(&pages);
        self.take_syscall_back(tid)?;
        self.open_pages(&pages)?;
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.window = Some(Window { pages, before });
        }
        self.go(tid)?;
        self.await_syscall(tid)?;
        for other in others {
            self.go(other)?;
        }
        Ok(true)
    }

    /// Gives a thread whose system call has its pages open the time to finish
    /// it while the others are stopped.
    fn await_syscall(&mut self, tid: Tid) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        let mut entered = false;
        while Instant::now() < deadline {
            match wait::try_task(tid) {
                Ok(Some(WaitStatus::Syscall)) if !entered && self.syscall_traps.is_empty() => {
                    entered = true;
                    if let Some(thread) = self.threads.get_mut(&tid) {
                        thread.syscall = Some(ptrace::regs(tid)?.orig_rax);
                    }
                    ptrace::resume(tid, Go::Syscall, 0)?;
                }
                Ok(Some(status)) => {
                    self.arrived(tid, status)?;
                    if status == WaitStatus::Syscall && entered {
                        self.close_window(tid)?;
                    }
                    return Ok(());
                }
                Ok(None) => std::thread::yield_now(),
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }

    /// Brings a thread from a system call's entry back before the call: from
    /// the entry itself it could not make another one.
    fn take_syscall_back(&mut self, tid: Tid) -> Result<()> {
        let before = *self.regs(tid)?;
        let mut regs = before;
        regs.orig_rax = u64::MAX;
        ptrace::set_regs(tid, &regs)?;
        ptrace::resume(tid, Go::Syscall, 0)?;
        let status = wait::task(tid)?;
        if status != WaitStatus::Syscall {
            return self.arrived(tid, status);
        }
        regs.rip = before.rip.wrapping_sub(2);
        regs.rax = before.orig_rax;
        ptrace::set_regs(tid, &regs)?;
        let thread = self.stopped_mut(tid)?;
        thread.regs = regs;
        thread.syscall = None;
        thread.at_entry = false;
        Ok(())
    }

    /// Guards the pages of a finished system call again.
    fn close_window(&mut self, tid: Tid) -> Result<()> {
        let pages = match self.threads.get(&tid).and_then(|t| t.window.as_ref()) {
            Some(window) => window.pages.clone(),
            None => return Ok(()),
        };
        self.close_pages(&pages)
    }

    /// At a system call's exit: what the kernel wrote is a write.
    pub(crate) fn close_for_syscall(&mut self, tid: Tid, causes: &mut Causes) -> Result<()> {
        let Some(window) = self.threads.get_mut(&tid).and_then(|t| t.window.take()) else {
            return Ok(());
        };
        self.close_pages(&window.pages)?;
        for (id, before) in window.before {
            let want = self.traps.get(id).and_then(|e| wanted(e.trap.on));
            let Some(want) = want.filter(|w| w.write) else {
                continue;
            };
            let mut now = vec![0; before.len()];
            if self.memory.read(want.at, &mut now).is_ok() && now != before {
                self.watch_hit(tid, id, true, causes)?;
            }
        }
        Ok(())
    }

    fn watched_bytes(&self, pages: &[u64]) -> Vec<(TrapId, Vec<u8>)> {
        let mut ids: Vec<TrapId> = pages
            .iter()
            .filter_map(|p| self.watches.pages.map.get(p))
            .flat_map(|p| p.users.iter().copied())
            .collect();
        ids.sort();
        ids.dedup();
        let mut list = Vec::new();
        for id in ids {
            if let Some(want) = self.traps.get(id).and_then(|e| wanted(e.trap.on)) {
                let mut bytes = vec![0; want.len as usize];
                if self.memory.read(want.at, &mut bytes).is_ok() {
                    list.push((id, bytes));
                }
            }
        }
        list
    }
}

/// Pages opened for a system call of one thread, with the watched bytes.
#[derive(Debug)]
pub struct Window {
    pages: Vec<u64>,
    before: Vec<(TrapId, Vec<u8>)>,
}

/// Whether a system call with these arguments may touch a page: some argument
/// points into it, or before it with a length that reaches it.
fn reaches(args: &[u64; 6], page: u64) -> bool {
    // Structures passed without a length are small.
    const STRUCTURE: u64 = 4096;
    args.iter().any(|&pointer| {
        if pointer >= page + PAGE {
            return false;
        }
        let room = page.saturating_sub(pointer);
        let longest = args.iter().copied().filter(|&a| a < 1 << 32).max();
        pointer >= page || room < longest.unwrap_or(0).max(STRUCTURE)
    })
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
