//! Descriptors of kinds that nobody here knows: counters of the CPU (perf), maps of BPF,
//! graphics cards. What is behind them stays as it is.

use std::os::fd::RawFd;
use std::os::unix::fs::FileTypeExt;
use verde_sys::descriptors::Descriptor;

/// Kinds that come back, that have a warning of their own, or nothing to lose.
const KNOWN: [&str; 6] = [
    "[eventfd]",
    "[timerfd]",
    "[eventpoll]",
    "[signalfd]",
    "[pidfd]",
    "inotify",
];

/// Devices that know nothing of who uses them.
const PLAIN: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

fn is_unknown(d: &Descriptor) -> bool {
    if let Some(kind) = d.target.strip_prefix("anon_inode:") {
        return !KNOWN.contains(&kind);
    }
    let Some(device) = d.target.strip_prefix("/dev/") else {
        return false;
    };
    let terminal = ["pts/", "tty", "ptmx", "console"];
    if PLAIN.contains(&device) || terminal.iter().any(|t| device.starts_with(t)) {
        return false;
    }
    let kind = d.about().map(|meta| meta.file_type());
    kind.is_some_and(|kind| kind.is_char_device() || kind.is_block_device())
}

/// Those, with their names.
pub(super) fn among(list: &[Descriptor]) -> Vec<(RawFd, String)> {
    let unknown = list.iter().filter(|d| is_unknown(d));
    let named = unknown.map(|d| {
        let name = d.target.strip_prefix("anon_inode:").unwrap_or(&d.target);
        (d.number, name.trim_matches(['[', ']']).to_owned())
    });
    named.collect()
}
