//! Threads by name, and which of them stopped.

use super::Debugger;
use super::failure::Result;
use verde_engine::Tid;

impl Debugger {
    /// The name a thread has given itself.
    pub(super) fn thread_name(&self, tid: Tid) -> String {
        let pid = self.live.as_ref().map_or(tid, |l| l.process.pid());
        let name = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm"));
        name.unwrap_or_default().trim_end().to_owned()
    }

    /// The thread that stopped is another than the one looked at before.
    pub(super) fn say_switch(&mut self, before: Tid) -> Result<()> {
        let Some(live) = &self.live else {
            return Ok(());
        };
        let tid = live.tid;
        if tid == before || !live.numbers.contains(&before) || !self.is_attended() {
            return Ok(());
        }
        match live.process.regs(tid) {
            Ok(regs) => {
                let base = regs.fs_base;
                self.say(&format!("[Switching to Thread {base:#x} (LWP {tid})]"))
            }
            Err(_) => Ok(()),
        }
    }

    /// Who stopped: with several threads its number and name.
    pub(super) fn stopper(&self) -> Option<String> {
        let live = self.live.as_ref()?;
        if live.numbers.len() < 2 {
            return None;
        }
        let number = live.numbers.iter().position(|t| *t == live.tid)? + 1;
        Some(format!(
            "Thread {number} \"{}\"",
            self.thread_name(live.tid)
        ))
    }
}
