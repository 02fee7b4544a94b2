//! System calls on guarded pages: the kernel gets an error where the program
//! would get a fault, so the pages are opened for it, unless the call can be
//! led elsewhere (`detour`).

use crate::call_places::{Known, places};
use crate::calls::Causes;
use crate::detour::{Way, arguments};
use crate::reach::{EXECS, Reach, reach};
use crate::thread::{State, Thread};
use crate::watch::wanted;
use crate::{Addr, Process, Result, Tid, TrapId};
use std::time::{Duration, Instant};
use verde_sys::procfs::Stat;
use verde_sys::ptrace::{self, Go};
use verde_sys::wait::SyscallStop;
use verde_sys::{WaitStatus, number, wait};

/// How long other threads wait for a system call that touches a watched page.
/// A call that blocks longer may wait for one of them.
const PATIENCE: Duration = Duration::from_millis(20);

/// An exec waits for files alone, but they may be the program's own to serve.
const PATIENCE_OF_EXEC: Duration = Duration::from_secs(1);

/// How long a thread sleeps before its call counts as one that waits.
const NAP: Duration = Duration::from_millis(1);

/// Pages opened for a system call of one thread, with the watched bytes.
#[derive(Debug)]
pub struct Window {
    /// Those that are open still.
    pages: Vec<u64>,
    before: Vec<(TrapId, Vec<u8>)>,
    /// What the kernel has written to, once it is known.
    written: Vec<TrapId>,
    /// The call changes the memory map.
    remaps: bool,
}

impl Window {
    /// Nothing is open, and the kernel has written there.
    pub(crate) fn after(written: Vec<TrapId>) -> Window {
        Window {
            pages: Vec::new(),
            before: Vec::new(),
            written,
            remaps: false,
        }
    }

    /// The kernel may use pages by it.
    pub(crate) fn is_open(&self) -> bool {
        !self.pages.is_empty()
    }

    /// What the kernel has written to, if that is all there is to tell.
    pub(crate) fn told(&self) -> Option<Vec<TrapId>> {
        let known = self.pages.is_empty() && !self.written.is_empty();
        known.then(|| self.written.clone())
    }
}

/// What became of a call that was let in.
enum Outcome {
    /// Something else came before it.
    NotMade,
    /// It has ended.
    Made,
    /// Something else is to be decided within the call.
    Within,
    /// It waits.
    Asleep,
}

/// What becomes of a child at a system call that has the memory on loan.
pub(crate) enum BorrowerCall {
    /// It goes on.
    Goes,
    /// Something else happened to it.
    Then(WaitStatus),
    /// Its call was made, or is being waited for.
    Made,
}

/// How late a thread may be on its way into a call on a busy machine.
const LATE: Duration = Duration::from_secs(2);

/// Whether it is of use to wait for a call after `deadline`: a task that has no CPU, or is about to tell that it has
/// stopped, waits for nobody. `entered`: it is in the call, and not still on its way.
fn is_late(stat: Option<&Stat>, deadline: Instant, entered: bool) -> bool {
    matches!(stat.and_then(Stat::state), Some('R' | 't'))
        && (entered || Instant::now() < deadline + LATE)
}

/// Lets a child that stands before a call make it; how it stops then. `None`:
/// the call takes longer.
fn await_call_of(child: Tid, patience: Duration) -> Result<Option<WaitStatus>> {
    let deadline = Instant::now() + patience;
    let stat = Stat::open(child, child).ok();
    let mut entered = false;
    ptrace::resume(child, Go::Syscall, 0)?;
    while Instant::now() < deadline || is_late(stat.as_ref(), deadline, entered) {
        match wait::try_task(child)? {
            Some(WaitStatus::Syscall) if !entered => {
                entered = true;
                ptrace::resume(child, Go::Syscall, 0)?;
            }
            None => std::thread::yield_now(),
            status => return Ok(status),
        }
    }
    Ok(None)
}

impl Process {
    /// At a system call's entry: the kernel must find the pages it is given
    /// open, or others in their place. Where pages are open other threads are
    /// stopped meanwhile, unless the call waits.
    /// `true`: the call has been made, or is being waited for.
    pub(crate) fn open_for_syscall(&mut self, tid: Tid) -> Result<bool> {
        if self.watches.pages.is_empty() {
            return Ok(false);
        }
        let Some(thread) = self.threads.get(&tid) else {
            return Ok(false);
        };
        if !thread.at_entry || thread.window.is_some() || thread.detour.is_some() {
            return Ok(false);
        }
        let args = arguments(&thread.regs);
        let number = thread.regs.orig_rax;
        // Its memory is that of the call it was, and is nowhere else.
        let restarts = number.cast_signed() == number::SYS_restart_syscall;
        let call = thread.goes_on.filter(|_| restarts).unwrap_or(number);
        let call = call.cast_signed();
        let word = |at: u64| self.memory.read_u64(Addr(at)).ok();
        let known = places(call, &args, &word);
        let reach = reach(call, &args, &known, &self.watches.pages);
        if reach.pages.is_empty() {
            return Ok(false);
        }
        if let (Known::Movable(places), false) = (&known, self.take_stays(tid) || restarts) {
            match self.lead_elsewhere(tid, places)? {
                Way::Led => return Ok(false),
                Way::Again => return Ok(true),
                Way::None => {}
            }
        }
        let others = self.stop_users_of_pages(tid)?;
        let result = self.let_in(tid, reach);
        for other in others {
            self.go(other)?;
        }
        result.map(|()| true)
    }

    fn take_stays(&mut self, tid: Tid) -> bool {
        let thread = self.threads.get_mut(&tid);
        thread.is_some_and(|t| std::mem::take(&mut t.stays))
    }

    /// Everybody else is stopped, or away in a call.
    fn let_in(&mut self, tid: Tid, reach: Reach) -> Result<()> {
        let before = self.watched_bytes(&reach.pages);
        self.take_syscall_back(tid)?;
        if !self.threads.get(&tid).is_some_and(Thread::idle) {
            return Ok(());
        }
        self.open_pages(&reach.pages)?;
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.entry_told = true;
            thread.window = Some(Window {
                pages: reach.pages,
                before,
                written: Vec::new(),
                remaps: reach.remaps,
            });
        }
        self.go(tid)?;
        match self.await_syscall(tid, reach.only_awake)? {
            // Others may have to write first, and are not seen meanwhile.
            Outcome::Asleep if !reach.only_awake => Ok(()),
            Outcome::Asleep | Outcome::Within | Outcome::Made => self.close_window(tid),
            Outcome::NotMade => {
                self.close_window(tid)?;
                if let Some(thread) = self.threads.get_mut(&tid) {
                    thread.window = None;
                }
                Ok(())
            }
        }
    }

    /// Gives a thread whose system call has its pages open the time to finish
    /// it while the others are stopped, or surely to fall asleep in it.
    fn await_syscall(&mut self, tid: Tid, surely: bool) -> Result<Outcome> {
        let deadline = Instant::now() + PATIENCE;
        // One that is surely to fall asleep does so once.
        let nap = if surely { Duration::ZERO } else { NAP };
        let stat = Stat::open(self.pid, tid).ok();
        let mut asleep = None;
        let mut entered = false;
        let goes = |p: &Process| {
            p.threads
                .get(&tid)
                .is_some_and(|t| t.state == State::Running)
        };
        while surely
            || Instant::now() < deadline
            || goes(self) && is_late(stat.as_ref(), deadline, entered)
        {
            match wait::try_task(tid) {
                Ok(Some(WaitStatus::Syscall)) if !entered => {
                    entered = true;
                    if let Some(thread) = self.threads.get_mut(&tid) {
                        thread.entry_told = false;
                        thread.syscall = Some(ptrace::regs(tid)?.orig_rax);
                        thread.in_call = true;
                    }
                    ptrace::resume(tid, Go::Syscall, 0)?;
                }
                Ok(Some(status)) => {
                    self.arrived(tid, status)?;
                    return Ok(match status {
                        _ if !entered => Outcome::NotMade,
                        WaitStatus::Syscall => Outcome::Made,
                        _ => Outcome::Within,
                    });
                }
                Ok(None) => {
                    let sleeps = entered && stat.as_ref().and_then(Stat::state) == Some('S');
                    let since = *asleep.get_or_insert_with(Instant::now);
                    if !sleeps {
                        asleep = None;
                    } else if since.elapsed() > nap {
                        return Ok(Outcome::Asleep);
                    }
                    std::thread::yield_now();
                }
                Err(_) => return Ok(Outcome::Made),
            }
        }
        Ok(Outcome::Asleep)
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
        // A trap on the instruction was met on the way to the entry.
        thread.passed = Some(regs.pc());
        crate::restart::take_back(thread);
        Ok(())
    }

    /// Guards the pages of a system call again, and notes what the kernel has
    /// written: later it could have been another thread.
    fn close_window(&mut self, tid: Tid) -> Result<()> {
        let thread = self.threads.get_mut(&tid);
        let Some(window) = thread.and_then(|t| t.window.as_mut()) else {
            return Ok(());
        };
        let pages = std::mem::take(&mut window.pages);
        let before = std::mem::take(&mut window.before);
        if window.remaps && !pages.is_empty() {
            self.look_again(&pages)?;
        }
        match self.remote_candidate() {
            Some(_) => self.close_pages(&pages)?,
            // All are in calls: whoever comes out first does it before it goes on.
            None => self.watches.pages.left_open.extend(pages),
        }
        let written = before.into_iter().filter_map(|(id, before)| {
            let want = self.traps.get(id).and_then(|e| wanted(e.trap.on))?;
            let mut now = vec![0; before.len()];
            let read = want.write && self.memory.read(want.at, &mut now).is_ok();
            (read && now != before).then_some(id)
        });
        let written: Vec<TrapId> = written.collect();
        let thread = self.threads.get_mut(&tid);
        if let Some(window) = thread.and_then(|t| t.window.as_mut()) {
            window.written.extend(written);
        }
        Ok(())
    }

    /// At a system call's exit: what the kernel wrote is a write.
    pub(crate) fn close_for_syscall(&mut self, tid: Tid, causes: &mut Causes) -> Result<()> {
        self.close_window(tid)?;
        self.set_exchange(tid, None);
        let window = self.threads.get_mut(&tid).and_then(|t| t.window.take());
        for id in window.map(|w| w.written).unwrap_or_default() {
            self.watch_hit(tid, id, true, causes)?;
        }
        Ok(())
    }

    pub(crate) fn has_window(&self, tid: Tid) -> bool {
        self.threads.get(&tid).is_some_and(|t| t.window.is_some())
    }

    /// The pages that are open for system calls.
    pub(crate) fn pages_in_use(&self) -> Vec<u64> {
        let windows = self.threads.values().filter_map(|t| t.window.as_ref());
        let threads = windows.flat_map(|w| w.pages.iter().copied());
        let borrowers = self.borrowers.values().flat_map(|b| b.open.iter().copied());
        threads.chain(borrowers).collect()
    }

    /// A child that has the memory on loan is at a system call's entry or exit.
    /// Others are stopped while it has its pages open, unless the call waits.
    pub(crate) fn borrower_call(&mut self, child: Tid) -> Result<BorrowerCall> {
        let Some(borrower) = self.borrowers.get_mut(&child) else {
            return Ok(BorrowerCall::Goes);
        };
        let entry = matches!(
            ptrace::syscall_stop(child)?,
            Some(SyscallStop::Entry { .. })
        );
        if !entry {
            let open = std::mem::take(&mut borrower.open);
            self.close_in(child, &open)?;
            return Ok(BorrowerCall::Goes);
        }
        if !borrower.open.is_empty() {
            return Ok(BorrowerCall::Goes);
        }
        let mut regs = ptrace::regs(child)?;
        let (call, args) = (regs.orig_rax, arguments(&regs));
        let word = |at: u64| self.memory.read_u64(Addr(at)).ok();
        let known = places(call.cast_signed(), &args, &word);
        let reach = reach(call.cast_signed(), &args, &known, &self.watches.pages);
        if reach.pages.is_empty() {
            return Ok(BorrowerCall::Goes);
        }
        // Back before the call, as a thread of the program.
        regs.orig_rax = u64::MAX;
        ptrace::set_regs(child, &regs)?;
        ptrace::resume(child, Go::Syscall, 0)?;
        let status = wait::task(child)?;
        if status != WaitStatus::Syscall {
            return Ok(BorrowerCall::Then(status));
        }
        regs.rip = regs.rip.wrapping_sub(2);
        regs.rax = call;
        ptrace::set_regs(child, &regs)?;
        let others = self.stop_threads(None)?;
        let result = self.let_borrower_in(child, call.cast_signed(), reach.pages);
        for other in others {
            self.go(other)?;
        }
        result.map(|()| BorrowerCall::Made)
    }

    /// Everybody else is stopped.
    fn let_borrower_in(&mut self, child: Tid, call: i64, pages: Vec<u64>) -> Result<()> {
        self.open_in(child, &pages)?;
        if let Some(borrower) = self.borrowers.get_mut(&child) {
            borrower.open = pages;
        }
        let patience = match EXECS.contains(&call) {
            true => PATIENCE_OF_EXEC,
            false => PATIENCE,
        };
        match await_call_of(child, patience)? {
            Some(status) => self.borrower_arrived(child, status),
            // It waits, for one of them perhaps, who is not seen meanwhile.
            None => Ok(()),
        }
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
