//! From what happened to a thread to what the caller hears.

use crate::calls::Causes;
use crate::pages::Fault;
use crate::thread::{Cut, Happening};
use crate::{
    Cause, Follow, ForkKind, On, Process, Result, SignalPolicy, Stop, Tid, restart, transfer,
};
use verde_sys::wait::SyscallStop;
use verde_sys::{SigInfo, number, ptrace};

/// What a call that a signal ends returns.
const INTERRUPTED: i64 = -(number::EINTR as i64);

impl Process {
    /// Decides about the oldest unreported stop of a thread. `None`: nobody
    /// wants to hear of it, and the thread goes on.
    pub(crate) fn report(&mut self, tid: Tid) -> Result<Option<Stop>> {
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(None);
        };
        let Some(mut happening) = thread.happening.take() else {
            return Ok(None);
        };
        let is_over = !matches!(happening, Happening::Signal(_) | Happening::CallCut);
        let was_cut = thread.cut.is_some() && is_over;
        let mut causes = Causes::new();
        if was_cut {
            self.end_cut_call(tid, &mut causes);
        }
        match self.find_causes(tid, &mut happening, &mut causes) {
            Ok(()) => {}
            // Its end will be reported by a status of its own.
            Err(error) if error.is_gone() || !self.is_stopped(tid) => {
                tracing::debug!(%tid, %error, "not decided");
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
        self.end_lost_watches(&mut causes)?;
        // A followed child is another thread of another process.
        let tid = if self.threads.contains_key(&tid) {
            tid
        } else {
            self.pid
        };
        self.advance_plan(tid, &happening, &mut causes)?;
        if causes.is_empty() {
            self.go(tid)?;
            return Ok(None);
        }
        Ok(Some(Stop { tid, causes }))
    }

    fn find_causes(&mut self, tid: Tid, what: &mut Happening, causes: &mut Causes) -> Result<()> {
        match *what {
            Happening::Int3(at) => {
                self.code_hit(tid, at, causes)?;
                self.frame_ended(causes)?;
                self.loader_hit(causes)
            }
            _ => self.find_other_causes(tid, what, causes),
        }
    }

    /// Out of the way of the code that runs at every trap.
    #[inline(never)]
    fn find_other_causes(
        &mut self,
        tid: Tid,
        what: &mut Happening,
        causes: &mut Causes,
    ) -> Result<()> {
        match *what {
            Happening::Int3(_) | Happening::TakenBack => Ok(()),
            Happening::Handler => self.instruction_run(tid, causes),
            Happening::Perf(slot, at) => {
                let Some(slot) = self.slot_now(tid, slot, at) else {
                    // What was worked out for this hit is not of the next one.
                    if let Some(thread) = self.threads.get_mut(&tid) {
                        thread.foretold = None;
                    }
                    return Ok(());
                };
                self.signal_of(tid, slot, causes)
            }
            Happening::Hardware(hits, watched) => {
                let slots = self.slots_now(tid, hits, &watched);
                self.slots_hit(tid, slots, causes)
            }
            Happening::Step(hits) => {
                self.slots_hit(tid, hits, causes)?;
                self.instruction_run(tid, causes)
            }
            Happening::Start => {
                for id in self.start_traps.clone() {
                    self.traps.hit(id);
                    causes.push(Cause::Trap { id });
                }
                Ok(())
            }
            Happening::Signal(info) => {
                if !self.watches.pages.never_used() {
                    match self.page_fault(tid, &info, causes)? {
                        Fault::ItsOwn => {}
                        Fault::Again => return Ok(()),
                        Fault::Done => {
                            // For whoever steps, that was the step.
                            *what = Happening::Step(0);
                            return self.instruction_run(tid, causes);
                        }
                    }
                }
                let told = causes.len();
                self.signal_arrived(tid, info, causes);
                if causes.len() == told {
                    // Who hears of the signal may cancel it, and then the call goes on.
                    self.end_told_call(tid, causes);
                }
                if self.threads.get(&tid).is_some_and(|t| t.signal.is_none()) {
                    // Without a debugger it would have ended the program, or
                    // the call that it has cut short; now it has not come.
                    self.make_again(tid)?;
                }
                // It may cut a call short, and the kernel has said so.
                self.close_for_syscall(tid, causes)
            }
            Happening::Syscall(stop) => match self.syscall_arrived(tid, stop, causes)? {
                true => self.instruction_run(tid, causes),
                false => Ok(()),
            },
            Happening::CallCut => {
                self.end_told_call(tid, causes);
                Ok(())
            }
            Happening::GroupStop(signal) => {
                let told = self.options.report_group_stops;
                if told || self.options.signals.get(signal).stop {
                    causes.push(Cause::GroupStop(signal));
                }
                Ok(())
            }
            Happening::Clone(new) => {
                if !self.thread_traps.is_empty() {
                    causes.push(Cause::Clone(new));
                }
                // Its end may pass unseen (`settle`).
                self.close_for_syscall(tid, causes)
            }
            Happening::Fork(child, kind) => {
                self.forked(tid, child, kind, causes)?;
                // Here, too.
                self.close_for_syscall(tid, causes)
            }
            Happening::Followed(maker) => {
                causes.push(Cause::Followed { maker });
                Ok(())
            }
            Happening::Exec => {
                self.settle(tid)?;
                self.new_program();
                causes.push(Cause::Exec);
                Ok(())
            }
            Happening::Exit(status) => {
                self.end_calls(tid, causes)?;
                self.frames_ended_with(tid, self.what_ends(tid), causes)?;
                if !(self.thread_traps.is_empty() && self.start_traps.is_empty()) {
                    causes.push(Cause::ThreadExit(status));
                }
                Ok(())
            }
        }
    }

    fn signal_arrived(&mut self, tid: Tid, info: SigInfo, causes: &mut Causes) {
        let signal = info.signal();
        let treatment = self.options.signals.get(signal);
        if let Some(thread) = self.threads.get_mut(&tid)
            && thread.take_given(signal)
        {
            thread.signal = Some(info);
            return;
        }
        let own_int3 = signal == number::SIGTRAP && info.code() > 0;
        let passes = match own_int3 {
            true => passes_own_int3(&self.options.signals, self.pid, tid),
            false => treatment.pass,
        };
        if let Some(thread) = self.threads.get_mut(&tid)
            && passes
        {
            thread.signal = Some(info);
        }
        let trapped = self.signal_traps.iter().copied().find(|id| {
            self.traps
                .get(*id)
                .is_some_and(|e| e.trap.on == On::Signal(signal))
        });
        if let Some(id) = trapped {
            self.traps.hit(id);
            causes.push(Cause::Trap { id });
        }
        if treatment.stop || treatment.print || trapped.is_some() {
            causes.push(Cause::Signal {
                signal,
                code: info.code(),
                at: info.address(),
            });
        }
    }

    fn syscall_arrived(
        &mut self,
        tid: Tid,
        stop: SyscallStop,
        causes: &mut Causes,
    ) -> Result<bool> {
        let exits = matches!(stop, SyscallStop::Exit { .. });
        if exits && self.has_window(tid) && self.make_again(tid)? {
            // For whoever follows its calls it has not come back.
            if let Some(thread) = self.threads.get_mut(&tid) {
                thread.entry_told = thread.syscall.take().is_some();
            }
            self.close_for_syscall(tid, causes)?;
            return Ok(false);
        }
        if exits
            && let Some(thread) = self.threads.get_mut(&tid)
            && restart::is_restarted(&thread.regs)
        {
            // Nor here: the kernel makes the call again, unless a handler comes first.
            thread.entry_told = thread.syscall.is_some();
            self.close_for_syscall(tid, causes)?;
            return Ok(false);
        }
        if exits
            && let Some(thread) = self.threads.get_mut(&tid)
            && restart::is_cut_short(&thread.regs)
            && ptrace::has_deliverable_signal(tid)?
        {
            // What becomes of the signal decides.
            let value = thread.regs.rax.cast_signed();
            thread.cut = thread.syscall.take().map(|number| Cut { number, value });
            self.close_for_syscall(tid, causes)?;
            return Ok(false);
        }
        let exits = self.stops_at_syscalls();
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(false);
        };
        let (number, value) = match stop {
            SyscallStop::Entry { number, .. } => {
                // Without traps this is only where it parts from our CPU.
                let told = std::mem::take(&mut thread.entry_told);
                // One that goes on by this number keeps its own.
                let same = told && number.cast_signed() == number::SYS_restart_syscall;
                let known = thread.syscall.filter(|_| same);
                thread.syscall = exits.then_some(known.unwrap_or(number));
                if told {
                    return Ok(false);
                }
                (number, None)
            }
            SyscallStop::Exit { value } => match thread.syscall.take() {
                Some(number) => (number, Some(value)),
                // Its entry was before we asked.
                None => {
                    self.close_for_syscall(tid, causes)?;
                    return Ok(true);
                }
            },
        };
        self.tell_call(tid, number, value, causes);
        if value.is_some() {
            self.close_for_syscall(tid, causes)?;
        }
        Ok(value.is_some())
    }

    /// A call begins, or ends with a value.
    fn tell_call(&mut self, tid: Tid, number: u64, value: Option<i64>, causes: &mut Causes) {
        for id in self.syscall_traps.clone() {
            let wanted = self.traps.get(id).is_some_and(|e| {
                e.trap.thread.is_none_or(|t| t == tid)
                    && matches!(e.trap.on, On::Syscall(n) if n.is_none_or(|n| n == number))
            });
            if wanted {
                self.traps.hit(id);
                causes.push(Cause::Syscall { id, number, value });
            }
        }
    }

    /// A call was told to begin, and the signal that the thread gets comes
    /// before it is made again: for the program it ends there.
    fn end_told_call(&mut self, tid: Tid, causes: &mut Causes) {
        if !self.ends_told_call(tid) {
            return;
        }
        self.end_cut_call(tid, causes);
        let Some(thread) = self.threads.get_mut(&tid) else {
            return;
        };
        if std::mem::take(&mut thread.entry_told) {
            let again = thread.made_again.map(|(_, number)| number);
            let number = thread.syscall.take().or(again);
            let number = number.unwrap_or(match thread.regs.orig_rax {
                // Taken back to before its instruction.
                u64::MAX => thread.regs.rax,
                number => number,
            });
            let value = transfer::result(thread).unwrap_or(INTERRUPTED);
            self.tell_call(tid, number, Some(value), causes);
        }
    }

    /// A call came back because of a signal, and nothing makes it again.
    fn end_cut_call(&mut self, tid: Tid, causes: &mut Causes) {
        let thread = self.threads.get_mut(&tid);
        if let Some(cut) = thread.and_then(|t| t.cut.take()) {
            self.tell_call(tid, cut.number, Some(cut.value), causes);
        }
    }

    /// Whether the end of a call is to be told when a thread goes on with the signal it has.
    pub(crate) fn ends_told_call(&self, tid: Tid) -> bool {
        let Some(thread) = self.threads.get(&tid) else {
            return false;
        };
        let Some(signal) = thread.signal.map(|info| info.signal()) else {
            return false;
        };
        if thread.cut.is_some() {
            return true;
        }
        thread.entry_told
            && match thread.made_again.is_some() || thread.transfer.is_some() {
                true => !self.is_ignored(tid, signal),
                // Not entered again yet, however it was led out of the kernel.
                false => restart::is_handled(self.pid, tid, signal),
            }
    }

    fn forked(&mut self, tid: Tid, child: Tid, kind: ForkKind, causes: &mut Causes) -> Result<()> {
        let told = self.options.report_forks;
        match kind {
            // It is lent the memory, and followed when it execs.
            ForkKind::Vfork => {}
            ForkKind::Fork if !told && self.options.follow == Follow::Parent => {
                self.release_new(child)?;
            }
            ForkKind::Fork => {
                self.hold_copy(tid, child)?;
                if !told {
                    self.part(tid)?;
                }
            }
        }
        if told {
            causes.push(Cause::Fork { child, kind });
        }
        Ok(())
    }
}

/// Whether the program gets the SIGTRAP of an int3 of its own. One that has a handler waits for it;
/// for others it stands for a breakpoint.
pub(crate) fn passes_own_int3(signals: &SignalPolicy, pid: Tid, tid: Tid) -> bool {
    signals.get(number::SIGTRAP).pass || restart::is_handled(pid, tid, number::SIGTRAP)
}
