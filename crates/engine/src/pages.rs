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
use verde_sys::memory::Memory;
use verde_sys::remote::Remote;
use verde_sys::siginfo::SEGV_ACCERR;
use verde_sys::{number, procfs, wait};

pub(crate) const PAGE: u64 = 4096;

#[derive(Clone, Default)]
pub(crate) struct Pages {
    pub(crate) map: FxHashMap<u64, Page>,
}

#[derive(Clone)]
pub(crate) struct Page {
    /// What the program set.
    protection: i32,
    pub(crate) users: SmallVec<[TrapId; 4]>,
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

    pub(crate) fn open_pages(&mut self, pages: &[u64]) -> Result<()> {
        for page in pages {
            if let Some(entry) = self.watches.pages.map.get(page) {
                let protection = entry.protection;
                self.set_protection(*page, protection)?;
            }
        }
        Ok(())
    }

    pub(crate) fn close_pages(&mut self, pages: &[u64]) -> Result<()> {
        for page in pages {
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
