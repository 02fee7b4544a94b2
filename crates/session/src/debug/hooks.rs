//! Commands that run before and after others: `define hook-CMD`, `define hookpost-CMD`, and
//! `define hook-stop` before every stop is told.

use super::Debugger;
use super::commands::{Reply, entry};
use super::failure::Result;

/// On which side of a command a hook runs.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Before,
    After,
}

impl Side {
    fn name(self, command: &str) -> String {
        match self {
            Side::Before => format!("hook-{command}"),
            Side::After => format!("hookpost-{command}"),
        }
    }
}

/// What became of the program while the hook of stops ran.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hooked {
    Stays,
    WentOn,
}

/// The command that a hook of this name belongs to.
pub(super) fn hooked(name: &str) -> Option<&str> {
    let after = name.strip_prefix("hookpost-");
    after.or_else(|| name.strip_prefix("hook-"))
}

impl Debugger {
    /// A hook of this name will run: short names of commands have none.
    pub(super) fn has_what_to_hook(&self, command: &str) -> bool {
        let own = matches!(command, "stop" | "quit" | "source");
        own || self.user.names().any(|n| n == command)
            || entry(command).is_ok_and(|e| e.name == command)
    }

    /// Runs the hook of a command, if there is one that does not run already.
    pub(super) fn run_hook(&mut self, side: Side, command: &str) -> Result<Reply> {
        if self.user.is_empty() {
            return Ok(Reply::Next(None));
        }
        let name = side.name(command);
        let Some(lines) = self.user.begin(&name) else {
            return Ok(Reply::Next(None));
        };
        let done = self.run_list(&lines, None);
        self.user.end(&name);
        done
    }

    /// Runs `hook-stop`. What a breakpoint has to run waits until the stop is told.
    pub(super) fn run_stop_hook(&mut self) -> Result<Hooked> {
        if self.user.is_empty() {
            return Ok(Hooked::Stays);
        }
        let (due, before) = self.attached.put_off();
        let done = self.run_hook(Side::Before, "stop");
        let hooked = match self.attached.take_up(due, before) {
            true => Hooked::Stays,
            false => Hooked::WentOn,
        };
        match done {
            Ok(Reply::Quit) => {
                // It has run, and the session ends when this command is over.
                self.user.begin("hook-quit");
                self.attached.quit();
                return Ok(Hooked::WentOn);
            }
            Ok(Reply::Next(_)) => {}
            Err(e) if e.is_output_closed() => return Err(e),
            Err(e) => self.say(&format!("Error while running hook_stop:\n{e}"))?,
        }
        Ok(hooked)
    }
}
