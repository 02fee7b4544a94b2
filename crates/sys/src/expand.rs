//! Arguments and redirections as a shell understands them.
//!
//! A shell is asked to replace itself by a command that does nothing, with the
//! arguments it was given. At that exec it is stopped for good: the kernel knows
//! the words, and the descriptors are open as the redirections say. The program
//! itself is started elsewhere, so that it gets nothing else from the shell: no
//! variables, no other id, no second exec.

use crate::error::{Result, SysError};
use crate::launch::{Launch, launch};
use crate::pidfd::PidFd;
use crate::wait::{self, Event, WaitStatus};
use crate::{Tid, descriptor, number, ptrace, signals};
use std::ffi::{OsStr, OsString};
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// What became of a line.
#[derive(Debug)]
pub enum Expansion {
    /// The words, and every descriptor that a program started with them has.
    Words(Vec<OsString>, Vec<(RawFd, OwnedFd)>),
    /// The shell ended instead, and has said why: a file is not there.
    Exited(i32),
    /// A signal ended the shell.
    Killed(i32),
}

/// What the shell becomes. It does nothing, should it run where nobody looks: behind a pipe.
const COMMAND: [&str; 3] = ["/bin/sh", "-c", ":"];

/// Lets a shell split and expand a line, in an environment and a directory.
pub fn expand(
    shell: PathBuf,
    line: &str,
    env: Option<Vec<(OsString, OsString)>>,
    cwd: Option<PathBuf>,
) -> Result<Expansion> {
    let mark = format!("verde-{}", std::process::id());
    let text = format!("exec {} {mark} {line}", COMMAND.join(" "));
    let started = launch(&Launch {
        program: shell,
        args: vec!["-c".into(), text.into()],
        env,
        cwd,
        ..Launch::default()
    })?;
    let tid = started.pid;
    let done = PidFd::open(tid).and_then(|held| follow(tid, &held, &mark));
    if !matches!(done, Ok(Expansion::Exited(_) | Expansion::Killed(_))) {
        signals::send(tid, number::SIGKILL)?;
        while !is_end(wait::task(tid)?) {}
    }
    done
}

fn is_end(status: WaitStatus) -> bool {
    matches!(status, WaitStatus::Exited(_) | WaitStatus::Killed { .. })
}

/// Lets the shell run up to the exec that was asked for.
fn follow(tid: Tid, held: &PidFd, mark: &str) -> Result<Expansion> {
    // What it starts for the words' sake is its own affair.
    ptrace::only_exec(tid)?;
    let mut signal = 0;
    loop {
        ptrace::resume(tid, ptrace::Go::Continue, signal)?;
        signal = 0;
        match wait::task(tid)? {
            WaitStatus::Event(Event::Exec) => {
                if let Some(words) = words_of(tid, mark)? {
                    return Ok(Expansion::Words(words, open_in(tid, held)?));
                }
            }
            WaitStatus::Exited(code) => return Ok(Expansion::Exited(code)),
            WaitStatus::Killed { signal, .. } => return Ok(Expansion::Killed(signal)),
            WaitStatus::Signal(other) => signal = other,
            _ => {}
        }
    }
}

/// The words behind the mark, if this is the command.
fn words_of(tid: Tid, mark: &str) -> Result<Option<Vec<OsString>>> {
    let line = std::fs::read(format!("/proc/{tid}/cmdline"));
    let line = line.map_err(|e| SysError::from_io("read /proc/pid/cmdline", &e))?;
    // Each word has its zero.
    let line = line.strip_suffix(&[0]).unwrap_or(&line);
    let mut words = line.split(|byte| *byte == 0);
    let wanted = COMMAND.into_iter().chain([mark]);
    for known in wanted {
        if words.next() != Some(known.as_bytes()) {
            return Ok(None);
        }
    }
    let words = words.map(|word| OsStr::from_bytes(word).to_owned());
    Ok(Some(words.collect()))
}

fn open_in(tid: Tid, held: &PidFd) -> Result<Vec<(RawFd, OwnedFd)>> {
    let numbers = descriptor::numbers(tid)?.into_iter();
    let taken = numbers.map(|number| Ok((number, held.descriptor(number)?)));
    taken.collect()
}
