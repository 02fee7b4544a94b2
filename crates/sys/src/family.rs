//! What a program has started.

use crate::{Tid, procfs, signals, task};

/// Ends the children of a stopped process, theirs and so on, as far as they have stayed in its
/// process group; all of the group if it is the process's own, itself included.
pub fn end_children(pid: Tid) {
    let Ok(group) = task::group(pid) else {
        return;
    };
    let mut found = Vec::new();
    // One that is still about to stop may have started another.
    while stop_children(pid, group, &mut found) {}
    if group == pid {
        // Of those that have lost their parents, too.
        let _ = signals::send(Tid(-group.0), libc::SIGKILL);
    }
    for child in found {
        // It may have ended by itself.
        let _ = signals::send(child, libc::SIGKILL);
    }
}

/// Stops those that are not known yet: the children of a process that has ended are nobody's, and
/// who is stopped starts no others. Whether there were some.
fn stop_children(pid: Tid, group: Tid, found: &mut Vec<Tid>) -> bool {
    let known = found.len();
    let mut parents = vec![pid];
    while let Some(parent) = parents.pop() {
        let threads = procfs::threads(parent).unwrap_or_default();
        for child in procfs::children(parent, &threads) {
            if task::group(child).ok() != Some(group) {
                continue;
            }
            parents.push(child);
            if !found.contains(&child) {
                let _ = signals::send(child, libc::SIGSTOP);
                found.push(child);
            }
        }
    }
    found.len() > known
}
