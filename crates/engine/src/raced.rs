//! Stores of several threads at one time: who looks at the value after one of them sees the
//! others' as well, whose hits are still to be told.

use crate::thread::{Happening, Thread};
use crate::{Addr, Process, Tid, TrapId};
use verde_sys::debug_registers::COUNT;

impl Process {
    /// Stopped threads that have touched what these traps watch, and have not told it yet.
    pub fn untold_touches(&self, ids: &[TrapId]) -> Vec<Tid> {
        let touched = |thread: &&Thread| {
            let slots = match thread.happening {
                Some(Happening::Perf(slot, at)) => {
                    let now = self.slot_now(thread.tid, slot, at);
                    now.map_or(0, |slot| 1 << slot)
                }
                Some(Happening::Hardware(hits, watched)) => {
                    self.slots_now(thread.tid, hits, &watched)
                }
                Some(Happening::Step(hits)) => hits,
                _ => 0,
            };
            let mut used = self.watches.hardware.of(thread.tid);
            used.any(|(slot, h)| slots & 1 << slot != 0 && h.users.iter().any(|u| ids.contains(u)))
        };
        let all = self.threads.values().filter(touched);
        all.map(|thread| thread.tid).collect()
    }

    /// The slots, as bits, that watch what those have watched that fired.
    pub(crate) fn slots_now(&self, tid: Tid, hits: u8, watched: &[Addr; COUNT]) -> u8 {
        let fired = (0..COUNT).filter(|slot| hits & 1 << slot != 0);
        let now = fired.filter_map(|slot| self.slot_now(tid, slot, watched[slot]));
        now.fold(0, |all, slot| all | 1 << slot)
    }
}
