//! The CPU's slots for watched data: four for each thread.
//!
//! What every thread may touch takes one slot in all of them; what belongs to
//! one thread takes one there, and leaves it free for others elsewhere.

use crate::{Addr, Tid, TrapId};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use verde_sys::debug_registers::COUNT;
use verde_sys::perf::{Access, PerfWatch};

/// A range of memory watched by one slot.
pub(crate) struct Hardware {
    pub(crate) at: Addr,
    pub(crate) len: u8,
    pub(crate) access: Access,
    pub(crate) users: SmallVec<[TrapId; 2]>,
    /// One for each thread that existed; new threads inherit those of all.
    pub(crate) events: Vec<PerfWatch>,
    /// The bytes at the last hit, to tell stores from loads.
    pub(crate) last: u64,
}

impl Hardware {
    pub(crate) fn new(at: Addr, len: u8, access: Access) -> Hardware {
        Hardware {
            at,
            len,
            access,
            users: SmallVec::new(),
            events: Vec::new(),
            last: 0,
        }
    }

    fn is(&self, range: (Addr, u8), access: Access) -> bool {
        (self.at, self.len, self.access) == (range.0, range.1, access)
    }
}

/// A slot of all threads, or of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) thread: Option<Tid>,
    pub(crate) slot: usize,
}

type Row = [Option<Hardware>; COUNT];

/// What is in the slots. In each thread a slot holds one thing.
#[derive(Default)]
pub(crate) struct Table {
    all: Row,
    own: FxHashMap<Tid, Row>,
}

impl Table {
    fn row(&self, thread: Option<Tid>) -> Option<&Row> {
        match thread {
            None => Some(&self.all),
            Some(tid) => self.own.get(&tid),
        }
    }

    pub(crate) fn get(&self, place: Place) -> Option<&Hardware> {
        self.row(place.thread)?.get(place.slot)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, place: Place) -> Option<&mut Hardware> {
        let row = match place.thread {
            None => Some(&mut self.all),
            Some(tid) => self.own.get_mut(&tid),
        };
        row?.get_mut(place.slot)?.as_mut()
    }

    pub(crate) fn put(&mut self, place: Place, hardware: Hardware) {
        let row = match place.thread {
            None => &mut self.all,
            Some(tid) => self.own.entry(tid).or_default(),
        };
        row[place.slot] = Some(hardware);
    }

    pub(crate) fn take(&mut self, place: Place) -> Option<Hardware> {
        let Some(tid) = place.thread else {
            return self.all[place.slot].take();
        };
        let row = self.own.get_mut(&tid)?;
        let taken = row[place.slot].take();
        if row.iter().all(Option::is_none) {
            self.own.remove(&tid);
        }
        taken
    }

    /// Where a thread's slot is, if something is in it.
    pub(crate) fn place(&self, tid: Tid, slot: usize) -> Option<Place> {
        let places = [Some(tid), None].map(|thread| Place { thread, slot });
        places.into_iter().find(|p| self.get(*p).is_some())
    }

    /// What a thread has in its slots.
    pub(crate) fn of(&self, tid: Tid) -> impl Iterator<Item = (usize, &Hardware)> {
        (0..COUNT).filter_map(move |slot| Some((slot, self.get(self.place(tid, slot)?)?)))
    }

    /// Every slot in use.
    pub(crate) fn places(&self) -> Vec<Place> {
        let threads = std::iter::once(None).chain(self.own.keys().copied().map(Some));
        let all = threads.flat_map(|thread| (0..COUNT).map(move |slot| Place { thread, slot }));
        all.filter(|p| self.get(*p).is_some()).collect()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Hardware> {
        let rows = std::iter::once(&mut self.all).chain(self.own.values_mut());
        rows.flatten().flatten()
    }

    /// The slots that are free in one thread, or in all.
    pub(crate) fn free(&self, thread: Option<Tid>) -> SmallVec<[usize; COUNT]> {
        let is_free = |slot: &usize| {
            self.all[*slot].is_none()
                && match thread {
                    Some(tid) => self.own.get(&tid).is_none_or(|row| row[*slot].is_none()),
                    None => self.own.values().all(|row| row[*slot].is_none()),
                }
        };
        (0..COUNT).filter(is_free).collect()
    }

    /// A slot that watches this already, in that thread at least.
    pub(crate) fn find(
        &self,
        thread: Option<Tid>,
        range: (Addr, u8),
        access: Access,
    ) -> Option<Place> {
        let same = |place: &Place| self.get(*place).is_some_and(|h| h.is(range, access));
        let mut scopes = [None, thread].into_iter();
        scopes.find_map(|thread| {
            let mut row = (0..COUNT).map(|slot| Place { thread, slot });
            row.find(same)
        })
    }

    /// The traps in slots of all threads, those of one slot after the other.
    pub(crate) fn users_in_all(&self) -> Vec<SmallVec<[TrapId; 2]>> {
        self.all.iter().flatten().map(|h| h.users.clone()).collect()
    }

    /// A thread is gone.
    pub(crate) fn forget(&mut self, tid: Tid) {
        self.own.remove(&tid);
    }

    /// Threads have other ids now; those without one are gone.
    pub(crate) fn rename(&mut self, id_now: impl Fn(Tid) -> Option<Tid>) {
        let own = std::mem::take(&mut self.own).into_iter();
        self.own = own
            .filter_map(|(tid, row)| Some((id_now(tid)?, row)))
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_four_slots() {
        let mut table = Table::default();
        let (a, b) = (Tid(1), Tid(2));
        let datum = |at| Hardware::new(Addr(at), 8, Access::Write);
        let own = |thread, slot| Place { thread, slot };
        table.put(own(None, 0), datum(0x10));
        table.put(own(Some(a), 1), datum(0x20));
        table.put(own(Some(b), 1), datum(0x30));
        table.put(own(Some(b), 2), datum(0x40));
        assert_eq!(table.free(Some(a)).as_slice(), [2, 3]);
        assert_eq!(table.free(Some(b)).as_slice(), [3]);
        assert_eq!(table.free(Some(Tid(3))).as_slice(), [1, 2, 3]);
        assert_eq!(table.free(None).as_slice(), [3], "in every thread");
        let seen = |tid| table.of(tid).map(|(_, h)| h.at.0).collect::<Vec<_>>();
        assert_eq!(seen(a), [0x10, 0x20]);
        assert_eq!(seen(b), [0x10, 0x30, 0x40]);
        let found = |thread, at| table.find(thread, (Addr(at), 8), Access::Write);
        assert_eq!(found(Some(a), 0x10), Some(own(None, 0)));
        assert_eq!(found(Some(a), 0x30), None, "another thread's");
        table.rename(|tid| (tid == a).then_some(Tid(7)));
        assert_eq!(table.free(None).as_slice(), [2, 3]);
        assert!(table.take(own(Some(Tid(7)), 1)).is_some());
        assert_eq!(table.free(None).as_slice(), [1, 2, 3]);
    }
}
