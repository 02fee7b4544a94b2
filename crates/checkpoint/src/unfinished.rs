//! A process that is being made, and goes if it does not become one.

use verde_engine::Tid;
use verde_sys::ptrace::{self, Go};
use verde_sys::{number, procfs, signals, wait};

/// Kills and reaps the process when dropped, unless it is kept.
#[derive(Debug)]
pub(crate) struct Unfinished {
    pid: Tid,
    kept: bool,
}

impl Unfinished {
    pub fn new(pid: Tid) -> Unfinished {
        Unfinished { pid, kept: false }
    }

    pub fn pid(&self) -> Tid {
        self.pid
    }

    pub fn keep(mut self) -> Tid {
        self.kept = true;
        self.pid
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if self.kept || signals::send(self.pid, number::SIGKILL).is_err() {
            return;
        }
        // One that was already dying when it stopped does not notice the signal.
        let _ = ptrace::resume(self.pid, Go::Continue, 0);
        // Its first thread ends after all others, and each has an exit event.
        loop {
            let mut tids = procfs::threads(self.pid).unwrap_or_default();
            if !tids.contains(&self.pid) {
                tids.push(self.pid);
            }
            for tid in tids {
                match wait::try_task(tid) {
                    Ok(Some(status)) if status.is_end() && tid == self.pid => return,
                    Ok(Some(status)) if !status.is_end() => {
                        // An error: killed on the way.
                        let _ = ptrace::resume(tid, Go::Continue, 0);
                    }
                    Err(_) if tid == self.pid => return,
                    _ => {}
                }
            }
            std::thread::yield_now();
        }
    }
}

/// Ends copies that a process has made which died before it could tell of
/// them: children of this thread that have not reported their first stop yet.
pub(crate) fn end_untold(parent: Tid) {
    let (process, thread) = (signals::current_process(), signals::current_thread());
    let mut children = procfs::children(process, &[thread]);
    // Its own end is the engine's to hear of.
    children.retain(|c| *c != parent);
    for child in children {
        let field = |name: &str| procfs::status_field(child, child, name);
        if field("TracerPid") != Some(thread.to_string()) {
            continue;
        }
        // One that still runs is on its way to that stop, or to its end; the frozen ones stand,
        // and have told.
        let told = match field("State").is_some_and(|s| s.starts_with('t')) {
            true => wait::try_task(child),
            false => wait::task(child).map(Some),
        };
        if told.is_ok_and(|status| status.is_some_and(|s| !s.is_end())) {
            drop(Unfinished::new(child));
        }
    }
}
