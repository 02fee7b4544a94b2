//! The kernel's edge of Verde: everything that needs `unsafe` to talk to Linux.
//!
//! One file per kernel facility. Nothing here knows what a debugger is: no
//! trap, no policy, no retry beyond what a single system call needs. Callers
//! get plain values (`WaitStatus`, `Regs`, `Addr`) and one error type that
//! names the call that failed.
//!
//! ptrace belongs to the thread that attached: every function taking a [`Tid`]
//! of a tracee must be called on that thread.

// This crate exists to hold the unsafe calls of the workspace; each block says
// why it is sound.
#![allow(unsafe_code)]

mod addr;
pub mod affinity;
pub mod before_change;
pub mod channel;
pub mod debug_registers;
pub mod departed;
pub mod descriptor;
pub mod descriptors;
pub mod doorbell;
mod error;
pub mod expand;
pub mod family;
pub mod file_control;
pub mod file_locks;
pub mod guardian;
pub mod huge_pages;
pub mod inherited;
pub mod launch;
pub mod limits;
mod mapping_query;
pub mod memory;
pub mod namespace;
pub mod overlay;
pub mod pagemap;
pub mod payload;
pub mod perf;
pub mod pidfd;
pub mod procfs;
pub mod ptrace;
mod regs;
pub mod remote;
pub mod siginfo;
pub mod signals;
pub mod sizes;
pub mod sockets;
pub mod sparse;
pub mod syscalls;
pub mod sysv;
pub mod task;
pub mod terminal;
pub mod unix_sockets;
pub mod wait;
mod xstate;

pub use addr::{Addr, Tid};
pub use error::{Result, SysError};
pub use regs::Regs;
pub use siginfo::SigInfo;
pub use wait::{Event, WaitStatus};
pub use xstate::XState;

/// Numbers of the kernel interface, so that crates above need no `libc`.
pub mod number {
    pub use libc::{
        AF_UNIX, AT_FDCWD, CLONE_CHILD_CLEARTID, CLONE_FILES, CLONE_FS, CLONE_PARENT, CLONE_PTRACE,
        CLONE_SETTLS, CLONE_SIGHAND, CLONE_SYSVSEM, CLONE_THREAD, CLONE_UNTRACED, CLONE_VM, EACCES,
        EAGAIN, EALREADY, ECHILD, ECONNRESET, EEXIST, EINPROGRESS, EINTR, EINVAL, EIO, EMFILE,
        ENFILE, ENOENT, ENOMEM, ENOSPC, ENOSYS, EPERM, EPIPE, ESRCH, F_DUPFD, F_SETFL, MADV_DOFORK,
        MADV_DONTFORK, MADV_KEEPONFORK, MADV_WIPEONFORK, MAP_ANONYMOUS, MAP_FIXED,
        MAP_FIXED_NOREPLACE, MAP_PRIVATE, MAP_SHARED, MREMAP_FIXED, MSG_DONTWAIT, MSG_ERRQUEUE,
        MSG_FASTOPEN, MSG_NOSIGNAL, MSG_OOB, MSG_PEEK, MSG_WAITALL, MSG_ZEROCOPY, O_ACCMODE,
        O_APPEND, O_ASYNC, O_CLOEXEC, O_DIRECT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK,
        O_PATH, O_RDONLY, O_RDWR, O_SYNC, PR_SET_CHILD_SUBREAPER, PROT_EXEC, PROT_NONE, PROT_READ,
        PROT_WRITE, SIGABRT, SIGALRM, SIGBUS, SIGCHLD, SIGCONT, SIGFPE, SIGHUP, SIGILL, SIGINT,
        SIGIO, SIGKILL, SIGPIPE, SIGPROF, SIGQUIT, SIGSEGV, SIGSTOP, SIGTERM, SIGTRAP, SIGTSTP,
        SIGTTIN, SIGTTOU, SIGURG, SIGUSR1, SIGUSR2, SIGVTALRM, SIGWINCH, SYS_accept, SYS_accept4,
        SYS_brk, SYS_chdir, SYS_clock_nanosleep, SYS_clone, SYS_clone3, SYS_close, SYS_connect,
        SYS_dup3, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_epoll_pwait2,
        SYS_epoll_wait, SYS_execve, SYS_execveat, SYS_exit, SYS_exit_group, SYS_fcntl,
        SYS_fdatasync, SYS_flock, SYS_fork, SYS_fsync, SYS_futex, SYS_futex_waitv, SYS_getitimer,
        SYS_getpid, SYS_gettid, SYS_io_getevents, SYS_io_uring_enter, SYS_kill, SYS_madvise,
        SYS_memfd_create, SYS_mmap, SYS_mprotect, SYS_mremap, SYS_munmap, SYS_nanosleep,
        SYS_openat, SYS_pause, SYS_pidfd_open, SYS_pipe2, SYS_pkey_mprotect, SYS_poll, SYS_ppoll,
        SYS_prctl, SYS_pread64, SYS_preadv, SYS_preadv2, SYS_process_vm_readv,
        SYS_process_vm_writev, SYS_pselect6, SYS_pwrite64, SYS_pwritev, SYS_pwritev2, SYS_read,
        SYS_readv, SYS_recvfrom, SYS_recvmmsg, SYS_recvmsg, SYS_restart_syscall, SYS_rt_sigaction,
        SYS_rt_sigqueueinfo, SYS_rt_sigreturn, SYS_rt_sigsuspend, SYS_rt_sigtimedwait,
        SYS_rt_tgsigqueueinfo, SYS_sched_yield, SYS_select, SYS_semop, SYS_semtimedop,
        SYS_sendmmsg, SYS_sendmsg, SYS_sendto, SYS_setitimer, SYS_setsid, SYS_shutdown,
        SYS_socketpair, SYS_tee, SYS_tgkill, SYS_timer_create, SYS_timer_delete, SYS_timer_gettime,
        SYS_timer_settime, SYS_tkill, SYS_vfork, SYS_vmsplice, SYS_wait4, SYS_waitid, SYS_write,
        SYS_writev,
    };

    /// `libc` has no name for it.
    #[allow(non_upper_case_globals)]
    pub const SYS_io_pgetevents: i64 = 333;
}
