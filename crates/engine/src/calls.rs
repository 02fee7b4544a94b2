//! Traps on code: who is interested in a hit, and which calls it opens or
//! ends.

use crate::shadow::{Extent, Fate, Frame};
use crate::sites::{Exit, Site};
use crate::{Addr, CallId, Cause, On, Owner, Process, Result, Tid, Trap, TrapId};
use smallvec::SmallVec;
use verde_sys::Regs;
use verde_sys::memory::Memory;

pub(crate) type Causes = SmallVec<[Cause; 4]>;

/// Calls that are over, in the order of their ends.
type Ended = SmallVec<[(Frame, Fate); 2]>;

/// Calls that were running when somebody asked for their returns.
#[derive(Clone, Debug, Default)]
pub struct Adoption {
    /// In the order of the question, the numbers of those that were not known.
    pub calls: Vec<Option<CallId>>,
    /// Calls that were known in their places, and have been left since.
    pub left: Vec<CallId>,
}

/// How far a signal handler's stack may reach before it counts as another.
const SAME_STACK: u64 = 1 << 20;

impl Process {
    /// A thread ran into the int3 at `at`. The pc is back on it.
    pub(crate) fn code_hit(&mut self, tid: Tid, at: Addr, causes: &mut Causes) -> Result<()> {
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(());
        };
        // Taken out while the hit was queued, or somebody moved the thread:
        // it goes on where it is.
        let Some(site) = self.sites.get(at).filter(|s| s.planted) else {
            return Ok(());
        };
        if thread.regs.pc() != at {
            return Ok(());
        }
        thread.passed = Some(at);
        let sp = thread.regs.rsp;
        if !thread.replays.is_empty() {
            // A signal handler returned to a trap that was reported before.
            if thread.replays.last() == Some(&(at, sp)) {
                thread.replays.pop();
                // A step's own trap goes when it is hit: one that is here waits for this return.
                self.exec_hits(tid, at, |trap| trap.owner == Owner::Step, causes);
                return Ok(());
            }
            // Handlers left by longjmp will not return.
            thread
                .replays
                .retain(|(_, below)| *below >= sp || sp - *below > SAME_STACK);
        }
        let enters = !site.entry.is_empty();
        let leaves = site.leaves_frames.then_some(site.exit);
        if enters || !thread.shadow.is_empty() {
            self.settle_calls(tid, causes)?;
        }
        if let Some(exit) = leaves {
            self.leave_calls(tid, exit, causes)?;
        }
        if enters {
            self.open_calls(tid, at, causes)?;
        }
        self.exec_hits(tid, at, |_| true, causes);
        Ok(())
    }

    /// Tells those of the traps on an instruction that are about the thread now.
    fn exec_hits(
        &mut self,
        tid: Tid,
        at: Addr,
        counts: impl Fn(&Trap) -> bool,
        causes: &mut Causes,
    ) {
        let (Some(thread), Some(site)) = (self.threads.get(&tid), self.sites.get(at)) else {
            return;
        };
        for id in &site.exec {
            let applies = self
                .traps
                .get(*id)
                .is_some_and(|e| counts(&e.trap) && applies(&e.trap, tid, &thread.regs));
            if applies {
                self.traps.hit(*id);
                causes.push(Cause::Trap { id: *id });
            }
        }
    }

    /// Ends the calls that are over for a thread where it is now.
    #[inline(never)]
    pub(crate) fn settle_calls(&mut self, tid: Tid, causes: &mut Causes) -> Result<()> {
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(());
        };
        let (sp, pc, regs) = (thread.regs.rsp, thread.regs.rip, thread.regs);
        let (memory, is_first) = (&self.memory, tid == self.pid);
        let mut ended = Ended::new();
        thread
            .shadow
            .select(sp, || extent(memory, is_first, &regs, sp));
        thread.shadow.settle(
            sp,
            pc,
            |sp, ret| memory.read_u64(Addr(sp)).is_ok_and(|word| word == ret),
            |frame, fate| ended.push((frame, fate)),
        );
        self.report_ended(&ended, causes)
    }

    fn report_ended(&mut self, ended: &[(Frame, Fate)], causes: &mut Causes) -> Result<()> {
        for (frame, fate) in ended {
            let on = self.traps.get(frame.trap).map(|e| e.trap.on);
            if !matches!(on, Some(On::Enter(_))) {
                self.traps.hit(frame.trap);
                causes.push(cause(frame, *fate));
            }
            self.release_return(frame.trap, Addr(frame.ret))?;
        }
        Ok(())
    }

    /// Opens a call for each return trap on the function entered at `at`.
    #[inline(never)]
    fn open_calls(&mut self, tid: Tid, at: Addr, causes: &mut Causes) -> Result<()> {
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(());
        };
        let sp = thread.regs.rsp;
        // No stack, no return: the entry is all there is.
        let Ok(ret) = self.memory.read_u64(Addr(sp)) else {
            return Ok(());
        };
        if self.loops.contains(&at) && thread.shadow.is_open(sp, ret, at.0) {
            return Ok(());
        }
        let mut ended = Ended::new();
        thread
            .shadow
            .enter(sp, ret, at.0, self.exits_seen, |frame| {
                ended.push((frame, Fate::Abandoned));
            });
        self.report_ended(&ended, causes)?;
        let Some(site) = self.sites.get(at) else {
            return Ok(());
        };
        let ids: SmallVec<[TrapId; 4]> = site.entry.iter().copied().collect();
        for id in ids {
            let Some(thread) = self.threads.get_mut(&tid) else {
                return Ok(());
            };
            let Some(trap) = self.traps.get(id).map(|e| e.trap) else {
                continue;
            };
            if !applies(&trap, tid, &thread.regs) || !self.expect_return(id, Addr(ret)) {
                continue;
            }
            self.calls += 1;
            let call = CallId(self.calls);
            if let Some(thread) = self.threads.get_mut(&tid) {
                thread.shadow.push(Frame {
                    sp,
                    ret,
                    function: at.0,
                    trap: id,
                    call,
                    suspect: false,
                });
            }
            match trap.on {
                On::Call(_) => causes.push(Cause::Entry { id, call }),
                On::Enter(_) => {
                    self.traps.hit(id);
                    causes.push(Cause::Trap { id });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A longjmp or a throw begins, or a catch: a call from the catching
    /// function has overwritten the return address of the call it caught.
    /// Where it goes is known of a longjmp to the thread's own stack, and of
    /// a catch, which is there; of others every open call may be over soon.
    #[cold]
    fn leave_calls(&mut self, tid: Tid, exit: Option<Exit>, causes: &mut Causes) -> Result<()> {
        let Some(thread) = self.threads.get(&tid).filter(|t| !t.shadow.is_empty()) else {
            return Ok(());
        };
        let (regs, own) = (thread.regs, thread.shadow.own());
        let ret = self.memory.read_u64(Addr(regs.rsp));
        let landing = match (exit, own) {
            (Some(Exit::Jump), Some((extent, here))) => self.landing(&regs, extent, here),
            (Some(Exit::Landing), Some((extent, true))) => self.unwinds_to(&regs, extent),
            _ => None,
        };
        if exit == Some(Exit::Landing) && landing.is_none() {
            return Ok(());
        }
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(());
        };
        let mut ended = Ended::new();
        let mut over = |frame| ended.push((frame, Fate::Abandoned));
        if let Ok(ret) = ret {
            thread.shadow.enter(regs.rsp, ret, 0, true, &mut over);
        }
        match (landing, exit, own) {
            (Some(sp), ..) => {
                thread.shadow.leave_below(sp, over);
                thread.shadow.suspect_others();
            }
            (None, Some(Exit::Catch), Some((_, true))) => thread.shadow.suspect_others(),
            _ => thread.shadow.suspect_all(),
        }
        self.report_ended(&ended, causes)
    }

    /// Makes sure that returns to `ret` are seen. `false`: nothing returns
    /// there (the outermost function of a thread).
    fn expect_return(&mut self, id: TrapId, ret: Addr) -> bool {
        let known = self.sites.get(ret).is_some_and(|s| s.returns.contains(&id));
        if known && self.is_in_place(ret) {
            return true;
        }
        let reason = |site: &mut Site| {
            if !known {
                site.returns.push(id);
            }
        };
        if let Err(error) = self.need_site(ret, reason) {
            tracing::debug!(%ret, %error, "return address without code");
            return false;
        }
        if known {
            return true;
        }
        // It stays until the trap goes: the next call from the same place
        // costs nothing more.
        self.return_sites.entry(id).or_default().push(ret);
        true
    }

    /// Tells the engine where functions are that leave frames or arrive from
    /// left ones: `longjmp`, `siglongjmp`, `_Unwind_RaiseException`,
    /// `__cxa_begin_catch` and the like, as far as they exist. With them, a
    /// call repeated from the same place is told apart from a tail call, and
    /// a handler that joins the normal path from a return.
    pub fn observe_exits(&mut self, addresses: &[Addr]) -> Result<()> {
        for at in addresses {
            self.need_site(*at, |site| site.leaves_frames = true)?;
            self.exits_seen = true;
        }
        Ok(())
    }

    /// Tells the engine that a function's code jumps back to its first
    /// instruction. Its calls are told from its rounds by those that are open:
    /// one that began with the same stack and has not ended.
    pub fn note_loop(&mut self, function: Addr) {
        self.loops.insert(function);
    }

    /// Opens calls that were already running in a stopped thread when their return trap was
    /// set: for each, where its return address is on the stack.
    pub fn adopt_calls(
        &mut self,
        id: TrapId,
        tid: Tid,
        function: Addr,
        return_slots: &[Addr],
    ) -> Result<Adoption> {
        let mut out = Adoption::default();
        for slot in return_slots {
            let ret = self.memory.read_u64(*slot)?;
            if !self.expect_return(id, Addr(ret)) {
                out.calls.push(None);
                continue;
            }
            self.stopped(tid)?;
            let Some(thread) = self.threads.get_mut(&tid) else {
                continue;
            };
            let (memory, is_first, regs) = (&self.memory, tid == self.pid, thread.regs);
            let extent = || extent(memory, is_first, &regs, slot.0);
            thread.shadow.select(slot.0, extent);
            let call = CallId(self.calls + 1);
            let frame = Frame {
                sp: slot.0,
                ret,
                function: function.0,
                trap: id,
                call,
                suspect: false,
            };
            let left = |gone: Frame| out.left.push(gone.call);
            let new = self.stopped_mut(tid)?.shadow.adopt(frame, left);
            self.calls += u64::from(new);
            out.calls.push(new.then_some(call));
        }
        Ok(out)
    }

    /// Tells the engine where `longjmp` and its like are: besides what
    /// [`Process::observe_exits`] does, a step over a call left by one ends
    /// where it lands.
    pub fn observe_jumps(&mut self, addresses: &[Addr]) -> Result<()> {
        self.observe_exits_as(addresses, Exit::Jump)
    }

    /// The same for the functions that handlers of exceptions begin with:
    /// `__cxa_begin_catch`.
    pub fn observe_catches(&mut self, addresses: &[Addr]) -> Result<()> {
        self.observe_exits_as(addresses, Exit::Catch)
    }

    /// The same for the function by which handlers and clean-ups of exceptions tell the unwinder of
    /// libgcc that they are in a frame: `_Unwind_SetIP`. What is left is told before they run.
    pub fn observe_landings(&mut self, addresses: &[Addr]) -> Result<()> {
        self.observe_exits_as(addresses, Exit::Landing)
    }

    fn observe_exits_as(&mut self, addresses: &[Addr], exit: Exit) -> Result<()> {
        self.observe_exits(addresses)?;
        for at in addresses {
            if let Some(site) = self.sites.get_mut(*at) {
                site.exit = Some(exit);
            }
        }
        Ok(())
    }

    /// Every open call of a thread ends with it: those that were left before (pthread_exit unwinds
    /// the stack), and those that the thread is in.
    pub(crate) fn end_calls(&mut self, tid: Tid, causes: &mut Causes) -> Result<()> {
        let is_open = |t: &crate::thread::Thread| !t.shadow.is_empty();
        if !self.threads.get(&tid).is_some_and(is_open) {
            return Ok(());
        }
        self.settle_calls(tid, causes)?;
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(());
        };
        let memory = &self.memory;
        let mut ended = Ended::new();
        thread.shadow.drain(|frame| {
            let word = memory.read_u64(Addr(frame.sp));
            // Something else is where it would have returned to.
            let left = frame.suspect && word.is_ok_and(|word| word != frame.ret);
            let fate = if left { Fate::Abandoned } else { Fate::Cut };
            ended.push((frame, fate));
        });
        self.report_ended(&ended, causes)
    }

    /// How many calls with return traps are open in a thread.
    pub fn open_call_count(&self, tid: Tid) -> usize {
        self.threads.get(&tid).map_or(0, |t| t.shadow.depth())
    }
}

fn cause(frame: &Frame, fate: Fate) -> Cause {
    let (id, call) = (frame.trap, frame.call);
    match fate {
        Fate::Returned => Cause::Return { id, call },
        Fate::Abandoned => Cause::Abandoned { id, call },
        Fate::Cut => Cause::Cut { id, call },
    }
}

/// The trap's bindings hold for this thread now.
fn applies(trap: &Trap, tid: Tid, regs: &Regs) -> bool {
    trap.thread.is_none_or(|t| t == tid) && trap.frame.is_none_or(|f| regs.rsp >= f.cfa.0)
}

/// The stack that holds `sp`, by the memory map. That of the first thread has a
/// name there; the others have their control block on theirs.
fn extent(memory: &Memory, is_first: bool, regs: &Regs, sp: u64) -> Extent {
    let maps = memory.maps().unwrap_or_default();
    let Some(i) = maps.iter().position(|m| m.contains(Addr(sp))) else {
        let page = sp & !0xfff;
        return Extent {
            low: page,
            high: page + 4096,
            own: false,
        };
    };
    let map = &maps[i];
    let (mut low, mut high) = (map.start.0, map.end.0);
    let mut own = map.name == "[stack]";
    if own {
        // It grows: all that is free below is its.
        low = i.checked_sub(1).map_or(0, |j| maps[j].end.0);
    } else if !is_first && map.contains(Addr(regs.fs_base)) {
        // What is above the block is another mapping that the kernel shows as one.
        own = sp < regs.fs_base;
        match own {
            true => high = regs.fs_base,
            false => low = regs.fs_base,
        }
    }
    Extent { low, high, own }
}
