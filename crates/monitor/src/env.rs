//! The environment of a slice while an event is applied to it: blocks write to
//! a scratch copy that is kept only if the transition is taken.

use crate::cell::{Cell, Tag};
use crate::host::{Host, Raised};
use crate::slices::{Slices, SlotRef};

/// Invariant: an `Other` cell of `cells` is either borrowed from the same place
/// of `base` or owned; one of `base` is borrowed from the slice, or owned when
/// the base is a copy for a slice to come.
#[derive(Default, Debug)]
pub struct Scratch {
    pub cells: Vec<Cell>,
    pub owned: Vec<bool>,
    base: Vec<Cell>,
    base_owned: bool,
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
        let n = slices.property().env.len();
        self.base.clear();
        self.base.extend((0..n).map(|i| slices.env(r, i)));
        self.base_owned = false;
        if copy && self.base.iter().any(|c| c.tag == Tag::Other) {
            host.copy(&mut self.base)?;
            self.base_owned = true;
        }
        self.cells.clear();
        self.cells.extend_from_slice(&self.base);
        self.owned.clear();
        self.owned.resize(n, false);
        Ok(())
    }

    /// Begins with an environment without any name.
    pub fn load_empty(&mut self, n: usize) {
        self.base.clear();
        self.base.resize(n, Cell::UNSET);
        self.base_owned = false;
        self.cells.clone_from(&self.base);
        self.owned.clear();
        self.owned.resize(n, false);
    }

    /// Back to the beginning: the transition was not taken.
    pub fn reset(&mut self, host: &mut dyn Host) {
        for (c, owned) in self.cells.iter().zip(&mut self.owned) {
            if std::mem::take(owned) {
                host.release(*c);
            }
        }
        self.cells.copy_from_slice(&self.base);
    }

    /// Gives everything back.
    pub fn abandon(&mut self, host: &mut dyn Host) {
        self.reset(host);
        if std::mem::take(&mut self.base_owned) {
            for c in &self.base {
                host.release(*c);
            }
        }
    }

    /// Stores what changed into the slice that was loaded.
    pub fn commit(&mut self, slices: &mut Slices, r: SlotRef, host: &mut dyn Host) {
        for i in 0..self.cells.len() {
            let (new, old) = (self.cells[i], self.base[i]);
            if new == old && !self.owned[i] {
                continue;
            }
            if old.tag == Tag::Other {
                host.release(old);
            }
            slices.set_env(r, i, new);
            self.owned[i] = false;
        }
    }

    /// The cells for a new slice, whose references they become.
    pub fn take(&mut self, host: &mut dyn Host) -> &[Cell] {
        for i in 0..self.cells.len() {
            let kept = self.cells[i] == self.base[i] && !self.owned[i];
            if self.base_owned && !kept {
                host.release(self.base[i]);
            }
            self.owned[i] = false;
        }
        self.base_owned = false;
        &self.cells
    }
}
