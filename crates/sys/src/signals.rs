//! Sending signals, and the names of signals.

use crate::Tid;
use crate::error::{Result, SysError};

/// Sends a signal to one thread.
pub fn send_to_thread(pid: Tid, tid: Tid, signal: i32) -> Result<()> {
    // SAFETY: no memory is involved.
    if unsafe { libc::syscall(libc::SYS_tgkill, pid.0, tid.0, signal) } != 0 {
        return Err(SysError::last("tgkill"));
    }
    Ok(())
}

/// Sends a signal to a process.
pub fn send(pid: Tid, signal: i32) -> Result<()> {
    // SAFETY: no memory is involved.
    if unsafe { libc::kill(pid.0, signal) } != 0 {
        return Err(SysError::last("kill"));
    }
    Ok(())
}

/// The id of the calling thread.
pub fn current_thread() -> Tid {
    // SAFETY: no memory is involved.
    Tid(unsafe { libc::gettid() })
}

/// The id of this process.
pub fn current_process() -> Tid {
    Tid(std::process::id() as i32)
}

const NAMES: [&str; 32] = [
    "0",
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGKILL",
    "SIGUSR1",
    "SIGSEGV",
    "SIGUSR2",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGSTKFLT",
    "SIGCHLD",
    "SIGCONT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGVTALRM",
    "SIGPROF",
    "SIGWINCH",
    "SIGIO",
    "SIGPWR",
    "SIGSYS",
];

/// The usual name of a signal; real-time ones as `SIG34`, the way gdb writes
/// them.
pub fn name(signal: i32) -> String {
    match NAMES.get(signal as usize) {
        Some(name) if signal > 0 => (*name).to_string(),
        _ => format!("SIG{signal}"),
    }
}

/// The number of a signal given by name (`SIGINT`, `INT`, `SIG34`, `SIGRTMIN+1`) or number.
pub fn by_name(text: &str) -> Option<i32> {
    let upper = text.to_ascii_uppercase();
    let bare = upper.strip_prefix("SIG").unwrap_or(&upper);
    if let Some(number) = bare.parse().ok().or_else(|| real_time(bare)) {
        return (1..=64).contains(&number).then_some(number);
    }
    let found = NAMES
        .iter()
        .position(|n| n.strip_prefix("SIG") == Some(bare))?;
    Some(found as i32)
}

/// `RTMIN`, `RTMIN+3`, `RTMAX-3`: as programs count the real-time signals, without those that the
/// C library keeps for itself.
fn real_time(bare: &str) -> Option<i32> {
    let (first, distance) = match bare.split_at_checked("RTMIN".len())? {
        ("RTMIN", distance) => (libc::SIGRTMIN(), distance),
        ("RTMAX", distance) => (libc::SIGRTMAX(), distance),
        _ => return None,
    };
    let number = match distance {
        "" => first,
        _ if distance.starts_with(['+', '-']) => first.checked_add(distance.parse().ok()?)?,
        _ => return None,
    };
    (libc::SIGRTMIN()..=libc::SIGRTMAX())
        .contains(&number)
        .then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_both_ways() {
        for signal in 1..=64 {
            assert_eq!(by_name(&name(signal)), Some(signal));
        }
        assert_eq!(by_name("int"), Some(libc::SIGINT));
        assert_eq!(by_name("SIGNOSUCH"), None);
        assert_eq!(by_name("65"), None);
        assert_eq!(by_name("SIGRTMIN"), Some(libc::SIGRTMIN()));
        assert_eq!(by_name("SIGRTMIN+2"), Some(libc::SIGRTMIN() + 2));
        assert_eq!(by_name("rtmax-1"), Some(libc::SIGRTMAX() - 1));
        for wrong in [
            "SIGRTMIN-1",
            "SIGRTMAX+1",
            "SIGRTMIN2",
            "SIGRTMIN+",
            "SIGRT",
        ] {
            assert_eq!(by_name(wrong), None, "{wrong}");
        }
    }
}
