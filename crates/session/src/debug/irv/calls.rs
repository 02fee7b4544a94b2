//! Whose business the end of a call is, and what was saved of its beginning.
//!
//! A call that was seen to begin is followed until it is over, whether its return is wanted at
//! that moment or not: the trap rests meanwhile (`Process::rest`), and what it began with is kept.

use super::super::Debugger;
use super::super::live::Live;
use super::Irv;
use super::alphabet::Site;
use super::feed::{Saved, Target};
use smallvec::SmallVec;
use verde_engine::{Addr, On, Owner, Tid, Trap, TrapId};

/// Sources that await a return, with the number of the site.
type Whom = SmallVec<[(usize, usize); 2]>;

impl Debugger {
    /// A call was seen to begin for the `before` event of a source. Those who may want to hear
    /// of its return while it runs find here what it began with.
    pub(super) fn note_beginning(&mut self, irv: &mut Irv, tid: Tid, source: usize, site: usize) {
        let (On::Exec(at) | On::Enter(at)) = irv.alphabet.sources[source].sites[site].on else {
            return;
        };
        let Some(whom) = irv.callees.get(&at) else {
            return;
        };
        let place = |w: &(usize, usize)| &irv.alphabet.sources[w.0].sites[w.1];
        let saves = |w: &&(usize, usize)| matches!(place(w).on, On::Call(_));
        let whom: Whom = whom.iter().filter(saves).copied().collect();
        // One that is followed has been saved already.
        if whom.is_empty() || whom.iter().any(|w| place(w).trap.is_some()) {
            return;
        }
        if let (Some(saved), Some(live)) = (self.entry_values(irv, tid, &whom), &self.live) {
            irv.begun.note(tid, saved, || live.process.threads());
        }
    }

    /// The monitors are back where they were at a checkpoint, and so is the program. Calls that
    /// were followed then are followed again, whether their returns are wanted or not.
    pub(super) fn follow_as_then(&mut self, irv: &mut Irv, tid: Option<Tid>) {
        irv.sort_saved(&self.live);
        self.instrument(irv, tid);
        for index in 0..irv.alphabet.sources.len() {
            let source = &irv.alphabet.sources[index];
            let lost = |site: &Site| irv.lost.iter().any(|s| site.on == On::Call(s.place.0));
            if source.wanted > 0 || source.users.is_empty() || !source.sites.iter().any(lost) {
                continue;
            }
            self.plant_source(irv, index, tid);
            irv.take_out_source(index, &mut self.live);
        }
        irv.lost.clear();
    }
}

impl Irv {
    /// A trap was set for a place of a source.
    pub(super) fn add_targets(&mut self, source: usize, site: usize, id: TrapId) {
        let sources = &self.alphabet.sources;
        let on = sources[source].sites[site].on;
        let mut whom: Whom = SmallVec::from_slice(&[(source, site)]);
        if let On::Return(at) | On::Call(at) = on {
            let all = self.callees.get(&at).into_iter().flatten();
            whom.extend(all.filter(|w| sources[w.0].sites[w.1].on == on).copied());
        }
        let targets = self.targets.entry(id).or_default();
        for (source, site) in whom {
            let target = Target::Site { source, site };
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
    }

    /// Places were found anew: they are known by their numbers in the lists.
    pub(super) fn number_sites(&mut self, live: &Option<Live>) {
        let traps = live.as_ref().map(|l| l.process.traps());
        self.callees.clear();
        for targets in self.targets.values_mut() {
            targets.retain(|t| matches!(t, Target::Datum { .. }));
        }
        for (source, s) in self.alphabet.sources.iter().enumerate() {
            if s.users.is_empty() {
                continue;
            }
            for (site, place) in s.sites.iter().enumerate() {
                let mut id = place.trap;
                if let On::Return(at) | On::Call(at) = place.on {
                    self.callees.entry(at).or_default().push((source, site));
                    let trap = Trap::new(place.on, Owner::Monitor);
                    id = id.or_else(|| traps?.id_of(&trap));
                }
                if let Some(id) = id {
                    let target = Target::Site { source, site };
                    self.targets.entry(id).or_default().push(target);
                }
            }
        }
        self.targets.retain(|_, targets| !targets.is_empty());
    }

    /// Whom the end of a call may concern, by the trap that follows it.
    pub(super) fn awaiting(&self, id: TrapId) -> Whom {
        let targets = self.targets.get(&id).into_iter().flatten();
        let sites = targets.filter_map(|t| match *t {
            Target::Site { source, site } => Some((source, site)),
            Target::Datum { .. } | Target::Birth { .. } => None,
        });
        sites.collect()
    }

    /// An event is not wanted any more.
    pub(super) fn take_out_source(&mut self, index: usize, live: &mut Option<Live>) {
        self.unwatch_datum(index, live);
        for i in 0..self.alphabet.sources[index].sites.len() {
            let source = &mut self.alphabet.sources[index];
            let trap = source.sites[i].trap.take();
            let on = source.sites[i].on;
            let is_followed = matches!(on, On::Return(_) | On::Call(_));
            if !is_followed || source.users.is_empty() {
                self.drop_site(index, on, trap, live);
            } else if let (Some(id), Some(live)) = (trap, live.as_mut()) {
                // It may be wanted again when an open call returns. Gone with its library, it
                // is out already.
                let _ = live.process.rest(id);
            }
        }
    }

    /// A place of a source is gone, or the source has no users: its calls are no longer
    /// followed on its behalf.
    pub(super) fn drop_site(
        &mut self,
        source: usize,
        on: On,
        trap: Option<TrapId>,
        live: &mut Option<Live>,
    ) {
        if !matches!(on, On::Return(_) | On::Call(_)) {
            return self.drop_trap(source, trap, live);
        }
        let Some(live) = live else {
            return;
        };
        let same = Trap::new(on, Owner::Monitor);
        let Some(id) = trap.or_else(|| live.process.traps().id_of(&same)) else {
            return;
        };
        let targets = self.targets.entry(id).or_default();
        targets.retain(|t| t.source() != source);
        // Gone with its library, it is out already.
        if targets.is_empty() {
            self.targets.remove(&id);
            for call in live.process.calls_of(id) {
                self.saved.remove(call);
            }
            let _ = live.process.remove(id);
        } else if trap.is_some() {
            let _ = live.process.rest(id);
        }
    }

    /// What a call began with that runs at a place of a thread's stack.
    pub(super) fn values_of_begun(&self, tid: Tid, place: (Addr, Addr)) -> Option<Saved> {
        let noted = self.begun.find(tid, place);
        let lost = || self.lost.iter().find(|s| s.place == place);
        noted.or_else(lost).cloned()
    }

    /// The values of a checkpoint are back. Those of calls that are not followed, or under other
    /// numbers, are found by the places of the calls.
    fn sort_saved(&mut self, live: &Option<Live>) {
        let Some(live) = live else {
            return;
        };
        let followed = live.process.followed_calls();
        for saved in self.saved.take_unless(|call| followed.contains(&call)) {
            let calls = live.process.calls_at(saved.place.0, saved.place.1);
            if calls.is_empty() {
                self.lost.push(saved);
                continue;
            }
            for call in calls {
                if !self.saved.contains(call) {
                    self.saved.insert(call, saved.clone());
                }
            }
        }
    }

    /// What was saved of calls that ended with their library, in silence.
    pub(super) fn forget_unfollowed(&mut self, live: &Option<Live>) {
        if let (Some(live), false) = (live, self.saved.is_empty()) {
            let followed = live.process.followed_calls();
            self.saved.take_unless(|call| followed.contains(&call));
        }
    }

    /// What was noted of functions that can be called unseen now.
    pub(super) fn forget_doubtful(&mut self, live: &Option<Live>) {
        if !std::mem::take(&mut self.begun.doubtful) {
            return;
        }
        if let Some(live) = live {
            let traps = live.process.traps();
            let is_set = |on| traps.id_of(&Trap::new(on, Owner::Monitor)).is_some();
            self.begun
                .keep_functions(|at| is_set(On::Exec(at)) || is_set(On::Enter(at)));
        }
    }
}
