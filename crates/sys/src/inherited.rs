//! What this process was started with: signals that are ignored, standard descriptors that are
//! closed, other descriptors. A program must be started with the same: `nohup` and shells rely on it.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

const LAST: i32 = 64;
const STANDARD: i32 = 3;

/// A bit for each signal that was ignored, the first for signal 1.
static IGNORED: AtomicU64 = AtomicU64::new(0);

/// A bit for each of the three standard descriptors that was closed.
static CLOSED: AtomicU64 = AtomicU64::new(0);

/// Called by the loader before `main`: Rust's runtime ignores SIGPIPE and opens what is closed of the
/// standard descriptors, and nobody could tell later what was so before.
#[used]
// SAFETY: the section holds pointers to functions of this form, and the function needs nothing of
// the runtime.
#[unsafe(link_section = ".init_array")]
static NOTE: extern "C" fn() = note;

extern "C" fn note() {
    let mut set = 0;
    for signal in 1..=LAST {
        // SAFETY: an all-zero structure is a valid one to be overwritten.
        let mut old: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: nothing is changed, and `old` has room for the answer.
        let asked = unsafe { libc::sigaction(signal, std::ptr::null(), &mut old) };
        if asked == 0 && old.sa_sigaction == libc::SIG_IGN {
            set |= 1 << (signal - 1);
        }
    }
    IGNORED.store(set, Ordering::Relaxed);
    let mut closed = 0;
    for fd in 0..STANDARD {
        // SAFETY: no memory is involved.
        if unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0 {
            closed |= 1 << fd;
        }
    }
    CLOSED.store(closed, Ordering::Relaxed);
}

/// The signal was ignored at the start.
pub fn is_ignored(signal: i32) -> bool {
    (1..=LAST).contains(&signal) && IGNORED.load(Ordering::Relaxed) & 1 << (signal - 1) != 0
}

/// A file that somebody left open for this process and all that it starts, beyond the standard
/// ones: whoever did so uses it, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shared {
    pub device: u64,
    pub node: u64,
    pub is_pipe: bool,
    /// It can be written to.
    pub writes: bool,
}

/// Those files. What this process opens itself is closed in others.
pub fn shared() -> &'static [Shared] {
    static SHARED: OnceLock<Vec<Shared>> = OnceLock::new();
    SHARED.get_or_init(look_for_shared)
}

fn look_for_shared() -> Vec<Shared> {
    let entries = std::fs::read_dir("/proc/self/fd").into_iter().flatten();
    let numbers = entries.flatten().filter_map(|e| {
        let name = e.file_name();
        name.to_str()?.parse::<i32>().ok()
    });
    let passed_on = numbers.filter(|fd| {
        // SAFETY: no memory is involved.
        let flags = unsafe { libc::fcntl(*fd, libc::F_GETFD) };
        *fd >= STANDARD && flags >= 0 && flags & libc::FD_CLOEXEC == 0
    });
    let known = passed_on.filter_map(|fd| {
        let about = std::fs::metadata(format!("/proc/self/fd/{fd}")).ok()?;
        // SAFETY: no memory is involved.
        let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
        Some(Shared {
            device: about.dev(),
            node: about.ino(),
            is_pipe: about.file_type().is_fifo(),
            writes: flags >= 0 && flags & libc::O_ACCMODE != libc::O_RDONLY,
        })
    });
    known.collect()
}

/// Closes one of the standard descriptors if it was closed at the start.
///
/// # Safety
/// Only in a child between fork and exec. Safe for signal handlers.
pub(crate) unsafe fn close_again(fd: i32) {
    if CLOSED.load(Ordering::Relaxed) & 1 << fd != 0 {
        // SAFETY: nobody but the runtime has opened it, and nothing of this process will use it.
        unsafe { libc::close(fd) };
    }
}

/// Ignores what was ignored at the start, and nothing else.
///
/// # Safety
/// Only in a child between fork and exec. Safe for signal handlers.
pub(crate) unsafe fn restore() {
    let set = IGNORED.load(Ordering::Relaxed);
    for signal in 1..=LAST {
        let disposition = match set & 1 << (signal - 1) {
            0 => libc::SIG_DFL,
            _ => libc::SIG_IGN,
        };
        // SAFETY: no handler is set. Those that cannot be changed stay as they are.
        unsafe { libc::signal(signal, disposition) };
    }
}
