//! A restore that goes on in the memory of the frozen process itself. Before anything changes
//! there that process is replaced by a copy. What nobody changes, or nobody wants any more by
//! then, is not copied.
//!
//! The present, saved before a change, shares the memory as well. So several snapshots may be in
//! one memory, and at most one process that is not frozen.

use crate::memory::{self, Maps};
use crate::present::words_of_ends;
use crate::snapshot::{Kept, Snapshot};
use crate::{Error, Result};
use std::cell::RefCell;
use std::fmt;
use std::rc::{Rc, Weak};
use verde_engine::{Addr, Tid};
use verde_sys::before_change::{self, Due};
use verde_sys::limits;
use verde_sys::memory::{Contents, write_once};
use verde_sys::sizes::Sizes;

/// What a restore changes in memory, or the end of the process, as it was before.
pub(crate) type Words = Vec<(Addr, [u8; 4])>;

thread_local! {
    static RESTORED: RefCell<Option<Restored>> = const { RefCell::new(None) };
    static PRESENTS: RefCell<Vec<Weak<Kept>>> = const { RefCell::new(Vec::new()) };
    static LOSSES: RefCell<Vec<Loss>> = const { RefCell::new(Vec::new()) };
}

/// A snapshot was lost when the program changed, and why.
#[derive(Debug)]
pub enum Loss {
    /// Its memory could not be copied.
    Uncopied(Error),
    /// It was the present that a restore had replaced, and gave way so that another one could be
    /// copied.
    GaveWay,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Loss::Uncopied(why) => {
                write!(
                    f,
                    "a checkpoint is lost, for its memory could not be copied: {why}"
                )
            }
            Loss::GaveWay => f.write_str(
                "the moment before a restart is lost: another checkpoint needed the room",
            ),
        }
    }
}

/// The program, if it was restored and has not changed since.
struct Restored {
    pid: Tid,
    /// Where it is.
    space: Rc<Space>,
    /// It leaves that to the snapshots before it changes.
    _due: Due,
}

/// A memory that frozen processes share.
#[derive(Default)]
pub(crate) struct Space {
    of: RefCell<Vec<Weak<Kept>>>,
}

/// The part of a snapshot in it.
#[derive(Clone)]
pub(crate) struct Loan {
    space: Rc<Space>,
    words: Words,
}

impl Space {
    /// Where the process is, if it was restored and has not changed since.
    pub fn of(pid: Tid) -> Option<Rc<Space>> {
        RESTORED.with_borrow(|restored| {
            let restored = restored.as_ref().filter(|r| r.pid == pid);
            restored.map(|r| Rc::clone(&r.space))
        })
    }

    /// A restored process is there. It may change from here on.
    pub fn has_program(self: &Rc<Space>, pid: Tid) {
        let due = Due::new(copy_all);
        let restored = Restored {
            pid,
            space: Rc::clone(self),
            _due: due,
        };
        RESTORED.set(Some(restored));
    }

    /// The process is about to end, and does not change.
    pub fn is_left(self: &Rc<Space>) {
        let is_here = |restored: &mut Restored| Rc::ptr_eq(&restored.space, self);
        drop(RESTORED.with_borrow_mut(|restored| restored.take_if(is_here)));
    }

    /// Who is there goes first again where memory runs out: the program has gone.
    pub fn offer(&self) {
        for snapshot in self.snapshots() {
            snapshot.program.offer(snapshot.frozen_pid());
        }
    }

    /// Nobody wants it any more.
    pub fn is_empty(&self) -> bool {
        self.snapshots().is_empty()
    }

    fn snapshots(&self) -> Vec<Snapshot> {
        let all = self.of.borrow();
        let there = all.iter().filter_map(Weak::upgrade);
        there.map(Snapshot).collect()
    }

    fn leave(self: &Rc<Space>, snapshot: &Snapshot) {
        let is_it = |kept: &Weak<Kept>| std::ptr::eq(kept.as_ptr(), Rc::as_ptr(&snapshot.0));
        let mut all = self.of.borrow_mut();
        all.retain(|kept| kept.strong_count() > 0 && !is_it(kept));
        if all.is_empty() {
            self.is_left();
        }
    }
}

impl Loan {
    /// Gives the memory of a process the contents that it is to have.
    pub fn mend(&self, frozen: Tid) -> Result<()> {
        mend(frozen, &self.words)
    }
}

/// Writes words to a frozen process.
pub(crate) fn mend(frozen: Tid, words: &Words) -> Result<()> {
    for (at, word) in words {
        let by_force = || Contents::open(frozen)?.write(*at, word);
        write_once(frozen, *at, word).or_else(|_| by_force())?;
    }
    Ok(())
}

/// The restored program shares its memory with snapshots, which will be copied when it goes on.
pub fn is_copy_due() -> bool {
    before_change::is_due()
}

/// They are copied now, while nobody waits.
pub fn copy_now() {
    before_change::do_now();
}

/// What was lost since this was last asked.
pub fn losses() -> Vec<Loss> {
    LOSSES.take()
}

/// The program changes.
fn copy_all() {
    let Some(restored) = RESTORED.take() else {
        return;
    };
    for snapshot in restored.space.snapshots() {
        let has_given_way = snapshot.body.borrow().loan.is_none();
        if has_given_way {
            continue;
        }
        let mut settled = snapshot.settle();
        if settled.as_ref().is_err_and(Error::is_lack) && presents_give_way(&snapshot) {
            settled = snapshot.settle();
        }
        if let Err(error) = settled {
            // What goes on there must not be taken for what was saved.
            snapshot.lose();
            lost(Loss::Uncopied(error));
        }
    }
}

/// Those that nobody has asked for go for the sake of one that was. `false`: there are none.
fn presents_give_way(sake: &Snapshot) -> bool {
    let presents = PRESENTS.take().into_iter();
    let presents = presents.filter_map(|kept| kept.upgrade().map(Snapshot));
    let others = presents.filter(|present| !Rc::ptr_eq(&present.0, &sake.0));
    let mut are_any = false;
    for present in others.filter(|present| present.is_alive()) {
        present.lose();
        lost(Loss::GaveWay);
        are_any = true;
    }
    are_any
}

fn lost(loss: Loss) {
    LOSSES.with_borrow_mut(|losses| losses.push(loss));
}

impl Snapshot {
    /// A restore takes much less time if it lends the memory, and the copy will be possible then
    /// as far as that can be seen.
    pub(crate) fn can_lend(&self) -> bool {
        let body = self.body.borrow();
        let frozen = &body.frozen;
        let is_small = || {
            let sizes = || Sizes::of(frozen.pid);
            frozen.is_small || sizes().is_none_or(|sizes| memory::is_small(&sizes))
        };
        // Without a copy of its own it would have to be copied twice.
        let is_worth_it = self.as_large.get() || body.ranges.is_none() || !is_small();
        is_worth_it
            && !self.program.has_shadow_stacks
            && !limits::are_processes_few(frozen.pid)
            && !limits::is_memory_promised()
    }

    /// Where its memory is, for a restore to go on there.
    pub(crate) fn lend(&self) -> Result<Rc<Space>> {
        let lent = self.lend_frozen();
        lent.map_err(|error| match self.is_alive() {
            true => error,
            false => Error::Lost,
        })
    }

    fn lend_frozen(&self) -> Result<Rc<Space>> {
        let pid = self.frozen_pid();
        let loan = self.body.borrow().loan.clone();
        if let Some(loan) = loan {
            loan.mend(pid)?;
            return Ok(loan.space);
        }
        let words = words_of_ends(&self.threads, &Maps::asking(pid)?, &Contents::open(pid)?)?;
        let space = Rc::default();
        self.join(&space, words);
        Ok(space)
    }

    /// It is in this memory with others.
    pub(crate) fn join(&self, space: &Rc<Space>, words: Words) {
        space.of.borrow_mut().push(Rc::downgrade(&self.0));
        let space = Rc::clone(space);
        self.body.borrow_mut().loan = Some(Loan { space, words });
    }

    /// It was not asked for.
    pub(crate) fn is_present(&self) {
        PRESENTS.with_borrow_mut(|presents| {
            presents.retain(|kept| kept.strong_count() > 0);
            presents.push(Rc::downgrade(&self.0));
        });
    }

    /// It is there no more.
    pub(crate) fn leave_space(&self) {
        let loan = self.body.borrow_mut().loan.take();
        if let Some(loan) = loan {
            loan.space.leave(self);
        }
    }
}
