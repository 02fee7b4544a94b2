//! System calls on guarded pages: the kernel gets an error where the program
//! would get a fault, so the pages are opened for it.

use crate::calls::Causes;
use crate::pages::PAGE;
use crate::watch::wanted;
use crate::{Process, Result, Tid, TrapId};
use std::time::{Duration, Instant};
use verde_sys::ptrace::{self, Go};
use verde_sys::{WaitStatus, wait};

/// How long other threads wait for a system call that touches a watched page.
/// A call that blocks longer may wait for one of them.
const PATIENCE: Duration = Duration::from_millis(20);

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
    pub(crate) fn take_syscall_back(&mut self, tid: Tid) -> Result<()> {
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
        crate::restart::take_back(thread);
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
