//! Copies of a process that never run: frozen ones, and holders of memory.

use crate::leader::Leader;
use crate::snapshot::Group;
use crate::unfinished::{self, Unfinished};
use crate::{Error, Result};
use std::time::Duration;
use verde_engine::Tid;
use verde_sys::number as n;
use verde_sys::payload::CloneArgs;
use verde_sys::pidfd::PidFd;
use verde_sys::ptrace::IfTracerDies;
use verde_sys::remote::RemoteError;
use verde_sys::{WaitStatus, departed, ptrace, task, wait};

/// What a copy shall be.
#[derive(Clone, Copy, Default)]
pub(crate) struct Copy {
    /// Share the memory instead of copying it.
    pub share_memory: bool,
    /// The process id it shall have.
    pub id: Option<Tid>,
    /// The word to clear when its first thread ends.
    pub clear_tid: u64,
}

/// Traced from its beginning, without an event.
const UNSEEN: i32 = n::CLONE_PTRACE | n::CLONE_UNTRACED;

/// So long is waited for copies that were killed.
const LEAVING: Duration = Duration::from_millis(100);

/// Makes a stopped process fork; the child is stopped, traced and has run
/// nothing. Its parent is the debugger, so the program cannot wait for it.
pub(crate) fn fork(leader: &mut Leader, copy: Copy) -> Result<Unfinished> {
    let mut made = clone(leader, copy);
    let errno = match &made {
        Err(Error::Remote(RemoteError::Refused(error))) => error.errno,
        _ => 0,
    };
    // There are too many processes, of which some may be on their way out.
    if errno == n::EAGAIN {
        departed::see_off(LEAVING);
        made = clone(leader, copy);
    }
    match made {
        Ok(child) => born(child),
        Err(Error::Remote(RemoteError::Refused(error))) => Err(Error::Refused(error)),
        Err(error) => {
            unfinished::end_untold(leader.remote.tid());
            Err(error)
        }
    }
}

/// Waits for the first stop of a copy.
pub(crate) fn born(child: Tid) -> Result<Unfinished> {
    let child = Unfinished::new(child);
    match wait::task(child.pid())? {
        WaitStatus::Interrupt => Ok(child),
        status if status.is_end() => {
            child.keep();
            Err(Error::Lost)
        }
        // Killed, too.
        _ => Err(Error::Lost),
    }
}

/// Arguments for a plain copy, which is told by the call's result alone: of a process that knows
/// its children by the ids that we know them by. `share_memory`: instead of copying it.
pub(crate) fn plain_copy(share_memory: bool) -> CloneArgs {
    let memory = if share_memory { n::CLONE_VM } else { 0 };
    CloneArgs {
        flags: (n::CLONE_PARENT | UNSEEN | memory) as u32 as u64,
        ..CloneArgs::default()
    }
}

/// Makes the call; the id by which we know the child.
fn clone(leader: &mut Leader, copy: Copy) -> Result<Tid> {
    let scratch = leader.scratch;
    let mut flags = n::CLONE_PARENT;
    if leader.namespaced {
        // The kernel's event tells the id by which we know the child.
        ptrace::suspend_seccomp(leader.remote.tid(), IfTracerDies::Kill, leader.filtered)?;
    } else {
        flags |= UNSEEN;
    }
    let mut args = CloneArgs::default();
    if copy.share_memory {
        flags |= n::CLONE_VM;
    }
    if copy.clear_tid != 0 {
        flags |= n::CLONE_CHILD_CLEARTID;
        args.child_tid = copy.clear_tid;
    }
    if copy.id.is_some() {
        args.set_tid = scratch.data.0 + CloneArgs::SIZE;
        args.set_tid_size = 1;
    }
    args.flags = flags as u32 as u64;
    let id = copy.id.map(|id| id.0.to_ne_bytes());
    let bytes = [&args.encode()[..], id.as_ref().map_or(&[], |id| &id[..])].concat();
    let args = [leader.place(0, &bytes)?, CloneArgs::SIZE];
    let child = leader.call("clone3", n::SYS_clone3, &args)?;
    let known = leader.remote.take_children().pop();
    Ok(known.unwrap_or(Tid(child as i32)))
}

/// A process that will never run. Dropping it kills it; whoever waits next
/// for the program reaps it.
#[derive(Debug)]
pub(crate) struct Frozen {
    pub pid: Tid,
    /// It ends in no time, and does so where its pages are in the CPU's cache.
    pub is_small: bool,
    handle: PidFd,
}

impl Frozen {
    /// Takes over a process from [`fork`]. `group`: that of the program it is a
    /// copy of; `filtered`: perhaps with a seccomp filter, which stays off.
    pub fn new(copy: Unfinished, group: Group, filtered: bool) -> Result<Frozen> {
        let handle = PidFd::open(copy.pid())?;
        // One that is killed before this waits at its end for an answer, which it gets as
        // unfinished.
        ptrace::only_kill(copy.pid(), filtered)?;
        let pid = copy.keep();
        let frozen = Frozen {
            pid,
            is_small: false,
            handle,
        };
        if group != Group::Other {
            // As a member of the group it would keep the number in use that
            // its successor needs, and get the signals that others send to the
            // group. Not possible if that leads a session, too, which the copy
            // has to leave by itself.
            if let Err(error) = task::set_group(pid, None) {
                tracing::debug!(%pid, %error, "a frozen process keeps its group");
            }
        }
        Ok(frozen)
    }

    /// It is still there.
    pub fn alive(&self) -> bool {
        ptrace::regs(self.pid).is_ok()
    }

    /// Kills it.
    pub fn end(&self) {
        // Its end is all that may be reported: nobody answers an exit event.
        let quiet = ptrace::only_kill(self.pid, false);
        match quiet.and(self.handle.kill()) {
            Ok(()) if self.is_small => std::thread::yield_now(),
            Ok(()) => {}
            Err(error) => {
                tracing::debug!(pid = %self.pid, %error, "a frozen process was gone already");
            }
        }
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Program;
    use std::path::Path;
    use verde_engine::{Launch, Options, Process};

    #[test]
    fn a_copy_that_nobody_was_told_of_is_ended() {
        let launch = Launch {
            program: "/bin/true".into(),
            ..Launch::default()
        };
        let mut process = Process::launch(&launch, Options::default()).expect("launched");
        let mut world = process.stop_all().expect("stopped");
        world.calm().expect("calm");
        let scratch = world.scratch(4096).expect("memory");
        let instruction = world.syscall_instruction().expect("an instruction");
        let pid = world.pid();
        let program = Program::plain(pid);
        let mut leader = Leader::borrow(pid, instruction, scratch, &program).expect("borrowed");
        let told = fork(&mut leader, Copy::default()).expect("a copy");
        let untold = clone(&mut leader, Copy::default()).expect("a copy");
        unfinished::end_untold(pid);
        assert!(!Path::new(&format!("/proc/{untold}")).exists());
        assert!(ptrace::regs(told.pid()).is_ok());
        assert!(ptrace::regs(pid).is_ok());
    }
}
