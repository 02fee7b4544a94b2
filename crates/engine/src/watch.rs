//! Watched data: which mechanism serves which trap.
//!
//! Four hardware slots, by perf events or, where those are denied, by debug
//! registers; what does not fit goes to protected pages.

use crate::hardware::{Hardware, Place, Table};
use crate::pages::Pages;
use crate::thread::State;
use crate::{Addr, Error, FrameRef, On, Owner, Process, Result, Tid, Trap, TrapId};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use verde_sys::perf::{Access, Heirs, PerfWatch};
use verde_sys::{debug_registers, number, ptrace};

/// EACCES and EPERM: the user may not use perf events.
const DENIED: [i32; 2] = [13, number::EPERM];

#[derive(Default)]
pub(crate) struct Watches {
    pub(crate) hardware: Table,
    /// Which hardware slots serve a trap; none: pages do.
    pub(crate) slots: FxHashMap<TrapId, SmallVec<[Place; 2]>>,
    /// Perf events are denied: use debug registers.
    pub(crate) by_registers: bool,
    /// Perf events are not denied.
    has_perf: bool,
    pub(crate) pages: Pages,
    /// Addresses watched a short while ago: a hit may be on its way.
    pub(crate) retired: Vec<Addr>,
    /// Traps at return addresses that end watches of locals.
    pub(crate) ends: FxHashMap<TrapId, SmallVec<[TrapId; 2]>>,
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

/// The thread whose accesses alone count.
pub(crate) fn only_thread(trap: &Trap) -> Option<Tid> {
    trap.thread.filter(|_| !trap.by_all)
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
        let thread = only_thread(&trap);
        let alone = thread.is_some_and(|tid| self.can_arm_alone(tid, want));
        if !(alone && self.arm_hardware(id, thread, want)?) {
            // A thread born meanwhile must not be missed.
            let stopped = self.stop_threads(None)?;
            let result = self.arm(id, thread, want);
            for tid in stopped {
                self.go(tid)?;
            }
            result?;
        }
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

    /// Whether a slot of a stopped thread can be set while the others run.
    fn can_arm_alone(&self, tid: Tid, want: &Wanted) -> bool {
        let known = match self.watches.by_registers {
            true => true,
            false => self.watches.has_perf && !self.blocks_sigtrap(tid),
        };
        let free = self.watches.hardware.free(Some(tid)).len();
        known && self.is_stopped(tid) && pieces(want.at, want.len).len() <= free
    }

    /// All threads are stopped.
    fn arm(&mut self, id: TrapId, thread: Option<Tid>, want: &Wanted) -> Result<()> {
        if self.arm_hardware(id, thread, want)? {
            return Ok(());
        }
        // Pages are the whole process's: what every thread may touch is
        // watched as well there, what belongs to one thread better here.
        if thread.is_some()
            && self.make_room(thread, want)?
            && self.arm_hardware(id, thread, want)?
        {
            return Ok(());
        }
        self.protect(id, want)
    }

    /// Moves what is watched in all threads to pages, until a thread has the
    /// slots for something of its own. `false`: they would not be enough.
    fn make_room(&mut self, thread: Option<Tid>, want: &Wanted) -> Result<bool> {
        let needed = pieces(want.at, want.len).len();
        let free = |p: &Process| p.watches.hardware.free(thread).len();
        let mut movable = self.watches.hardware.users_in_all();
        if needed > free(self) + movable.len() {
            return Ok(false);
        }
        while free(self) < needed {
            let Some(users) = movable.pop() else {
                return Ok(false);
            };
            for id in users {
                let trap = self.traps.get(id).map(|e| e.trap);
                let Some(want) = trap.and_then(|t| wanted(t.on)) else {
                    continue;
                };
                match self.protect(id, &want) {
                    Ok(()) => self.leave_slots(id),
                    // It stays where it is.
                    Err(Error::CannotWatch { .. }) => false,
                    Err(error) => return Err(error),
                };
            }
        }
        Ok(true)
    }

    /// `false`: no slot is left.
    fn arm_hardware(&mut self, id: TrapId, thread: Option<Tid>, want: &Wanted) -> Result<bool> {
        let access = if want.read {
            Access::ReadWrite
        } else {
            Access::Write
        };
        let pieces = pieces(want.at, want.len);
        let table = &self.watches.hardware;
        let known = |piece: &(Addr, u8)| table.find(thread, *piece, access);
        let new = pieces.iter().filter(|p| known(p).is_none()).count();
        if new > table.free(thread).len() {
            return Ok(false);
        }
        for piece in pieces {
            let table = &mut self.watches.hardware;
            let place = match table.find(thread, piece, access) {
                Some(place) => place,
                None => {
                    let Some(slot) = table.free(thread).first().copied() else {
                        return Ok(false);
                    };
                    let place = Place { thread, slot };
                    table.put(place, Hardware::new(piece.0, piece.1, access));
                    place
                }
            };
            if let Some(h) = table.get_mut(place) {
                h.users.push(id);
            }
            self.watches.slots.entry(id).or_default().push(place);
            if let Err(error) = self.arm_slot(place) {
                self.tear_down_watch(id)?;
                return match error {
                    // Somebody else uses the CPU's slots.
                    Error::Sys(e) if e.errno == number::ENOSPC => Ok(false),
                    error => Err(error),
                };
            }
            self.remember_value(place);
        }
        Ok(true)
    }

    /// Switches a slot on in its threads.
    fn arm_slot(&mut self, place: Place) -> Result<()> {
        let blocked = match place.thread {
            Some(tid) => self.blocks_sigtrap(tid),
            None => self.some_thread_blocks_sigtrap(),
        };
        if !self.watches.by_registers && blocked {
            // The signal of a perf event would wait until it is unblocked; that
            // of a debug register is forced on the thread.
            self.use_registers();
        }
        if !self.watches.by_registers {
            match self.open_events(place) {
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

    fn blocks_sigtrap(&self, tid: Tid) -> bool {
        // At its very beginning a thread blocks everything, for a moment.
        let begins = self.threads.get(&tid).is_some_and(|t| t.is_starting);
        let blocks = |mask: u64| mask & 1 << (number::SIGTRAP - 1) != 0;
        !begins && ptrace::signal_mask(tid).is_ok_and(blocks)
    }

    fn some_thread_blocks_sigtrap(&self) -> bool {
        let mut stopped = self
            .threads
            .values()
            .filter(|t| t.state == State::Stopped)
            .map(|t| t.tid);
        stopped.any(|tid| self.blocks_sigtrap(tid))
    }

    fn use_registers(&mut self) {
        self.watches.by_registers = true;
        for h in self.watches.hardware.iter_mut() {
            h.events.clear();
        }
    }

    fn open_events(&mut self, place: Place) -> Result<()> {
        let Some(h) = self.watches.hardware.get_mut(place) else {
            return Ok(());
        };
        h.events.clear();
        let heirs = match place.thread {
            None => Heirs::NewThreads,
            Some(_) => Heirs::Nobody,
        };
        let its = |tid: Tid| place.thread.is_none_or(|t| t == tid);
        for thread in self.threads.values() {
            if thread.state == State::Exiting || !its(thread.tid) {
                continue;
            }
            match PerfWatch::open(thread.tid, h.at, h.len, h.access, place.slot as u64, heirs) {
                Ok(event) => h.events.push(event),
                Err(e) if e.is_gone() => {}
                Err(e) => {
                    h.events.clear();
                    return Err(e.into());
                }
            }
        }
        self.watches.has_perf = true;
        Ok(())
    }

    /// Gives a stopped thread the debug registers that it is to have.
    pub(crate) fn set_registers(&self, tid: Tid) -> Result<()> {
        if !self.watches.by_registers {
            return Ok(());
        }
        let table = &self.watches.hardware;
        for slot in 0..debug_registers::COUNT {
            let done = match table.place(tid, slot).and_then(|p| table.get(p)) {
                Some(h) => debug_registers::set(tid, slot, h.at, h.len, h.access),
                None => debug_registers::clear(tid, slot),
            };
            crate::arrive::unless_gone(done)?;
        }
        Ok(())
    }

    /// Perf events of a forked child that is followed are not inherited.
    pub(crate) fn arm_again(&mut self) -> Result<()> {
        for place in self.watches.hardware.places() {
            self.arm_slot(place)?;
        }
        Ok(())
    }

    /// Forgets every watch: the address space was replaced, and the kernel
    /// has dropped them.
    pub(crate) fn forget_watches(&mut self) {
        self.watches = Watches {
            by_registers: self.watches.by_registers,
            has_perf: self.watches.has_perf,
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
        for h in self.watches.hardware.iter_mut() {
            h.events.clear();
        }
        if self.watches.by_registers {
            for tid in self.threads.keys() {
                for slot in 0..debug_registers::COUNT {
                    crate::arrive::unless_gone(debug_registers::clear(*tid, slot))?;
                }
            }
        }
        self.open_all_pages();
        Ok(())
    }

    /// What ends with a frame has ended otherwise.
    pub(crate) fn forget_frame_end(&mut self, id: TrapId) -> Result<()> {
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
            // It may have been lost with its thread or code at a restore.
            if self.traps.get(end).is_some() {
                self.remove(end)?;
            }
        }
        Ok(())
    }

    pub(crate) fn tear_down_watch(&mut self, id: TrapId) -> Result<()> {
        self.forget_frame_end(id)?;
        if !self.watches.slots.contains_key(&id) {
            return self.unprotect(id);
        }
        if !self.watches.by_registers || self.end.is_some() {
            self.leave_slots(id);
            return Ok(());
        }
        // What fires until then is one of what is in the slots now.
        let stopped = self.stop_threads(None)?;
        if self.leave_slots(id) {
            let tids: Vec<Tid> = self.threads.keys().copied().collect();
            for tid in tids {
                self.set_registers(tid)?;
            }
        }
        for tid in stopped {
            self.go(tid)?;
        }
        Ok(())
    }

    /// Takes a trap off its hardware slots. `true`: some slot is free now.
    fn leave_slots(&mut self, id: TrapId) -> bool {
        let mut changed = false;
        for place in self.watches.slots.remove(&id).unwrap_or_default() {
            let Some(h) = self.watches.hardware.get_mut(place) else {
                continue;
            };
            h.users.retain(|i| *i != id);
            if h.users.is_empty() {
                let at = h.at;
                self.watches.retired.truncate(15);
                self.watches.retired.insert(0, at);
                // Closing the events switches them off in all threads.
                self.watches.hardware.take(place);
                changed = true;
            }
        }
        changed
    }

    /// The watches of one thread go on in another, which took its place.
    pub(crate) fn pass_on_watches(&mut self, id_now: impl Fn(Tid) -> Option<Tid>) {
        self.watches.hardware.rename(&id_now);
        for place in self.watches.slots.values_mut().flatten() {
            place.thread = place.thread.map(|tid| id_now(tid).unwrap_or(tid));
        }
    }

    /// A trap is to end when a frame returns.
    pub(crate) fn end_with_frame(
        &mut self,
        id: TrapId,
        thread: Option<Tid>,
        frame: FrameRef,
    ) -> Result<()> {
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
