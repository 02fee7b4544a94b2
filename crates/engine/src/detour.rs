//! System calls that wait, with their memory on guarded pages.
//!
//! The kernel is given other memory in its place, and what it wrote there is
//! written to the place that the program meant when the call is over. So no
//! page is open while a thread waits, and what the others write meanwhile is
//! seen. The program never sees the other addresses: its registers are its own
//! again at every stop, also when the kernel makes the call again.

use crate::call_places::{Back, Place, Places, Pointer};
use crate::page_windows::Window;
use crate::pages::PAGE;
use crate::{Addr, Process, Regs, Result, Tid, TrapId};
use smallvec::SmallVec;
use verde_sys::number;
use verde_sys::wait::SyscallStop;

/// The kernel's errors for a call that it will make again. The last one it goes
/// on with by itself, with the addresses it has.
const MADE_AGAIN: [i64; 3] = [-512, -513, -514];
const GOES_ON: i64 = -516;
const RESTART: u64 = number::SYS_restart_syscall as u64;
/// Length of the instruction `syscall`.
const INSTRUCTION: u64 = 2;

/// A system call with other memory than the program gave it.
#[derive(Debug)]
pub(crate) struct Detour {
    /// The call as the program made it.
    number: u64,
    args: [u64; 6],
    /// Where it is made.
    pc: u64,
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    place: Place,
    /// Where the kernel finds it instead.
    lent: Option<Addr>,
}

/// What became of a call that needs a detour.
pub(crate) enum Way {
    /// None: it cannot take one.
    None,
    /// Its arguments lead elsewhere.
    Led,
    /// It is made once more: there was no memory to lend.
    Again,
}

pub(crate) fn arguments(regs: &Regs) -> [u64; 6] {
    [regs.rdi, regs.rsi, regs.rdx, regs.r10, regs.r8, regs.r9]
}

pub(crate) fn set_arguments(regs: &mut Regs, args: [u64; 6]) {
    [regs.rdi, regs.rsi, regs.rdx, regs.r10, regs.r8, regs.r9] = args;
}

/// Which places must be elsewhere: those that `is_guarded`, and the lists that
/// hold their addresses. `None`: such a list is not known.
fn moved(places: &[Place], is_guarded: impl Fn(&Place) -> bool) -> Option<Vec<bool>> {
    let mut moved: Vec<bool> = places.iter().map(is_guarded).collect();
    loop {
        let mut more = None;
        for (i, place) in places.iter().enumerate().filter(|(i, _)| moved[*i]) {
            if let Pointer::Word(at) = place.pointer {
                let list = places.iter().position(|p| p.touches(at, 8))?;
                if !moved[list] && list != i {
                    more = Some(list);
                }
            }
        }
        match more {
            Some(list) => moved[list] = true,
            None => return Some(moved),
        }
    }
}

impl Detour {
    /// A thread with these registers is about to go on with the call.
    fn is_before_going_on(&self, regs: &Regs) -> bool {
        regs.rax.cast_signed() == GOES_ON || self.is_by_record(regs)
    }

    /// The kernel has prepared that.
    fn is_by_record(&self, regs: &Regs) -> bool {
        regs.rax == RESTART && regs.rip == self.pc
    }

    /// Where a word of the program is while the call is made.
    fn at_present(&self, at: u64) -> Addr {
        let inside = |p: &&Piece| p.place.touches(at, 1);
        let piece = self.pieces.iter().filter(|p| p.lent.is_some()).find(inside);
        match piece.and_then(|p| Some((p, p.lent?))) {
            Some((piece, lent)) => lent + (at - piece.place.at),
            None => Addr(at),
        }
    }

    /// What the kernel has written to each piece, when the call ends with a
    /// value: offsets and lengths. `count` reads a word of the program.
    fn written(
        &self,
        value: i64,
        interrupted: bool,
        count: impl Fn(Addr) -> u64,
    ) -> Vec<SmallVec<[(u64, u64); 4]>> {
        let mut left: Option<(Option<u64>, u64)> = None;
        let mut out = Vec::with_capacity(self.pieces.len());
        for Piece { place, .. } in &self.pieces {
            let mut ranges: SmallVec<[(u64, u64); 4]> = SmallVec::new();
            let done = value >= place.least;
            let mut counted = |of: Option<u64>, all: u64| {
                let rest = match left {
                    Some((list, rest)) if list == of => rest,
                    _ => all,
                };
                let len = rest.min(place.len);
                left = Some((of, rest - len));
                (0, len)
            };
            match place.back {
                Back::Nothing => {}
                Back::Changed => ranges.push((0, place.len)),
                Back::Rest if interrupted => ranges.push((0, place.len)),
                _ if !done => {}
                Back::Rest => {}
                Back::All => ranges.push((0, place.len)),
                Back::Counted => ranges.push(counted(None, value.unsigned_abs())),
                Back::CountedBy(at) => {
                    ranges.push(counted(Some(at), count(self.at_present(at))));
                }
                Back::Times(size) => {
                    let all = value.unsigned_abs().saturating_mul(size);
                    ranges.push((0, all.min(place.len)));
                }
                Back::UpTo(at) => {
                    ranges.push((0, count(self.at_present(at)).min(place.len)));
                }
                Back::Fields(fields) => ranges.extend(fields.iter().copied()),
                Back::Every(size, (offset, len)) => {
                    ranges.extend((0..place.len / size).map(|i| (i * size + offset, len)));
                }
            }
            ranges.retain(|(offset, len)| *len > 0 && *offset + *len <= place.len);
            out.push(ranges);
        }
        out
    }
}

impl Process {
    /// Leads a call elsewhere whose places are partly on guarded pages. The
    /// thread is at its entry.
    pub(crate) fn lead_elsewhere(&mut self, tid: Tid, places: &Places) -> Result<Way> {
        let Some(moved) = moved(places, |place| self.is_guarded(place)) else {
            return Ok(Way::None);
        };
        let lent = || places.iter().zip(&moved).filter(|(_, moved)| **moved);
        let mut size = 0u64;
        for (place, _) in lent() {
            size = size.next_multiple_of(16).saturating_add(place.len);
        }
        if !self.are_open_to_program(lent().map(|(place, _)| place))? {
            // The kernel finds out how far it gets.
            return Ok(Way::None);
        }
        let Some(base) = self.lent.take(tid, size) else {
            return self.make_room_to_lend(tid, size);
        };
        let thread = self.stopped_mut(tid)?;
        let mut detour = Detour {
            number: thread.regs.orig_rax,
            args: arguments(&thread.regs),
            pc: thread.regs.rip.wrapping_sub(INSTRUCTION),
            pieces: Vec::with_capacity(places.len()),
        };
        let mut at = base.0;
        for (place, moved) in places.iter().zip(&moved) {
            let lent = moved.then(|| {
                let here = at.next_multiple_of(16);
                at = here + place.len;
                Addr(here)
            });
            detour.pieces.push(Piece {
                place: *place,
                lent,
            });
        }
        let args = match self.fill(&detour) {
            Ok(args) => args,
            Err(error) => {
                self.lent.give_back(tid);
                tracing::debug!(%error, "a call is not led elsewhere");
                return Ok(Way::None);
            }
        };
        let thread = self.stopped_mut(tid)?;
        set_arguments(&mut thread.regs, args);
        thread.regs_changed = true;
        thread.detour = Some(detour);
        Ok(Way::Led)
    }

    /// The kernel cannot use a place as it is.
    fn is_guarded(&self, place: &Place) -> bool {
        let pages = &self.watches.pages.map;
        let first = place.at / PAGE;
        let last = place.at.saturating_add(place.len.max(1) - 1) / PAGE;
        let closed = |page: u64| {
            let page = pages.get(&(page * PAGE));
            page.is_some_and(|p| place.is_written() || !p.is_readable())
        };
        // A long buffer has more pages than there are guarded ones.
        match (last - first) as usize > pages.len() {
            true => pages
                .keys()
                .any(|p| place.touches(*p, PAGE) && closed(p / PAGE)),
            false => (first..=last).any(closed),
        }
    }

    /// The program itself may use all of these places as the call does.
    fn are_open_to_program<'a>(&self, places: impl Iterator<Item = &'a Place>) -> Result<bool> {
        let maps = self.memory.maps()?;
        for place in places {
            let wanted = match place.is_written() {
                true => number::PROT_READ | number::PROT_WRITE,
                false => number::PROT_READ,
            };
            let Some(end) = place.at.checked_add(place.len) else {
                return Ok(false);
            };
            let mut at = place.at;
            while at < end {
                let Some(map) = maps.iter().find(|m| m.contains(Addr(at))) else {
                    return Ok(false);
                };
                let page = self.watches.pages.map.get(&(at & !(PAGE - 1)));
                let allowed = page.map_or(map.protection(), |p| p.own_protection());
                // Of a shared page only the program can get past the guard.
                let closed = page.is_some_and(|p| p.is_shared() && place.is_written());
                if closed || allowed & wanted != wanted {
                    return Ok(false);
                }
                at = (at | (PAGE - 1)) + 1;
            }
        }
        Ok(true)
    }

    /// Copies what the kernel will read; the arguments of the call.
    fn fill(&self, detour: &Detour) -> Result<[u64; 6]> {
        let mut args = detour.args;
        for Piece { place, lent } in &detour.pieces {
            let Some(lent) = *lent else { continue };
            // What is only written needs nothing to be there.
            if !matches!(
                place.back,
                Back::Counted | Back::CountedBy(_) | Back::Times(_)
            ) {
                let mut bytes = vec![0; place.len as usize];
                self.memory.read(Addr(place.at), &mut bytes)?;
                self.memory.write(lent, &bytes)?;
            }
        }
        for Piece { place, lent } in &detour.pieces {
            let Some(lent) = *lent else { continue };
            match place.pointer {
                Pointer::Argument(i) => args[i] = lent.0,
                Pointer::Word(at) => {
                    let noted = detour.at_present(at);
                    self.memory.write(noted, &lent.0.to_ne_bytes())?;
                }
            }
        }
        Ok(args)
    }

    /// Maps memory to lend for a call, which is made once more then: at its
    /// entry a thread cannot make another one.
    fn make_room_to_lend(&mut self, tid: Tid, size: u64) -> Result<Way> {
        self.take_syscall_back(tid)?;
        let mapped = self.map_lent(size);
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(Way::Again);
        };
        thread.entry_told = true;
        if !matches!(mapped, Ok(true)) {
            // Its pages are opened instead.
            thread.stays = true;
        }
        self.go(tid)?;
        Ok(Way::Again)
    }

    /// A thread has stopped: its call may be over, or have been left.
    /// `stop`, `signal`: what it stopped for.
    pub(crate) fn follow_detour(
        &mut self,
        tid: Tid,
        stop: Option<SyscallStop>,
        signal: Option<i32>,
    ) -> Result<()> {
        let Some(thread) = self.threads.get_mut(&tid).filter(|t| t.detour.is_some()) else {
            return Ok(());
        };
        match stop {
            // The kernel goes on with it.
            Some(SyscallStop::Entry { number, .. }) if number == RESTART => Ok(()),
            Some(SyscallStop::Entry { .. }) => {
                thread.detour = None;
                self.lent.give_back(tid);
                Ok(())
            }
            _ => self.come_back(tid, stop, signal),
        }
    }

    /// A thread that was led elsewhere has stopped, at the end of its call or of
    /// itself: its registers are its own, and what the kernel wrote is where
    /// it belongs.
    fn come_back(
        &mut self,
        tid: Tid,
        stop: Option<SyscallStop>,
        signal: Option<i32>,
    ) -> Result<()> {
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(());
        };
        let Some(detour) = thread.detour.take() else {
            return Ok(());
        };
        let Some(SyscallStop::Exit { value }) = stop else {
            if !detour.is_before_going_on(&thread.regs) {
                // It ends.
                self.lent.give_back(tid);
                return Ok(());
            }
            // It stands before going on with its call, unless a handler comes first.
            let is_cut = signal.is_some_and(|signal| !self.is_ignored(tid, signal));
            let hits = match is_cut {
                true => self.bring_back(&detour, GOES_ON, true, true)?,
                false => Vec::new(),
            };
            if let Some(thread) = self.threads.get_mut(&tid) {
                thread.window = (!hits.is_empty()).then(|| Window::after(hits));
                thread.detour = Some(detour);
            }
            return Ok(());
        };
        set_arguments(&mut thread.regs, detour.args);
        // The kernel may have gone on with it by another number.
        thread.regs.orig_rax = detour.number;
        thread.regs_changed = true;
        let goes_on = value == GOES_ON;
        let interrupted = value == -i64::from(number::EINTR);
        let again = goes_on || MADE_AGAIN.contains(&value);
        let hits = self.bring_back(&detour, value, interrupted, again)?;
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(());
        };
        if !hits.is_empty() {
            thread.window = Some(Window::after(hits));
        }
        match goes_on {
            true => thread.detour = Some(detour),
            false => self.lent.give_back(tid),
        }
        Ok(())
    }

    /// Copies what the kernel wrote to where the program meant it; the watches
    /// that see it.
    fn bring_back(
        &self,
        detour: &Detour,
        value: i64,
        interrupted: bool,
        again: bool,
    ) -> Result<Vec<TrapId>> {
        let count = |at: Addr| {
            let mut word = [0; 4];
            let read = self.memory.read(at, &mut word);
            read.map_or(0, |()| u64::from(u32::from_ne_bytes(word)))
        };
        let mut hits = Vec::new();
        let written = detour.written(value, interrupted, count);
        for (Piece { place, lent }, ranges) in detour.pieces.iter().zip(written) {
            let Some(lent) = *lent else { continue };
            for (offset, len) in ranges {
                let mut bytes = vec![0; len as usize];
                self.memory.read(lent + offset, &mut bytes)?;
                let to = Addr(place.at + offset);
                if place.back == Back::Changed {
                    let mut before = vec![0; len as usize];
                    let same = self.memory.read(to, &mut before).is_ok() && before == bytes;
                    if same {
                        continue;
                    }
                }
                if self.memory.write(to, &bytes).is_err() {
                    // It is not there any more.
                    continue;
                }
                // For the program the call has not ended.
                if !again || interrupted {
                    hits.extend(self.watches_of_writes(to.0, len));
                }
            }
        }
        hits.sort_unstable();
        hits.dedup();
        Ok(hits)
    }

    /// A thread goes on with a call by the kernel's record of it alone.
    pub(crate) fn is_by_record(&self, tid: Tid) -> bool {
        let thread = self.threads.get(&tid);
        thread.is_some_and(|t| {
            let prepared = |d: &Detour| t.at_entry || d.is_by_record(&t.regs);
            t.detour.as_ref().is_some_and(prepared)
        })
    }

    /// Makes a call from its beginning that the kernel would go on with by
    /// itself, in memory that will not be there any more. So it may end later
    /// than alone, never earlier.
    pub(crate) fn call_anew(&mut self, tid: Tid) -> Result<()> {
        let Some(thread) = self.threads.get_mut(&tid).filter(|t| t.detour.is_some()) else {
            return Ok(());
        };
        if thread.at_entry {
            self.take_syscall_back(tid)?;
        }
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(());
        };
        if let Some(detour) = thread.detour.take() {
            set_arguments(&mut thread.regs, detour.args);
            thread.regs.rip = detour.pc;
            thread.regs.rax = detour.number;
            thread.regs.orig_rax = u64::MAX;
            thread.regs_changed = true;
            self.lent.give_back(tid);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_places::{Known, places};

    fn readv() -> Places {
        let memory = [(0x100, 0x5000), (0x108, 10), (0x110, 0x7000), (0x118, 5)];
        let word = |at: u64| memory.iter().find(|(a, _)| *a == at).map(|(_, w)| *w);
        match places(number::SYS_readv, &[3, 0x100, 2, 0, 0, 0], &word) {
            Known::Movable(places) => places,
            _ => panic!("it can be led elsewhere"),
        }
    }

    #[test]
    fn a_list_goes_with_what_it_leads_to() {
        let places = readv();
        let all = moved(&places, |p| p.at == 0x7000);
        assert_eq!(all, Some(vec![true, false, true]));
        assert_eq!(moved(&places, |_| false), Some(vec![false; 3]));
    }

    #[test]
    fn bytes_are_counted_over_a_list() {
        let detour = Detour {
            number: 0,
            args: [0; 6],
            pc: 0,
            pieces: readv()
                .into_iter()
                .map(|place| Piece { place, lent: None })
                .collect(),
        };
        let written = |value| {
            let all = detour.written(value, false, |_| 0).into_iter();
            all.map(|r| r.into_vec()).collect::<Vec<_>>()
        };
        assert_eq!(written(12), [vec![], vec![(0, 10)], vec![(0, 2)]]);
        assert_eq!(written(4), [vec![], vec![(0, 4)], vec![]]);
        assert_eq!(written(-512), [vec![], vec![], vec![]]);
    }
}
