//! What calls began with that have not returned, by their numbers and by their places.

use super::feed::Saved;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use verde_engine::{Addr, CallId};

#[derive(Clone, Default)]
pub struct SavedCalls {
    calls: FxHashMap<CallId, Saved>,
    /// The function and where the return address is; calls that return together share it.
    places: BTreeSet<((Addr, Addr), CallId)>,
}

impl SavedCalls {
    pub fn insert(&mut self, call: CallId, saved: Saved) {
        let place = saved.place;
        if let Some(old) = self.calls.insert(call, saved) {
            self.places.remove(&(old.place, call));
        }
        self.places.insert((place, call));
    }

    pub fn remove(&mut self, call: CallId) -> Option<Saved> {
        let saved = self.calls.remove(&call)?;
        self.places.remove(&(saved.place, call));
        Some(saved)
    }

    /// Of the calls at a place the last, which is the one that runs.
    pub fn last_at(&self, place: (Addr, Addr)) -> Option<&Saved> {
        let mut here = self
            .places
            .range((place, CallId(0))..=(place, CallId(u64::MAX)));
        let (_, call) = here.next_back()?;
        self.calls.get(call)
    }

    pub fn contains(&self, call: CallId) -> bool {
        self.calls.contains_key(&call)
    }

    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Takes those out that are not to stay.
    pub fn take_unless(&mut self, mut stays: impl FnMut(CallId) -> bool) -> Vec<Saved> {
        let calls = self.calls.keys().copied();
        let gone: Vec<CallId> = calls.filter(|call| !stays(*call)).collect();
        gone.into_iter().filter_map(|c| self.remove(c)).collect()
    }
}
