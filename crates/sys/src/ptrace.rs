//! ptrace requests, one function each. SEIZE only: never PTRACE_ATTACH, whose
//! SIGSTOP is visible to the program and can be confused with a real one.

use crate::before_change::about_to_change;
use crate::error::{Result, check};
use crate::wait::SyscallStop;
use crate::{Addr, Regs, SigInfo, Tid, XState};
use libc::c_long;
use std::mem::{offset_of, size_of};

/// Options that every tracee gets.
const ALWAYS: i32 = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACEVFORKDONE
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_TRACEEXIT;

const NT_PRSTATUS: usize = 1;
const NT_X86_XSTATE: usize = 0x202;

/// What happens to the tracees when the tracer dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfTracerDies {
    /// Kill them (programs the debugger launched).
    Kill,
    /// Let them go.
    Release,
}

fn options(fate: IfTracerDies) -> usize {
    let kill = match fate {
        IfTracerDies::Kill => libc::PTRACE_O_EXITKILL,
        IfTracerDies::Release => 0,
    };
    (ALWAYS | kill) as usize
}

/// The raw call: the C library's wrapper changes the meaning of PEEK requests.
pub(crate) fn request(
    name: &'static str,
    request: libc::c_uint,
    tid: Tid,
    addr: usize,
    data: usize,
) -> Result<c_long> {
    // SAFETY: every caller in this file passes, for requests that write to
    // `data`, a pointer to a live object of the size the request needs.
    let value =
        unsafe { libc::syscall(libc::SYS_ptrace, c_long::from(request), tid.0, addr, data) };
    check(name, value)
}

/// Attaches without stopping the task.
pub fn seize(tid: Tid, fate: IfTracerDies) -> Result<()> {
    request("PTRACE_SEIZE", libc::PTRACE_SEIZE, tid, 0, options(fate)).map(drop)
}

/// Reports nothing about the task any more but its end; it dies with the
/// tracer. `suspend`: its seccomp filter is off as long as it is traced.
pub fn only_kill(tid: Tid, suspend: bool) -> Result<()> {
    request(
        "PTRACE_SETOPTIONS",
        libc::PTRACE_SETOPTIONS,
        tid,
        0,
        libc::PTRACE_O_EXITKILL as usize | suspended(suspend),
    )
    .map(drop)
}

/// Reports only the task's execs and its end, nothing of its children; it dies with the tracer.
pub fn only_exec(tid: Tid) -> Result<()> {
    request(
        "PTRACE_SETOPTIONS",
        libc::PTRACE_SETOPTIONS,
        tid,
        0,
        (libc::PTRACE_O_EXITKILL | libc::PTRACE_O_TRACEEXEC) as usize,
    )
    .map(drop)
}

fn suspended(suspend: bool) -> usize {
    const SUSPEND_SECCOMP: usize = 1 << 21;
    if suspend { SUSPEND_SECCOMP } else { 0 }
}

/// Sets what happens to the task when the tracer dies, and lets injected system
/// calls pass a seccomp filter (needs CAP_SYS_ADMIN).
pub fn suspend_seccomp(tid: Tid, fate: IfTracerDies, suspend: bool) -> Result<()> {
    let data = options(fate) | suspended(suspend);
    request(
        "PTRACE_O_SUSPEND_SECCOMP",
        libc::PTRACE_SETOPTIONS,
        tid,
        0,
        data,
    )
    .map(drop)
}

/// Whether system calls of the task go to a handler of its own (`PR_SET_SYSCALL_USER_DISPATCH`).
/// Kernels before 6.4 do not tell.
pub fn dispatches_calls(tid: Tid) -> bool {
    const PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG: libc::c_uint = 0x4211;
    // Mode, selector, offset and length.
    let mut config = [0_u64; 4];
    let asked = request(
        "PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG",
        PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG,
        tid,
        size_of_val(&config),
        (&raw mut config).addr(),
    );
    asked.is_ok() && config[0] != 0
}

/// Asks a running task to stop; it answers by a wait status.
pub fn interrupt(tid: Tid) -> Result<()> {
    request("PTRACE_INTERRUPT", libc::PTRACE_INTERRUPT, tid, 0, 0).map(drop)
}

/// Leaves a task in its group-stop, listening for SIGCONT.
pub fn listen(tid: Tid) -> Result<()> {
    request("PTRACE_LISTEN", libc::PTRACE_LISTEN, tid, 0, 0).map(drop)
}

/// How a task goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Go {
    /// Freely.
    Continue,
    /// Until the next system call's entry or exit.
    Syscall,
    /// For one instruction.
    Step,
}

/// Lets a stopped task go on, delivering `signal` (0 for none).
pub fn resume(tid: Tid, go: Go, signal: i32) -> Result<()> {
    let (name, number) = match go {
        Go::Continue => ("PTRACE_CONT", libc::PTRACE_CONT),
        Go::Syscall => ("PTRACE_SYSCALL", libc::PTRACE_SYSCALL),
        Go::Step => ("PTRACE_SINGLESTEP", libc::PTRACE_SINGLESTEP),
    };
    about_to_change();
    request(name, number, tid, 0, signal as usize).map(drop)
}

/// Releases a stopped task, delivering `signal` (0 for none).
pub fn detach(tid: Tid, signal: i32) -> Result<()> {
    about_to_change();
    request(
        "PTRACE_DETACH",
        libc::PTRACE_DETACH,
        tid,
        0,
        signal as usize,
    )
    .map(drop)
}

/// General registers of a stopped task.
pub fn regs(tid: Tid) -> Result<Regs> {
    let mut regs = Regs::default();
    let mut io = libc::iovec {
        iov_base: (&raw mut regs).cast(),
        iov_len: size_of::<Regs>(),
    };
    request(
        "PTRACE_GETREGSET",
        libc::PTRACE_GETREGSET,
        tid,
        NT_PRSTATUS,
        (&raw mut io) as usize,
    )?;
    Ok(regs)
}

/// Writes the general registers of a stopped task.
pub fn set_regs(tid: Tid, regs: &Regs) -> Result<()> {
    let mut io = libc::iovec {
        iov_base: std::ptr::from_ref(regs).cast_mut().cast(),
        iov_len: size_of::<Regs>(),
    };
    request(
        "PTRACE_SETREGSET",
        libc::PTRACE_SETREGSET,
        tid,
        NT_PRSTATUS,
        (&raw mut io) as usize,
    )
    .map(drop)
}

/// Writes only the instruction pointer of a stopped task.
pub fn set_pc(tid: Tid, pc: Addr) -> Result<()> {
    let at = offset_of!(libc::user_regs_struct, rip);
    poke_user(tid, at, pc.0)
}

pub(crate) fn poke_user(tid: Tid, offset: usize, value: u64) -> Result<()> {
    request(
        "PTRACE_POKEUSER",
        libc::PTRACE_POKEUSER,
        tid,
        offset,
        value as usize,
    )
    .map(drop)
}

pub(crate) fn peek_user(tid: Tid, offset: usize) -> Result<u64> {
    let mut value = 0u64;
    request(
        "PTRACE_PEEKUSER",
        libc::PTRACE_PEEKUSER,
        tid,
        offset,
        (&raw mut value) as usize,
    )?;
    Ok(value)
}

/// Vector and floating point state of a stopped task.
pub fn xstate(tid: Tid) -> Result<XState> {
    let mut room = [0u8; 16 * 1024];
    let mut io = libc::iovec {
        iov_base: room.as_mut_ptr().cast(),
        iov_len: room.len(),
    };
    request(
        "PTRACE_GETREGSET",
        libc::PTRACE_GETREGSET,
        tid,
        NT_X86_XSTATE,
        (&raw mut io) as usize,
    )?;
    // No more than there is: checkpoints keep it.
    let bytes = room[..io.iov_len.min(room.len())].to_vec();
    Ok(XState { bytes })
}

/// Writes the vector and floating point state of a stopped task.
pub fn set_xstate(tid: Tid, state: &XState) -> Result<()> {
    let mut io = libc::iovec {
        iov_base: state.bytes.as_ptr().cast_mut().cast(),
        iov_len: state.bytes.len(),
    };
    request(
        "PTRACE_SETREGSET",
        libc::PTRACE_SETREGSET,
        tid,
        NT_X86_XSTATE,
        (&raw mut io) as usize,
    )
    .map(drop)
}

/// What the signal of a signal-delivery stop says. Fails with EINVAL in a
/// group-stop.
pub fn siginfo(tid: Tid) -> Result<SigInfo> {
    let mut info = SigInfo::ZERO;
    request(
        "PTRACE_GETSIGINFO",
        libc::PTRACE_GETSIGINFO,
        tid,
        0,
        (&raw mut info) as usize,
    )?;
    Ok(info)
}

/// Replaces what the signal about to be delivered says.
pub fn set_siginfo(tid: Tid, info: &SigInfo) -> Result<()> {
    request(
        "PTRACE_SETSIGINFO",
        libc::PTRACE_SETSIGINFO,
        tid,
        0,
        std::ptr::from_ref(info) as usize,
    )
    .map(drop)
}

/// Signals that wait to be delivered to a stopped thread, or with `shared` to
/// any thread of its process.
pub fn pending(tid: Tid, shared: bool) -> Result<Vec<SigInfo>> {
    const SHARED: u32 = 1;
    let mut all = Vec::new();
    loop {
        let mut infos = [SigInfo::ZERO; 16];
        let flags = if shared { SHARED } else { 0 };
        let got = peek_signals(tid, all.len() as u64, flags, &mut infos)?;
        all.extend_from_slice(&infos[..got]);
        if got < infos.len() {
            return Ok(all);
        }
    }
}

/// Copies queued signals from the `offset`-th on; how many.
fn peek_signals(tid: Tid, offset: u64, flags: u32, into: &mut [SigInfo]) -> Result<usize> {
    #[repr(C)]
    struct Arguments {
        offset: u64,
        flags: u32,
        count: i32,
    }
    let arguments = Arguments {
        offset,
        flags,
        count: into.len() as i32,
    };
    let got = request(
        "PTRACE_PEEKSIGINFO",
        libc::PTRACE_PEEKSIGINFO,
        tid,
        (&raw const arguments) as usize,
        into.as_mut_ptr() as usize,
    )?;
    Ok(usize::try_from(got).unwrap_or(0).min(into.len()))
}

/// Whether a fault or trap of the task's own waits to be delivered. An
/// interrupt can stop a task between an exception and its signal: the signal
/// comes with the next resume, before any instruction.
pub fn has_pending_fault(tid: Tid) -> Result<bool> {
    let mut infos = [SigInfo::ZERO; 16];
    let got = peek_signals(tid, 0, 0, &mut infos)?;
    const FAULTS: [i32; 6] = [
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGILL,
        libc::SIGTRAP,
        libc::SIGFPE,
        libc::SIGSYS,
    ];
    Ok(infos[..got]
        .iter()
        .any(|i| i.code() > 0 && FAULTS.contains(&i.signal())))
}

/// Whether a signal waits that the stopped task does not block: it will be delivered when the
/// task goes on.
pub fn has_deliverable_signal(tid: Tid) -> Result<bool> {
    const SHARED: u32 = 1;
    let blocked = signal_mask(tid)?;
    for flags in [0, SHARED] {
        let mut infos = [SigInfo::ZERO; 16];
        let got = peek_signals(tid, 0, flags, &mut infos)?;
        let comes = |i: &SigInfo| {
            let bit = u32::try_from(i.signal() - 1).ok();
            bit.and_then(|b| 1u64.checked_shl(b))
                .is_some_and(|b| blocked & b == 0)
        };
        // More than fit: whoever asks does not want to be wrong about it.
        if got == infos.len() || infos[..got].iter().any(comes) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The number that came with a ptrace event: new task, old tid, exit status.
pub fn event_message(tid: Tid) -> Result<u64> {
    let mut message: libc::c_ulong = 0;
    request(
        "PTRACE_GETEVENTMSG",
        libc::PTRACE_GETEVENTMSG,
        tid,
        0,
        (&raw mut message) as usize,
    )?;
    Ok(message)
}

/// The blocked signals of a stopped task, as a bit mask.
pub fn signal_mask(tid: Tid) -> Result<u64> {
    let mut mask = 0u64;
    request(
        "PTRACE_GETSIGMASK",
        libc::PTRACE_GETSIGMASK,
        tid,
        size_of::<u64>(),
        (&raw mut mask) as usize,
    )?;
    Ok(mask)
}

/// Sets the blocked signals of a stopped task.
pub fn set_signal_mask(tid: Tid, mask: u64) -> Result<()> {
    request(
        "PTRACE_SETSIGMASK",
        libc::PTRACE_SETSIGMASK,
        tid,
        size_of::<u64>(),
        (&raw const mask) as usize,
    )
    .map(drop)
}

/// Which system call a thread in a syscall stop is at, and on which side.
pub fn syscall_stop(tid: Tid) -> Result<Option<SyscallStop>> {
    #[repr(C)]
    #[derive(Default)]
    struct Info {
        op: u8,
        pad: [u8; 3],
        arch: u32,
        pc: u64,
        sp: u64,
        data: [u64; 8],
    }
    const ENTRY: u8 = 1;
    const EXIT: u8 = 2;
    let mut info = Info::default();
    request(
        "PTRACE_GET_SYSCALL_INFO",
        libc::PTRACE_GET_SYSCALL_INFO,
        tid,
        size_of::<Info>(),
        (&raw mut info) as usize,
    )?;
    Ok(match info.op {
        ENTRY => Some(SyscallStop::Entry {
            number: info.data[0],
            args: [
                info.data[1],
                info.data[2],
                info.data[3],
                info.data[4],
                info.data[5],
                info.data[6],
            ],
            pc: Addr(info.pc),
        }),
        EXIT => Some(SyscallStop::Exit {
            value: info.data[0] as i64,
        }),
        _ => None,
    })
}
