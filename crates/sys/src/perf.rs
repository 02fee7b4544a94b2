//! Watchpoints as perf events: a synchronous SIGTRAP on the access, inherited
//! by new threads, gone by itself when the debugger dies.

use crate::error::{Result, SysError};
use crate::{Addr, Tid};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Which accesses a hardware watchpoint sees. x86 has no read-only kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Stores.
    Write,
    /// Loads and stores.
    ReadWrite,
}

/// Who has a watchpoint besides its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heirs {
    /// The threads that it will create, and those that they will.
    NewThreads,
    /// Nobody.
    Nobody,
}

/// The kernel's `perf_event_attr`, up to `sig_data`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Attr {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    bp_type: u32,
    bp_addr: u64,
    bp_len: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clockid: i32,
    sample_regs_intr: u64,
    aux_watermark: u32,
    sample_max_stack: u16,
    reserved: u16,
    aux_sample_size: u32,
    reserved3: u32,
    sig_data: u64,
}

const _: () = assert!(size_of::<Attr>() == 128);

const TYPE_BREAKPOINT: u32 = 5;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HV: u64 = 1 << 6;
const INHERIT_THREAD: u64 = 1 << 35;
const REMOVE_ON_EXEC: u64 = 1 << 36;
const SIGTRAP: u64 = 1 << 37;
const HW_R: u32 = 1;
const HW_W: u32 = 2;
const FLAG_CLOEXEC: libc::c_ulong = 8;
const IOC_DISABLE: libc::c_ulong = 0x2401;

/// One watchpoint on one thread, and on the threads it will create if so chosen.
#[derive(Debug)]
pub struct PerfWatch {
    fd: OwnedFd,
}

fn attr(at: Addr, len: u8, access: Access, data: u64, heirs: Heirs) -> Attr {
    let inherit = match heirs {
        Heirs::NewThreads => INHERIT | INHERIT_THREAD,
        Heirs::Nobody => 0,
    };
    Attr {
        kind: TYPE_BREAKPOINT,
        size: size_of::<Attr>() as u32,
        sample_period: 1,
        flags: inherit | REMOVE_ON_EXEC | SIGTRAP | EXCLUDE_KERNEL | EXCLUDE_HV,
        bp_type: match access {
            Access::Write => HW_W,
            Access::ReadWrite => HW_R | HW_W,
        },
        bp_addr: at.0,
        bp_len: u64::from(len),
        sig_data: data,
        ..Attr::default()
    }
}

impl PerfWatch {
    /// Watches `len` (1, 2, 4, 8) bytes at an address aligned to `len`. `data`
    /// comes back in the signal. ENOSPC: no slot left; EACCES or EPERM: perf
    /// is denied to this user.
    pub fn open(
        tid: Tid,
        at: Addr,
        len: u8,
        access: Access,
        data: u64,
        heirs: Heirs,
    ) -> Result<PerfWatch> {
        let attr = attr(at, len, access, data, heirs);
        // SAFETY: `attr` is a valid perf_event_attr that says its own size.
        let fd = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attr,
                tid.0,
                -1,
                -1,
                FLAG_CLOEXEC,
            )
        };
        if fd < 0 {
            return Err(SysError::last("perf_event_open"));
        }
        // SAFETY: the kernel just returned this descriptor, nobody else owns it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
        Ok(PerfWatch { fd })
    }
}

impl Drop for PerfWatch {
    fn drop(&mut self) {
        // Closing alone is not enough: a process that another thread is just
        // forking holds a copy of the descriptor until its exec, and the event
        // would go on firing at a program that nobody watches any more.
        // SAFETY: the ioctl takes no pointer.
        unsafe { libc::ioctl(self.fd.as_raw_fd(), IOC_DISABLE, 0) };
    }
}
