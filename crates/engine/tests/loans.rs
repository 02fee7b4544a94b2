//! Children that the program makes by unusual calls, or at the last moment.

mod common;

use common::{Output, Program, compile, exec, next, run_out, transparent, until, waits_for_input};
use std::fs;
use std::io::Write;
use std::os::fd::OwnedFd;
use verde_engine::{Cause, End, Error, Launch, Process, Tid};
use verde_sys::{WaitStatus, number, procfs, signals, wait};

/// Whether a child has the memory or a copy of it is another question than how
/// the kernel calls its birth: no call of the program is lost, none of a child
/// counts.
#[test]
fn children_by_any_flags() {
    let program = compile("clones.c", &["-O1", "-w"]);
    for kind in [
        "shared",
        "shared without a signal",
        "shared with all",
        "copied",
        "copied without a signal",
        "copied with another signal",
        "copied and waited for",
    ] {
        let mut process = program.launch(&[kind]);
        let f = program.address(&process, "f");
        let f = exec(&mut process, f);
        let mut hits = 0;
        let end = run_out(&mut process, |_, stop| {
            hits += stop.traps().filter(|id| *id == f).count();
        });
        assert_eq!((end, hits), (End::Exited(0), 20), "{kind}");
    }
}

/// A child that has the memory for good does not keep the debugger, and runs on.
#[test]
fn released_with_a_child_that_shares_the_memory() {
    let program = compile("clones.c", &["-O1", "-w"]);
    let (input, mut feed) = std::io::pipe().expect("a pipe");
    let launch = Launch {
        program: program.path.clone(),
        args: vec!["stay".into()],
        stdio: [Some(OwnedFd::from(input)), None, None],
        ..Launch::default()
    };
    let mut process = Process::launch(&launch, transparent()).expect("launched");
    drop(launch);
    let f = program.address(&process, "f");
    exec(&mut process, f);
    process.resume_all().expect("goes on");
    feed.write_all(b"x").expect("written");
    let stop = next(&mut process);
    assert_eq!(stop.traps().count(), 1, "the program's own call");
    let pid = process.pid();
    process.detach().expect("detached");
    drop(feed);
    let end = wait::task(pid).expect("its end");
    assert_eq!(end, WaitStatus::Exited(0));
}

/// A program whose vfork child keeps the memory until it is fed.
fn with_a_slow_child() -> (Process, std::io::PipeWriter) {
    let program = compile("clones.c", &["-O1", "-w"]);
    let (input, feed) = std::io::pipe().expect("a pipe");
    let launch = Launch {
        program: program.path.clone(),
        args: vec!["slow".into()],
        stdio: [Some(OwnedFd::from(input)), None, None],
        ..Launch::default()
    };
    let process = Process::launch(&launch, transparent()).expect("launched");
    drop(launch);
    (process, feed)
}

/// A thread that waits for its vfork child cannot stop; it does as soon as it can.
#[test]
fn interrupted_while_a_child_has_the_memory() {
    let (mut process, feed) = with_a_slow_child();
    let (pid, interrupter) = (process.pid(), process.interrupter());
    process.resume_all().expect("goes on");
    let ringer = std::thread::spawn(move || {
        let children = format!("/proc/{pid}/task/{pid}/children");
        let made = || fs::read_to_string(&children).is_ok_and(|c| !c.is_empty());
        until("a child", made);
        interrupter.interrupt();
        drop(feed);
    });
    let stop = next(&mut process);
    ringer.join().expect("rung");
    assert!(stop.causes.contains(&Cause::Interrupted), "{stop:?}");
    assert!(process.is_stopped(pid));
}

/// Somebody wants it to stop, which cannot be yet, and somebody else has called: the call is heard.
#[test]
fn woken_while_an_interrupt_waits_for_a_child() {
    let (mut process, feed) = with_a_slow_child();
    let (pid, interrupter) = (process.pid(), process.interrupter());
    let ringer = interrupter.clone();
    process.resume_all().expect("goes on");
    let rung = std::thread::spawn(move || {
        let children = format!("/proc/{pid}/task/{pid}/children");
        until("a child that reads, and its parent waits for it", || {
            let child = fs::read_to_string(&children).unwrap_or_default();
            let child = child.trim().parse().map(Tid);
            // It may be let go before its parent is.
            let state = procfs::status_field(pid, pid, "State");
            child.is_ok_and(waits_for_input) && state.is_some_and(|s| s.starts_with('D'))
        });
        ringer.wake();
    });
    assert!(process.wait().expect("woken").is_none());
    rung.join().expect("rung");
    interrupter.interrupt();
    interrupter.wake();
    // Who does not hear it is not to wait for ever.
    let (heard, hears) = std::sync::mpsc::channel::<()>();
    let patience = std::thread::spawn(move || {
        let _ = hears.recv_timeout(std::time::Duration::from_secs(10));
        drop(feed);
    });
    let woken = process.wait().expect("woken");
    assert!(woken.is_none(), "{woken:?}");
    drop(heard);
    let stop = next(&mut process);
    patience.join().expect("patience");
    assert!(stop.causes.contains(&Cause::Interrupted), "{stop:?}");
}

/// A child that has the memory is killed while it runs into traps: nothing is to be said of it.
#[test]
fn a_child_that_has_the_memory_is_killed() {
    let program = compile("clones.c", &["-O1", "-w"]);
    for _ in 0..20 {
        let (process, output) = program.launch_with(&["lost"], transparent());
        let mut process = process;
        let f = program.address(&process, "f");
        exec(&mut process, f);
        let pid = process.pid();
        let killer = std::thread::spawn(move || {
            let children = format!("/proc/{pid}/task/{pid}/children");
            until("a child", || {
                let child = fs::read_to_string(&children).unwrap_or_default();
                let child = child.trim().parse().ok().map(Tid);
                let ran = |c: &Tid| signals::send(*c, number::SIGKILL).is_ok();
                output.text().contains("calls") && child.is_some_and(|c| ran(&c))
            });
        });
        assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(9));
        killer.join().expect("killed");
    }
}

fn tracees() -> Vec<i32> {
    let me = signals::current_thread().to_string();
    let traced = |pid: &i32| {
        let pid = Tid(*pid);
        verde_sys::procfs::status_field(pid, pid, "TracerPid").is_some_and(|t| t == me)
    };
    let all = fs::read_dir("/proc").expect("processes").flatten();
    let all = all.filter_map(|e| e.file_name().to_str()?.parse().ok());
    all.filter(traced).collect()
}

/// A program with a child that was just made, of which nobody has heard.
fn just_made(program: &Program) -> (Process, Output) {
    let (mut process, output) = program.launch_with(&["1"], transparent());
    let f = program.address(&process, "f");
    exec(&mut process, f);
    process.resume_all().expect("goes on");
    let maker = next(&mut process).tid;
    process.resume(maker).expect("goes on");
    let pid = process.pid();
    until("a child is made", || {
        let state = verde_sys::procfs::status_field(pid, maker, "State");
        state.is_some_and(|s| s.starts_with('t'))
    });
    (process, output)
}

/// The program is killed, and only the child tells of its birth: it lives on.
#[test]
fn a_child_of_a_killed_program() {
    let program = compile("makers.c", &["-O1"]);
    let (mut process, output) = just_made(&program);
    signals::send(process.pid(), number::SIGKILL).expect("killed");
    assert_eq!(run_out(&mut process, |_, _| {}), End::Killed(9));
    until("the child has run", || output.text() == "it lives\n");
}

/// The debugger kills the program, and has heard of the child or has not.
#[test]
fn a_child_of_a_program_that_the_debugger_kills() {
    let program = compile("makers.c", &["-O1"]);
    for heard in [false, true] {
        let (mut process, output) = just_made(&program);
        if heard {
            process.stop_all().expect("stopped").keep();
        }
        process.kill().expect("killed");
        until("the child has run", || output.text() == "it lives\n");
    }
}

/// The program ends before it was decided what becomes of the child.
#[test]
fn a_child_of_a_program_that_ends() {
    let program = compile("makers.c", &["-O1"]);
    let (mut process, output) = just_made(&program);
    process.stop_all().expect("stopped").keep();
    let (pid, leave) = (process.pid(), program.address(&process, "leave"));
    let result = process.call_function(pid, leave, &[], |_| {});
    assert!(matches!(result, Err(Error::Gone)), "{result:?}");
    assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(9));
    until("the child has run", || output.text() == "it lives\n");
}

/// Threads make children while the world is stopped again and again, and then
/// the program ends: nobody is left with a debugger.
#[test]
fn no_child_is_left_behind() {
    let program = compile("makers.c", &["-O1"]);
    for _ in 0..20 {
        let mut process = program.launch(&["4"]);
        let f = program.address(&process, "f");
        exec(&mut process, f);
        let end = run_out(&mut process, |process, _| {
            drop(process.stop_all().expect("stopped"));
        });
        assert_eq!(end, End::Exited(9));
        let pid = process.pid().0;
        until("all are let go", || tracees().iter().all(|t| *t == pid));
    }
}
