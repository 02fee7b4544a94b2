//! Planting int3 and taking them out, while the program runs.

use crate::relocate::{self, Passage};
use crate::sites::{INT3, Site};
use crate::slots::{self, REGION};
use crate::{Addr, Error, Process, Result, Trap};
use smallvec::SmallVec;
use verde_sys::memory::Memory;
use verde_sys::number as n;

impl Process {
    /// Makes sure that `at` has an int3, with one more reason.
    pub(crate) fn need_site(&mut self, at: Addr, reason: impl FnOnce(&mut Site)) -> Result<()> {
        if !self.is_in_place(at) {
            self.sites.set_planted(at, false);
            self.plant(at)?;
        }
        if let Some(site) = self.sites.get_mut(at) {
            reason(site);
        }
        Ok(())
    }

    /// Takes a reason away; the int3 goes with the last.
    pub(crate) fn leave_site(&mut self, at: Addr, reason: impl FnOnce(&mut Site)) -> Result<()> {
        let Some(site) = self.sites.get_mut(at) else {
            return Ok(());
        };
        reason(site);
        if site.needed() || !site.planted {
            return Ok(());
        }
        let (byte, volatile) = (site.bytes[0], site.volatile);
        self.sites.set_planted(at, false);
        if self.end.is_some() || (volatile && !has_int3(&self.memory, at)) {
            return Ok(());
        }
        put_back(&self.memory, at, byte)
    }

    /// Whether an int3 that was planted is there. Code that was made at run
    /// time may have been written anew, over it.
    pub(crate) fn is_in_place(&self, at: Addr) -> bool {
        match self.sites.get(at) {
            Some(site) if site.planted => !site.volatile || has_int3(&self.memory, at),
            _ => false,
        }
    }

    fn plant(&mut self, at: Addr) -> Result<()> {
        let mut bytes = [0u8; 16];
        let got = self.read_some(at, &mut bytes);
        let instruction = relocate::decode(&bytes[..got], at).ok_or(Error::NoCode(at))?;
        let len = instruction.len();
        // A tombstone of the same instruction still has its slot.
        let reusable = self
            .sites
            .get(at)
            .is_some_and(|s| s.len as usize == len && s.bytes[..len] == bytes[..len]);
        if !reusable {
            let (passage, slot) = self.make_passage(at, &instruction)?;
            let site = Site {
                bytes,
                len: len as u8,
                planted: false,
                volatile: self.module_at(at).is_none(),
                exec: SmallVec::new(),
                entry: SmallVec::new(),
                returns: SmallVec::new(),
                leaves_frames: false,
                exit: None,
                passage,
                slot,
            };
            self.sites.replace(at, site);
        }
        self.memory.write(at, &[INT3])?;
        self.sites.set_planted(at, true);
        Ok(())
    }

    fn make_passage(
        &mut self,
        at: Addr,
        instruction: &iced_x86::Instruction,
    ) -> Result<(Passage, Option<Addr>)> {
        let slot = match self.slot_near(at) {
            Ok(slot) => slot,
            // Slow but right: run it in place, alone.
            Err(Error::NoRoom(_) | Error::Seccomp(_)) => return Ok((Passage::InPlace, None)),
            Err(error) => return Err(error),
        };
        let passage = relocate::relocate(instruction, slot, self.shadow_stack);
        let Passage::Slot(code) = &passage else {
            return Ok((passage, None));
        };
        self.memory.write(slot, &code.code)?;
        self.slots.occupy(slot, at, instruction.len(), code);
        Ok((passage, Some(slot)))
    }

    fn slot_near(&mut self, at: Addr) -> Result<Addr> {
        if let Some(slot) = self.slots.free_near(at) {
            return Ok(slot);
        }
        let maps = self.memory.maps()?;
        let base = slots::find_hole(&maps, at, REGION).ok_or(Error::NoRoom(at))?;
        // The program never writes there; the engine writes through the
        // memory file, which asks no permission.
        let protection = (n::PROT_READ | n::PROT_EXEC) as u64;
        let flags = (n::MAP_PRIVATE | n::MAP_ANONYMOUS | n::MAP_FIXED_NOREPLACE) as u64;
        let args = [base.0, REGION, protection, flags, u64::MAX, 0];
        let got = self.remote_call("mmap", n::SYS_mmap, args)?;
        if got != base.0 {
            // An old kernel took the address for a hint.
            self.remote_call("munmap", n::SYS_munmap, [got, REGION, 0, 0, 0, 0])?;
            return Err(Error::NoRoom(at));
        }
        self.slots.add_region(base);
        self.slots.free_near(at).ok_or(Error::NoRoom(at))
    }

    /// Forgets every trap on an address: the address space was replaced.
    pub(crate) fn forget_addresses(&mut self) {
        self.sites.clear();
        self.slots.clear();
        self.scratch = None;
        self.lent = crate::lent::Lent::default();
        self.return_sites.clear();
        self.forget_watches();
        self.modules = crate::modules::Modules::default();
        self.exits_seen = false;
        self.loops.clear();
        let bound: Vec<_> = self
            .traps
            .iter()
            .filter(|(_, e)| on_address(&e.trap))
            .map(|(id, _)| id)
            .collect();
        for id in bound {
            self.traps.discard(id);
        }
        self.start_traps.clear();
        self.instruction_traps.clear();
    }
}

fn has_int3(memory: &Memory, at: Addr) -> bool {
    let mut byte = [0];
    memory.read(at, &mut byte).is_ok() && byte[0] == INT3
}

/// Puts the program's own byte back in the place of an int3, unless the
/// program has written something else there.
pub(crate) fn take_out(memory: &Memory, at: Addr, byte: u8) -> Result<()> {
    match has_int3(memory, at) {
        true => put_back(memory, at, byte),
        false => Ok(()),
    }
}

fn put_back(memory: &Memory, at: Addr, byte: u8) -> Result<()> {
    match memory.write(at, &[byte]) {
        // The address space is gone: so is the int3.
        Err(e) if e.is_gone() || e.errno == n::EIO => Ok(()),
        other => Ok(other?),
    }
}

fn on_address(trap: &Trap) -> bool {
    use crate::On;
    !matches!(trap.on, On::Syscall(_) | On::Signal(_) | On::Thread)
}
