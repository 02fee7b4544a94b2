//! Descriptors of kinds that nobody here knows: counters of the CPU (perf), maps of BPF,
//! graphics cards. What is behind them stays as it is.

use std::os::fd::RawFd;
use verde_sys::descriptor::Descriptor;

/// Kinds that come back, that have a warning of their own, or nothing to lose.
const KNOWN: [&str; 6] = [
    "[eventfd]",
    "[timerfd]",
    "[eventpoll]",
    "[signalfd]",
    "[pidfd]",
    "inotify",
];

fn is_unknown(d: &Descriptor) -> bool {
    if let Some(kind) = d.anonymous() {
        return !KNOWN.contains(&kind);
    }
    if !d.is_device() || d.is_plain_device() {
        return false;
    }
    let terminal = ["pts/", "tty", "ptmx", "console"];
    let device = d.target().strip_prefix("/dev/");
    device.is_some_and(|device| !terminal.iter().any(|t| device.starts_with(t)))
}

/// Those, with their names.
pub(super) fn among(list: &[Descriptor]) -> Vec<(RawFd, String)> {
    let unknown = list.iter().filter(|d| is_unknown(d));
    let named = unknown.map(|d| {
        let name = d.anonymous().unwrap_or(d.target());
        (d.number, name.trim_matches(['[', ']']).to_owned())
    });
    named.collect()
}
