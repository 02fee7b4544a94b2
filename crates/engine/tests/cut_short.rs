//! System calls that the debugger stops: at their entry, or in their wait.

mod common;

use common::{compile, next, run_out, until};
use std::fs;
use verde_engine::{Cause, End, On, Owner, Process, Stop, Tid, Trap, Treatment};
use verde_sys::{WaitStatus, number, procfs, signals, wait};

fn waits_for_events(pid: Tid) -> bool {
    let call = fs::read_to_string(format!("/proc/{pid}/syscall"));
    call.is_ok_and(|c| c.starts_with(&format!("{} ", number::SYS_epoll_wait)))
}

/// A stop within the wait.
fn interrupted(process: &mut Process) -> Stop {
    let (pid, interrupter) = (process.pid(), process.interrupter());
    process.resume_all().expect("goes on");
    let ringer = std::thread::spawn(move || {
        until("it waits", || waits_for_events(pid));
        interrupter.interrupt();
    });
    let stop = next(process);
    ringer.join().expect("rung");
    assert!(stop.causes.contains(&Cause::Interrupted), "{stop:?}");
    stop
}

/// Runs the program to its end; the values of the calls that were told.
fn told_calls(process: &mut Process) -> (End, Vec<Option<i64>>) {
    let mut told = Vec::new();
    let end = run_out(process, |_, stop| {
        told.extend(stop.causes.iter().filter_map(|c| match c {
            Cause::Syscall { value, .. } => Some(*value),
            _ => None,
        }));
    });
    (end, told)
}

/// The call is made again after a stop; a signal that came meanwhile ends it all the same.
#[test]
fn a_handled_signal_ends_a_call_that_is_made_again() {
    const RESTART: &str = "268435456";
    let program = compile("cut_short.c", &["-O1"]);
    for args in [["0", "-1"], [RESTART, "-1"], ["0", "60000"]] {
        let mut process = program.launch(&args);
        interrupted(&mut process);
        interrupted(&mut process);
        signals::send(process.pid(), number::SIGUSR1).expect("sent");
        assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0), "{args:?}");
    }
}

/// One that its program ignores does not.
#[test]
fn an_ignored_signal_does_not() {
    let program = compile("cut_short.c", &["-O1"]);
    let mut process = program.launch(&["0", "-1"]);
    interrupted(&mut process);
    signals::send(process.pid(), number::SIGWINCH).expect("sent");
    interrupted(&mut process);
    signals::send(process.pid(), number::SIGUSR1).expect("sent");
    assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0));
}

/// Nor one that the debugger keeps from its program.
#[test]
fn a_signal_kept_from_the_program_does_not() {
    let program = compile("cut_short.c", &["-O1"]);
    for pass in [false, true] {
        let mut process = program.launch(&["0", "-1"]);
        let treatment = Treatment {
            stop: true,
            print: true,
            pass,
        };
        process.options.signals.set(number::SIGINT, treatment);
        process.resume_all().expect("goes on");
        let pid = process.pid();
        let sender = std::thread::spawn(move || {
            until("it waits", || waits_for_events(pid));
            signals::send(pid, number::SIGINT).expect("sent");
        });
        let stop = next(&mut process);
        sender.join().expect("sent");
        let told = |c: &Cause| matches!(c, Cause::Signal { .. });
        assert!(stop.causes.iter().any(told), "{stop:?}");
        if pass {
            process.cancel_signal(stop.tid).expect("cancelled");
        }
        interrupted(&mut process);
        signals::send(process.pid(), number::SIGUSR1).expect("sent");
        assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0));
    }
}

fn at_entry(process: &mut Process, call: i64) -> Tid {
    let on = On::Syscall(Some(call.cast_unsigned()));
    process.insert(Trap::new(on, Owner::User)).expect("a trap");
    process.resume_all().expect("goes on");
    let stop = next(process);
    let enters = |c: &Cause| matches!(c, Cause::Syscall { value: None, .. });
    assert!(stop.causes.iter().any(enters), "{stop:?}");
    stop.tid
}

#[test]
fn a_program_released_at_a_call_makes_it() {
    let program = compile("timeouts.c", &["-O1", "-lrt"]);
    for call in ["epoll_wait", "epoll_raw"] {
        let mut process = program.launch(&[call]);
        let tid = at_entry(&mut process, number::SYS_epoll_wait);
        process.detach().expect("detaches");
        assert_eq!(wait::task(tid).expect("its end"), WaitStatus::Exited(0));
    }
}

/// A function called at a call's entry leaves the call to be made, which is told once.
#[test]
fn a_function_called_at_a_call() {
    let program = compile("says.c", &["-O1"]);
    let (mut process, output) = program.launch_with(&[], common::transparent());
    let tid = at_entry(&mut process, number::SYS_write);
    let square = program.address(&process, "square");
    let result = process.call_function(tid, square, &[7], |_| {});
    assert_eq!(result.expect("called").regs.rax, 49);
    let (end, told) = told_calls(&mut process);
    assert_eq!(end, End::Exited(0));
    assert_eq!(output.text(), "hello\n");
    assert_eq!(told, [Some(6)]);
}

/// A stop within a wait that the kernel goes on with is no end of the call.
#[test]
fn a_stop_is_no_event_of_a_call() {
    let program = compile("timeouts.c", &["-O1", "-lrt"]);
    let calls = [
        ("nanosleep", number::SYS_clock_nanosleep),
        ("poll", number::SYS_poll),
    ];
    for (name, call) in calls {
        let mut process = program.launch(&[name]);
        at_entry(&mut process, call);
        let (pid, interrupter) = (process.pid(), process.interrupter());
        process.resume_all().expect("goes on");
        let ringer = std::thread::spawn(move || {
            until("it sleeps", || {
                procfs::status_field(pid, pid, "State").is_some_and(|s| s.starts_with('S'))
            });
            interrupter.interrupt();
        });
        let mut told = Vec::new();
        let end = run_out(&mut process, |_, stop| {
            told.extend(stop.causes.iter().filter_map(|c| match c {
                Cause::Syscall { number, value, .. } => Some((*number, *value)),
                _ => None,
            }));
        });
        ringer.join().expect("rung");
        assert_eq!(end, End::Exited(0));
        assert_eq!(told, [(call.cast_unsigned(), Some(0))], "{name}");
    }
}

/// The kernel would go on with the call after a stop; a handler that runs
/// before it does ends it, and that is told.
#[test]
fn a_handler_after_a_stop_ends_a_call() {
    const SLEEP: i64 = number::SYS_clock_nanosleep;
    let program = compile("cut_short.c", &["-O1"]);
    // The second stop finds the thread on either side of the call.
    for _ in 0..20 {
        let mut process = program.launch(&["0", "sleep"]);
        at_entry(&mut process, SLEEP);
        let (pid, interrupter) = (process.pid(), process.interrupter());
        process.resume_all().expect("goes on");
        let ringer = std::thread::spawn(move || {
            until("it sleeps", || procfs::blocked_in(pid, pid) == Some(SLEEP));
            interrupter.interrupt();
        });
        next(&mut process);
        ringer.join().expect("rung");
        process.resume_all().expect("goes on");
        process.interrupter().interrupt();
        next(&mut process);
        signals::send(pid, number::SIGUSR1).expect("sent");
        let (end, told) = told_calls(&mut process);
        assert_eq!(end, End::Exited(0));
        assert!(matches!(told[..], [Some(..0)]), "{told:?}");
    }
}

/// Within a call, or within what the kernel makes of one that goes on.
fn waits_in(pid: Tid, call: i64) -> bool {
    let calls = [Some(call), Some(number::SYS_restart_syscall)];
    calls.contains(&procfs::blocked_in(pid, pid))
}

/// Runs to the signal that is sent while the program waits in a call; the values of the calls
/// that were told on the way.
fn signalled(process: &mut Process, call: i64) -> (Tid, Vec<Option<i64>>) {
    let pid = process.pid();
    process.resume_all().expect("goes on");
    let sender = std::thread::spawn(move || {
        until("it waits", || waits_in(pid, call));
        signals::send(pid, number::SIGUSR1).expect("sent");
    });
    let mut told = Vec::new();
    let tid = loop {
        let stop = next(process);
        told.extend(stop.causes.iter().filter_map(|c| match c {
            Cause::Syscall { value, .. } => Some(*value),
            _ => None,
        }));
        if stop
            .causes
            .iter()
            .any(|c| matches!(c, Cause::Signal { .. }))
        {
            break stop.tid;
        }
        process.resume_all().expect("goes on");
    };
    sender.join().expect("sent");
    (tid, told)
}

/// Whether a signal ends a call is known when the user has let it pass.
#[test]
fn a_cancelled_signal_is_no_event_of_a_call() {
    let program = compile("cut_short.c", &["-O1"]);
    let calls = [
        ("-1", number::SYS_epoll_wait),
        ("60000", number::SYS_epoll_wait),
        ("sleep", number::SYS_clock_nanosleep),
    ];
    for (how, call) in calls {
        let mut process = program.launch(&["0", how]);
        let treatment = Treatment {
            stop: true,
            print: true,
            pass: true,
        };
        process.options.signals.set(number::SIGUSR1, treatment);
        at_entry(&mut process, call);
        let (tid, mut told) = signalled(&mut process, call);
        process.cancel_signal(tid).expect("cancelled");
        told.extend(signalled(&mut process, call).1);
        assert_eq!(told, [], "{how}: it still waits");
        let (end, told) = told_calls(&mut process);
        assert_eq!(end, End::Exited(0), "{how}");
        assert_eq!(told, [Some(-i64::from(number::EINTR))], "{how}");
    }
}

/// A signal that no handler gets leaves the call to the kernel, which makes it again.
#[test]
fn an_unhandled_signal_is_no_event_of_a_call() {
    const SLEEP: i64 = number::SYS_clock_nanosleep;
    let program = compile("cut_short.c", &["-O1"]);
    let mut process = program.launch(&["0", "sleep"]);
    at_entry(&mut process, SLEEP);
    let pid = process.pid();
    for signal in [number::SIGWINCH, number::SIGUSR1] {
        process.resume_all().expect("goes on");
        until("it waits", || waits_in(pid, SLEEP));
        signals::send(pid, signal).expect("sent");
        if signal == number::SIGWINCH {
            interrupt_soon(&mut process);
        }
    }
    let (end, told) = told_calls(&mut process);
    assert_eq!(end, End::Exited(0));
    assert_eq!(told, [Some(-i64::from(number::EINTR))]);
}

/// Stops at whatever comes next, or at once.
fn interrupt_soon(process: &mut Process) {
    process.interrupter().interrupt();
    let stop = next(process);
    assert_eq!(stop.causes[..], [Cause::Interrupted], "{stop:?}");
}
