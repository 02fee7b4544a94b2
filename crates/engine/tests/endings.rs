//! A program ends, or becomes another one, while its threads are busy with
//! stops of which nobody hears.

mod common;

use common::{Program, compile, exec, next, run_out};
use std::sync::mpsc;
use std::time::Duration;
use verde_engine::{Cause, End, Error, On, Owner, Process, Tid, Trap};
use verde_sys::{number, signals};

/// Fails instead of hanging.
fn in_time<T>(what: impl FnOnce() -> T) -> T {
    let (done, wait) = mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        if wait.recv_timeout(Duration::from_secs(60)) == Err(mpsc::RecvTimeoutError::Timeout) {
            eprintln!("it hangs");
            std::process::exit(101);
        }
    });
    let result = what();
    drop(done);
    watch.join().expect("the watch ends");
    result
}

fn guarded(program: &Program, args: &[&str]) -> Process {
    let mut process = program.launch(args);
    let at = program.address(&process, "data");
    watch_in_main(program, &mut process, On::Write { at, len: 64 });
    process
}

/// Runs to `main` and watches there.
fn watch_in_main(program: &Program, process: &mut Process, on: On) {
    let main = program.address(process, "main");
    let here = exec(process, main);
    process.resume_all().expect("goes on");
    process.wait().expect("waits").expect("main");
    process.remove(here).expect("removed");
    process.insert(Trap::new(on, Owner::User)).expect("a watch");
}

#[test]
fn an_exit_among_stops() {
    let program = compile("endings.c", &["-O1"]);
    for _ in 0..3 {
        in_time(|| {
            let mut process = guarded(&program, &[]);
            assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(9));
        });
    }
}

#[test]
fn an_exec_among_stops() {
    let program = compile("endings.c", &["-O1"]);
    let path = program.path.to_str().expect("a name").to_owned();
    for _ in 0..3 {
        in_time(|| {
            let mut process = guarded(&program, &[&path]);
            let mut execs = 0;
            let end = run_out(&mut process, |_, stop| {
                execs += stop.causes.iter().filter(|c| **c == Cause::Exec).count();
            });
            assert_eq!((end, execs), (End::Exited(6), 1));
        });
    }
}

#[test]
fn killed_among_stops() {
    let program = compile("endings.c", &["-O1"]);
    in_time(|| {
        let mut process = guarded(&program, &[]);
        process.resume_all().expect("goes on");
        // Its exit is told, so that all are there when it is killed.
        process
            .insert(Trap::new(On::Thread, Owner::User))
            .expect("a trap");
        loop {
            let stop = process.wait().expect("waits").expect("a stop");
            if stop
                .causes
                .iter()
                .any(|c| matches!(c, Cause::ThreadExit(_)))
            {
                break;
            }
            process.resume(stop.tid).expect("goes on");
        }
        process.kill().expect("killed");
        assert!(process.ended().is_some());
    });
}

/// Threads that contend on a page where every access is watched.
fn contended(program: &Program, args: &[&str]) -> Process {
    let mut process = program.launch(args);
    let at = program.address(&process, "page");
    watch_in_main(program, &mut process, On::Read { at, len: 64 });
    process
}

/// What the end is when a signal comes at the stop of this number, while
/// threads are amid their work on the guarded page.
fn end_by(program: &Program, signal: i32, when: usize) -> End {
    in_time(|| {
        let mut process = contended(program, &[]);
        let pid = process.pid();
        let mut stops = 0;
        run_out(&mut process, |_, _| {
            stops += 1;
            if stops == when {
                signals::send(pid, signal).expect("sent");
            }
        })
    })
}

/// Whatever the engine is doing then, the end is what it tells next.
#[test]
fn a_fatal_signal_amid_the_work_on_guarded_pages() {
    let program = compile("contended.c", &["-O1"]);
    for signal in [number::SIGKILL, number::SIGTERM] {
        for when in 1..=20 {
            let end = end_by(&program, signal, when);
            assert_eq!(end, End::Killed(signal), "at stop {when}");
        }
    }
}

/// The signal comes from elsewhere while the engine works.
#[test]
fn killed_while_the_engine_works_on_guarded_pages() {
    let program = compile("contended.c", &["-O1"]);
    for when in 1..=20 {
        let end = in_time(|| {
            let mut process = contended(&program, &[]);
            let pid = process.pid();
            let (tell, told) = mpsc::channel::<()>();
            let killer = std::thread::spawn(move || {
                for _ in 0..when {
                    told.recv().expect("a stop");
                }
                signals::send(pid, number::SIGKILL).expect("sent");
            });
            let end = run_out(&mut process, |_, _| {
                // It has heard enough when it is gone.
                let _ = tell.send(());
            });
            killer.join().expect("sent");
            end
        });
        assert_eq!(end, End::Killed(number::SIGKILL), "after stop {when}");
    }
}

#[test]
fn an_exit_amid_the_work_on_guarded_pages() {
    let program = compile("contended.c", &["-O1"]);
    for rounds in 1..=12 {
        let end = in_time(|| {
            let mut process = contended(&program, &[&rounds.to_string()]);
            run_out(&mut process, |_, _| {})
        });
        assert_eq!(end, End::Exited(7), "after {rounds} rounds");
    }
}

/// A program that executes itself anew, when the end of the first thread that
/// makes place was told.
fn kept_end(program: &Program) -> (Process, Tid) {
    let mut process = program.launch(&[]);
    let threads = Trap::new(On::Thread, Owner::User);
    process.insert(threads).expect("a trap");
    process.resume_all().expect("goes on");
    loop {
        let stop = next(&mut process);
        let ends = |c: &Cause| matches!(c, Cause::ThreadExit(_));
        if stop.causes.iter().any(ends) {
            return (process, stop.tid);
        }
        process.resume(stop.tid).expect("goes on");
    }
}

/// The exec waits for the end of a thread that was told, and is kept. It cannot
/// be stopped, so the end happens when the world is to stop.
#[test]
fn an_exec_that_waits_for_a_kept_end() {
    let program = compile("exec_kept.c", &["-O1"]);
    let (mut process, _) = kept_end(&program);
    in_time(|| {
        drop(process.stop_all().expect("stopped"));
        let mut execs = 0;
        let end = run_out(&mut process, |_, stop| {
            execs += stop.causes.iter().filter(|c| **c == Cause::Exec).count();
        });
        assert_eq!((end, execs), (End::Exited(6), 1));
    });
}

/// A thread at its end can call nothing any more.
#[test]
fn no_call_in_a_thread_that_ends() {
    let program = compile("exec_kept.c", &["-O1"]);
    let (mut process, ended) = kept_end(&program);
    let answer = program.address(&process, "answer");
    let refused = process.call_function(ended, answer, &[], |_| {});
    assert!(matches!(refused, Err(Error::NotNow(_))), "{refused:?}");
}
