//! Changes of slices that code asked for while an event was on its way.

use verde_monitor::{Assigned, Cell, Host, Monitor, Observer, SlotRef, View};
use verde_property::StateId;

/// In the order in which they were asked for. Cells are references of theirs.
#[derive(Default)]
pub(crate) struct Writes(Vec<Write>);

struct Write {
    to: Target,
    /// It was the slice's own code that asked for it.
    own: bool,
    what: Change,
}

/// A slice, and no other that comes to its place later.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Target {
    slice: SlotRef,
    created: u64,
}

impl Target {
    fn of(view: View, slice: SlotRef) -> Target {
        Target {
            slice,
            created: view.created(slice),
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Change {
    Env(usize, Cell),
    State(StateId),
}

impl Writes {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn push(&mut self, view: View, slice: SlotRef, what: Change) {
        let to = Target::of(view, slice);
        let own = view.own() == Some(slice);
        self.0.push(Write { to, own, what });
    }

    /// A value as it will be when they are done; but for an action, what its slice's blocks have
    /// assigned at this event is not hidden by what others asked for before.
    pub fn env(&self, view: View, slice: SlotRef, name: usize) -> Cell {
        let found = self.last(view, slice, |write| match write.what {
            Change::Env(n, cell) if n == name => Some((cell, write.own)),
            _ => None,
        });
        match found {
            Some((cell, own)) if own || !view.is_assigned(slice, name) => cell,
            _ => view.env(slice, name),
        }
    }

    /// The slice's state as it will be when they are done.
    pub fn state(&self, view: View, slice: SlotRef) -> StateId {
        let found = self.last(view, slice, |write| match write.what {
            Change::State(state) => Some(state),
            Change::Env(..) => None,
        });
        found.unwrap_or_else(|| view.state(slice))
    }

    fn last<T>(&self, view: View, slice: SlotRef, f: impl Fn(&Write) -> Option<T>) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let to = Target::of(view, slice);
        let mut of_slice = self.0.iter().rev().filter(|w| w.to == to);
        of_slice.find_map(f)
    }

    /// An action for a slice has run, and asked for all after the first `before`. What it gave names
    /// of its slice is not for later, so nothing that was asked for earlier may come after it.
    /// Then cells that nobody has any more, to be released.
    pub fn settle(&mut self, before: usize, view: View, slice: SlotRef) -> (Assigned, Vec<Cell>) {
        let own = Target::of(view, slice);
        let (mut assigned, mut dropped) = (Assigned::new(), Vec::new());
        for write in self.0.split_off(before) {
            match write.what {
                Change::Env(name, cell) if write.to == own => assigned.push((name, cell)),
                _ => self.0.push(write),
            }
        }
        self.0.retain(|write| match write.what {
            Change::Env(name, cell) if write.to == own => {
                let stays = assigned.iter().all(|(n, _)| *n != name);
                if !stays {
                    dropped.push(cell);
                }
                stays
            }
            _ => true,
        });
        (assigned, dropped)
    }

    /// Forgets what the slice's own code asked for it, after the first `from` of all. Cells to be released.
    pub fn take_back(&mut self, from: usize, view: View) -> Vec<Cell> {
        let Some(slice) = view.own() else {
            return Vec::new();
        };
        let own = Target::of(view, slice);
        let mut dropped = Vec::new();
        for write in self.0.split_off(from) {
            match write.what {
                _ if !write.own || write.to != own => self.0.push(write),
                Change::Env(_, cell) => dropped.push(cell),
                Change::State(_) => {}
            }
        }
        dropped
    }

    /// Changes the slices, where they are still those that were meant. `n`: the event that was on its way.
    pub fn carry_out(
        self,
        monitor: &mut Monitor,
        n: Option<u64>,
        host: &mut dyn Host,
        observer: &mut dyn Observer,
    ) {
        for Write { to, what, .. } in self.0 {
            let slices = monitor.slices();
            let same = slices.is_live(to.slice) && slices.created(to.slice) == to.created;
            match what {
                Change::Env(name, cell) if same => monitor.set_env(to.slice, name, cell, host),
                Change::Env(_, cell) => host.release(cell),
                Change::State(state) if same => monitor.set_state(to.slice, state, n, observer),
                Change::State(_) => {}
            }
        }
    }
}
