//! Children that were just made: held with their maker's stop, let go or
//! followed when the maker goes on.

use crate::arrive::unless_gone;
use crate::shadow::ShadowStack;
use crate::succeed::{Knowledge, reap};
use crate::thread::{Happening, State, Thread};
use crate::{Error, Follow, ForkKind, Process, Result, Tid, loans};
use verde_sys::ptrace::{self, Go};
use verde_sys::{number, signals};

/// A child that has not run since its birth.
pub(crate) struct Born {
    child: Tid,
    /// `None`: it has the memory itself on loan.
    copy: Option<Box<Copied>>,
}

/// What was known when a copy of the memory was made.
struct Copied {
    then: Knowledge,
    /// The open calls of its only thread.
    calls: ShadowStack,
}

impl Process {
    /// Keeps a child with a copy of the memory where it was born.
    pub(crate) fn hold_copy(&mut self, maker: Tid, child: Tid) -> Result<()> {
        if self.first_stop(child)?.is_none_or(|s| s.is_end()) {
            return Ok(());
        }
        let calls = self.threads.get(&maker).map(|t| t.shadow.clone());
        let copied = Copied {
            then: self.knowledge_of_memory(),
            calls: calls.unwrap_or_default(),
        };
        let copy = Some(Box::new(copied));
        self.born.insert(maker, Born { child, copy });
        Ok(())
    }

    /// A thread has lent the memory to its child, which is kept if that is told.
    pub(crate) fn lend_by(&mut self, maker: Tid, child: Tid) -> Result<()> {
        if !self.options.report_forks {
            return self.lend_and_go(child, self.options.follow == Follow::Child);
        }
        if self.lend(child, false)? {
            self.born.insert(maker, Born { child, copy: None });
        }
        Ok(())
    }

    /// Takes the child of a thread aside that is to run for the debugger and
    /// not to go on.
    pub(crate) fn set_born_aside(&mut self, maker: Tid) -> Result<Option<Born>> {
        let is_lent = |b: &Born| b.copy.is_none();
        match self.born.get(&maker).is_some_and(is_lent) {
            true => Err(Error::NotNow(loans::UNTIL_EXEC)),
            false => Ok(self.born.remove(&maker)),
        }
    }

    /// The thread stands again where it made the child.
    pub(crate) fn put_born_back(&mut self, maker: Tid, born: Option<Born>) -> Result<()> {
        match born {
            Some(born) if self.threads.contains_key(&maker) => {
                self.born.insert(maker, born);
                Ok(())
            }
            Some(born) => self.let_born_go(&born),
            None => Ok(()),
        }
    }

    /// A thread goes on: its child is let go, or the debugger goes with it.
    /// `true`: this process is the child now.
    #[cold]
    pub(crate) fn part(&mut self, maker: Tid) -> Result<bool> {
        let Some(born) = self.born.remove(&maker) else {
            return Ok(false);
        };
        match (self.options.follow, &born.copy) {
            (Follow::Child, Some(copied)) => self.become_child(maker, born.child, copied),
            (Follow::Child, None) => {
                if let Some(borrower) = self.borrowers.get_mut(&born.child) {
                    borrower.follow = true;
                }
                self.let_born_go(&born)?;
                Ok(false)
            }
            (Follow::Parent, _) => {
                self.let_born_go(&born)?;
                Ok(false)
            }
        }
    }

    fn let_born_go(&self, born: &Born) -> Result<()> {
        match born.copy.as_deref() {
            Some(Copied { then, .. }) => self.release(born.child, then.planted(), then.pages()),
            None => self.borrower_goes(born.child, 0),
        }
    }

    /// Lets the children of some threads go, told or not.
    pub(crate) fn release_born(&mut self, of: impl Fn(Tid) -> bool) -> Result<()> {
        let born = self.born.extract_if(|maker, _| of(*maker));
        let born: Vec<Born> = born.map(|(_, born)| born).collect();
        // Each, whatever becomes of the others.
        let mut gone = Ok(());
        for born in &born {
            gone = gone.and(self.let_born_go(born));
        }
        let untold = |t: &mut Thread| match t.happening {
            Some(Happening::Fork(child, ForkKind::Fork)) if of(t.tid) => {
                t.happening = None;
                Some(child)
            }
            _ => None,
        };
        let untold: Vec<Tid> = self.threads.values_mut().filter_map(untold).collect();
        for child in untold {
            gone = gone.and(self.release_new(child));
        }
        gone
    }

    /// The program is killed, and with it those that were held: they have not
    /// done anything yet.
    pub(crate) fn kill_born(&mut self) -> Result<()> {
        for born in std::mem::take(&mut self.born).into_values() {
            unless_gone(signals::send(born.child, number::SIGKILL))?;
            // One that was already dying when it stopped is not woken by another SIGKILL.
            let _ = ptrace::resume(born.child, Go::Continue, 0);
            reap(born.child);
            self.loan_ends(born.child);
        }
        Ok(())
    }

    /// Goes on with a forked child; the parent is let go. Nothing happens if
    /// the child is gone.
    fn become_child(&mut self, maker: Tid, child: Tid, copied: &Copied) -> Result<bool> {
        let regs = match ptrace::regs(child) {
            Err(e) if e.is_gone() => return Ok(false),
            regs => regs?,
        };
        // A step goes on in the child.
        let plan = self.threads.get_mut(&maker).and_then(|t| t.plan.take());
        let calls = self.release_process()?;
        tracing::debug!(released = calls, "parent released after fork");
        self.pid = child;
        self.followed = true;
        self.memory = self.memory_of_copy(child)?;
        self.end = None;
        self.created = 1;
        self.ready.clear();
        let mut thread = Thread::new(child, State::Stopped);
        thread.in_kernel = true;
        thread.regs = regs;
        thread.shadow = copied.calls.clone();
        self.threads.insert(child, thread);
        self.settle(child)?;
        self.former = std::iter::once((maker, child)).collect();
        let change = self.take_over(&copied.then)?;
        tracing::debug!(
            lost = change.lost.len(),
            "traps of threads that are not in the child"
        );
        if let Some(thread) = self.threads.get_mut(&child) {
            thread.plan = plan;
            thread.happening = Some(Happening::Followed(maker));
            self.queue.push_back(child);
        }
        Ok(true)
    }
}
