//! The debugger behind the prompt: in this process, or in one that holds an
//! attached program.

use super::reader::Completion;
use crate::paint::Paint;
use crate::{MonitorSetup, Web};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use verde_session::debug::{self, Debugger, Failure, Output, Remote, Reply};

/// What the prompt needs of a debugger.
pub(super) trait Commands {
    fn execute(&mut self, line: &str) -> Result<Reply, Failure>;
    fn source(&mut self, path: &Path) -> Result<Reply, Failure>;
    fn prompt(&self) -> String;
    /// ^C at the prompt: a list that has no end yet is given up.
    fn give_up_typed(&mut self) -> Result<Reply, Failure>;
    /// What to ask before a line that somebody typed is run.
    fn question(&self, line: &str) -> Option<String>;
    fn completion(&self) -> Completion;
    /// The debugger, if it is here and others watch and command it, too.
    fn watched(&mut self) -> Option<&mut Debugger> {
        None
    }
    /// There is something to do while nobody wants anything.
    fn has_idle_work(&mut self) -> bool {
        false
    }
    /// Does it.
    fn use_idle_time(&mut self) {}
    /// The session is over: a launched program ends, an attached one goes on.
    fn end(&mut self);
}

/// A debugger for a program that is not started yet.
pub(super) fn open(
    program: PathBuf,
    args: Vec<OsString>,
    batch: bool,
    monitors: &MonitorSetup,
    web: Web,
) -> Result<Box<dyn Commands>, Failure> {
    let out = Box::new(std::io::stdout());
    let mut debugger = match batch {
        true => Debugger::open(program, args, out)?,
        false => {
            let (debugger, missing) = Debugger::open_or_wait(program, args, out)?;
            if let Some(why) = missing {
                super::complain(&why.to_string());
            }
            debugger
        }
    };
    // A program that runs gets ^C itself, and its stop brings the prompt back.
    let interrupts = debugger.interrupts();
    on_interrupt(move || interrupts.give_up_call())?;
    debugger.share_terminal();
    if !batch {
        debugger.read_input();
    }
    prepare(monitors, web, &mut debugger)?;
    Ok(Box::new(debugger))
}

/// A debugger for a process that runs; it is stopped.
pub(super) fn attach(
    pid: i32,
    monitors: &MonitorSetup,
    web: Web,
) -> Result<Box<dyn Commands>, Failure> {
    if monitors.automation.often.is_some() {
        return Err(Failure(
            "--auto-checkpoint and --auto-zoom need a program that is started here: a process \
             that was attached to cannot be restored, for its parent would see it die"
                .to_owned(),
        ));
    }
    // Before anything that needs a thread: the process splits.
    let remote = debug::attach(pid, |debugger| prepare(monitors, web, debugger))?;
    let interrupt = remote.interrupt()?;
    on_interrupt(move || interrupt.interrupt())?;
    let remote = Arc::new(Mutex::new(Some(remote)));
    Ok(Box::new(Attached { remote }))
}

/// Does something at every ^C.
fn on_interrupt(act: impl Fn() + Send + 'static) -> Result<(), Failure> {
    let mut signals = signal_hook::iterator::Signals::new([signal_hook::consts::SIGINT])?;
    std::thread::Builder::new().spawn(move || {
        for _ in signals.forever() {
            act();
        }
    })?;
    Ok(())
}

/// What is wrong with properties was shown where it was found.
fn prepare(monitors: &MonitorSetup, web: Web, debugger: &mut Debugger) -> Result<(), Failure> {
    if Paint::stdout().on() && std::env::var_os("TERM").is_some_and(|t| t != "dumb") {
        debugger.use_colours();
    }
    let loaded = monitors.load(debugger, Output::Prompt);
    loaded.map_err(|_| Failure("the properties cannot be used".to_owned()))?;
    web.open(debugger)
}

impl Commands for Debugger {
    fn execute(&mut self, line: &str) -> Result<Reply, Failure> {
        Debugger::execute(self, line)
    }

    fn source(&mut self, path: &Path) -> Result<Reply, Failure> {
        Debugger::source(self, path)
    }

    fn prompt(&self) -> String {
        Debugger::prompt(self).to_owned()
    }

    fn give_up_typed(&mut self) -> Result<Reply, Failure> {
        Debugger::give_up_typed(self);
        Ok(Reply::Next(None))
    }

    fn question(&self, line: &str) -> Option<String> {
        Debugger::question(self, line)
    }

    fn completion(&self) -> Completion {
        let completer = self.completer();
        Box::new(move |line| completer.complete(line))
    }

    fn watched(&mut self) -> Option<&mut Debugger> {
        self.is_watched().then_some(self)
    }

    fn has_idle_work(&mut self) -> bool {
        Debugger::has_idle_work(self)
    }

    fn use_idle_time(&mut self) {
        Debugger::use_idle_time(self);
    }

    fn end(&mut self) {
        // Nobody is left to tell.
        let _ = Debugger::end(self);
    }
}

fn lock(remote: &Mutex<Option<Remote>>) -> MutexGuard<'_, Option<Remote>> {
    remote.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shared with the line editor, which asks for completions.
struct Attached {
    remote: Arc<Mutex<Option<Remote>>>,
}

impl Attached {
    fn with<T>(&self, otherwise: T, act: impl FnOnce(&mut Remote) -> T) -> T {
        match lock(&self.remote).as_mut() {
            Some(remote) => act(remote),
            None => otherwise,
        }
    }
}

impl Commands for Attached {
    fn execute(&mut self, line: &str) -> Result<Reply, Failure> {
        self.with(Ok(Reply::Quit), |remote| remote.execute(line))
    }

    fn source(&mut self, path: &Path) -> Result<Reply, Failure> {
        self.with(Ok(Reply::Quit), |remote| remote.source(path))
    }

    fn prompt(&self) -> String {
        self.with(String::new(), |remote| remote.prompt().to_owned())
    }

    fn give_up_typed(&mut self) -> Result<Reply, Failure> {
        self.with(Ok(Reply::Quit), Remote::give_up_typed)
    }

    fn question(&self, line: &str) -> Option<String> {
        self.with(None, |remote| remote.question(line))
    }

    fn completion(&self) -> Completion {
        let remote = self.remote.clone();
        Box::new(move |line| match lock(&remote).as_mut() {
            Some(remote) => remote.complete(line),
            None => (line.len(), Vec::new()),
        })
    }

    fn end(&mut self) {
        let remote = lock(&self.remote).take();
        if let Some(remote) = remote {
            remote.end();
        }
    }
}
