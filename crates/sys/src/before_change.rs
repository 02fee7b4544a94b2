//! What must be done before a stopped tracee of this thread changes.
//!
//! Nothing but a tracee that goes on and what this thread writes changes memory, so one look there
//! is enough (what the kernel writes at an end is for those to mend who keep the memory). It is not
//! asked whose memory it is: to be early costs time only. Who lets a tracee run nothing but our
//! calls, which leave the memory as it was, or nothing but its end, pauses that.

use std::cell::{Cell, RefCell};

type Task = Box<dyn FnOnce()>;

thread_local! {
    static IS_DUE: Cell<bool> = const { Cell::new(false) };
    static TASK: RefCell<Option<(u64, Task)>> = const { RefCell::new(None) };
    static NEXT: Cell<u64> = const { Cell::new(0) };
    static PAUSES: Cell<u32> = const { Cell::new(0) };
}

/// Something that will be done before the next change. Dropping it cancels that.
#[derive(Debug)]
pub struct Due(u64);

impl Due {
    /// What was due before is done now.
    pub fn new(task: impl FnOnce() + 'static) -> Due {
        do_now();
        let number = NEXT.get();
        NEXT.set(number + 1);
        TASK.set(Some((number, Box::new(task))));
        IS_DUE.set(PAUSES.get() == 0);
        Due(number)
    }
}

impl Drop for Due {
    fn drop(&mut self) {
        // At the end of the thread there may be none any more.
        let cancelled = TASK.try_with(|task| {
            let mut task = task.try_borrow_mut().ok()?;
            task.take_if(|(number, _)| *number == self.0)
        });
        if cancelled.is_ok_and(|task| task.is_some()) {
            IS_DUE.set(false);
        }
    }
}

/// What happens while this lives is no change.
#[derive(Debug)]
pub struct Pause(());

impl Pause {
    /// From now on.
    #[expect(clippy::new_without_default, reason = "it has an effect")]
    pub fn new() -> Pause {
        PAUSES.set(PAUSES.get() + 1);
        IS_DUE.set(false);
        Pause(())
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        PAUSES.set(PAUSES.get() - 1);
        let is_due = TASK.with_borrow(Option::is_some);
        IS_DUE.set(is_due && PAUSES.get() == 0);
    }
}

/// Something is about to change.
pub(crate) fn about_to_change() {
    if is_due() {
        do_now();
    }
}

/// Something is due.
pub fn is_due() -> bool {
    IS_DUE.get()
}

/// Does what is due.
#[cold]
pub fn do_now() {
    // The task makes changes of its own.
    IS_DUE.set(false);
    if let Some((_, task)) = TASK.take() {
        task();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    fn counted(count: &Rc<Cell<u32>>) -> Due {
        let count = Rc::clone(count);
        Due::new(move || {
            about_to_change();
            count.set(count.get() + 1);
        })
    }

    #[test]
    fn it_is_done_once_and_before_the_next() {
        let (one, other) = (Rc::default(), Rc::default());
        let first = counted(&one);
        assert_eq!(one.get(), 0);
        about_to_change();
        about_to_change();
        assert_eq!(one.get(), 1);
        let second = counted(&one);
        let third = counted(&other);
        assert_eq!((one.get(), other.get()), (2, 0));
        // Those that were done are over.
        drop((first, second));
        about_to_change();
        assert_eq!(other.get(), 1);
        drop(third);
    }

    #[test]
    fn it_is_not_done_in_a_pause() {
        let count = Rc::default();
        let due = counted(&count);
        let pauses = (Pause::new(), Pause::new());
        about_to_change();
        drop(pauses.0);
        about_to_change();
        assert_eq!(count.get(), 0);
        drop(pauses.1);
        about_to_change();
        assert_eq!(count.get(), 1);
        drop(due);
    }

    #[test]
    fn what_is_cancelled_is_not_done() {
        let count = Rc::default();
        drop(counted(&count));
        about_to_change();
        assert_eq!(count.get(), 0);
    }
}
