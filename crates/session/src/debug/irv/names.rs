//! Names of signals and system calls in events.

/// `SIGSEGV`, `segv` or a number.
pub fn signal(name: &str) -> Option<i32> {
    verde_sys::signals::by_name(name.trim())
}

/// `write`, `openat` or a number.
pub fn system_call(name: &str) -> Option<u64> {
    let name = name.trim();
    name.parse()
        .ok()
        .or_else(|| verde_sys::syscalls::by_name(name))
}
