//! The three predicates of the paper's theorem, checked in debug builds after
//! every change of the instrumentation: the monitored program is in the states
//! of the bare one.

use super::super::Debugger;
use super::Irv;
use verde_engine::Owner;

impl Debugger {
    /// Panics where a predicate does not hold, which is a mistake of ours.
    pub(super) fn assert_predicates(&self, irv: &Irv) {
        let Some(live) = &self.live else {
            return;
        };
        if live.process.ended().is_some() {
            return;
        }
        // An instruction is the program's own or a probe whose own byte is known.
        assert_eq!(live.process.wrong_code(), None, "code that nobody planted");
        // For returns that nobody waits for at present, only where open calls will return to.
        assert_eq!(live.process.stray_return(), None, "no call returns here");
        // Every probe of the monitors is one that some event knows.
        for (id, entry) in live.process.traps().iter() {
            let known = entry.trap.owner != Owner::Monitor
                || [irv.start, irv.last].contains(&Some(id))
                || irv.targets.contains_key(&id);
            assert!(known, "a probe without an event: {:?}", entry.trap);
        }
        // Exactly the events that some slice can react to are instrumented.
        for source in &irv.alphabet.sources {
            let set = source.sites.iter().filter(|s| s.trap.is_some()).count();
            let right = match source.wanted {
                0 => set == 0,
                _ => irv.errors > 0 || set == source.sites.len(),
            };
            assert!(right, "event {} has {set} probes", source.title());
        }
    }
}
