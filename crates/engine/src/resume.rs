//! Letting threads go on.

use crate::arrive::unless_gone;
use crate::last_access::is_repeated;
use crate::relocate::Passage;
use crate::report::passes_own_int3;
use crate::restart;
use crate::thread::{Happening, State, Thread};
use crate::transfer;
use crate::{Addr, Process, Result, Tid};
use verde_sys::ptrace::{self, Go};
use verde_sys::{SigInfo, WaitStatus, number, wait};

impl Process {
    /// Lets a stopped thread go on, delivering its pending signal. A thread
    /// with something left to report stays where it is: `wait` will report it.
    pub fn resume(&mut self, tid: Tid) -> Result<()> {
        if self.threads.contains_key(&tid) {
            let gone = self.go(tid);
            return self.unless_overtaken(gone);
        }
        // It ended meanwhile, which `wait` reports or has reported.
        Ok(())
    }

    /// Lets every stopped thread go on.
    pub fn resume_all(&mut self) -> Result<()> {
        let stopped: Vec<Tid> = self
            .threads
            .values()
            .filter(|t| t.idle())
            .map(|t| t.tid)
            .collect();
        for tid in stopped {
            self.resume(tid)?;
        }
        Ok(())
    }

    pub(crate) fn go(&mut self, tid: Tid) -> Result<()> {
        let step = self.is_stepped(tid);
        self.go_with(tid, step)
    }

    /// Resumes a thread, for one instruction if `step`.
    pub(crate) fn go_with(&mut self, tid: Tid, step: bool) -> Result<()> {
        if !self.born.is_empty()
            && self.threads.get(&tid).is_some_and(Thread::idle)
            && self.part(tid)?
        {
            return Ok(());
        }
        self.close_left_open(tid)?;
        if !self.watches.pages.is_empty() {
            self.learn_mask(tid);
        }
        let syscalls = self.stops_at_syscalls() || self.tells_instructions(tid);
        if step {
            self.note_touches(tid);
        }
        let Some(thread) = self.threads.get(&tid) else {
            return Ok(());
        };
        if !thread.idle() {
            return Ok(());
        }
        let at_entry = thread.at_entry;
        if thread.queued.is_some() {
            self.send_queued(tid)?;
        }
        if at_entry && !step && self.open_for_syscall(tid)? {
            return Ok(());
        }
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(());
        };
        if thread.exiting {
            // It will not stop again, and a first thread that ends before the
            // others does not even report its end: nobody may wait for it.
            thread.state = State::Exiting;
            return unless_gone(ptrace::resume(tid, Go::Continue, 0));
        }
        if thread.group_stop && thread.signal.is_none() {
            if thread.disturbed {
                // A remote call has led it out of the group-stop: back first.
                thread.state = State::Running;
                thread.interrupted = true;
                unless_gone(ptrace::interrupt(tid))?;
                return unless_gone(ptrace::resume(tid, Go::Continue, 0));
            }
            thread.state = State::Listening;
            return unless_gone(ptrace::listen(tid));
        }
        if thread.signal.is_some() && self.ends_told_call(tid) {
            return self.tell_before(tid, Happening::CallCut);
        }
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(());
        };
        thread.group_stop = false;
        let info = thread.signal.take();
        let mut signal = info.map_or(0, |i| i.signal());
        let begun = thread.made_again.is_some() || thread.transfer.is_some();
        if signal != 0 && begun && !restart::is_ignored(self.pid, tid, signal) {
            restart::end_call(thread);
        }
        let transfers = transfer::lend(thread);
        let pc = thread.regs.pc();
        if thread.passed.take() == Some(pc)
            && let Some(site) = self.sites.get(pc)
        {
            if !site.planted {
                // Taken out since. It may be planted again before the thread
                // has run the instruction, which was reported: it runs in
                // its slot all the same.
                if let (0, Passage::Slot(_), Some(slot)) = (signal, &site.passage, site.slot) {
                    thread.set_pc(slot);
                }
            } else if signal != 0 {
                // A handler is going to return here, into the int3 that has
                // been reported; the pc in its context must be the program's.
                thread.replays.push((pc, thread.regs.rsp));
            } else {
                match (&site.passage, site.slot) {
                    (Passage::Slot(_), Some(slot)) => thread.set_pc(slot),
                    (Passage::OwnInt3, _) => {
                        thread.set_pc(pc + 1);
                        if passes_own_int3(&self.options.signals, self.pid, tid) {
                            signal = number::SIGTRAP;
                        }
                    }
                    _ => return self.go_in_place(tid, pc),
                }
            }
        }
        if step {
            self.pin.part(thread);
        } else if thread.trapped && signal == 0 {
            self.hold_or_part(tid);
        }
        if signal != 0
            && !self.watches.pages.is_empty()
            && (signal == number::SIGSEGV || restart::is_handled(self.pid, tid, signal))
        {
            return self.enter_handler(tid, info, signal, step);
        }
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(());
        };
        let limited = restart::prolong(thread, &self.memory);
        let followed = syscalls || limited || transfers || thread.detour.is_some();
        let (info, signal) = match thread.behind.take_if(|_| signal == 0) {
            Some(info) => (Some(info), keep_blocked(tid, &info)?),
            None => (info, signal),
        };
        let result = hand_over(thread, info, signal, step, followed);
        unless_gone(result)
    }

    /// Something is to be reported before a thread goes on.
    fn tell_before(&mut self, tid: Tid, happening: Happening) -> Result<()> {
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.happening = Some(happening);
            self.queue.push_back(tid);
        }
        Ok(())
    }

    pub(crate) fn stops_at_syscalls(&self) -> bool {
        !self.syscall_traps.is_empty() || !self.watches.pages.is_empty()
    }

    /// Delivers a signal to its handler with all pages open and everybody else
    /// stopped: the kernel puts the handler's frame on whatever stack there is,
    /// and kills a program whose stack it may not write to.
    #[cold]
    fn enter_handler(
        &mut self,
        tid: Tid,
        info: Option<SigInfo>,
        signal: i32,
        step: bool,
    ) -> Result<()> {
        let others = self.stop_users_of_pages(tid)?;
        let guarded = self.watches.pages.guarded();
        self.open_pages(&guarded)?;
        if signal == number::SIGSEGV {
            self.before_handler(tid)?;
        }
        let status = match self.threads.get_mut(&tid) {
            // A step ends at the handler's first instruction.
            Some(thread) => match hand_over(thread, info, signal, true, false) {
                Ok(()) => Some(wait::task(tid)?),
                Err(e) if e.is_gone() => None,
                Err(e) => return Err(e.into()),
            },
            None => None,
        };
        // The kernel tells of a handler's beginning by the signal's number; a
        // step that ran the program's own instruction is news like any other,
        // and so is one that was to enter the handler.
        let entered = !step
            && status == Some(WaitStatus::Signal(number::SIGTRAP))
            && ptrace::siginfo(tid)?.code() == number::SIGTRAP;
        match self.threads.get_mut(&tid) {
            Some(thread) if entered => {
                thread.state = State::Stopped;
                thread.stepping = false;
                thread.regs = ptrace::regs(tid)?;
                thread.mask = None;
            }
            _ => {
                if let Some(status) = status {
                    self.arrived(tid, status)?;
                }
            }
        }
        if self.end.is_none() {
            self.close_pages(&guarded)?;
        }
        if entered {
            if signal == number::SIGSEGV {
                // Some actions are for one time.
                self.know_action();
            }
            self.go_with(tid, false)?;
        }
        for other in others {
            self.go(other)?;
        }
        Ok(())
    }

    /// Runs one instruction where it is, with the int3 out and everybody else
    /// stopped: the last resort.
    #[cold]
    fn go_in_place(&mut self, tid: Tid, at: Addr) -> Result<()> {
        let others = self.stop_threads(Some(tid))?;
        let status = self.step_in_place(tid, at);
        for other in others {
            self.go(other)?;
        }
        match status? {
            None => Ok(()),
            // The step is ours alone unless the program was being stepped.
            Some(WaitStatus::Signal(number::SIGTRAP)) => self.after_in_place(tid, at),
            Some(status) => self.arrived(tid, status),
        }
    }

    /// Everybody else is stopped.
    fn step_in_place(&mut self, tid: Tid, at: Addr) -> Result<Option<WaitStatus>> {
        self.note_touches(tid);
        self.part_all();
        let original = self.sites.get(at).map(|s| s.bytes[0]);
        if let Some(byte) = original {
            self.memory.write(at, &[byte])?;
        }
        let status = match self.threads.get_mut(&tid) {
            Some(thread) => match hand_over(thread, None, 0, true, false) {
                Ok(()) => {
                    thread.in_place = Some(at);
                    Some(wait::task(tid)?)
                }
                Err(e) if e.is_gone() => None,
                Err(e) => return Err(e.into()),
            },
            None => None,
        };
        if original.is_some() {
            self.memory.write(at, &[crate::sites::INT3])?;
        }
        Ok(status)
    }

    fn after_in_place(&mut self, tid: Tid, at: Addr) -> Result<()> {
        let told = self.is_planned(tid) || self.tells_instructions(tid);
        let info = ptrace::siginfo(tid)?;
        if told || info.code() != verde_sys::siginfo::TRAP_TRACE {
            return self.arrived(tid, WaitStatus::Signal(number::SIGTRAP));
        }
        let slots = self.slots_stepped_on(tid)?;
        let fired = (slots != 0).then(|| self.fired(tid, slots));
        let is_repeated = self.instruction_at(at).is_some_and(|i| is_repeated(&i));
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.state = State::Stopped;
            thread.stepping = false;
            thread.regs = ptrace::regs(tid)?;
            if thread.regs.pc() == at && is_repeated {
                // One round of several.
                thread.passed = Some(at);
            }
            if fired.is_some() {
                thread.happening = fired;
                self.queue.push_back(tid);
                return Ok(());
            }
        }
        if self.stopping { Ok(()) } else { self.go(tid) }
    }
}

/// A signal that a thread gets while it blocks it waits again: its number.
#[cold]
pub(crate) fn keep_blocked(tid: Tid, info: &SigInfo) -> Result<i32> {
    let signal = info.signal();
    unless_gone(
        ptrace::signal_mask(tid)
            .and_then(|mask| ptrace::set_signal_mask(tid, mask | 1 << (signal - 1))),
    )?;
    Ok(signal)
}

/// Writes back what changed and resumes: one or two system calls.
fn hand_over(
    thread: &mut crate::thread::Thread,
    info: Option<verde_sys::SigInfo>,
    signal: i32,
    step: bool,
    syscalls: bool,
) -> verde_sys::Result<()> {
    let tid = thread.tid;
    if thread.regs_changed {
        ptrace::set_regs(tid, &thread.regs)?;
    } else if thread.pc_changed {
        ptrace::set_pc(tid, thread.regs.pc())?;
    }
    thread.regs_changed = false;
    thread.pc_changed = false;
    if let (Some(info), true) = (info, thread.disturbed) {
        // Without this the program would see a signal sent by the debugger.
        ptrace::set_siginfo(tid, &info)?;
    }
    thread.disturbed = false;
    thread.in_place = None;
    thread.stepping = step || std::mem::take(&mut thread.step_queued);
    thread.state = State::Running;
    let go = match (step, syscalls) {
        (true, _) => Go::Step,
        (false, true) => Go::Syscall,
        (false, false) if thread.held.is_some() => Go::Syscall,
        (false, false) => Go::Continue,
    };
    thread.in_call = thread.at_entry && go == Go::Syscall;
    ptrace::resume(tid, go, signal)
}
