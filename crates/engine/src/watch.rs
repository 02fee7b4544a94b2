//! Watched data: which mechanism serves which trap.
//!
//! Four hardware slots, by perf events or, where those are denied, by debug
//! registers; what does not fit goes to protected pages.

use crate::pages::Pages;
use crate::thread::State;
use crate::{Addr, Error, FrameRef, On, Owner, Process, Result, Tid, Trap, TrapId};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use verde_sys::perf::{Access, PerfWatch};
use verde_sys::{debug_registers, number, ptrace};

/// EACCES and EPERM: the user may not use perf events.
const DENIED: [i32; 2] = [13, number::EPERM];

#[derive(Default)]
pub(crate) struct Watches {
    pub(crate) hardware: [Option<Hardware>; debug_registers::COUNT],
    /// Which hardware slots serve a trap; none: pages do.
    pub(crate) slots: FxHashMap<TrapId, SmallVec<[usize; 2]>>,
    /// Perf events are denied: use debug registers.
    pub(crate) by_registers: bool,
    pub(crate) pages: Pages,
    /// Addresses watched a short while ago: a hit may be on its way.
    pub(crate) retired: Vec<Addr>,
    /// Traps at return addresses that end watches of locals.
    pub(crate) ends: FxHashMap<TrapId, SmallVec<[TrapId; 2]>>,
}

pub(crate) struct Hardware {
    pub(crate) at: Addr,
    pub(crate) len: u8,
    pub(crate) access: Access,
    pub(crate) users: SmallVec<[TrapId; 2]>,
    /// One for each thread that existed; new threads inherit.
    events: Vec<PerfWatch>,
    /// The bytes at the last hit, to tell stores from loads.
    pub(crate) last: u64,
}

impl Hardware {
    /// Switches it off in every thread; `arm_again` switches it on.
    pub(crate) fn disarm(&mut self) {
        self.events.clear();
    }
}

/// What is watched, of a data trap.
pub(crate) struct Wanted {
    pub at: Addr,
    pub len: u64,
    pub read: bool,
    pub write: bool,
}

/// The watched range of a trap; `None` for traps on other things.
pub(crate) fn wanted(on: On) -> Option<Wanted> {
    let (at, len, read, write) = match on {
        On::Write { at, len } => (at, len, false, true),
        On::Read { at, len } => (at, len, true, false),
        On::Access { at, len } => (at, len, true, true),
        _ => return None,
    };
    Some(Wanted {
        at,
        len,
        read,
        write,
    })
}

/// Cuts a range into pieces that a hardware slot can watch.
fn pieces(at: Addr, len: u64) -> SmallVec<[(Addr, u8); 4]> {
    let mut list = SmallVec::new();
    let (mut at, mut left) = (at.0, len);
    while left > 0 && list.len() <= debug_registers::COUNT {
        let mut size = 8;
        while !at.is_multiple_of(size) || size > left {
            size /= 2;
        }
        list.push((Addr(at), size as u8));
        at += size;
        left -= size;
    }
    list
}

impl Process {
    pub(crate) fn set_up_watch(&mut self, id: TrapId, trap: Trap, want: &Wanted) -> Result<()> {
        if want.len == 0 || want.at.0.checked_add(want.len).is_none() {
            return Err(Error::CannotWatch {
                at: want.at,
                len: want.len,
                why: "the range is empty or too long",
            });
        }
        // A thread born meanwhile must not be missed.
        let stopped = self.stop_threads(None)?;
        let result = self.arm(id, want);
        for tid in stopped {
            self.go(tid)?;
        }
        result?;
        if let Some(frame) = trap.frame {
            let end = self.end_with_frame(id, trap.thread, frame);
            if end.is_err() {
                // Nobody would ever take it back.
                self.tear_down_watch(id)?;
            }
            return end;
        }
        Ok(())
    }

    /// All threads are stopped.
    fn arm(&mut self, id: TrapId, want: &Wanted) -> Result<()> {
        if !self.arm_hardware(id, want)? {
            self.protect(id, want)?;
        }
        Ok(())
    }

    /// `false`: no slot is left.
    fn arm_hardware(&mut self, id: TrapId, want: &Wanted) -> Result<bool> {
        let access = if want.read {
            Access::ReadWrite
        } else {
            Access::Write
        };
        let pieces = pieces(want.at, want.len);
        let same = |h: &Option<Hardware>, (at, len): (Addr, u8)| {
            h.as_ref()
                .is_some_and(|h| (h.at, h.len, h.access) == (at, len, access))
        };
        let free = self.watches.hardware.iter().filter(|h| h.is_none()).count();
        let new = pieces
            .iter()
            .filter(|p| !self.watches.hardware.iter().any(|h| same(h, **p)))
            .count();
        if new > free {
            return Ok(false);
        }
        for piece in pieces {
            let hardware = &mut self.watches.hardware;
            let slot = match hardware.iter().position(|h| same(h, piece)) {
                Some(slot) => slot,
                None => {
                    let Some(slot) = hardware.iter().position(Option::is_none) else {
                        return Ok(false);
                    };
                    hardware[slot] = Some(Hardware {
                        at: piece.0,
                        len: piece.1,
                        access,
                        users: SmallVec::new(),
                        events: Vec::new(),
                        last: 0,
                    });
                    slot
                }
            };
            if let Some(h) = &mut self.watches.hardware[slot] {
                h.users.push(id);
            }
            self.watches.slots.entry(id).or_default().push(slot);
            if let Err(error) = self.arm_slot(slot) {
                self.tear_down_watch(id)?;
                return match error {
                    // Somebody else uses the CPU's slots.
                    Error::Sys(e) if e.errno == number::ENOSPC => Ok(false),
                    error => Err(error),
                };
            }
            self.remember_value(slot);
        }
        Ok(true)
    }

    /// Switches a slot on in every thread.
    fn arm_slot(&mut self, slot: usize) -> Result<()> {
        if !self.watches.by_registers && self.some_thread_blocks_sigtrap() {
            // The signal of a perf event would wait until it is unblocked; that
            // of a debug register is forced on the thread.
            self.use_registers();
        }
        if !self.watches.by_registers {
            match self.open_events(slot) {
                Err(Error::Sys(e)) if DENIED.contains(&e.errno) => {
                    tracing::debug!("perf events denied: debug registers instead");
                    self.use_registers();
                }
                other => return other,
            }
        }
        let tids: Vec<Tid> = self
            .threads
            .values()
            .filter(|t| t.state == State::Stopped)
            .map(|t| t.tid)
            .collect();
        for tid in tids {
            self.set_registers(tid)?;
        }
        Ok(())
    }

    fn some_thread_blocks_sigtrap(&self) -> bool {
        let blocks = |tid: Tid| {
            ptrace::signal_mask(tid).is_ok_and(|mask| mask & 1 << (number::SIGTRAP - 1) != 0)
        };
        self.threads
            .values()
            .any(|t| t.state == State::Stopped && blocks(t.tid))
    }

    fn use_registers(&mut self) {
        self.watches.by_registers = true;
        for h in self.watches.hardware.iter_mut().flatten() {
            h.events.clear();
        }
    }

    fn open_events(&mut self, slot: usize) -> Result<()> {
        let Some(h) = &mut self.watches.hardware[slot] else {
            return Ok(());
        };
        h.events.clear();
        for thread in self.threads.values() {
            if thread.state == State::Exiting {
                continue;
            }
            match PerfWatch::open(thread.tid, h.at, h.len, h.access, slot as u64) {
                Ok(event) => h.events.push(event),
                Err(e) if e.is_gone() => {}
                Err(e) => {
                    h.events.clear();
                    return Err(e.into());
                }
            }
        }
        Ok(())
    }

    /// Gives a stopped thread the debug registers that all have.
    pub(crate) fn set_registers(&self, tid: Tid) -> Result<()> {
        if !self.watches.by_registers {
            return Ok(());
        }
        for (slot, h) in self.watches.hardware.iter().enumerate() {
            let done = match h {
                Some(h) => debug_registers::set(tid, slot, h.at, h.len, h.access),
                None => debug_registers::clear(tid, slot),
            };
            crate::arrive::unless_gone(done)?;
        }
        Ok(())
    }

    /// Perf events of a forked child that is followed are not inherited.
    pub(crate) fn arm_again(&mut self) -> Result<()> {
        for slot in 0..debug_registers::COUNT {
            if self.watches.hardware[slot].is_some() {
                self.arm_slot(slot)?;
            }
        }
        Ok(())
    }

    /// Forgets every watch: the address space was replaced, and the kernel
    /// has dropped them.
    pub(crate) fn forget_watches(&mut self) {
        self.watches = Watches {
            by_registers: self.watches.by_registers,
            ..Watches::default()
        };
    }

    /// Uses debug registers from now on, as where perf events are denied.
    pub fn avoid_perf_events(&mut self) {
        self.use_registers();
    }

    /// Switches everything off in the program (all threads are stopped). What
    /// is watched stays known.
    pub(crate) fn disarm_all(&mut self) -> Result<()> {
        for h in self.watches.hardware.iter_mut().flatten() {
            h.events.clear();
        }
        if self.watches.by_registers {
            for tid in self.threads.keys() {
                for slot in 0..debug_registers::COUNT {
                    crate::arrive::unless_gone(debug_registers::clear(*tid, slot))?;
                }
            }
        }
        self.open_all_pages()
    }

    pub(crate) fn tear_down_watch(&mut self, id: TrapId) -> Result<()> {
        let ends: Vec<TrapId> = self
            .watches
            .ends
            .iter()
            .filter(|(_, ids)| ids.contains(&id))
            .map(|(end, _)| *end)
            .collect();
        for end in ends {
            if let Some(ids) = self.watches.ends.get_mut(&end) {
                ids.retain(|i| *i != id);
                if ids.is_empty() {
                    self.watches.ends.remove(&end);
                }
            }
            self.remove(end)?;
        }
        let Some(slots) = self.watches.slots.remove(&id) else {
            return self.unprotect(id);
        };
        let mut changed = false;
        for slot in slots {
            if let Some(h) = &mut self.watches.hardware[slot] {
                h.users.retain(|i| *i != id);
                if h.users.is_empty() {
                    self.watches.retired.truncate(15);
                    self.watches.retired.insert(0, h.at);
                    // Closing the events switches them off in all threads.
                    self.watches.hardware[slot] = None;
                    changed = true;
                }
            }
        }
        if changed && self.watches.by_registers && self.end.is_none() {
            let stopped = self.stop_threads(None)?;
            let tids: Vec<Tid> = self.threads.keys().copied().collect();
            for tid in tids {
                self.set_registers(tid)?;
            }
            for tid in stopped {
                self.go(tid)?;
            }
        }
        Ok(())
    }

    fn end_with_frame(&mut self, id: TrapId, thread: Option<Tid>, frame: FrameRef) -> Result<()> {
        let mut end = Trap::new(On::Exec(frame.return_to), Owner::Loader).in_frame(frame);
        end.thread = thread;
        let end = self.insert(end)?;
        self.watches.ends.entry(end).or_default().push(id);
        Ok(())
    }

    /// Whether a watch is served by hardware; `None`: no such watch.
    pub fn watch_in_hardware(&self, id: TrapId) -> Option<bool> {
        wanted(self.traps.get(id)?.trap.on)?;
        Some(self.watches.slots.contains_key(&id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_at_their_alignment() {
        let cut = |at, len| {
            pieces(Addr(at), len)
                .into_iter()
                .map(|(a, l)| (a.0, l))
                .collect::<Vec<_>>()
        };
        assert_eq!(cut(0x1000, 8), [(0x1000, 8)]);
        assert_eq!(cut(0x1004, 8), [(0x1004, 4), (0x1008, 4)]);
        assert_eq!(cut(0x1001, 4), [(0x1001, 1), (0x1002, 2), (0x1004, 1)]);
        assert!(cut(0x1000, 4096).len() > 4);
    }
}
