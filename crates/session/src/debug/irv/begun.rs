//! Calls that were seen to begin for their `before` event alone, in case somebody wants to
//! hear of their returns while they run.
//!
//! Such a call is not followed: that would cost a second stop. Where it would be on the stack is
//! known, and as long as every call of the function is seen to begin, the last one noted for a
//! place is the one that is found there.

use super::feed::Saved;
use rustc_hash::{FxHashMap, FxHashSet};
use verde_engine::{Addr, Tid};

/// Of one function in one thread; further up a stack no calls are looked for.
const MOST: usize = super::adopt::FRAMES;
/// Threads end unnoticed: theirs are looked for when there are so many.
const MANY: usize = 256;

/// The calls noted, by thread and function, in the order they began.
#[derive(Clone, Default)]
pub struct Begun {
    calls: FxHashMap<(Tid, Addr), Vec<Saved>>,
    /// How many threads and functions there are before ended threads are looked for.
    limit: usize,
    /// Some function may be called unseen now.
    pub doubtful: bool,
}

impl Begun {
    /// A call begins. `threads`: those that have not ended.
    pub fn note(&mut self, tid: Tid, call: Saved, threads: impl FnOnce() -> Vec<Tid>) {
        if self.calls.len() > self.limit.max(MANY) {
            let threads: FxHashSet<Tid> = threads().into_iter().collect();
            self.calls.retain(|(tid, _), _| threads.contains(tid));
            self.limit = 2 * self.calls.len();
        }
        let (function, slot) = call.place;
        let calls = self.calls.entry((tid, function)).or_default();
        // The stack is up to here: what was called from below is over. What is kept of
        // another stack does no harm.
        while calls.pop_if(|c| c.place.1 <= slot).is_some() {}
        calls.retain(|c| c.place.1 != slot);
        if calls.len() >= MOST {
            calls.remove(0);
        }
        calls.push(call);
    }

    /// What the call began with that is at a place of a thread's stack.
    pub fn find(&self, tid: Tid, place: (Addr, Addr)) -> Option<&Saved> {
        let calls = self.calls.get(&(tid, place.0))?;
        calls.iter().rfind(|c| c.place == place)
    }

    /// Forgets the calls of functions that can be called unseen.
    pub fn keep_functions(&mut self, is_seen: impl Fn(Addr) -> bool) {
        self.calls.retain(|(_, function), _| is_seen(*function));
    }

    /// The same of the threads that have other ids.
    pub fn with_threads(&self, id_now: impl Fn(Tid) -> Tid) -> Begun {
        let calls = self.calls.iter();
        Begun {
            calls: calls
                .map(|((tid, f), calls)| ((id_now(*tid), *f), calls.clone()))
                .collect(),
            limit: 0,
            doubtful: true,
        }
    }
}
