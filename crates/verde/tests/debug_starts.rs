//! Nothing stays of a start in whose midst the debugger is killed.

use std::collections::HashSet;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use verde_sys::launch::{Launch, launch};
use verde_sys::procfs::Stat;
use verde_sys::ptrace::{self, Go};
use verde_sys::wait::{self, Event, WaitStatus};
use verde_sys::{Tid, number, signals};

type Failure = Box<dyn std::error::Error>;

/// When the debugger is killed: at its so-manieth fork, before the new process does anything, or
/// so many stops of system calls later, while that does what it wants.
#[derive(Clone, Copy, Debug)]
struct Moment {
    fork: usize,
    stops: usize,
}

fn nothing() -> std::io::Result<OwnedFd> {
    let file = File::options().read(true).write(true).open("/dev/null")?;
    Ok(file.into())
}

/// Kills a debugger that starts a program. The processes that it has made; `None` if it ends
/// before.
fn killed_at(moment: Moment, options: &[&str]) -> Result<Option<Vec<Tid>>, Failure> {
    let args = ["debug", "--batch", "--ex", "run"].iter().chain(options);
    let args = args.chain(&["/bin/true"]).map(Into::into).collect();
    let verde = launch(&Launch {
        program: env!("CARGO_BIN_EXE_verde").into(),
        args,
        stdio: [Some(nothing()?), Some(nothing()?), Some(nothing()?)],
        ..Launch::default()
    })?;
    let verde = verde.pid;
    ptrace::resume(verde, Go::Continue, 0)?;
    let (mut made, mut early) = (Vec::new(), HashSet::new());
    let mut stops = None;
    loop {
        let Some((tid, status)) = wait::any(true)? else {
            continue;
        };
        let mut signal = 0;
        match status {
            WaitStatus::Exited(_) | WaitStatus::Killed { .. } if tid == verde => return Ok(None),
            WaitStatus::Exited(_) | WaitStatus::Killed { .. } => continue,
            WaitStatus::Event(Event::Fork) => {
                let child = Tid(i32::try_from(ptrace::event_message(tid)?)?);
                if !early.remove(&child) {
                    wait::task(child)?;
                }
                made.push(child);
                let is_wanted = made.len() == moment.fork;
                if is_wanted && moment.stops == 0 {
                    kill(verde)?;
                    ptrace::detach(child, 0)?;
                    return Ok(Some(made));
                }
                if is_wanted {
                    stops = Some(moment.stops);
                }
                ptrace::detach(child, 0)?;
            }
            // The debugger must be able to trace what it has made: it is not resumed as ours.
            WaitStatus::Interrupt if Stat::open(verde, tid).is_err() => {
                early.insert(tid);
                continue;
            }
            WaitStatus::Syscall => {
                stops = stops.map(|n: usize| n.saturating_sub(1));
                if stops == Some(0) {
                    kill(verde)?;
                    return Ok(Some(made));
                }
            }
            WaitStatus::Signal(other) => signal = other,
            _ => {}
        }
        let go = stops.map_or(Go::Continue, |_| Go::Syscall);
        ptrace::resume(tid, go, signal)?;
    }
}

/// Until it is dead.
fn kill(process: Tid) -> Result<(), Failure> {
    signals::send(process, number::SIGKILL)?;
    loop {
        match wait::any(true)? {
            Some((tid, status)) if status.is_end() && tid == process => return Ok(()),
            // On its way to the end.
            Some((tid, _)) if Stat::open(process, tid).is_ok() => {
                let _ = ptrace::resume(tid, Go::Continue, 0);
            }
            _ => {}
        }
    }
}

/// It runs no more: it has no memory. Whoever adopts it, or what was in its namespace, may take
/// its time to reap it.
fn is_gone(process: Tid) -> bool {
    let program = std::fs::read_link(format!("/proc/{process}/exe"));
    program.is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound)
}

/// Those that do not end. They are killed.
fn strays(made: Vec<Tid>) -> Result<usize, Failure> {
    let limit = Instant::now() + Duration::from_secs(10);
    while Instant::now() < limit && !made.iter().all(|process| is_gone(*process)) {
        std::thread::yield_now();
    }
    let left: Vec<Tid> = made.into_iter().filter(|p| !is_gone(*p)).collect();
    for process in &left {
        signals::send(*process, number::SIGKILL)?;
    }
    Ok(left.len())
}

/// The debugger is killed at all its forks, and then at stop after stop.
fn nothing_stays(options: &[&str], forks: usize, stops: usize) -> Result<(), Failure> {
    for fork in 1..=forks {
        for stops in 0..=stops {
            let moment = Moment { fork, stops };
            let made = killed_at(moment, options)?.ok_or("it ended before")?;
            assert_eq!(strays(made)?, 0, "{options:?} {moment:?}");
        }
    }
    Ok(())
}

#[test]
fn nothing_stays_of_a_program() -> Result<(), Failure> {
    nothing_stays(&[], 1, 16)
}

/// There the first fork is the namespace's first process, the next one the program.
#[test]
fn nothing_stays_of_a_namespace() -> Result<(), Failure> {
    nothing_stays(&["--namespace"], 2, 32)
}
