//! Calls that are over though what they led to is not: their functions ended with a jump to another
//! one. The frames that they would have are found by what the code can have done.

use crate::addr::FileAddr;
use crate::functions::SourceFrame;
use crate::module::Module;
use crate::registers::{RIP, RSP};
use crate::tail_calls::{Code, Running, Site, Target};
use crate::unwind::{Frame, Method, source_frames};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Jumps that are tried for one call.
const MAX_TRIED: usize = 4000;

/// A jump by which a function ended.
#[derive(Clone)]
struct Jump {
    from: Code,
    site: Site,
}

impl Jump {
    fn is(&self, other: &Jump) -> bool {
        self.key() == other.key()
    }

    fn key(&self) -> (*const Module, u32, u32) {
        let Code { module, die, .. } = &self.from;
        (Arc::as_ptr(module), die.unit, self.site.offset)
    }

    /// The frame of the function that has jumped, had it called: what it left on the stack is what the
    /// function inside found there.
    fn frame(&self, inside: &Frame, caller: &Frame) -> Option<Frame> {
        let pc = FileAddr(self.site.after?).at(self.from.bias);
        let mut registers = caller.registers.clone();
        registers.general[RIP as usize] = Some(pc);
        registers.general[RSP as usize] = Some(inside.cfa?.wrapping_sub(8));
        Some(Frame {
            registers,
            pc,
            cfa: inside.cfa,
            is_exact: false,
            is_signal: false,
            has_jumped: true,
            method: Some(Method::Cfi),
            module: Some((self.from.module.clone(), self.from.bias)),
        })
    }
}

/// A backtrace as the user counts it: with the frames of functions that ended with a jump, where it is
/// certain that they ran, and with a level for every function and call inlined into it.
#[derive(Default)]
pub struct Levels {
    /// The frames of code.
    pub frames: Vec<Frame>,
    /// The index of each one's frame of code and the source frame, if debug information knows it.
    pub levels: Vec<(usize, Option<SourceFrame>)>,
}

impl Levels {
    /// Of some frames, innermost first, up to the function that `is_last` knows. Nothing is asked
    /// about frames outside of that or of the first `most`: their files may not even be read yet.
    pub fn of(frames: Vec<Frame>, most: usize, is_last: fn(&SourceFrame) -> bool) -> Levels {
        let mut out = Levels::default();
        let mut known: HashMap<(u64, u64), Vec<Jump>> = HashMap::new();
        let mut is_whole = false;
        for (i, frame) in frames.into_iter().enumerate() {
            is_whole |= i >= most;
            if !is_whole && let Some(inside) = out.frames.last().cloned() {
                // A recursion has the same pair of places again and again.
                let jumps = known
                    .entry((inside.lookup(), frame.pc))
                    .or_insert_with(|| jumps_between(&inside, &frame));
                for jumped in jumps.iter().filter_map(|j| j.frame(&inside, &frame)) {
                    out.push(jumped, is_last);
                }
            }
            match is_whole {
                true => out.frames.push(frame),
                false => is_whole = out.push(frame, is_last),
            }
        }
        out
    }

    /// Adds a frame with its levels; whether the last one is among them.
    fn push(&mut self, frame: Frame, is_last: fn(&SourceFrame) -> bool) -> bool {
        let code = self.frames.len();
        let sources = source_frames(std::slice::from_ref(&frame));
        // As in gdb, what jumped from within an inlined call is shown as that alone.
        let most = if frame.has_jumped { 1 } else { usize::MAX };
        self.frames.push(frame);
        for (_, source) in sources.into_iter().take(most) {
            let is_last = source.as_ref().is_some_and(is_last);
            self.levels.push((code, source));
            if is_last {
                return true;
            }
        }
        false
    }
}

/// The frames of functions that ended with a jump between a frame and its caller, innermost first.
pub(crate) fn jumped(frame: &Frame, caller: &Frame) -> Vec<Frame> {
    let jumps = jumps_between(frame, caller).into_iter();
    jumps.filter_map(|j| j.frame(frame, caller)).collect()
}

fn jumps_between(frame: &Frame, caller: &Frame) -> Vec<Jump> {
    // A signal handler was not called, and a frame without CFI is a guess.
    let is_called = !caller.is_exact && !frame.is_signal && caller.method == Some(Method::Cfi);
    if !is_called || frame.has_jumped || caller.has_jumped {
        return Vec::new();
    }
    all_jumps(frame, caller).unwrap_or_default()
}

fn all_jumps(frame: &Frame, caller: &Frame) -> Option<Vec<Jump>> {
    let (module, bias) = caller.module.as_ref()?;
    let calling = Code::at(module, *bias, caller.file_addr()?)?;
    let site = calling.site_before(FileAddr::of(caller.pc, *bias).0)?;
    if site.target == Target::Computed {
        return None;
    }
    let (module, bias) = frame.module.as_ref()?;
    let end = Running::at(module, *bias, frame.file_addr()?)?;
    if calling.calls(&site, &end) {
        return None;
    }
    let first = calling.callee(&site, &end)?;
    let mut search = Search {
        end,
        chain: Vec::new(),
        on_chain: HashSet::new(),
        tried: 0,
        found: None,
    };
    search.visit(&first).ok()?;
    Some(search.found?.certain())
}

/// The ways have nothing in common, or it is not known which there are.
struct Unclear;

struct Search {
    end: Running,
    /// The jumps from the first function to where the search is, each there once.
    chain: Vec<Jump>,
    on_chain: HashSet<(*const Module, u32, u32)>,
    tried: usize,
    found: Option<Ways>,
}

impl Search {
    /// Tries the jumps by which a function can have ended.
    fn visit(&mut self, code: &Code) -> Result<(), Unclear> {
        for site in code.sites().iter().filter(|s| s.is_tail) {
            self.tried += 1;
            if site.target == Target::Computed || self.tried > MAX_TRIED {
                return Err(Unclear);
            }
            let jump = Jump {
                from: code.clone(),
                site: *site,
            };
            let key = jump.key();
            if !self.on_chain.insert(key) {
                continue;
            }
            self.chain.push(jump);
            if code.calls(site, &self.end) {
                self.arrive()?;
            } else if let Some(next) = code.callee(site, &self.end) {
                self.visit(&next)?;
            }
            self.chain.pop();
            self.on_chain.remove(&key);
        }
        Ok(())
    }

    /// The chain leads to the end.
    fn arrive(&mut self) -> Result<(), Unclear> {
        match &mut self.found {
            Some(ways) => ways.meet(&self.chain),
            None => {
                self.found = Some(Ways::one(self.chain.clone()));
                Ok(())
            }
        }
    }
}

/// What all ways from a call to a function have in common.
struct Ways {
    /// One of them, outermost jump first.
    jumps: Vec<Jump>,
    /// How many of its first jumps all have, and how many of its last.
    first: usize,
    last: usize,
}

impl Ways {
    fn one(jumps: Vec<Jump>) -> Ways {
        Ways {
            first: jumps.len(),
            last: jumps.len(),
            jumps,
        }
    }

    /// There is another way.
    fn meet(&mut self, other: &[Jump]) -> Result<(), Unclear> {
        let both = |pair: &(&Jump, &Jump)| pair.0.is(pair.1);
        let pairs = self.jumps.iter().zip(other).take(self.first);
        let first = pairs.take_while(both).count();
        let pairs = self.jumps.iter().rev().zip(other.iter().rev());
        let last = pairs.take(self.last).take_while(both).count();
        (self.first, self.last) = (first, last);
        match first + last {
            0 => Err(Unclear),
            _ => Ok(()),
        }
    }

    /// The jumps that were made whichever way it was, innermost first.
    fn certain(mut self) -> Vec<Jump> {
        let of = self.jumps.len();
        if self.first < of {
            let unsure = self.first..of.saturating_sub(self.last).max(self.first);
            self.jumps.drain(unsure);
        }
        self.jumps.reverse();
        self.jumps
    }
}
