//! The terminal belongs to the program while it runs, and to the debugger
//! while it is stopped.

use super::Debugger;
use std::io::IsTerminal;
use verde_sys::terminal::{Impatience, Streams, Terminal, TerminalSettings};

/// The terminal that the debugger and a launched program share.
#[derive(Default)]
pub(super) struct Shared {
    /// Somebody is to use the program through it.
    wanted: bool,
    terminal: Option<Terminal>,
    /// A prompt must wait for its lines, also where the program does not want to wait for its.
    streams: Streams,
    /// Somebody reads lines from it although the program is about to run.
    pub kept: bool,
}

/// What the program has made of the terminal and the streams that it shares with us.
pub(super) struct Manners {
    settings: Option<TerminalSettings>,
    impatience: Impatience,
}

impl Shared {
    /// Takes note of the terminal, if somebody sits at one. `true`: the
    /// program is to be started in a process group of its own.
    pub fn open(&mut self) -> bool {
        self.terminal = match self.wanted && std::io::stdin().is_terminal() {
            true => Terminal::open(),
            false => None,
        };
        self.terminal.is_some()
    }

    /// The program is stopped or gone: the terminal is the debugger's.
    pub fn take(&mut self) {
        self.streams.take();
        if let Some(terminal) = &mut self.terminal
            && let Err(error) = terminal.take()
        {
            tell(&error);
        }
    }

    /// What the program has when it runs.
    pub fn of_program(&self) -> Manners {
        Manners {
            settings: self.terminal.as_ref().and_then(Terminal::program_settings),
            impatience: self.streams.of_program(),
        }
    }

    /// The program is what it was: so is what it has made of these.
    pub fn go_back(&mut self, then: &Manners) {
        self.streams.set_of_program(then.impatience);
        if let (Some(terminal), Some(settings)) = (&mut self.terminal, &then.settings)
            && let Err(error) = terminal.set_program_settings(settings)
        {
            tell(&error);
        }
    }

    /// There is no program any more.
    pub fn close(&mut self) {
        self.take();
        self.streams.close();
        self.terminal = None;
    }
}

/// A terminal that is gone hangs up on both sides, which they notice.
fn tell(error: &verde_sys::SysError) {
    tracing::debug!(%error, "terminal not handed over");
}

impl Debugger {
    /// Commands will be read from standard input: a restore leaves it where it is, also for a
    /// program that has the same.
    pub fn read_input(&mut self) {
        self.reads_input = true;
    }

    /// The programs launched get the terminal while they run, and ^C.
    pub fn share_terminal(&mut self) {
        self.terminal.wanted = true;
    }

    /// The program is about to run: it reads the terminal, and gets ^C.
    pub(super) fn give_terminal(&mut self) {
        if self.terminal.kept {
            return;
        }
        self.terminal.streams.give();
        if let (Some(live), Some(terminal)) = (&self.live, &mut self.terminal.terminal)
            && let Err(error) = terminal.give(live.process.pid())
        {
            tell(&error);
        }
    }
}
