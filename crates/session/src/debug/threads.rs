//! Threads by name, and which of them stopped.

use super::Debugger;
use super::failure::{Result, failure};
use super::names::pattern;
use verde_engine::Tid;

impl Debugger {
    /// The name a thread was given by the user, or has given itself.
    pub(super) fn thread_name(&self, tid: Tid) -> String {
        let given = self.live.as_ref().and_then(|l| l.names.get(&tid));
        if let Some(name) = given {
            return name.clone();
        }
        let pid = self.live.as_ref().map_or(tid, |l| l.process.pid());
        let name = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm"));
        name.unwrap_or_default().trim_end().to_owned()
    }

    /// `thread name [NAME]`: what the selected thread is called from now on.
    pub(super) fn name_thread(&mut self, name: &str) -> Result<()> {
        let Some(live) = &mut self.live else {
            return failure("No thread selected");
        };
        match name {
            "" => live.names.remove(&live.tid),
            name => live.names.insert(live.tid, name.to_owned()),
        };
        Ok(())
    }

    /// `thread find REGEX`: threads by name or number of the kernel's.
    pub(super) fn find_threads(&mut self, text: &str) -> Result<()> {
        let regex = pattern(text)?;
        let live = self.live.as_ref();
        let all = live.map_or_else(Vec::new, |l| l.process.numbered_threads());
        let mut lines = Vec::new();
        for (number, tid) in all {
            let name = self.thread_name(tid);
            let id = format!("LWP {tid}");
            if regex.is_match(&name) {
                lines.push(format!("Thread {number} has name '{name}'"));
            } else if regex.is_match(&id) {
                lines.push(format!("Thread {number} has target id '{id}'"));
            }
        }
        self.say_all(lines, &format!("No threads match '{text}'"))
    }

    /// The thread that stopped is another than the one looked at before.
    pub(super) fn say_switch(&mut self, before: Tid) -> Result<()> {
        let Some(live) = &self.live else {
            return Ok(());
        };
        let tid = live.tid;
        if tid == before || !self.is_attended() {
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
    pub(super) fn stopper(&self, tid: Tid) -> Option<String> {
        let live = self.live.as_ref()?;
        if live.process.threads_created() < 2 {
            return None;
        }
        let number = live.process.thread_number(tid)?;
        Some(format!("Thread {number} \"{}\"", self.thread_name(tid)))
    }
}
