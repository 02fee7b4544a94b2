//! `$_siginfo`: what the kernel says about a signal, and the address of a fault.

use super::Debugger;
use super::live::Live;
use verde_engine::{Addr, Process, SigInfo, Tid};
use verde_expr::Value;
use verde_symbols::{Encoding, RecordKind, Type};
use verde_sys::number;

fn base(name: &str, size: u64) -> Type {
    let encoding = match name.starts_with("unsigned") {
        true => Encoding::Unsigned,
        false => Encoding::Signed,
    };
    Type::base(name, encoding, size)
}

/// The kernel's `siginfo_t`, which no debug information need describe.
fn siginfo_type() -> Type {
    let (int, long, pointer) = (base("int", 4), base("long", 8), Type::void().pointer_to());
    let uint = base("unsigned int", 4);
    let record =
        |size, members: &[(&str, Type, u64)]| Type::record(RecordKind::Struct, size, members);
    let sigval = Type::record(
        RecordKind::Union,
        8,
        &[
            ("sival_int", int.clone(), 0),
            ("sival_ptr", pointer.clone(), 0),
        ],
    );
    let sent = [("si_pid", int.clone(), 0), ("si_uid", uint.clone(), 4)];
    let with = |more: &[(&'static str, Type, u64)]| {
        let all: Vec<_> = sent.iter().chain(more).cloned().collect();
        all
    };
    let bounds = [
        ("_lower", pointer.clone(), 0),
        ("_upper", pointer.clone(), 8),
    ];
    let fields = [
        ("_pad", int.array_of(28), 0),
        ("_kill", record(8, &sent), 0),
        (
            "_timer",
            record(
                16,
                &[
                    ("si_tid", int.clone(), 0),
                    ("si_overrun", int.clone(), 4),
                    ("si_sigval", sigval.clone(), 8),
                ],
            ),
            0,
        ),
        ("_rt", record(16, &with(&[("si_sigval", sigval, 8)])), 0),
        (
            "_sigchld",
            record(
                32,
                &with(&[
                    ("si_status", int.clone(), 8),
                    ("si_utime", long.clone(), 16),
                    ("si_stime", long.clone(), 24),
                ]),
            ),
            0,
        ),
        (
            "_sigfault",
            record(
                32,
                &[
                    ("si_addr", pointer.clone(), 0),
                    ("_addr_lsb", base("short", 2), 8),
                    ("_addr_bnd", record(16, &bounds), 16),
                ],
            ),
            0,
        ),
        (
            "_sigpoll",
            record(16, &[("si_band", long, 0), ("si_fd", int.clone(), 8)]),
            0,
        ),
        (
            "_sigsys",
            record(
                16,
                &[
                    ("_call_addr", pointer, 0),
                    ("_syscall", int.clone(), 8),
                    ("_arch", uint, 12),
                ],
            ),
            0,
        ),
    ];
    record(
        128,
        &[
            ("si_signo", int.clone(), 0),
            ("si_errno", int.clone(), 4),
            ("si_code", int, 8),
            (
                "_sifields",
                Type::record(RecordKind::Union, 112, &fields),
                16,
            ),
        ],
    )
}

/// The value of `$_siginfo` for a thread.
pub(super) fn siginfo(process: &Process, tid: Tid) -> Option<Value> {
    let info = process.signal_info(tid).ok()?;
    Some(Value::of(siginfo_type(), info.bytes().to_vec()))
}

/// Addresses below this belong to a null pointer, or to a member or element of one.
const NEAR_NULL: u64 = 4096;

/// What a fault says of its address; nothing for a signal that somebody sent.
fn fault(info: &SigInfo) -> Option<String> {
    const NOT_MAPPED: i32 = 1;
    let at = info.address().0;
    match (info.signal(), info.code()) {
        (number::SIGSEGV, NOT_MAPPED) if at < NEAR_NULL => Some(format!(
            "Cannot access memory at address {at:#x} ({})",
            if at == 0 {
                "a null pointer"
            } else {
                "close to a null pointer"
            }
        )),
        (number::SIGSEGV, NOT_MAPPED) => Some(format!("Cannot access memory at address {at:#x}")),
        (number::SIGSEGV, verde_sys::siginfo::SEGV_ACCERR) => Some(format!(
            "The memory at address {at:#x} does not permit this access"
        )),
        (number::SIGBUS, code) if code > 0 && code != verde_sys::siginfo::SI_KERNEL => {
            Some(format!("Bus error at address {at:#x}"))
        }
        _ => None,
    }
}

/// Whether an address is one that the stack of the selected thread would have grown to.
fn is_beyond_stack(live: &Live, at: Addr) -> bool {
    /// A frame is hardly larger.
    const NEAR: u64 = 1 << 20;
    let Ok(regs) = live.process.regs(live.tid) else {
        return false;
    };
    let Ok(maps) = live.process.maps() else {
        return false;
    };
    let mut above = maps.iter().filter(|m| m.write && m.start > at);
    let next = above.next().map(|m| m.start.0);
    regs.rsp.abs_diff(at.0) < NEAR && next.is_some_and(|start| start - at.0 < NEAR)
}

impl Debugger {
    /// The address of the fault that stopped the selected thread, in words.
    pub(super) fn fault_text(&self) -> Option<String> {
        let live = self.live.as_ref()?;
        let info = live.process.signal_info(live.tid).ok()?;
        let text = fault(&info)?;
        match is_beyond_stack(live, info.address()) {
            true => Some(format!("{text} (the stack is full: endless recursion?)")),
            false => Some(text),
        }
    }
}
