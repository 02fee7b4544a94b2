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

    pub fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if self.kept || signals::send(self.pid, number::SIGKILL).is_err() {
            return;
        }
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
