//! The slices as code sees them that asks about them.

use crate::cell::{Arg, Cell};
use crate::slices::{Slices, SlotRef};
use std::sync::Arc;
use verde_property::{BlockId, Property, StateId};

/// The table, and in front of it the one slice whose transition is about to be taken: it is there with
/// what its blocks have computed, in the state that it comes from. The table itself knows nothing
/// of it until then, so there is nothing to take back when the transition is not taken.
#[derive(Clone, Copy)]
pub struct View<'a> {
    slices: &'a Slices,
    coming: Option<&'a Coming<'a>>,
    own: Option<SlotRef>,
}

/// What a slice is about to be, for the action of its transition.
pub(crate) struct Coming<'a> {
    /// Where it is, or will be.
    pub slice: SlotRef,
    /// What it will bind, if it is not in the table yet.
    pub new: Option<Vec<(&'a str, Arg<'a>)>>,
    pub state: StateId,
    pub env: &'a [Cell],
    /// Guard and code that have run for it.
    pub blocks: [Option<BlockId>; 2],
}

impl<'a> From<&'a Slices> for View<'a> {
    fn from(slices: &'a Slices) -> View<'a> {
        View {
            slices,
            coming: None,
            own: None,
        }
    }
}

impl<'a> View<'a> {
    pub(crate) fn with(slices: &'a Slices, coming: &'a Coming<'a>) -> View<'a> {
        View {
            slices,
            coming: Some(coming),
            own: Some(coming.slice),
        }
    }

    /// For code of a slice that is in the table; without one, of a slice that is not there yet.
    pub(crate) fn of(slices: &'a Slices, own: Option<SlotRef>) -> View<'a> {
        View {
            own,
            ..View::from(slices)
        }
    }

    /// The slice whose code asks, if it can be found.
    pub fn own(self) -> Option<SlotRef> {
        self.own
    }

    /// It is an action that asks, before its transition is taken.
    pub fn is_ahead(self) -> bool {
        self.coming.is_some()
    }

    fn coming(self, r: SlotRef) -> Option<&'a Coming<'a>> {
        self.coming.filter(|c| c.slice == r)
    }

    /// The slice that is not in the table.
    fn newborn(self) -> Option<&'a Coming<'a>> {
        self.coming.filter(|c| c.new.is_some())
    }

    pub fn property(self) -> &'a Arc<Property> {
        self.slices.property()
    }

    /// Live slices, as [`Slices::iter`] has them; one that is being created is the last.
    pub fn iter(self) -> impl Iterator<Item = SlotRef> + 'a {
        self.slices.iter().chain(self.newborn().map(|c| c.slice))
    }

    /// The slice of the table with these bindings.
    pub fn find(self, bindings: &[(&str, Arg)]) -> Option<SlotRef> {
        self.slices.find_named(bindings)
    }

    pub fn root(self) -> Option<SlotRef> {
        self.slices.root()
    }

    pub fn state(self, r: SlotRef) -> StateId {
        self.coming(r)
            .map_or_else(|| self.slices.state(r), |c| c.state)
    }

    /// Live slices in a state, the root included.
    pub fn in_state(self, s: StateId) -> u64 {
        self.slices.in_state(s) + self.newborn().is_some_and(|c| c.state == s) as u64
    }

    /// See [`Slices::beside`].
    pub fn beside(self) -> usize {
        self.slices.beside()
    }

    pub fn env(self, r: SlotRef, i: usize) -> Cell {
        self.coming(r)
            .map_or_else(|| self.slices.env(r, i), |c| c.env[i])
    }

    /// Whether blocks that have run for the slice at this event assign the name.
    pub fn is_assigned(self, r: SlotRef, i: usize) -> bool {
        let blocks = self.coming(r).map_or([None; 2], |c| c.blocks);
        let mut blocks = blocks.into_iter().flatten();
        blocks.any(|b| self.property().block(b).assigned.contains(&(i as u16)))
    }

    /// The slice's number in the order of creation.
    pub fn created(self, r: SlotRef) -> u64 {
        match self.newborn().filter(|c| c.slice == r) {
            Some(_) => self.slices.next_created(),
            None => self.slices.created(r),
        }
    }

    /// The slice's bindings with their names, in the order of `slice on`.
    pub fn bindings(self, r: SlotRef) -> Vec<(&'a str, Arg<'a>)> {
        match self.coming(r).and_then(|c| c.new.as_ref()) {
            Some(bindings) => bindings.clone(),
            None => self.slices.bindings(r),
        }
    }
}
