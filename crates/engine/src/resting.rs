//! Traps on calls that rest: nobody wants to hear of new calls, those that
//! were seen to begin are followed to their ends.
//!
//! A trap that rests has no int3 at the function's entry, and one at each
//! address that an open call of it returns to. It keeps its id, so that its
//! calls are known when it is inserted again.

use crate::shadow::Frame;
use crate::{Addr, CallId, Cause, Error, On, Owner, Process, Result, TrapId};
use rustc_hash::FxHashSet;

impl Process {
    /// Releases a reference to a trap on calls; with the last one it rests:
    /// the ends of open calls are reported, new calls are not seen. Inserting
    /// an equal trap wakes it, [`Process::remove`] ends it. Other traps are
    /// removed.
    pub fn rest(&mut self, id: TrapId) -> Result<()> {
        let trap = self.traps.get(id).ok_or(Error::NoTrap(id))?.trap;
        let (On::Return(at) | On::Call(at)) = trap.on else {
            return self.remove(id);
        };
        if !self.traps.rest(id) {
            return Ok(());
        }
        self.leave_site(at, |site| site.entry.retain(|i| *i != id))?;
        self.trim_returns(id)
    }

    /// Releases every trap (but the engine's own) whatever the references:
    /// nobody knows their ids any more. Those on calls for monitors rest, so
    /// that open calls that a succession brings back are still followed.
    pub fn release_all(&mut self) {
        let all = self.traps.iter().map(|(id, e)| (id, e.trap, e.references));
        let released: Vec<_> = all
            .filter(|(_, trap, _)| !matches!(trap.owner, Owner::Loader | Owner::Step))
            .collect();
        for (id, trap, references) in released {
            let done = (0..references).try_for_each(|_| match trap.owner {
                Owner::Monitor => self.rest(id),
                _ => self.remove(id),
            });
            if let Err(error) = done {
                tracing::debug!(?trap, %error, "a trap was not released");
            }
        }
    }

    /// Takes out the return addresses that no open call needs.
    fn trim_returns(&mut self, id: TrapId) -> Result<()> {
        let calls = self.open_frames().filter(|f| f.trap == id);
        let open: FxHashSet<u64> = calls.map(|f| f.ret).collect();
        let Some(planted) = self.return_sites.remove(&id) else {
            return Ok(());
        };
        let (kept, idle): (Vec<Addr>, Vec<Addr>) =
            planted.into_iter().partition(|ret| open.contains(&ret.0));
        if !kept.is_empty() {
            self.return_sites.insert(id, kept);
        }
        for ret in idle {
            self.leave_site(ret, |site| site.returns.retain(|i| *i != id))?;
        }
        Ok(())
    }

    fn open_frames(&self) -> impl Iterator<Item = Frame> {
        self.threads
            .values()
            .flat_map(|t| t.shadow.frames().copied())
    }

    fn resting(&self) -> Vec<TrapId> {
        let all = self.traps.iter().filter(|(_, e)| e.references == 0);
        all.map(|(id, _)| id).collect()
    }

    /// Does so for every trap that rests: open calls are gone in silence.
    pub(crate) fn trim_resting(&mut self) -> Result<()> {
        for id in self.resting() {
            self.trim_returns(id)?;
        }
        Ok(())
    }

    /// Takes the entries of all that rest out of code where they were awake.
    pub(crate) fn rest_entries(&mut self) -> Result<()> {
        for id in self.resting() {
            if let Some(On::Return(at) | On::Call(at)) = self.traps.get(id).map(|e| e.trap.on) {
                self.leave_site(at, |site| site.entry.retain(|i| *i != id))?;
            }
        }
        Ok(())
    }

    /// A call is over. What a resting trap had for it at its return address
    /// goes with the last that returns there.
    pub(crate) fn release_return(&mut self, id: TrapId, ret: Addr) -> Result<()> {
        if !self.traps.is_resting(id) {
            return Ok(());
        }
        let returns_there = |f: Frame| f.trap == id && f.ret == ret.0;
        if self.open_frames().any(returns_there) {
            return Ok(());
        }
        if let Some(list) = self.return_sites.get_mut(&id) {
            list.retain(|at| *at != ret);
        }
        self.leave_site(ret, |site| site.returns.retain(|i| *i != id))
    }

    /// The code of an address range is gone, and so are the calls of its
    /// functions, wherever they would have returned to.
    pub(crate) fn drop_calls(&mut self, from: Addr, to: Addr) -> Result<()> {
        let is_there = |at: Addr| from <= at && at < to;
        let all = self.traps.iter();
        let all = all.filter(|(_, e)| e.trap.on.function().is_some_and(is_there));
        for id in all.map(|(id, _)| id).collect::<Vec<_>>() {
            self.traps.discard(id);
        }
        let traps = &self.traps;
        for thread in self.threads.values_mut() {
            thread.shadow.retain(|id| traps.get(id).is_some());
        }
        let lost = self.return_sites.keys().copied();
        let lost: Vec<TrapId> = lost.filter(|id| self.traps.get(*id).is_none()).collect();
        for id in lost {
            for ret in self.return_sites.remove(&id).unwrap_or_default() {
                self.leave_site(ret, |site| site.returns.retain(|i| *i != id))?;
            }
        }
        Ok(())
    }

    /// Every call whose end has not been reported.
    pub fn followed_calls(&self) -> FxHashSet<CallId> {
        let mut open: FxHashSet<CallId> = self.open_frames().map(|f| f.call).collect();
        for cause in self.ready.iter().flat_map(|stop| &stop.causes) {
            if let Cause::Return { call, .. }
            | Cause::Abandoned { call, .. }
            | Cause::Cut { call, .. } = cause
            {
                open.insert(*call);
            }
        }
        open
    }

    /// The open calls that a trap follows.
    pub fn calls_of(&self, id: TrapId) -> Vec<CallId> {
        let calls = self.open_frames().filter(|f| f.trap == id);
        calls.map(|f| f.call).collect()
    }

    /// The open calls of a function, one for each trap that follows it, whose
    /// return address is at this place of a stack.
    pub fn calls_at(&self, function: Addr, return_slot: Addr) -> Vec<CallId> {
        let there = |f: &Frame| f.function == function.0 && f.sp == return_slot.0;
        self.open_frames().filter(there).map(|f| f.call).collect()
    }

    /// An address with an int3 for returns, of a trap that rests, to which no
    /// open call returns: there is none, unless by a mistake of ours.
    pub fn stray_return(&self) -> Option<Addr> {
        let open: FxHashSet<(TrapId, u64)> = self.open_frames().map(|f| (f.trap, f.ret)).collect();
        let stray = |id: &TrapId, at: Addr| {
            self.traps.get(*id).is_none_or(|e| e.references == 0) && !open.contains(&(*id, at.0))
        };
        let mut sites = self.sites.iter().filter(|(_, site)| site.planted);
        sites
            .find(|(at, site)| site.returns.iter().any(|id| stray(id, *at)))
            .map(|(at, _)| at)
    }
}
