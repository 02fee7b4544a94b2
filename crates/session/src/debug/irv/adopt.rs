//! Calls that were running when somebody began to wait for their return.

use super::super::Debugger;
use super::super::live::ProcessMemory;
use super::super::registers::to_dwarf;
use super::Irv;
use verde_engine::{Addr, Tid};
use verde_symbols::{FileAddr, Modules, backtrace};

/// How far up a stack calls are looked for.
pub(super) const FRAMES: usize = 256;

/// A call on a stack: where its return address is; whether the thread is at its very beginning.
struct Found {
    slot: Addr,
    at_entry: bool,
}

impl Debugger {
    /// The returns of a source became wanted: activations that are already running count, too.
    /// `fresh`: the places that were planted just now; `tid`: the thread whose event it was.
    pub(super) fn adopt_running(
        &mut self,
        irv: &mut Irv,
        index: usize,
        fresh: &[usize],
        tid: Option<Tid>,
    ) {
        if !irv.alphabet.sources[index].follows_calls() {
            return;
        }
        self.observe_exits_for(irv);
        let Some(live) = &mut self.live else {
            return;
        };
        // Nothing has been called before the program began.
        if irv.loading && tid.is_none() {
            return;
        }
        let threads = live.process.threads();
        let alone = threads.len() == 1;
        // The others are stopped for the time of a look at their stacks.
        let guard = match alone && tid.is_some() {
            true => None,
            false => live.process.stop_all().ok().map(|g| g.release()),
        };
        for thread in threads {
            self.adopt_in(irv, index, fresh, thread, tid == Some(thread));
        }
        if let (Some(stopped), Some(live)) = (guard, &mut self.live) {
            for thread in stopped {
                // It ended meanwhile, which is reported.
                let _ = live.process.resume(thread);
            }
        }
    }

    fn adopt_in(
        &mut self,
        irv: &mut Irv,
        index: usize,
        fresh: &[usize],
        tid: Tid,
        is_current: bool,
    ) {
        for site in fresh.iter().copied() {
            let place = &irv.alphabet.sources[index].sites[site];
            let Some(at) = place.on.function() else {
                continue;
            };
            let Some(id) = place.trap else {
                continue;
            };
            let mut found = self.calls_of(at, tid);
            // Another thread that stands at the entry has yet to run into the new probe, or has
            // and waits to be heard: its call opens by itself.
            found.retain(|f| is_current || !f.at_entry);
            if found.is_empty() {
                continue;
            }
            let slots: Vec<Addr> = found.iter().map(|f| f.slot).collect();
            let Some(live) = &mut self.live else {
                return;
            };
            let Ok(adoption) = live.process.adopt_calls(id, tid, at, &slots) else {
                continue;
            };
            for call in adoption.left {
                irv.saved.remove(call);
            }
            for (call, found) in adoption.calls.into_iter().zip(&found) {
                let Some(call) = call else {
                    continue;
                };
                // At its first instruction a call has all its values; later they are gone,
                // unless its beginning was seen for another's sake.
                let saved = match found.at_entry {
                    true => self.entry_values(irv, tid, &irv.awaiting(id)),
                    false => irv.values_of_begun(tid, (at, found.slot)),
                };
                if let Some(saved) = saved {
                    irv.saved.insert(call, saved);
                }
            }
        }
    }

    /// A call that is left by longjmp or an exception is noticed when that happens.
    pub(super) fn observe_exits_for(&mut self, irv: &mut Irv) {
        if let Err(e) = self.observe_exits() {
            irv.warnings.push(e.to_string());
        }
    }

    /// The activations of the function that begins at an address, innermost first.
    fn calls_of(&self, function: Addr, tid: Tid) -> Vec<Found> {
        let Some(live) = &self.live else {
            return Vec::new();
        };
        let Ok(regs) = live.process.regs(tid) else {
            return Vec::new();
        };
        let Some((module, bias)) = self.images.module_at(function.0) else {
            return Vec::new();
        };
        let entry = FileAddr::of(function.0, bias);
        let Some(wanted) = module.function_at(entry) else {
            return Vec::new();
        };
        let memory = ProcessMemory(&live.process);
        let (frames, _) = backtrace(&self.images, &memory, to_dwarf(regs), FRAMES);
        let mut out = Vec::new();
        for frame in &frames {
            let (Some(cfa), Some(at)) = (frame.cfa, frame.file_addr()) else {
                continue;
            };
            let inside = |r: &(FileAddr, FileAddr)| r.0 <= at && at < r.1;
            let same = frame
                .module
                .as_ref()
                .is_some_and(|(m, _)| std::sync::Arc::ptr_eq(m, &module));
            if same && wanted.ranges.iter().any(inside) {
                out.push(Found {
                    slot: Addr(cfa.wrapping_sub(8)),
                    at_entry: frame.is_exact && frame.pc == function.0,
                });
            }
        }
        out
    }
}
