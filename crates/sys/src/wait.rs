//! `waitpid` with the status decoded once.
//!
//! Real-time signals are ordinary numbers here (32..=64).

use crate::error::{Result, SysError};
use crate::{Addr, Tid, departed, procfs, ptrace};

/// What a wait status says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitStatus {
    /// The task ended by itself.
    Exited(i32),
    /// The task was killed.
    Killed {
        /// By this signal.
        signal: i32,
        /// A core file was written.
        core: bool,
    },
    /// About to receive this signal.
    Signal(i32),
    /// At the entry or exit of a system call (`PTRACE_O_TRACESYSGOOD`).
    Syscall,
    /// Stopped by `PTRACE_INTERRUPT`, or a new task's first stop.
    Interrupt,
    /// Stopped by job control, with the stopping signal.
    GroupStop(i32),
    /// A ptrace event.
    Event(Event),
    /// Continued by SIGCONT (only for children that are not traced).
    Continued,
}

/// The `PTRACE_EVENT_*` stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Event {
    Fork,
    Vfork,
    Clone,
    Exec,
    VforkDone,
    Exit,
    Seccomp,
    Other(i32),
}

const EVENT_STOP: i32 = 128;

impl WaitStatus {
    /// Decodes the word that `waitpid` fills in.
    pub fn decode(status: i32) -> WaitStatus {
        if libc::WIFEXITED(status) {
            return WaitStatus::Exited(libc::WEXITSTATUS(status));
        }
        if libc::WIFSIGNALED(status) {
            return WaitStatus::Killed {
                signal: libc::WTERMSIG(status),
                core: libc::WCOREDUMP(status),
            };
        }
        if libc::WIFCONTINUED(status) {
            return WaitStatus::Continued;
        }
        let signal = (status >> 8) & 0xff;
        match (status >> 16) & 0xffff {
            0 if signal == libc::SIGTRAP | 0x80 => WaitStatus::Syscall,
            0 => WaitStatus::Signal(signal),
            EVENT_STOP if signal == libc::SIGTRAP => WaitStatus::Interrupt,
            EVENT_STOP => WaitStatus::GroupStop(signal),
            libc::PTRACE_EVENT_FORK => WaitStatus::Event(Event::Fork),
            libc::PTRACE_EVENT_VFORK => WaitStatus::Event(Event::Vfork),
            libc::PTRACE_EVENT_CLONE => WaitStatus::Event(Event::Clone),
            libc::PTRACE_EVENT_EXEC => WaitStatus::Event(Event::Exec),
            libc::PTRACE_EVENT_VFORK_DONE => WaitStatus::Event(Event::VforkDone),
            libc::PTRACE_EVENT_EXIT => WaitStatus::Event(Event::Exit),
            libc::PTRACE_EVENT_SECCOMP => WaitStatus::Event(Event::Seccomp),
            other => WaitStatus::Event(Event::Other(other)),
        }
    }

    /// The task is gone.
    pub fn is_end(&self) -> bool {
        matches!(self, WaitStatus::Exited(_) | WaitStatus::Killed { .. })
    }
}

/// Waits for any tracee *of the calling thread*. `None` when `block` is false
/// and nothing is there. EINTR is returned to the caller: it is how a doorbell
/// signal ends the wait.
pub fn any(block: bool) -> Result<Option<(Tid, WaitStatus)>> {
    wait(-1, block)
}

/// Waits for one tracee. EINTR is retried. A first thread that is dead while
/// others of its process are not says nothing before they are reaped: ESRCH.
pub fn task(tid: Tid) -> Result<WaitStatus> {
    loop {
        if let Some(status) = try_task(tid)? {
            return Ok(status);
        }
        let next = next_to_report()?;
        if next != tid {
            if departed::is_expected(next) {
                // Nobody else wants to know.
                try_task(next)?;
                continue;
            }
            if is_dead(tid) {
                return Err(SysError {
                    call: "waitpid",
                    errno: libc::ESRCH,
                });
            }
            std::thread::yield_now();
        }
    }
}

/// Waits until some tracee has something to report, which it still has then.
fn next_to_report() -> Result<Tid> {
    loop {
        match look(libc::P_ALL, Tid(0), true) {
            Ok(tid) => return Ok(tid),
            Err(e) if e.errno == libc::EINTR => {}
            Err(e) => return Err(e),
        }
    }
}

/// Whether a process group has tracees (or children) of the calling thread, whatever they do.
pub fn is_anybody_in(group: Tid) -> bool {
    look(libc::P_PGID, group, false).is_ok()
}

/// Whether a stopped tracee is on its way to its end, or gone.
pub fn is_going(tid: Tid) -> bool {
    let stands = ptrace::regs(tid).is_ok() && look(libc::P_PID, tid, false) == Ok(Tid(0));
    !stands
}

/// Which tracee has something to report, which it still has then; 0: none does.
fn look(kind: libc::idtype_t, id: Tid, block: bool) -> Result<Tid> {
    let hang = if block { 0 } else { libc::WNOHANG };
    let news = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT;
    let options = news | hang | libc::__WALL | libc::__WNOTHREAD;
    // SAFETY: siginfo is plain data, filled in by the call.
    let done = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let done = libc::waitid(kind, id.0 as libc::id_t, &mut info, options);
        (done == 0).then(|| info.si_pid())
    };
    done.map(Tid).ok_or_else(|| SysError::last("waitid"))
}

/// The task has ended, whether or not that can be reported yet.
fn is_dead(tid: Tid) -> bool {
    let stat = procfs::Stat::open(tid, tid).ok();
    !matches!(stat.and_then(|s| s.state()), Some(state) if state != 'Z' && state != 'X')
}

/// Looks at one tracee without blocking.
pub fn try_task(tid: Tid) -> Result<Option<WaitStatus>> {
    Ok(wait(tid.0, false)?.map(|(_, status)| status))
}

fn wait(pid: i32, block: bool) -> Result<Option<(Tid, WaitStatus)>> {
    let mut status = 0;
    // __WNOTHREAD: tracees belong to a thread, and other threads of this
    // process may have children of their own which must not be reaped here.
    let flags = libc::__WALL | libc::__WNOTHREAD | if block { 0 } else { libc::WNOHANG };
    // SAFETY: `status` is a valid place for the one word the kernel writes.
    let tid = unsafe { libc::waitpid(pid, &mut status, flags) };
    match tid {
        -1 => Err(SysError::last("waitpid")),
        0 => Ok(None),
        tid => {
            let (tid, status) = (Tid(tid), WaitStatus::decode(status));
            if status.is_end() {
                departed::reaped(tid);
            }
            Ok(Some((tid, status)))
        }
    }
}

/// One system call, as seen at a syscall stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyscallStop {
    /// Before the call.
    Entry {
        /// Call number.
        number: u64,
        /// Its six argument registers.
        args: [u64; 6],
        /// Where the instruction pointer is.
        pc: Addr,
    },
    /// After the call.
    Exit {
        /// The value returned (negative errno on error).
        value: i64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop(signal: i32, event: i32) -> WaitStatus {
        WaitStatus::decode(0x7f | signal << 8 | event << 16)
    }

    #[test]
    fn decodes_every_kind() {
        assert_eq!(WaitStatus::decode(3 << 8), WaitStatus::Exited(3));
        let killed = WaitStatus::Killed {
            signal: 11,
            core: true,
        };
        assert_eq!(WaitStatus::decode(11 | 0x80), killed);
        assert_eq!(stop(libc::SIGTRAP | 0x80, 0), WaitStatus::Syscall);
        assert_eq!(stop(libc::SIGTRAP, 128), WaitStatus::Interrupt);
        assert_eq!(
            stop(libc::SIGTSTP, 128),
            WaitStatus::GroupStop(libc::SIGTSTP)
        );
        assert_eq!(stop(libc::SIGTRAP, 3), WaitStatus::Event(Event::Clone));
        assert_eq!(WaitStatus::decode(0xffff), WaitStatus::Continued);
    }

    #[test]
    fn a_group_has_members_until_they_are_reaped() {
        use std::os::unix::process::CommandExt;
        let mut sleep = std::process::Command::new("sleep");
        let mut member = sleep
            .arg("100")
            .process_group(0)
            .spawn()
            .expect("a process");
        let group = Tid(member.id() as i32);
        let quiet = is_anybody_in(group);
        member.kill().expect("killed");
        member.wait().expect("reaped");
        assert_eq!((quiet, is_anybody_in(group)), (true, false));
    }

    #[test]
    fn real_time_signals_are_signals() {
        for signal in 32..=64 {
            assert_eq!(stop(signal, 0), WaitStatus::Signal(signal));
        }
    }
}
