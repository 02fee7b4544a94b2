//! A wait status arrives: the thread's state is brought up to date and what
//! happened is noted. Whether anybody wants to hear of it is decided later
//! (`report`), so that a stop can be kept while the world is stopped.

use crate::calls::Causes;
use crate::process::RING_INTERRUPT;
use crate::relocate::Undo;
use crate::restart;
use crate::sites::INT3;
use crate::slots::Position;
use crate::thread::{Happening, State, Thread};
use crate::{Addr, Cause, End, ForkKind, Process, Result, Stop, Tid};
use verde_sys::ptrace::{self, Go};
use verde_sys::siginfo::{SI_KERNEL, TRAP_BRKPT, TRAP_HWBKPT, TRAP_TRACE};
use verde_sys::wait::SyscallStop;
use verde_sys::{
    Event, SigInfo, SysError, WaitStatus, debug_registers, number, procfs, task, wait,
};

/// A thread that was killed answers ESRCH to everything; its end will be
/// reported by a wait status of its own, so nothing needs to be done here.
pub(crate) fn unless_gone(result: std::result::Result<(), SysError>) -> Result<()> {
    match result {
        Err(e) if e.is_gone() => Ok(()),
        other => Ok(other?),
    }
}

impl Process {
    /// Takes note of a wait status.
    pub(crate) fn arrived(&mut self, tid: Tid, status: WaitStatus) -> Result<()> {
        if self.borrowers.contains_key(&tid) {
            return match self.borrower_arrived(tid, status) {
                // Killed meanwhile: its end is told yet.
                Err(error) if error.is_gone() => Ok(()),
                other => other,
            };
        }
        if let Some(end) = ended(status) {
            self.thread_ended(tid, end);
            return Ok(());
        }
        if !self.threads.contains_key(&tid) {
            // A new thread can report its first stop before its creator
            // reports the creation.
            if !procfs::is_thread_of(self.pid, tid) {
                self.strangers.push((tid, status));
                return Ok(());
            }
            self.threads.insert(tid, Thread::newborn(tid));
        }
        match self.note(tid, status) {
            Err(error) if error.is_gone() => Ok(()),
            other => other,
        }
    }

    #[cold]
    fn thread_ended(&mut self, tid: Tid, end: End) {
        let pid = self.pid;
        if !self.born.is_empty()
            && let Err(error) = self.release_born(|maker| maker == tid || tid == pid)
        {
            tracing::debug!(%tid, %error, "a child is not released");
        }
        self.threads.remove(&tid);
        self.thread_is_gone |= matches!(end, End::Exited(_));
        self.watches.hardware.forget(tid);
        self.lent.give_back(tid);
        self.pin.forget(tid);
        self.queue.retain(|t| *t != tid);
        self.strangers.retain(|(t, _)| *t != tid);
        if tid == self.pid {
            self.threads.clear();
            self.queue.clear();
            self.end.get_or_insert(end);
        }
    }

    fn note(&mut self, tid: Tid, status: WaitStatus) -> Result<()> {
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(());
        };
        thread.state = State::Stopped;
        let asked = std::mem::take(&mut thread.interrupted);
        // Who was asked to stop and does so at a call's entry goes into the call as if a signal
        // were waiting.
        let entered = thread.at_entry && thread.may_be_cut;
        thread.may_be_cut = asked || entered || status != WaitStatus::Syscall;
        thread.pc_changed = false;
        thread.regs_changed = false;
        thread.passed = None;
        thread.disturbed = false;
        thread.at_entry = false;
        thread.in_call = false;
        thread.trapped = status == WaitStatus::Signal(number::SIGTRAP);
        if !thread.trapped {
            self.pin.part(thread);
        }
        thread.group_stop = matches!(status, WaitStatus::GroupStop(_));
        thread.in_kernel = matches!(status, WaitStatus::Event(_));
        thread.is_starting = thread.is_newborn && status == WaitStatus::Interrupt;
        thread.is_newborn &= !thread.is_starting;
        let queued = std::mem::take(&mut thread.step_queued);
        let stepped = std::mem::take(&mut thread.stepping) || queued;
        thread.regs = ptrace::regs(tid)?;
        thread.goes_on = restart::goes_on(&thread.regs).or(thread.goes_on);
        let at = (thread.regs.rip, thread.regs.rax);
        thread.made_again = thread.made_again.filter(|call| *call == at);
        if !std::mem::replace(&mut thread.armed, true) {
            self.set_registers(tid)?;
        }
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(());
        };
        let mut call = match status {
            WaitStatus::Syscall => ptrace::syscall_stop(tid)?,
            _ => None,
        };
        thread.at_entry = matches!(call, Some(SyscallStop::Entry { .. }));
        let signal = match status {
            WaitStatus::Signal(signal) => Some(signal),
            _ => None,
        };
        self.follow_detour(tid, call, signal)?;
        self.take_in(tid, &mut call, signal == Some(number::SIGTRAP));
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(());
        };
        if !thread.at_entry {
            restart::take_back(thread);
        }
        let happening = match status {
            WaitStatus::Signal(number::SIGTRAP) => {
                let info = ptrace::siginfo(tid)?;
                self.which_trap(tid, info, stepped)?
            }
            WaitStatus::Signal(signal) => {
                let info = ptrace::siginfo(tid)?;
                if restart::is_cut_short(&thread.regs) && self.is_ignored(tid, signal) {
                    // Without a debugger it would not even have been sent.
                    self.make_again(tid)?;
                }
                let is_void = signal == number::SIGSEGV && self.unforce(tid, &info)?;
                (!is_void).then_some(Happening::Signal(info))
            }
            WaitStatus::Syscall => match call {
                Some(SyscallStop::Exit { .. }) if thread.window.is_none() => {
                    match self.make_again(tid)? {
                        true => {
                            // For whoever follows its calls it has not come back.
                            if let Some(thread) = self.threads.get_mut(&tid) {
                                thread.entry_told = thread.syscall.is_some();
                            }
                            None
                        }
                        false => call.map(Happening::Syscall),
                    }
                }
                _ => call.map(Happening::Syscall),
            },
            WaitStatus::GroupStop(signal) => {
                // The trap of the step comes when the group-stop is over.
                thread.step_queued = stepped && ptrace::has_pending_fault(tid)?;
                Some(Happening::GroupStop(signal))
            }
            WaitStatus::Interrupt | WaitStatus::Continued => {
                if ptrace::has_pending_fault(tid)? {
                    // Stopped between an exception and its signal: with the
                    // pc behind an int3, for one. Let the signal come first.
                    thread.state = State::Running;
                    thread.interrupted = true;
                    // The signal may be that of the step.
                    thread.stepping = stepped;
                    if thread.regs_changed {
                        // It has taken back what it had lent.
                        ptrace::set_regs(tid, &thread.regs)?;
                    }
                    return Ok(ptrace::resume(tid, Go::Continue, 0)?);
                }
                if thread.is_starting {
                    (!self.start_traps.is_empty()).then_some(Happening::Start)
                } else {
                    self.make_again(tid)?;
                    None
                }
            }
            WaitStatus::Event(event) => self.note_event(tid, event)?,
            WaitStatus::Exited(_) | WaitStatus::Killed { .. } => None,
        };
        if !matches!(happening, Some(Happening::Int3(_))) && self.out_of_slot(tid, stepped)? {
            return Ok(());
        }
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(());
        };
        let may_have_called = status == WaitStatus::Syscall || (stepped && thread.trapped);
        if may_have_called && !self.watches.pages.is_empty() {
            self.follow_signals(tid)?;
        }
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(());
        };
        let has_run = matches!(happening, Some(Happening::Step(_) | Happening::Int3(_)));
        if thread.in_place.take() == Some(thread.regs.pc()) && !has_run {
            // Its hit was reported before it was to run there.
            thread.passed = Some(thread.regs.pc());
        }
        match happening {
            Some(Happening::Exit(status)) if self.stopping => self.let_end(tid, status),
            Some(happening) => {
                thread.happening = Some(happening);
                self.queue.push_back(tid);
                Ok(())
            }
            None if self.stopping => {
                // A new thread, or the parent of a vfork: nobody asked it to
                // stop, so nobody would let it go.
                if !asked {
                    self.parked.push(tid);
                }
                Ok(())
            }
            None => self.go(tid),
        }
    }

    /// While the world is being stopped a thread that ends is not kept: the
    /// one whose exec ends it waits for that, and would never stop.
    #[cold]
    fn let_end(&mut self, tid: Tid, status: i32) -> Result<()> {
        // What it had not told when it was killed is void.
        self.queue.retain(|t| *t != tid);
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.happening = None;
        }
        let mut causes = Causes::new();
        self.end_calls(tid, &mut causes)?;
        if !self.thread_traps.is_empty() {
            causes.push(Cause::ThreadExit(status));
        }
        if !causes.is_empty() {
            self.ready.push_back(Stop { tid, causes });
        }
        self.ended_threads.push((tid, self.what_ends(tid)));
        self.go(tid)
    }

    /// The same for those whose end has been noted and not been told.
    pub(crate) fn let_queued_end(&mut self) -> Result<()> {
        for tid in self.queue.clone() {
            let happening = self.threads.get(&tid).and_then(|t| t.happening);
            if let Some(Happening::Exit(status)) = happening {
                self.let_end(tid, status)?;
            }
        }
        Ok(())
    }

    /// The thread has run into an int3 of ours.
    fn int3_at(&mut self, tid: Tid, at: Addr) -> Option<Happening> {
        self.threads.get_mut(&tid)?.set_pc(at);
        Some(Happening::Int3(at))
    }

    /// Which of its many meanings a SIGTRAP has, by elimination.
    fn which_trap(&mut self, tid: Tid, info: SigInfo, stepped: bool) -> Result<Option<Happening>> {
        if let Some(data) = info.perf_data() {
            return Ok(Some(Happening::Perf(data as usize, info.address())));
        }
        // The kernel tells of a handler's beginning by the signal's number.
        if stepped && info.code() == number::SIGTRAP {
            return Ok(Some(Happening::Handler));
        }
        // A stepped system call ends with the reason of a breakpoint.
        if stepped && [TRAP_TRACE, TRAP_BRKPT].contains(&info.code()) {
            if info.code() == TRAP_BRKPT && self.is_made_again(tid)? {
                // Cut short by a stop or a signal: the step is not done.
                return Ok(None);
            }
            return Ok(Some(Happening::Step(self.slots_stepped_on(tid)?)));
        }
        if [TRAP_HWBKPT, TRAP_BRKPT, TRAP_TRACE].contains(&info.code()) {
            let mut hits = 0;
            if self.watches.by_registers {
                hits = debug_registers::take_hits(tid)?;
            }
            if hits == 0 {
                // Virtual machines sometimes lose the CPU's note of the slot,
                // and then the kernel knows no reason.
                match self.watched_by_last_access(tid) {
                    Some(slots) => hits = slots,
                    None => return Ok(Some(Happening::Signal(info))),
                }
            }
            return Ok((hits != 0).then(|| self.fired(tid, hits)));
        }
        if info.code() == SI_KERNEL {
            let Some(thread) = self.threads.get(&tid) else {
                return Ok(None);
            };
            let at = Addr(thread.regs.rip.wrapping_sub(1));
            if let Some(site) = self.sites.get(at) {
                let ours = site.planted || {
                    // A trap that was taken out while this hit was queued; or
                    // the program put an int3 of its own there since.
                    let mut byte = [0];
                    self.memory.read(at, &mut byte).is_ok() && byte[0] != INT3
                };
                if ours {
                    return Ok(self.int3_at(tid, at));
                }
            }
        }
        if let Some(at) = self.hidden_int3(tid, &info) {
            if let Some(thread) = self.threads.get_mut(&tid) {
                thread.behind = Some(info);
            }
            return Ok(self.int3_at(tid, at));
        }
        // Sent by somebody, or an int3 of the program's own.
        Ok(Some(Happening::Signal(info)))
    }

    /// A SIGTRAP that somebody sent and the program blocked is all that the
    /// kernel shows of an int3: it keeps one of several signals. It has opened
    /// the signal and taken its handler away.
    #[cold]
    fn hidden_int3(&self, tid: Tid, info: &SigInfo) -> Option<Addr> {
        let thread = self.threads.get(&tid)?;
        let at = Addr(thread.regs.rip.wrapping_sub(1));
        let by_default = || {
            !restart::is_handled(self.pid, tid, number::SIGTRAP)
                && !restart::is_ignored(self.pid, tid, number::SIGTRAP)
        };
        (info.code() <= 0 && self.is_in_place(at) && by_default()).then_some(at)
    }

    /// Shows a thread found in a slot where the program thinks it is. `true`:
    /// a step within a slot goes on, there is nothing to tell.
    fn out_of_slot(&mut self, tid: Tid, stepped: bool) -> Result<bool> {
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(false);
        };
        match self.slots.position(thread.regs.pc()) {
            None => {}
            Some(Position::After(next)) => thread.set_pc(next),
            Some(Position::Before(origin, undo)) => {
                if stepped && undo != Undo::Nothing {
                    // One instruction of the program, several of the slot.
                    thread.state = State::Running;
                    thread.stepping = true;
                    ptrace::resume(tid, Go::Step, 0)?;
                    return Ok(true);
                }
                undo.apply(&mut thread.regs);
                thread.regs_changed |= undo != Undo::Nothing;
                thread.set_pc(origin);
                // Its hit was reported before it went into the slot.
                thread.passed = Some(origin);
            }
        }
        Ok(false)
    }

    #[inline(never)]
    fn note_event(&mut self, tid: Tid, event: Event) -> Result<Option<Happening>> {
        let message = ptrace::event_message(tid)?;
        let task = Tid(message as i32);
        Ok(match event {
            Event::Clone if self.is_new_thread(task) => {
                // Known from now on, so that stopping the world waits for it.
                self.created += 1;
                let new = self.threads.entry(task);
                new.or_insert_with(|| Thread::newborn(task)).number = self.created;
                Some(Happening::Clone(task))
            }
            Event::Clone | Event::Fork | Event::Vfork => {
                let Some(thread) = self.threads.get_mut(&tid) else {
                    return Ok(None);
                };
                thread.vforking = event == Event::Vfork;
                let regs = thread.regs;
                match self.is_lent_by(&regs, event) {
                    true => {
                        self.lend_by(tid, task)?;
                        Some(Happening::Fork(task, ForkKind::Vfork))
                    }
                    false => Some(Happening::Fork(task, ForkKind::Fork)),
                }
            }
            Event::VforkDone => {
                if let Some(thread) = self.threads.get_mut(&tid) {
                    thread.vforking = false;
                }
                if std::mem::take(&mut self.interrupt_later) {
                    self.doorbell.button().ring(RING_INTERRUPT);
                }
                // Its exec is reported later than this.
                self.given_back(task);
                None
            }
            Event::Exec => {
                self.replaced(task)?;
                Some(Happening::Exec)
            }
            Event::Exit => {
                // Killed before it was decided what becomes of its child, which lives on.
                self.release_born(|maker| maker == tid)?;
                if tid == self.pid {
                    self.group = task::group(tid).ok();
                }
                if let Some(thread) = self.threads.get_mut(&tid) {
                    thread.exiting = true;
                    thread.killed = message as i32 & 0x7f != 0;
                }
                Some(Happening::Exit(message as i32))
            }
            Event::Seccomp | Event::Other(_) => None,
        })
    }

    fn is_new_thread(&self, task: Tid) -> bool {
        self.threads.contains_key(&task) || procfs::is_thread_of(self.pid, task)
    }

    /// The program was replaced by an exec of the thread that had the id
    /// `former`. Everything known about addresses is void; other threads are
    /// gone without a word.
    fn replaced(&mut self, former: Tid) -> Result<()> {
        let pid = self.pid;
        if former != pid {
            tracing::debug!(%former, "exec from a secondary thread");
        }
        self.release_born(|_| true)?;
        self.threads.retain(|tid, _| *tid == pid);
        self.queue.retain(|tid| *tid == pid);
        self.release_strangers();
        // The memory file belongs to the old address space.
        self.memory = verde_sys::memory::Memory::open(pid)?;
        self.forget_addresses();
        let mut leader = Thread::new(pid, State::Stopped);
        leader.in_kernel = true;
        leader.regs = ptrace::regs(pid)?;
        self.threads.insert(pid, leader);
        self.pin.forget_all();
        Ok(())
    }

    /// Gets a thread that is stopped inside a system call out of the kernel:
    /// there its registers are still going to be changed.
    pub(crate) fn settle(&mut self, tid: Tid) -> Result<()> {
        self.part_all();
        let thread = self.stopped_mut(tid)?;
        if !thread.in_kernel {
            return Ok(());
        }
        ptrace::interrupt(tid)?;
        ptrace::resume(tid, Go::Continue, 0)?;
        let status = wait::task(tid)?;
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(());
        };
        if status == WaitStatus::Interrupt {
            thread.in_kernel = false;
            // Its exit has passed unseen.
            thread.syscall = None;
            thread.regs = ptrace::regs(tid)?;
            return Ok(());
        }
        // Something else came first; it is news like any other.
        thread.state = State::Running;
        self.arrived(tid, status)
    }
}

fn ended(status: WaitStatus) -> Option<End> {
    match status {
        WaitStatus::Exited(code) => Some(End::Exited(code)),
        WaitStatus::Killed { signal, .. } => Some(End::Killed(signal)),
        _ => None,
    }
}
