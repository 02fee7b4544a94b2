//! Watched data: what a hit means.
//!
//! The CPU reports an access after it was done, by slot and without its kind;
//! the kernel keeps one of several signals. What is missing is found out from
//! the instruction.

use crate::access::Touch;
use crate::calls::Causes;
use crate::elements::exact_touches;
use crate::hardware::{Hardware, Place};
use crate::last_access::Last;
use crate::thread::{EndOf, Happening};
use crate::watch::wanted;
use crate::{Addr, Cause, FrameRef, On, Owner, Process, Result, Tid, Trap, TrapId};
use smallvec::SmallVec;
use std::cell::OnceCell;
use verde_sys::number;
use verde_sys::perf::Access;
use verde_sys::{debug_registers, ptrace};

/// How far from a frame the stack pointer still tells about it.
const SAME_STACK: u64 = 1 << 20;

/// The instruction behind a hit, looked for when somebody asks.
#[derive(Default)]
struct Lazy(OnceCell<Option<Last>>);

impl Lazy {
    fn get(&self, process: &Process, tid: Tid) -> Option<&Last> {
        self.0.get_or_init(|| process.last(tid)).as_ref()
    }
}

impl Process {
    pub(crate) fn remember_value(&mut self, place: Place) -> Option<bool> {
        let h = self.watches.hardware.get_mut(place)?;
        let mut bytes = [0u8; 8];
        self.memory.read(h.at, &mut bytes[..h.len as usize]).ok()?;
        let now = u64::from_ne_bytes(bytes);
        let changed = now != h.last;
        h.last = now;
        Some(changed)
    }

    /// The bytes of a slot are not those of its last hit.
    fn has_changed(&self, h: &Hardware) -> bool {
        let mut bytes = [0u8; 8];
        let read = self.memory.read(h.at, &mut bytes[..h.len as usize]);
        read.is_ok() && u64::from_ne_bytes(bytes) != h.last
    }

    /// Debug registers fired, given as bits.
    pub(crate) fn fired(&self, tid: Tid, hits: u8) -> Happening {
        let mut watched = [Addr(0); debug_registers::COUNT];
        for (slot, h) in self.watches.hardware.of(tid) {
            watched[slot] = h.at;
        }
        Happening::Hardware(hits, watched)
    }

    /// The slot that watches what one has watched when it fired: meanwhile
    /// something else may be in it. `None`: none does any more.
    pub(crate) fn slot_now(&self, tid: Tid, fired: usize, at: Addr) -> Option<usize> {
        let same = self.watches.hardware.of(tid).filter(|(_, h)| h.at == at);
        same.map(|(slot, _)| slot).min_by_key(|slot| *slot != fired)
    }

    /// Other slots set off by the access that set off `slot`: of several
    /// signals at once the kernel keeps one.
    /// The others that have signals of their own make it an access of which
    /// there is more to come.
    fn also_hit(&self, tid: Tid, slot: usize, last: &Lazy) -> Result<(u8, bool)> {
        let mut used = self.watches.hardware.of(tid);
        let fired = used.find(|(s, _)| *s == slot).map(|(_, h)| h);
        let (Some(fired), true) = (fired, self.watches.hardware.of(tid).count() > 1) else {
            return Ok((0, false));
        };
        let others = self.slots_with(tid, fired, last) & !(1 << slot);
        Ok(match others != 0 && ptrace::has_pending_fault(tid)? {
            true => (0, true),
            false => (others, false),
        })
    }

    /// The slots, as bits, that the access to one of them has set off.
    fn slots_with(&self, tid: Tid, fired: &Hardware, last: &Lazy) -> u8 {
        let (at, len) = (fired.at, fired.len);
        let last = last.get(self, tid);
        if let Some(touched) = last.and_then(|l| l.exact(at, len)) {
            return self.slots_touched(tid, &touched);
        }
        let changed = self.has_changed(fired);
        let done = last.and_then(|l| l.done(at, len, changed));
        let write = fired.access == Access::Write || done.map_or(changed, |t| t.write);
        // Whoever watches the same bytes has seen the same.
        let same = Touch {
            at,
            len: len.into(),
            read: !write,
            write,
        };
        let stored = match last {
            Some(last) if write => self.slots_stored_in_rounds(tid, last),
            _ => 0,
        };
        self.slots_touched(tid, &[same]) | stored
    }

    /// Slots that a repeated instruction can have stored to, and whose bytes are others now.
    fn slots_stored_in_rounds(&self, tid: Tid, last: &Last) -> u8 {
        let touched = self.slots_touched(tid, &last.stored_in_rounds());
        let used = self.watches.hardware.of(tid);
        let changed = used.filter(|(slot, h)| touched & 1 << slot != 0 && self.has_changed(h));
        changed.fold(0, |all, (slot, _)| all | 1 << slot)
    }

    /// A slot sent its signal: for another
    /// access than the last, unless more of that was to come.
    pub(crate) fn signal_of(&mut self, tid: Tid, slot: usize, causes: &mut Causes) -> Result<()> {
        let thread = self.threads.get(&tid);
        if thread.is_some_and(|t| t.more_at != Some(t.regs.rip)) {
            self.forget_access(tid);
        }
        let last = Lazy::default();
        let (also, more) = self.also_hit(tid, slot, &last)?;
        self.slot_hit(tid, slot, &last, causes)?;
        self.each_hit(tid, also, &last, causes)?;
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.more_at = more.then_some(thread.regs.rip);
        }
        Ok(())
    }

    fn forget_access(&mut self, tid: Tid) {
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.told.clear();
            thread.more_at = None;
            let foretold = thread.foretold.take();
            let here = thread.regs.pc();
            thread.exchange = foretold.filter(|(pc, _)| *pc == here).map(|(_, e)| e);
        }
    }

    /// A watch that needs several slots is told of an access once.
    fn is_told_first(&mut self, tid: Tid, id: TrapId) -> bool {
        let Some(thread) = self.threads.get_mut(&tid) else {
            return false;
        };
        let is_first = !thread.told.contains(&id);
        if is_first {
            thread.told.push(id);
        }
        is_first
    }

    /// Hardware slots, given as bits, were set off by one access of a thread.
    pub(crate) fn slots_hit(&mut self, tid: Tid, slots: u8, causes: &mut Causes) -> Result<()> {
        self.forget_access(tid);
        self.each_hit(tid, slots, &Lazy::default(), causes)
    }

    fn each_hit(&mut self, tid: Tid, slots: u8, last: &Lazy, causes: &mut Causes) -> Result<()> {
        for slot in (0..debug_registers::COUNT).filter(|slot| slots & 1 << slot != 0) {
            self.slot_hit(tid, slot, last, causes)?;
        }
        Ok(())
    }

    /// A hardware slot fired in a thread.
    fn slot_hit(&mut self, tid: Tid, slot: usize, last: &Lazy, causes: &mut Causes) -> Result<()> {
        let table = &self.watches.hardware;
        let place = table.place(tid, slot);
        let Some((place, h)) = place.and_then(|p| Some((p, table.get(p)?))) else {
            // Removed while the hit was queued.
            return Ok(());
        };
        let (at, len, access, value) = (h.at, h.len, h.access, h.last);
        let mut users = h.users.clone();
        let is_monitored = users.iter().any(|id| self.is_monitored(*id));
        users.retain(|id| self.is_told_first(tid, *id));
        let changed = self.remember_value(place).unwrap_or(false);
        if access == Access::Write {
            // Alone, a thread has stored what is there now; and only properties ask for more.
            if is_monitored
                && self.threads.len() > 1
                && let Some(done) = last.get(self, tid).and_then(|l| l.exchanged(at, len))
            {
                self.exchanged(tid, place, value, Some(done))?;
            }
            for id in users {
                self.watch_hit(tid, id, true, causes)?;
            }
            return Ok(());
        }
        let last = last.get(self, tid);
        let touch = last.and_then(|l| l.done(at, len, changed));
        let write = touch.map_or(changed, |t| t.write);
        let both = touch.is_some_and(|t| t.read && t.write);
        if both {
            let done = last.and_then(|l| l.exchanged(at, len));
            self.exchanged(tid, place, value, done)?;
        }
        for id in users {
            let write = write && !(both && self.reads_in_writes(id));
            self.watch_hit(tid, id, write, causes)?;
        }
        Ok(())
    }

    /// Whether a watch for loads alone takes those of instructions that store
    /// as well. For properties a load is one however it was compiled; at the
    /// prompt `rwatch` leaves changes out, as in gdb.
    pub(crate) fn reads_in_writes(&self, id: TrapId) -> bool {
        let trap = self.traps.get(id).map(|e| e.trap);
        self.is_monitored(id) && trap.is_some_and(|t| wanted(t.on).is_some_and(|w| !w.write))
    }

    fn is_monitored(&self, id: TrapId) -> bool {
        let trap = self.traps.get(id);
        trap.is_some_and(|e| e.trap.owner == Owner::Monitor)
    }

    /// Before a step: which hardware slots will the instruction set off?
    #[cold]
    pub(crate) fn note_touches(&mut self, tid: Tid) {
        if self.watches.hardware.of(tid).next().is_none() {
            return;
        }
        let Ok(regs) = self.regs(tid).copied() else {
            return;
        };
        let mut bytes = [0u8; 16];
        let got = self.read_some(regs.pc(), &mut bytes);
        let Some(instruction) = crate::relocate::decode(&bytes[..got], regs.pc()) else {
            return;
        };
        let touched = exact_touches(&instruction, &regs, || ptrace::xstate(tid).ok());
        let bits = self.slots_touched(tid, &touched);
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.touches = bits;
        }
    }

    /// The hardware slots of a thread, as bits, that these accesses set off.
    pub(crate) fn slots_touched(&self, tid: Tid, touched: &[Touch]) -> u8 {
        let mut bits = 0;
        for (slot, h) in self.watches.hardware.of(tid) {
            let hit = |t: &Touch| {
                t.at.0 < h.at.0 + u64::from(h.len)
                    && h.at.0 < t.at.0.saturating_add(t.len)
                    && (t.write || h.access == Access::ReadWrite)
            };
            if touched.iter().any(hit) {
                bits |= 1 << slot;
            }
        }
        bits
    }

    /// After a step: which hardware slots did it set off? The SIGTRAP of the
    /// step displaces that of the watchpoint, which then must be made up for.
    pub(crate) fn slots_stepped_on(&mut self, tid: Tid) -> Result<u8> {
        if self.watches.by_registers {
            return Ok(debug_registers::take_hits(tid)?);
        }
        let touches = match self.threads.get_mut(&tid) {
            Some(thread) => std::mem::take(&mut thread.touches),
            None => 0,
        };
        if touches == 0 || ptrace::has_pending_fault(tid)? {
            // Nothing, or it was kept and comes next.
            return Ok(0);
        }
        Ok(touches)
    }

    /// The hardware slots, as bits, that the instruction before the pc must
    /// have set off; `None` if it touched nothing that is or was watched.
    pub(crate) fn watched_by_last_access(&self, tid: Tid) -> Option<u8> {
        let last = self.last(tid)?;
        let mut hits = last
            .possible()
            .map(|touched| self.slots_touched(tid, &touched));
        if let Some(hits) = hits.find(|hits| *hits != 0) {
            return Some(hits);
        }
        let stored = self.slots_stored_in_rounds(tid, &last);
        if stored != 0 {
            return Some(stored);
        }
        let retired = &self.watches.retired;
        let mut touched = last.possible().flatten();
        let was_watched = |t: Touch| retired.iter().any(|at| t.overlaps(*at, 1));
        touched.any(was_watched).then_some(0)
    }

    /// Reports a watch, if it is about this thread and kind of access.
    pub(crate) fn watch_hit(
        &mut self,
        tid: Tid,
        id: TrapId,
        write: bool,
        causes: &mut Causes,
    ) -> Result<()> {
        let Some(trap) = self.traps.get(id).map(|e| e.trap) else {
            return Ok(());
        };
        let Some(want) = wanted(trap.on) else {
            return Ok(());
        };
        if (write && !want.write) || (!write && !want.read) {
            return Ok(());
        }
        let is_own = trap.thread.is_none_or(|t| t == tid);
        if !is_own && !trap.by_all {
            return Ok(());
        }
        // Another thread's stack pointer says nothing about the frame.
        if is_own && self.has_left_frame(tid, &trap) {
            // By a longjmp or an exception.
            return self.end_watch(id, trap.frame, causes);
        }
        self.traps.hit(id);
        causes.push(Cause::Watch {
            id,
            write,
            at: want.at,
        });
        Ok(())
    }

    /// Whether the frame that a trap is bound to is gone from its thread's stack.
    pub(crate) fn has_left_frame(&self, tid: Tid, trap: &Trap) -> bool {
        let (Some(frame), Ok(regs)) = (trap.frame, self.regs(tid)) else {
            return false;
        };
        let above = regs.rsp.wrapping_sub(frame.cfa.0);
        let popped = above < SAME_STACK && (trap.thread.is_some() || above > 0);
        // A call from further out puts its own return address there.
        let slot = Addr(frame.cfa.0.wrapping_sub(8));
        let replaced = || {
            let now = self.memory.read_u64(slot);
            now.is_ok_and(|ret| ret != frame.return_to.0)
        };
        popped || replaced()
    }

    /// Of a frame that is gone; without one, its memory or its thread is.
    pub(crate) fn end_watch(
        &mut self,
        id: TrapId,
        frame: Option<FrameRef>,
        causes: &mut Causes,
    ) -> Result<()> {
        causes.push(Cause::WatchEnded { id, frame });
        match self.traps.discard(id) {
            Some(trap) => self.tear_down(id, trap),
            None => Ok(()),
        }
    }

    /// What is over with a thread that is at its end: only its own call ends it alone.
    pub(crate) fn what_ends(&self, tid: Tid) -> EndOf {
        let call = self
            .threads
            .get(&tid)
            .map(|t| t.regs.orig_rax.cast_signed());
        match call {
            Some(number::SYS_exit) => EndOf::Thread,
            _ => EndOf::Program,
        }
    }

    /// A thread ends, and with it its instructions, and its frames whose locals are watched in
    /// all threads, or for properties.
    pub(crate) fn frames_ended_with(
        &mut self,
        tid: Tid,
        what: EndOf,
        causes: &mut Causes,
    ) -> Result<()> {
        let ends = |trap: &Trap| match trap.on {
            // The program's end is told as such; with the first thread mostly that ends.
            On::Instruction => tid != self.pid && what == EndOf::Thread,
            on => {
                let is_followed = trap.by_all || trap.owner == Owner::Monitor;
                wanted(on).is_some() && is_followed && trap.frame.is_some()
            }
        };
        let own = self.traps.iter().map(|(id, e)| (id, e.trap));
        let ended: SmallVec<[(TrapId, Option<FrameRef>); 2]> = own
            .filter(|(_, trap)| trap.thread == Some(tid) && ends(trap))
            .map(|(id, trap)| (id, trap.frame))
            .collect();
        for (id, frame) in ended {
            self.end_watch(id, frame, causes)?;
        }
        Ok(())
    }

    /// A frame with watched locals may have returned.
    pub(crate) fn frame_ended(&mut self, causes: &mut Causes) -> Result<()> {
        match self.watches.ends.is_empty() {
            true => Ok(()),
            false => self.end_watches_of_frames(causes),
        }
    }

    #[cold]
    fn end_watches_of_frames(&mut self, causes: &mut Causes) -> Result<()> {
        let ended: SmallVec<[TrapId; 2]> = causes
            .iter()
            .filter_map(|c| match c {
                Cause::Trap { id } if self.watches.ends.contains_key(id) => Some(*id),
                _ => None,
            })
            .collect();
        for end in ended {
            causes.retain(|c| *c != Cause::Trap { id: end });
            let watches = self.watches.ends.get(&end).cloned().unwrap_or_default();
            let frame = self.traps.get(end).and_then(|e| e.trap.frame);
            for id in watches {
                if frame.is_some() {
                    self.end_watch(id, frame, causes)?;
                }
            }
        }
        Ok(())
    }
}
