//! System calls executed by a stopped thread of another process.
//!
//! The guard saves registers and signal mask and puts them back when dropped,
//! whatever happened in between.

use crate::error::{Result, SysError};
use crate::payload::Part;
use crate::ptrace::{self, Go};
use crate::regs::NO_SYSCALL;
use crate::wait::{self, Event, WaitStatus};
use crate::{Addr, Regs, SigInfo, Tid};

/// Why a remote system call gave no result.
#[derive(Debug, Clone, Copy, thiserror::Error)]
pub enum RemoteError {
    /// The kernel refused one of our own calls.
    #[error(transparent)]
    Sys(#[from] SysError),
    /// The thread ended meanwhile; its wait status has been consumed.
    #[error("the thread ended during a remote system call")]
    Ended(WaitStatus),
    /// The call itself failed in the program.
    #[error("remote {}: {}", .0.call, std::io::Error::from_raw_os_error(.0.errno))]
    Refused(SysError),
}

/// A stopped thread borrowed for system calls. Dropping it restores the
/// thread.
#[derive(Debug)]
pub struct Remote {
    tid: Tid,
    saved: Regs,
    mask: u64,
    instruction: Addr,
    /// The code that it runs.
    part: Option<Part>,
    /// Signals that cannot be blocked and arrived meanwhile.
    held: Vec<i32>,
    ended: bool,
    /// Processes born of calls made here (fork).
    children: Vec<Tid>,
}

impl Remote {
    /// Borrows a thread that is in a ptrace stop. `instruction` is the address
    /// of a `syscall` instruction in the program (the vDSO has one).
    pub fn begin(tid: Tid, instruction: Addr) -> Result<Remote> {
        Remote::begin_known(
            tid,
            ptrace::regs(tid)?,
            ptrace::signal_mask(tid)?,
            instruction,
        )
    }

    /// The same where its registers and its signal mask are known.
    pub fn begin_known(tid: Tid, saved: Regs, mask: u64, instruction: Addr) -> Result<Remote> {
        // Otherwise a signal could run a handler on our registers. SIGTRAP
        // stays open: forcing a blocked signal on a thread, as a single step
        // does, would take the program's handler away.
        ptrace::set_signal_mask(tid, !(1 << (libc::SIGTRAP - 1)))?;
        Ok(Remote::adopt(tid, saved, mask, instruction))
    }

    /// Borrows a new task, which will have these registers and this signal
    /// mask afterwards. All signals but SIGTRAP are blocked in it already.
    pub fn adopt(tid: Tid, after: Regs, mask: u64, instruction: Addr) -> Remote {
        Remote {
            tid,
            saved: after,
            mask,
            instruction,
            part: None,
            held: Vec::new(),
            ended: false,
            children: Vec::new(),
        }
    }

    /// Lets the thread run code of ours with the registers that `set` gives it.
    /// [`Remote::finish`] waits for the end.
    pub fn start(&mut self, part: Part, set: impl FnOnce(&mut Regs)) -> Result<()> {
        let mut regs = self.saved;
        regs.rip = part.begin().0;
        regs.orig_rax = NO_SYSCALL;
        set(&mut regs);
        ptrace::set_regs(self.tid, &regs)?;
        self.go_on_in(part)
    }

    /// The same for a thread that stands in that code.
    pub fn go_on_in(&mut self, part: Part) -> Result<()> {
        self.part = Some(part);
        ptrace::resume(self.tid, Go::Continue, 0)
    }

    /// Waits for the end of code that was started; the registers there.
    pub fn finish(&mut self) -> std::result::Result<Regs, RemoteError> {
        loop {
            match wait::task(self.tid)? {
                status if status.is_end() => {
                    self.ended = true;
                    return Err(RemoteError::Ended(status));
                }
                WaitStatus::Event(Event::Exit) => return Err(self.dying().into()),
                WaitStatus::Signal(signal) => {
                    let regs = ptrace::regs(self.tid)?;
                    let is_over = |part: Part| part.is_over(Addr(regs.rip));
                    if signal == libc::SIGTRAP && self.part.is_some_and(is_over) {
                        return Ok(regs);
                    }
                    self.held.push(signal);
                }
                _ => {}
            }
            ptrace::resume(self.tid, Go::Continue, 0)?;
        }
    }

    /// The thread was killed: it is sent on to its end, which will be
    /// reported to whoever waits. Waiting here could be for ever, since a
    /// first thread ends after all others.
    fn dying(&mut self) -> SysError {
        self.ended = true;
        let _ = ptrace::resume(self.tid, Go::Continue, 0);
        SysError {
            call: "remote call",
            errno: libc::ESRCH,
        }
    }

    /// The thread.
    pub fn tid(&self) -> Tid {
        self.tid
    }

    /// Makes the thread execute one system call.
    pub fn call(
        &mut self,
        name: &'static str,
        number: i64,
        args: [u64; 6],
    ) -> std::result::Result<u64, RemoteError> {
        let mut regs = self.saved;
        regs.rax = number as u64;
        [regs.rdi, regs.rsi, regs.rdx, regs.r10, regs.r8, regs.r9] = args;
        regs.rip = self.instruction.0;
        // A thread interrupted in a system call would have it restarted, with
        // rip moved back by 2, in the middle of ours.
        regs.orig_rax = NO_SYSCALL;
        ptrace::set_regs(self.tid, &regs)?;
        let after = self.instruction.0 + 2;
        loop {
            ptrace::resume(self.tid, Go::Step, 0)?;
            match wait::task(self.tid)? {
                status if status.is_end() => {
                    self.ended = true;
                    return Err(RemoteError::Ended(status));
                }
                WaitStatus::Event(Event::Exit) => return Err(self.dying().into()),
                WaitStatus::Event(Event::Fork | Event::Vfork | Event::Clone) => {
                    self.children
                        .push(Tid(ptrace::event_message(self.tid)? as i32));
                    // Within the call, which has no result yet.
                    continue;
                }
                WaitStatus::Signal(signal) if signal != libc::SIGTRAP => self.held.push(signal),
                _ => {}
            }
            let now = ptrace::regs(self.tid)?;
            if now.rip == after {
                let value = now.rax as i64;
                if (-4095..0).contains(&value) {
                    let errno = -value as i32;
                    return Err(RemoteError::Refused(SysError { call: name, errno }));
                }
                return Ok(now.rax);
            }
            if now.rip != self.instruction.0 {
                // Killed on the way, or not where we put it: nothing to wait for.
                return Err(SysError {
                    call: name,
                    errno: libc::EINTR,
                }
                .into());
            }
            // Not the end of the step: somebody has sent the same signal.
            let is_sent = |info: SigInfo| info.signal() == libc::SIGTRAP && info.code() <= 0;
            if ptrace::siginfo(self.tid).is_ok_and(is_sent) {
                self.held.push(libc::SIGTRAP);
            }
        }
    }

    /// Processes created by the calls, in order; each is a tracee that will
    /// report its first stop.
    pub fn take_children(&mut self) -> Vec<Tid> {
        std::mem::take(&mut self.children)
    }

    /// The registers as they will be after the drop.
    pub fn saved(&self) -> &Regs {
        &self.saved
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        // A thread that dies here needs no restoring.
        let _ = ptrace::set_regs(self.tid, &self.saved);
        let _ = ptrace::set_signal_mask(self.tid, self.mask);
        for signal in self.held.drain(..) {
            // SAFETY: no memory is involved.
            unsafe { libc::syscall(libc::SYS_tkill, self.tid.0, signal) };
        }
    }
}
