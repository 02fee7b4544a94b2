//! System V message queues and semaphores: who used them last. They belong to
//! no process.

use crate::Tid;

/// So many semaphores are looked at.
const MOST: i32 = 1024;
/// The kernel tells of a queue or set, whoever may read it; `libc` has no name for it.
const MSG_STAT_ANY: libc::c_int = 13;

/// The ids of the message queues that one of these processes was the last to
/// send to or to receive from.
pub fn queues_used_by(pids: &[Tid]) -> Vec<i32> {
    let mut about = std::mem::MaybeUninit::<libc::msginfo>::zeroed();
    // SAFETY: for this command the kernel fills a `msginfo`; all zeros is one, too.
    let (highest, about) = unsafe {
        let highest = libc::msgctl(0, libc::MSG_INFO, about.as_mut_ptr().cast());
        (highest, about.assume_init())
    };
    if highest < 0 || about.msgpool == 0 {
        return Vec::new();
    }
    let used = (0..=highest).filter_map(|index| {
        let mut queue = std::mem::MaybeUninit::<libc::msqid_ds>::zeroed();
        // SAFETY: the kernel fills it; all zeros is one, too.
        let (id, queue) = unsafe {
            let id = libc::msgctl(index, MSG_STAT_ANY, queue.as_mut_ptr());
            (id, queue.assume_init())
        };
        let last = [Tid(queue.msg_lspid), Tid(queue.msg_lrpid)];
        (id >= 0 && last.iter().any(|pid| pids.contains(pid))).then_some(id)
    });
    used.collect()
}

/// The ids of the semaphore sets in which one of these processes was the last
/// to change some semaphore, as far as we may look.
pub fn semaphores_used_by(pids: &[Tid]) -> Vec<i32> {
    let mut about = std::mem::MaybeUninit::<libc::seminfo>::zeroed();
    // SAFETY: for this command the kernel fills a `seminfo`; all zeros is one, too.
    let (highest, about) = unsafe {
        let highest = libc::semctl(0, 0, libc::SEM_INFO, about.as_mut_ptr());
        (highest, about.assume_init())
    };
    if highest < 0 || about.semusz == 0 {
        return Vec::new();
    }
    let mut left = MOST;
    let used = (0..=highest).filter_map(|index| {
        let mut set = std::mem::MaybeUninit::<libc::semid_ds>::zeroed();
        // SAFETY: the kernel fills it; all zeros is one, too.
        let (id, set) = unsafe {
            let id = libc::semctl(index, 0, libc::SEM_STAT_ANY, set.as_mut_ptr());
            (id, set.assume_init())
        };
        if id < 0 {
            return None;
        }
        let count = i32::try_from(set.sem_nsems).unwrap_or(MOST).min(left);
        left -= count;
        let mut all = 0..count;
        // SAFETY: no memory is involved.
        let last = |number| Tid(unsafe { libc::semctl(id, number, libc::GETPID) });
        all.any(|number| pids.contains(&last(number))).then_some(id)
    });
    used.collect()
}
