//! What is asked before a line typed at a terminal is run: it would end the program, or forget
//! what was set up.

use super::Debugger;
use super::commands::{is_quit, name_of, split};

impl Debugger {
    /// The question about a line, to be answered with yes or no; `None`: the line just runs.
    pub fn question(&self, line: &str) -> Option<String> {
        if !self.settings.confirm || self.lists.is_reading() {
            return None;
        }
        let line = line.trim();
        // A command of the user's may be named like the beginning of another.
        if self.user.begins(line) {
            return None;
        }
        let (word, args) = split(line);
        let process = self.live.as_ref().map(|live| &live.process);
        let process = process.filter(|process| process.ended().is_none());
        if is_quit(word) {
            let process = process?;
            let fate = match process.is_attached() {
                true => "detached",
                false => "killed",
            };
            let pid = process.pid();
            return Some(format!(
                "A debugging session is active.\n\n\
                 \tInferior 1 [process {pid}] will be {fate}.\n\nQuit anyway?"
            ));
        }
        let text = match name_of(line)? {
            "run" | "start" | "starti" if process.is_some() => {
                "The program being debugged has been started already.\n\
                 Start it from the beginning?"
            }
            "kill" if process.is_some() => "Kill the program being debugged?",
            "delete" if args.is_empty() && !self.points.list.is_empty() => {
                "Delete all breakpoints, watchpoints, and catchpoints?"
            }
            _ => return None,
        };
        Some(text.to_owned())
    }
}
