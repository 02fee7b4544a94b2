//! Children of the program: left unharmed, or followed.
//!
//! A forked child has a copy of every int3 and nobody to catch it; a vfork
//! child runs in the parent's own memory. Both are traced from birth.

use crate::arrive::unless_gone;
use crate::page_windows::BorrowerCall;
use crate::pages::{BorrowerFault, Pages};
use crate::plant::take_out;
use crate::relocate::Passage;
use crate::thread::{Happening, State, Thread};
use crate::{Addr, Process, Regs, Result, Tid, loans};
use verde_sys::memory::Memory;
use verde_sys::ptrace::{self, Go};
use verde_sys::remote::Remote;
use verde_sys::{Event, WaitStatus, number, procfs, wait};

/// Which side of a fork the debugger stays with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Follow {
    /// The parent; the child goes on without a debugger.
    #[default]
    Parent,
    /// The child; the parent goes on without a debugger.
    Child,
}

/// A child that shares the memory until it execs or ends.
#[derive(Debug)]
pub struct Borrower {
    /// Become the child when it execs.
    pub(crate) follow: bool,
    /// It has the memory no more, and is about to tell of its exec or end.
    pub(crate) is_over: bool,
    /// Guarded pages that are open for its system call.
    pub(crate) open: Vec<u64>,
    /// It is to be let go with the memory, and stops for that.
    pub(crate) leaving: bool,
    /// It has stopped, and gets this signal when it is let go.
    pub(crate) stopped: Option<i32>,
}

impl Borrower {
    fn new(follow: bool) -> Borrower {
        Borrower {
            follow,
            is_over: false,
            open: Vec::new(),
            leaving: false,
            stopped: None,
        }
    }
}

impl Process {
    /// The first stop of a new task, which may have been seen already.
    pub(crate) fn first_stop(&mut self, child: Tid) -> Result<Option<WaitStatus>> {
        if let Some(i) = self.strangers.iter().position(|(tid, _)| *tid == child) {
            return Ok(Some(self.strangers.swap_remove(i).1));
        }
        match wait::task(child) {
            Ok(status) => Ok(Some(status)),
            Err(e) if e.errno == number::ECHILD => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Lets a child go that was just made with a copy of the memory.
    pub(crate) fn release_new(&mut self, child: Tid) -> Result<()> {
        match self.first_stop(child)? {
            Some(status) if !status.is_end() => self.release_now(child),
            _ => Ok(()),
        }
    }

    /// Children whose makers have gone before they could tell of them.
    pub(crate) fn release_strangers(&mut self) {
        for (child, status) in std::mem::take(&mut self.strangers) {
            if !status.is_end()
                && let Err(error) = self.release_now(child)
            {
                tracing::debug!(%child, %error, "a child is not released");
            }
        }
    }

    /// Whether a child, made by a call with these registers, has the memory on
    /// loan and not a copy of it.
    pub(crate) fn is_lent_by(&self, regs: &Regs, event: Event) -> bool {
        let word = |at| self.memory.read_u64(at).ok();
        // The kernel's kinds tell of something else: who waits for the child,
        // and how its end is said.
        loans::shares_memory(regs, word).unwrap_or(event != Event::Fork)
    }

    fn release_now(&self, child: Tid) -> Result<()> {
        self.release(child, self.sites.planted(), &self.watches.pages)
    }

    /// Takes the debugger's traces, those that were there when the copy was
    /// made, out of a copied address space and lets its only thread go.
    pub(crate) fn release(
        &self,
        child: Tid,
        planted: impl Iterator<Item = (Addr, u8)>,
        pages: &Pages,
    ) -> Result<()> {
        match self.clean(child, planted, pages) {
            // It was killed meanwhile.
            Err(crate::Error::Sys(e)) if e.is_gone() || e.errno == number::EIO => Ok(()),
            other => other,
        }
    }

    fn clean(
        &self,
        child: Tid,
        planted: impl Iterator<Item = (Addr, u8)>,
        pages: &Pages,
    ) -> Result<()> {
        let memory = self.memory_of_copy(child)?;
        for (at, byte) in planted {
            take_out(&memory, at, byte)?;
        }
        self.unprotect_in(child, pages)?;
        // A fork made by an instruction in a slot.
        self.lead_out_of_slot(child)?;
        unless_gone(ptrace::detach(child, 0))
    }

    /// Opens the memory of a child that may have been told to forbid that.
    pub(crate) fn memory_of_copy(&self, child: Tid) -> Result<Memory> {
        const PR_SET_DUMPABLE: u64 = 4;
        match (Memory::open(child), self.syscall_instruction) {
            (Err(e), Some(instruction)) if e.errno == number::EACCES => {
                let mut remote = Remote::begin(child, instruction)?;
                let mut allow = |yes| {
                    let args = [PR_SET_DUMPABLE, yes, 0, 0, 0, 0];
                    remote.call("prctl", number::SYS_prctl, args)
                };
                allow(1)?;
                let memory = Memory::open(child);
                allow(0)?;
                Ok(memory?)
            }
            (memory, _) => Ok(memory?),
        }
    }

    /// A child got the program's memory on loan. Whether it lives.
    pub(crate) fn lend(&mut self, child: Tid, follow: bool) -> Result<bool> {
        let lives = self.first_stop(child)?.is_some_and(|s| !s.is_end());
        if lives {
            self.borrowers.insert(child, Borrower::new(follow));
        }
        Ok(lives)
    }

    /// The same, and it goes on at once.
    pub(crate) fn lend_and_go(&mut self, child: Tid, follow: bool) -> Result<()> {
        match self.lend(child, follow)? {
            true => self.borrower_goes(child, 0),
            false => Ok(()),
        }
    }

    /// Something happened to a child that has the memory on loan. Its hits
    /// are not the program's: it passes traps in silence.
    #[cold]
    pub(crate) fn borrower_arrived(&mut self, child: Tid, status: WaitStatus) -> Result<()> {
        if let Some(borrower) = self.borrowers.get(&child)
            && borrower.leaving
            && let Some(signal) = self.can_leave(child, status)?
        {
            if let Some(borrower) = self.borrowers.get_mut(&child) {
                borrower.stopped = Some(signal);
            }
            return Ok(());
        }
        if status == WaitStatus::Interrupt {
            // Where it leaves and cannot yet, the signal of a fault comes next; one more
            // interrupt would come before that, again and again.
            return self.resume_borrower(child, 0);
        }
        let mut signal = 0;
        match status {
            WaitStatus::Exited(_) | WaitStatus::Killed { .. } => {
                self.loan_ends(child);
                return Ok(());
            }
            WaitStatus::Event(Event::Exec) => {
                return match self.loan_ends(child) {
                    true => self.follow_exec(child),
                    false => unless_gone(ptrace::detach(child, 0)),
                };
            }
            WaitStatus::Syscall => match self.borrower_call(child)? {
                BorrowerCall::Goes => {}
                BorrowerCall::Then(status) => return self.borrower_arrived(child, status),
                BorrowerCall::Made => return Ok(()),
            },
            WaitStatus::Event(event @ (Event::Fork | Event::Vfork | Event::Clone)) => {
                let grandchild = Tid(ptrace::event_message(child)? as i32);
                let regs = ptrace::regs(child)?;
                match self.is_lent_by(&regs, event) {
                    true => self.lend_and_go(grandchild, false)?,
                    false => self.release_new(grandchild)?,
                }
            }
            WaitStatus::Signal(number::SIGTRAP) => {
                signal = self.borrower_trap(child)?;
            }
            WaitStatus::Signal(number::SIGSEGV) => match self.borrower_fault(child)? {
                BorrowerFault::ItsOwn => signal = number::SIGSEGV,
                BorrowerFault::Passed => {}
                BorrowerFault::Then(status) => return self.borrower_arrived(child, status),
            },
            WaitStatus::Signal(other) => signal = other,
            WaitStatus::GroupStop(_) => return unless_gone(ptrace::listen(child)),
            _ => {}
        }
        self.borrower_goes(child, signal)
    }

    /// Where pages are guarded its system calls need them open.
    pub(crate) fn borrower_goes(&self, child: Tid, signal: i32) -> Result<()> {
        if self.borrowers.get(&child).is_some_and(|b| b.leaving) {
            unless_gone(ptrace::interrupt(child))?;
        }
        self.resume_borrower(child, signal)
    }

    fn resume_borrower(&self, child: Tid, signal: i32) -> Result<()> {
        let go = match self.watches.pages.is_empty() {
            true => Go::Continue,
            false => Go::Syscall,
        };
        unless_gone(ptrace::resume(child, go, signal))
    }

    /// A child has the memory no more; whether to follow it.
    pub(crate) fn loan_ends(&mut self, child: Tid) -> bool {
        self.given_back(child);
        self.borrowers.remove(&child).is_some_and(|b| b.follow)
    }

    /// What is open for a child's call is no longer its to guard again.
    pub(crate) fn given_back(&mut self, child: Tid) {
        if let Some(borrower) = self.borrowers.get_mut(&child) {
            borrower.is_over = true;
            let open = std::mem::take(&mut borrower.open);
            self.watches.pages.left_open.extend(open);
        }
    }

    fn borrower_trap(&mut self, child: Tid) -> Result<i32> {
        let regs = ptrace::regs(child)?;
        let at = Addr(regs.rip.wrapping_sub(1));
        let Some(site) = self.sites.get(at) else {
            return Ok(number::SIGTRAP);
        };
        if !site.planted {
            ptrace::set_pc(child, at)?;
            return Ok(0);
        }
        match (&site.passage, site.slot) {
            (Passage::OwnInt3, _) => return Ok(number::SIGTRAP),
            (_, Some(slot)) => ptrace::set_pc(child, slot)?,
            (_, None) => {
                let byte = site.bytes[0];
                let others = self.stop_threads(None)?;
                self.memory.write(at, &[byte])?;
                ptrace::set_pc(child, at)?;
                ptrace::resume(child, Go::Step, 0)?;
                wait::task(child)?;
                self.memory.write(at, &[crate::sites::INT3])?;
                for tid in others {
                    self.go(tid)?;
                }
            }
        }
        Ok(0)
    }

    /// The vfork child to follow has its own memory now: the parent is let go.
    fn follow_exec(&mut self, child: Tid) -> Result<()> {
        self.release_process()?;
        self.pid = child;
        self.followed = true;
        self.created = 1;
        self.end = None;
        self.memory = Memory::open(child)?;
        self.forget_addresses();
        let mut thread = Thread::new(child, State::Stopped);
        thread.in_kernel = true;
        thread.regs = ptrace::regs(child)?;
        thread.happening = Some(Happening::Exec);
        self.threads.insert(child, thread);
        self.queue.push_back(child);
        Ok(())
    }

    /// The processes that have the memory on loan.
    pub fn borrowers(&self) -> Vec<Tid> {
        self.borrowers
            .keys()
            .copied()
            .filter(|t| procfs::threads(*t).is_ok())
            .collect()
    }
}
