//! The environment of a slice while an event is applied to it: blocks write to
//! a scratch copy that is kept only if the transition is taken.

use crate::cell::{Cell, Tag};
use crate::host::{Host, Raised};
use crate::slices::{Slices, SlotRef};

/// Invariant: an `Other` cell of `cells` is owned, or else borrowed from the
/// same place of the slice (of `copies` when these were made).
#[derive(Default, Debug)]
pub struct Scratch {
    pub cells: Vec<Cell>,
    pub owned: Vec<bool>,
    /// Deep copies of the parent's environment, for a slice to come; else empty.
    copies: Vec<Cell>,
    /// The cells written since the beginning, as bits; the highest stands for
    /// itself and all that have no bit.
    pub written: u64,
    /// Python gave values: cells may be owned.
    pub python: bool,
}

/// The bit of a cell in [`Scratch::written`].
pub fn bit(cell: usize) -> u64 {
    1 << cell.min(63)
}

impl Scratch {
    /// Begins with the slice's environment; with a deep copy of it for a child.
    pub fn load(
        &mut self,
        slices: &Slices,
        r: SlotRef,
        copy: bool,
        host: &mut dyn Host,
    ) -> Result<(), Raised> {
        self.cells.clear();
        slices.load_env(r, &mut self.cells);
        self.owned.resize(self.cells.len(), false);
        self.copies.clear();
        self.written = 0;
        self.python = false;
        if copy && self.cells.iter().any(|c| c.tag == Tag::Other) {
            host.copy(&mut self.cells)?;
            self.copies.extend_from_slice(&self.cells);
        }
        Ok(())
    }

    /// Begins with an environment without any name.
    pub fn load_empty(&mut self, n: usize) {
        self.cells.clear();
        self.cells.resize(n, Cell::UNSET);
        self.owned.clear();
        self.owned.resize(n, false);
        self.copies.clear();
        self.written = 0;
        self.python = false;
    }

    /// Gives a name another value, which is a reference of the caller's until now.
    pub fn assign(&mut self, name: usize, value: Cell, host: &mut dyn Host) {
        let old = std::mem::replace(&mut self.cells[name], value);
        if std::mem::replace(&mut self.owned[name], value.tag == Tag::Other) {
            host.release(old);
        }
        self.written |= bit(name);
        self.python = true;
    }

    /// Back to the beginning: the transition was not taken.
    pub fn reset(&mut self, slices: &Slices, r: SlotRef, host: &mut dyn Host) {
        if self.written == 0 {
            return;
        }
        self.release_owned(host);
        self.cells.clear();
        if self.copies.is_empty() {
            slices.load_env(r, &mut self.cells);
        } else {
            self.cells.extend_from_slice(&self.copies);
        }
        self.written = 0;
    }

    fn release_owned(&mut self, host: &mut dyn Host) {
        if self.python {
            for (c, owned) in self.cells.iter().zip(&mut self.owned) {
                if std::mem::take(owned) {
                    host.release(*c);
                }
            }
        }
    }

    /// Gives everything back.
    pub fn abandon(&mut self, host: &mut dyn Host) {
        self.release_owned(host);
        for c in self.copies.drain(..).filter(|c| c.tag == Tag::Other) {
            host.release(c);
        }
    }

    /// Stores what changed into the slice that was loaded.
    pub fn commit(&mut self, slices: &mut Slices, r: SlotRef, host: &mut dyn Host) {
        for (i, new) in self.cells.iter().enumerate() {
            if self.written & bit(i) == 0 {
                continue;
            }
            let old = slices.env(r, i);
            let owned = self.python && std::mem::take(&mut self.owned[i]);
            if *new == old && !owned {
                continue;
            }
            if old.tag == Tag::Other {
                host.release(old);
            }
            slices.set_env(r, i, *new);
        }
    }

    /// The cells for a new slice, whose references they become.
    pub fn take(&mut self, host: &mut dyn Host) -> &[Cell] {
        for (i, copy) in self.copies.drain(..).enumerate() {
            let kept = self.cells[i] == copy && !self.owned[i];
            if copy.tag == Tag::Other && !kept {
                host.release(copy);
            }
        }
        self.owned.fill(false);
        &self.cells
    }
}
