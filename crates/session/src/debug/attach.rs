//! A debugger on a process that runs already.

use super::failure::{Failure, Result};
use super::live::Live;
use super::{Debugger, Interrupts};
use std::io::Write;
use std::path::PathBuf;
use verde_engine::{Error, Options, Process, Tid};
use verde_sys::{number, procfs, task};

impl Debugger {
    /// Attaches to a process; all its threads are stopped. Ending the
    /// debugger lets it go on.
    pub fn attach(pid: i32, out: Box<dyn Write>) -> Result<Debugger> {
        let pid = Tid(pid);
        let program = program_of(pid)?;
        let mut debugger = Debugger::open(program, Vec::new(), out)?;
        let options = Options {
            signals: debugger.signals.clone(),
            report_group_stops: debugger.is_attended(),
            follow: debugger.settings.follow,
            ..Options::default()
        };
        let process = Process::attach(pid, options).map_err(|e| refused(pid, &e))?;
        debugger.images.refresh(&process);
        debugger.interrupts.of(process.interrupter());
        let mut live = Live::new(process);
        live.look(pid, &debugger.images)?;
        debugger.live = Some(live);
        let program = debugger.program.display();
        let text = format!("Attaching to program: {program}, process {pid}");
        debugger.say(&text)?;
        debugger.say_frame(0, false)?;
        debugger.out.flush()?;
        Ok(debugger)
    }

    /// Stops the program from another thread.
    pub fn interrupts(&self) -> Interrupts {
        self.interrupts.clone()
    }

    /// Lets an attached program go on, and tells it; a launched one is killed
    /// when the debugger is dropped.
    pub fn end(&mut self) -> Result<()> {
        if let Some(text) = self.unfinished_group() {
            self.say(&text)?;
        }
        match &self.live {
            Some(live) if live.process.is_attached() && live.process.ended().is_none() => {
                self.detach("")
            }
            _ => Ok(()),
        }
    }
}

/// The file a process runs, also when its name is gone.
fn program_of(pid: Tid) -> Result<PathBuf> {
    let link = PathBuf::from(format!("/proc/{pid}/exe"));
    match procfs::executable(pid) {
        Ok(path) if path.exists() => Ok(path),
        Ok(_) => Ok(link),
        Err(e) => Err(refused(pid, &Error::Sys(e))),
    }
}

/// Why a process cannot be attached to, and what helps.
fn refused(pid: Tid, error: &Error) -> Failure {
    let Error::Sys(e) = error else {
        return Failure(format!("process {pid}: {error}"));
    };
    let field = |name| procfs::status_field(pid, pid, name);
    let Some(tracer) = field("TracerPid") else {
        return Failure(format!("process {pid}: no such process"));
    };
    if tracer != "0" {
        return Failure(format!(
            "process {pid} is traced already, by process {tracer}; end or detach that debugger first"
        ));
    }
    if field("State").is_some_and(|s| s.starts_with('Z')) {
        return Failure(format!("process {pid} has ended"));
    }
    match e.errno {
        number::EPERM | number::EACCES if task::is_root() => Failure(format!(
            "process {pid}: not permitted, also to root: it is not to be traced, or this is a \
             container that forbids it"
        )),
        number::EPERM | number::EACCES => Failure(format!(
            "process {pid}: not permitted; it belongs to another user, or \
             /proc/sys/kernel/yama/ptrace_scope forbids it: try as root"
        )),
        // Threads of the kernel have no program.
        number::ENOENT => Failure(format!("process {pid} runs no program")),
        _ => Failure(format!("process {pid}: {error}")),
    }
}
