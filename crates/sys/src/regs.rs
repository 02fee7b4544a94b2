//! The general registers of x86-64, in the kernel's order (`user_regs_struct`).

use crate::Addr;

/// General registers of a stopped thread.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Regs {
    pub r15: u64,
    pub r14: u64,
    pub r13: u64,
    pub r12: u64,
    pub rbp: u64,
    pub rbx: u64,
    pub r11: u64,
    pub r10: u64,
    pub r9: u64,
    pub r8: u64,
    pub rax: u64,
    pub rcx: u64,
    pub rdx: u64,
    pub rsi: u64,
    pub rdi: u64,
    /// The system call the thread is in, or -1. The kernel restarts an
    /// interrupted call (and takes 2 off rip) only while this is not -1.
    pub orig_rax: u64,
    pub rip: u64,
    pub cs: u64,
    pub eflags: u64,
    pub rsp: u64,
    pub ss: u64,
    pub fs_base: u64,
    pub gs_base: u64,
    pub ds: u64,
    pub es: u64,
    pub fs: u64,
    pub gs: u64,
}

const _: () = assert!(size_of::<Regs>() == size_of::<libc::user_regs_struct>());

/// `orig_rax` of a thread that is in no system call.
pub const NO_SYSCALL: u64 = u64::MAX;

impl Regs {
    /// Program counter.
    pub fn pc(&self) -> Addr {
        Addr(self.rip)
    }

    /// Stack pointer.
    pub fn sp(&self) -> Addr {
        Addr(self.rsp)
    }

    /// Sends the thread elsewhere. An interrupted system call is given up:
    /// with `orig_rax` left alone the kernel would move rip back by 2.
    pub fn jump(&mut self, to: Addr) {
        if self.rip != to.0 {
            self.rip = to.0;
            self.orig_rax = NO_SYSCALL;
        }
    }

    /// The i-th integer argument at a function's entry in the System V
    /// calling convention (0..6).
    pub fn argument(&self, i: usize) -> Option<u64> {
        [self.rdi, self.rsi, self.rdx, self.rcx, self.r8, self.r9]
            .get(i)
            .copied()
    }
}
