//! `siginfo_t`, decoded field by field from its bytes.

use crate::{Addr, Tid};

/// The kernel's 128 bytes about one signal.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
pub struct SigInfo {
    pub(crate) bytes: [u8; 128],
}

const _: () = assert!(size_of::<SigInfo>() == size_of::<libc::siginfo_t>());

/// `si_code` of a synchronous perf event (`TRAP_PERF`).
pub const TRAP_PERF: i32 = 6;
/// `si_code` of a debug exception without a known reason.
pub const TRAP_BRKPT: i32 = 1;
/// `si_code` of a single step.
pub const TRAP_TRACE: i32 = 2;
/// `si_code` of a debug register hit.
pub const TRAP_HWBKPT: i32 = 4;
/// `si_code` of an int3.
pub const SI_KERNEL: i32 = 0x80;
/// `si_code` of an access that a mapping's protection forbids.
pub const SEGV_ACCERR: i32 = 2;

impl SigInfo {
    pub(crate) const ZERO: SigInfo = SigInfo { bytes: [0; 128] };

    fn i32_at(&self, at: usize) -> i32 {
        let mut b = [0; 4];
        b.copy_from_slice(&self.bytes[at..at + 4]);
        i32::from_ne_bytes(b)
    }

    fn u64_at(&self, at: usize) -> u64 {
        let mut b = [0; 8];
        b.copy_from_slice(&self.bytes[at..at + 8]);
        u64::from_ne_bytes(b)
    }

    /// All of it, as the kernel takes it.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Signal number.
    pub fn signal(&self) -> i32 {
        self.i32_at(0)
    }

    /// Where it comes from: positive from the kernel, else sent by a process.
    pub fn code(&self) -> i32 {
        self.i32_at(8)
    }

    /// Sender, for a signal sent by a process.
    pub fn sender(&self) -> Option<Tid> {
        (self.code() <= 0).then(|| Tid(self.i32_at(16)))
    }

    /// The timer that it tells of, if it is one of POSIX.
    pub fn timer(&self) -> Option<i32> {
        (self.code() == libc::SI_TIMER).then(|| self.i32_at(16))
    }

    /// Faulting address of SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP.
    pub fn address(&self) -> Addr {
        Addr(self.u64_at(16))
    }

    /// `sig_data` of the perf event behind a `TRAP_PERF` SIGTRAP.
    pub fn perf_data(&self) -> Option<u64> {
        (self.signal() == libc::SIGTRAP && self.code() == TRAP_PERF).then(|| self.u64_at(24))
    }
}

impl std::fmt::Debug for SigInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SigInfo")
            .field("signal", &self.signal())
            .field("code", &self.code())
            .field("address", &self.address())
            .finish()
    }
}
