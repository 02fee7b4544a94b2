//! Code addresses with an int3, and those that had one.

use crate::relocate::Passage;
use crate::{Addr, TrapId};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// The byte of an int3.
pub const INT3: u8 = 0xcc;

/// A way out of frames other than their returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It goes on with an older frame: longjmp.
    Jump,
    /// Called by the frame that goes on: a handler of exceptions.
    Catch,
    /// The unwinder is told to go on in an older frame: `_Unwind_SetIP`.
    Landing,
}

/// An address of code that some trap needs or needed. A site that nobody
/// needs any more stays as a tombstone: a hit of it may still be queued in
/// the kernel, and it is planted again with a single write.
#[derive(Debug, Clone)]
pub struct Site {
    /// The bytes of the instruction, without any int3 of ours.
    pub bytes: [u8; 16],
    /// Its length.
    pub len: u8,
    /// The int3 is in memory.
    pub planted: bool,
    /// In no loaded object: code made at run time, which the program may
    /// write anew.
    pub volatile: bool,
    /// `Exec` traps here.
    pub exec: SmallVec<[TrapId; 2]>,
    /// `Return` and `Call` traps on the function that begins here.
    pub entry: SmallVec<[TrapId; 2]>,
    /// Return traps that expect returns to here.
    pub returns: SmallVec<[TrapId; 2]>,
    /// Here begins a longjmp or a throw.
    pub leaves_frames: bool,
    /// How a step that waits for a return follows it.
    pub exit: Option<Exit>,
    /// How to go past.
    pub passage: Passage,
    /// The slot with the relocated instruction.
    pub slot: Option<Addr>,
}

impl Site {
    /// Somebody needs the int3.
    pub fn needed(&self) -> bool {
        !self.exec.is_empty()
            || !self.entry.is_empty()
            || !self.returns.is_empty()
            || self.leaves_frames
    }
}

/// Every site by address.
#[derive(Debug, Default, Clone)]
pub struct Sites {
    map: FxHashMap<u64, Site>,
    /// Addresses of planted sites in order, to hide int3 from readers.
    planted: BTreeSet<u64>,
}

impl Sites {
    pub fn get(&self, at: Addr) -> Option<&Site> {
        self.map.get(&at.0)
    }

    pub fn get_mut(&mut self, at: Addr) -> Option<&mut Site> {
        self.map.get_mut(&at.0)
    }

    /// Every site, tombstones too.
    pub fn iter(&self) -> impl Iterator<Item = (Addr, &Site)> {
        self.map.iter().map(|(at, site)| (Addr(*at), site))
    }

    /// Another instruction is at an address now, with the same reasons.
    pub fn replace(&mut self, at: Addr, mut site: Site) {
        if let Some(old) = self.map.remove(&at.0) {
            site.exec = old.exec;
            site.entry = old.entry;
            site.returns = old.returns;
            (site.leaves_frames, site.exit) = (old.leaves_frames, old.exit);
        }
        self.map.insert(at.0, site);
    }

    /// Notes that the int3 of a site was written or taken out.
    pub fn set_planted(&mut self, at: Addr, planted: bool) {
        if let Some(site) = self.map.get_mut(&at.0) {
            site.planted = planted;
        }
        if planted {
            self.planted.insert(at.0);
        } else {
            self.planted.remove(&at.0);
        }
    }

    /// Every planted address with the byte that belongs there.
    pub fn planted(&self) -> impl Iterator<Item = (Addr, u8)> {
        self.planted
            .iter()
            .filter_map(|at| Some((Addr(*at), self.map.get(at)?.bytes[0])))
    }

    /// Planted addresses in a range.
    pub fn planted_in(&self, from: Addr, len: u64) -> impl Iterator<Item = u64> {
        self.planted
            .range(from.0..from.0.saturating_add(len))
            .copied()
    }

    /// Replaces our int3 by the program's bytes in what was read from `from`.
    pub fn hide(&self, from: Addr, bytes: &mut [u8]) {
        for at in self.planted_in(from, bytes.len() as u64) {
            if let Some(site) = self.map.get(&at) {
                let byte = &mut bytes[(at - from.0) as usize];
                // The program may have written something else there.
                if *byte == INT3 {
                    *byte = site.bytes[0];
                }
            }
        }
    }

    /// Puts our int3 into what will be written at `from`, remembering the
    /// program's new bytes.
    pub fn keep(&mut self, from: Addr, bytes: &mut [u8]) {
        let inside: SmallVec<[u64; 8]> = self.planted_in(from, bytes.len() as u64).collect();
        for at in inside {
            if let Some(site) = self.map.get_mut(&at) {
                let place = &mut bytes[(at - from.0) as usize];
                site.bytes[0] = *place;
                *place = INT3;
            }
        }
    }

    /// Where longjmp and throw are observed.
    pub fn leaving(&self) -> impl Iterator<Item = (Addr, Option<Exit>)> {
        let all = self.map.iter().filter(|(_, site)| site.leaves_frames);
        all.map(|(at, site)| (Addr(*at), site.exit))
    }

    /// Keeps only the traps that `known` accepts. The int3 that nobody needs
    /// any more count as taken out: their addresses with the bytes to write.
    pub fn retain(&mut self, known: impl Fn(TrapId) -> bool) -> Vec<(Addr, u8)> {
        let mut obsolete = Vec::new();
        for (at, site) in &mut self.map {
            for list in [&mut site.exec, &mut site.entry, &mut site.returns] {
                list.retain(|id| known(*id));
            }
            if site.planted && !site.needed() {
                site.planted = false;
                self.planted.remove(at);
                obsolete.push((Addr(*at), site.bytes[0]));
            }
        }
        obsolete
    }

    /// Drops the sites of an address range that no longer exists, with their
    /// slots.
    pub fn drop_range(&mut self, from: Addr, to: Addr) -> Vec<Site> {
        let inside: Vec<u64> = self
            .map
            .keys()
            .copied()
            .filter(|at| (from.0..to.0).contains(at))
            .collect();
        let mut dropped = Vec::new();
        for at in inside {
            self.planted.remove(&at);
            dropped.extend(self.map.remove(&at));
        }
        dropped
    }

    pub fn clear(&mut self) {
        self.map.clear();
        self.planted.clear();
    }
}
