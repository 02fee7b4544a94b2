//! Letting the program go as it was, and ending it.

use crate::arrive::unless_gone;
use crate::plant::take_out;
use crate::resume::keep_blocked;
use crate::slots::REGION;
use crate::thread::{Happening, State};
use crate::transfer;
use crate::{End, Error, Process, Result, Tid};
use verde_sys::before_change::Pause;
use verde_sys::ptrace::{self, IfTracerDies};
use verde_sys::{number, procfs, signals, task, wait};

impl Process {
    /// Lets the program go. Its code, memory map and pending signals are as
    /// they would be without a debugger.
    pub fn detach(&mut self) -> Result<()> {
        if self.end.is_some() {
            return Err(Error::Gone);
        }
        self.release_process()?;
        self.end = Some(End::Detached);
        Ok(())
    }

    /// Undoes everything in the present address space and lets all threads go;
    /// the number of threads.
    pub(crate) fn release_process(&mut self) -> Result<usize> {
        self.stop_threads(None)?;
        self.release_born(|_| true)?;
        self.finish_loans()?;
        self.stop_threads(None)?;
        self.leave_entries()?;
        self.disarm_all()?;
        self.drain_faults()?;
        let planted: Vec<_> = self.sites.planted().collect();
        for (at, byte) in planted {
            take_out(&self.memory, at, byte)?;
        }
        self.let_borrowers_go()?;
        for region in self.slots.regions().collect::<Vec<_>>() {
            let args = [region.0, REGION, 0, 0, 0, 0];
            if let Err(error) = self.remote_call("munmap", number::SYS_munmap, args) {
                tracing::debug!(%error, "slots stay mapped");
            }
        }
        for tid in self.threads() {
            self.call_anew(tid)?;
        }
        self.unmap_lent();
        self.drop_scratch();
        let threads: Vec<Tid> = self.threads.keys().copied().collect();
        let count = threads.len();
        for tid in threads {
            self.release_thread(tid)?;
        }
        self.threads.clear();
        self.queue.clear();
        self.pin.undo();
        Ok(count)
    }

    /// Threads at a call's entry go back before it: they can be used, and what
    /// registers were lent to the call is the program's again.
    fn leave_entries(&mut self) -> Result<()> {
        let before = std::mem::replace(&mut self.stopping, true);
        let tids: Vec<Tid> = self.threads.keys().copied().collect();
        let result = tids
            .into_iter()
            .try_for_each(|tid| match self.threads.get(&tid) {
                Some(t) if t.state == State::Stopped && t.at_entry => self.take_syscall_back(tid),
                _ => Ok(()),
            });
        self.stopping = before;
        result
    }

    /// Takes in the traps that threads have run into and not been told of: a
    /// SIGTRAP left pending would kill the program.
    fn drain_faults(&mut self) -> Result<()> {
        let before = std::mem::replace(&mut self.stopping, true);
        let tids: Vec<Tid> = self.threads.keys().copied().collect();
        let result = tids.into_iter().try_for_each(|tid| self.drain_thread(tid));
        self.stopping = before;
        result
    }

    fn drain_thread(&mut self, tid: Tid) -> Result<()> {
        // Each resume delivers one, before any instruction.
        while let Some(thread) = self.threads.get_mut(&tid)
            && thread.state == State::Stopped
            && !thread.in_kernel
            && ptrace::has_pending_fault(tid).unwrap_or(false)
        {
            let signal = match thread.happening.take() {
                Some(Happening::Signal(info)) if !self.watches.pages.guards(&info) => Some(info),
                _ => thread.signal.take(),
            };
            if thread.regs_changed || thread.pc_changed {
                unless_gone(ptrace::set_regs(tid, &thread.regs))?;
            }
            thread.state = State::Running;
            unless_gone(ptrace::resume(tid, ptrace::Go::Continue, 0))?;
            let status = wait::task(tid)?;
            self.arrived(tid, status)?;
            if let (Some(thread), Some(info)) = (self.threads.get_mut(&tid), signal) {
                thread.signal = Some(info);
                thread.disturbed = true;
            }
        }
        Ok(())
    }

    fn release_thread(&mut self, tid: Tid) -> Result<()> {
        let Some(thread) = self.threads.get_mut(&tid) else {
            return Ok(());
        };
        if thread.state != State::Stopped {
            return Ok(());
        }
        // A queued signal is the program's; a queued hit was put back on its
        // address, where its own instruction is again.
        let info = match thread.happening.take() {
            // It will find the page open.
            Some(Happening::Signal(info)) if self.watches.pages.guards(&info) => None,
            Some(Happening::Signal(info)) => Some(info),
            _ => thread.signal.take(),
        };
        let behind = thread.before_fault.take().or(thread.behind.take());
        let info = match (info, behind) {
            (None, Some(info)) => {
                keep_blocked(tid, &info)?;
                Some(info)
            }
            (info, _) => info,
        };
        // Nobody would see to the rest.
        transfer::end(thread);
        if thread.regs_changed {
            unless_gone(ptrace::set_regs(tid, &thread.regs))?;
        } else if thread.pc_changed {
            unless_gone(ptrace::set_pc(tid, thread.regs.pc()))?;
        }
        if let (Some(info), true) = (&info, thread.disturbed) {
            unless_gone(ptrace::set_siginfo(tid, info))?;
        }
        self.send_queued(tid)?;
        unless_gone(ptrace::detach(tid, info.map_or(0, |i| i.signal())))
    }

    /// Kills the program and waits for its end.
    pub fn kill(&mut self) -> Result<()> {
        if self.end.is_some() {
            return Ok(());
        }
        self.group = task::group(self.pid).ok();
        self.kill_born()?;
        match signals::send(self.pid, number::SIGKILL) {
            Err(e) if e.is_gone() => {}
            other => other?,
        }
        // From here on the threads run nothing but their ends.
        let _pause = Pause::new();
        // Children that nobody has heard of live on.
        if let Err(error) = self.release_born(|_| true) {
            tracing::debug!(%error, "a child is not released");
        }
        // One that was already dying when it stopped is not woken by another SIGKILL.
        for tid in self.threads.keys() {
            unless_gone(ptrace::resume(*tid, ptrace::Go::Continue, 0))?;
        }
        while self.end.is_none() {
            match wait::any(true) {
                Ok(Some((tid, status))) if status.is_end() => self.arrived(tid, status)?,
                Ok(Some((tid, status))) if self.is_stranger(tid) => {
                    self.strangers.push((tid, status));
                }
                // Stops of the dying: exit events.
                Ok(Some((tid, _))) => {
                    unless_gone(ptrace::resume(tid, ptrace::Go::Continue, 0))?;
                }
                Ok(None) => {}
                Err(e) if e.errno == number::EINTR => {}
                Err(_) => self.end = Some(End::Killed(number::SIGKILL)),
            }
        }
        self.see_children_off();
        self.pin.undo();
        Ok(())
    }

    fn is_stranger(&self, tid: Tid) -> bool {
        let known = self.threads.contains_key(&tid) || self.borrowers.contains_key(&tid);
        !known && !procfs::is_thread_of(self.pid, tid)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.end.is_some() {
            return;
        }
        let result = match self.fate {
            IfTracerDies::Kill => self.kill(),
            IfTracerDies::Release => self.detach(),
        };
        if let Err(error) = result {
            tracing::debug!(%error, "process not released");
        }
    }
}
