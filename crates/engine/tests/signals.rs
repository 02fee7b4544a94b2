//! Signals of the program: none lost, none invented, none changed.

mod common;

use common::{compile, exec, next, run_out, transparent, until};
use std::os::unix::process::ExitStatusExt;
use verde_engine::{
    Cause, End, On, Options, Owner, Process, SignalPolicy, Stop, Tid, Trap, Treatment,
};
use verde_sys::{number, signals};

/// Real-time signals with their values, with traps hit all the while.
#[test]
fn real_time_signals() {
    let program = compile("signals.c", &["-O1"]);
    let mut process = program.launch(&["rt"]);
    let f = program.address(&process, "f");
    let f = exec(&mut process, f);
    let seen = process
        .insert(Trap::new(On::Signal(35), Owner::Monitor))
        .expect("a trap");
    let end = run_out(&mut process, |_, _| {});
    assert_eq!(end, End::Exited(0));
    assert_eq!(process.traps().get(f).expect("f").hits, 200);
    assert_eq!(process.traps().get(seen).expect("35").hits, 50);
}

/// An int3 of the program's own stays the program's, also under a trap.
#[test]
fn own_int3() {
    let program = compile("signals.c", &["-O1"]);
    for trapped in [false, true] {
        let mut process = program.launch(&["int3"]);
        let f = program.address(&process, "f");
        let f = exec(&mut process, f);
        let own = program.address(&process, "own_int3");
        let own = trapped.then(|| exec(&mut process, own));
        let end = run_out(&mut process, |_, _| {});
        assert_eq!(end, End::Exited(0), "trapped: {trapped}");
        assert_eq!(process.traps().get(f).expect("f").hits, 100);
        if let Some(own) = own {
            assert_eq!(process.traps().get(own).expect("own").hits, 100);
        }
    }
}

/// A SIGTRAP that somebody sends is a signal like others.
#[test]
fn sent_sigtrap() {
    let program = compile("signals.c", &["-O1"]);
    let mut process = program.launch(&["kill"]);
    let f = program.address(&process, "f");
    exec(&mut process, f);
    let end = run_out(&mut process, |_, _| {});
    assert_eq!(end, End::Exited(0));
}

/// One that the program blocks stands for the trap, of which the kernel keeps
/// nothing; then it waits as before.
#[test]
fn blocked_sigtrap() {
    let program = compile("signals.c", &["-O1"]);
    let mut process = program.launch(&["blocked"]);
    let traps = ["f", "pushes"].map(|name| {
        let at = program.address(&process, name);
        exec(&mut process, at)
    });
    let end = run_out(&mut process, |_, _| {});
    assert_eq!(end, End::Exited(0));
    for id in traps {
        assert_eq!(process.traps().get(id).expect("a trap").hits, 10);
    }
}

/// Signals that arrive while a thread is on a trap or in a slot do not make
/// it count twice. The slots of `loop` and `call` have several instructions.
#[test]
fn handlers_do_not_count_twice() {
    let program = compile("signals.c", &["-O1"]);
    let (mut process, output) = program.launch_with(&["timer"], transparent());
    let ids = ["f", "looped", "looped_end", "looped_call"].map(|name| {
        let at = program.address(&process, name);
        exec(&mut process, at)
    });
    let end = run_out(&mut process, |_, _| {});
    assert_eq!(end, End::Exited(0));
    let hits = ids.map(|id| process.traps().get(id).expect("a trap").hits);
    assert_eq!(hits, [5000, 5000, 15000, 5000]);
    let handled = output.text();
    assert!(handled.trim().parse::<u64>().expect("a number") > 10);
}

/// A fault of a trapped instruction shows the program's own address, and the
/// instruction repeated after the handler is not a second hit.
#[test]
fn faulting_instruction_under_a_trap() {
    let program = compile("signals.c", &["-O1"]);
    let mut process = program.launch(&["fault"]);
    let store = program.address(&process, "store");
    let store = exec(&mut process, store);
    let end = run_out(&mut process, |_, _| {});
    assert_eq!(end, End::Exited(0));
    assert_eq!(process.traps().get(store).expect("store").hits, 50);
}

/// The policy decides what is reported and what is delivered.
#[test]
fn policy() {
    let program = compile("waits.c", &["-O1"]);
    let mut policy = SignalPolicy::transparent();
    let stop = Treatment {
        stop: true,
        print: true,
        pass: false,
    };
    assert!(policy.set(number::SIGUSR1, stop));
    assert!(!policy.set(65, stop) && !policy.set(0, stop));
    let options = Options {
        signals: policy,
        quiet_libraries: true,
        ..Options::default()
    };
    let (mut process, _) = program.launch_with(&["pause"], options);
    process.resume_all().expect("resumed");
    process.send_signal(None, number::SIGUSR1).expect("sent");
    let stop = next(&mut process);
    let reported = stop
        .causes
        .iter()
        .any(|c| matches!(c, Cause::Signal { signal, code: 0, .. } if *signal == number::SIGUSR1));
    assert!(reported, "{stop:?}");
    assert!(process.pending_signal(stop.tid).expect("stopped").is_none());
    // Not passed, so it lives on; the next one is passed and kills it.
    process.resume(stop.tid).expect("resumed");
    process.send_signal(None, number::SIGUSR2).expect("sent");
    let end = next(&mut process).ended();
    assert_eq!(end, Some(End::Killed(number::SIGUSR2)));
}

/// Job control: the program stays stopped until SIGCONT, and can be inspected
/// meanwhile without leaving that state. (SIGTSTP does the same, but the kernel
/// drops it where nobody could continue the process group.)
#[test]
fn group_stop() {
    let program = compile("waits.c", &["-O1"]);
    let mut process = program.launch(&["spin", "3"]);
    let pid = process.pid();
    let stop_signal = Treatment {
        stop: true,
        print: true,
        pass: true,
    };
    process.options.signals.set(number::SIGSTOP, stop_signal);
    process.resume_all().expect("resumed");
    process.send_signal(None, number::SIGSTOP).expect("sent");
    let mut stopped = 0;
    while stopped < process.threads().len() {
        let stop = next(&mut process);
        let group = |c: &Cause| *c == Cause::GroupStop(number::SIGSTOP);
        stopped += stop.causes.iter().filter(|c| group(c)).count();
        process.resume(stop.tid).expect("resumed");
    }
    // All listen; a look at them does not wake them up.
    {
        let world = process.stop_all().expect("stopped");
        for tid in world.threads() {
            assert!(world.regs(tid).is_ok());
        }
    }
    let threads = process.threads();
    until("all threads are in their group stop", || {
        threads.iter().all(|tid| {
            let stat = verde_sys::procfs::Stat::open(pid, *tid).expect("stat");
            matches!(stat.state(), Some('t' | 'T'))
        })
    });
    // SIGCONT gets them going: they run into a new trap.
    let f = program.address(&process, "f");
    let f = exec(&mut process, f);
    signals::send(pid, number::SIGCONT).expect("sent");
    let mut running = std::collections::HashSet::new();
    while running.len() < threads.len() {
        let stop = next(&mut process);
        if stop.traps().any(|id| id == f) {
            running.insert(stop.tid);
        }
        process.resume(stop.tid).expect("resumed");
    }
    process.kill().expect("killed");
    assert_eq!(process.ended(), Some(End::Killed(9)));
}

/// A stop by job control is told once, and all threads go on from it.
#[test]
fn left_group_stop() {
    let program = compile("waits.c", &["-O1"]);
    let mut process = program.launch(&["spin", "3"]);
    process.options.report_group_stops = true;
    let f = program.address(&process, "f");
    let f = exec(&mut process, f);
    let group = |stop: &Stop| stop.causes.contains(&Cause::GroupStop(number::SIGSTOP));
    let mut running = std::collections::HashSet::new();
    process.resume_all().expect("resumed");
    while running.len() < 3 {
        let stop = next(&mut process);
        running.insert(stop.tid);
        process.resume(stop.tid).expect("resumed");
    }
    for _ in 0..2 {
        process.send_signal(None, number::SIGSTOP).expect("sent");
        loop {
            let stop = next(&mut process);
            if group(&stop) {
                break;
            }
            process.resume(stop.tid).expect("resumed");
        }
        process.stop_all().expect("stopped").keep();
        process.leave_group_stop().expect("left");
        running.clear();
        process.resume_all().expect("resumed");
        while running.len() < process.threads().len() {
            let stop = next(&mut process);
            assert!(!group(&stop), "{stop:?}");
            assert!(stop.traps().any(|id| id == f), "{stop:?}");
            running.insert(stop.tid);
            process.resume(stop.tid).expect("resumed");
        }
    }
    process.kill().expect("killed");
}

/// A signal given in a stop by job control passes, and so does the one that
/// ends the stop, which comes first: its number is lower.
#[test]
fn given_in_a_group_stop() {
    let program = compile("waits.c", &["-O1"]);
    let told = Treatment {
        stop: true,
        print: true,
        pass: true,
    };
    let mut policy = SignalPolicy::transparent();
    assert!(policy.set(number::SIGCONT, told));
    assert!(policy.set(number::SIGVTALRM, told));
    let options = Options {
        signals: policy,
        quiet_libraries: true,
        report_group_stops: true,
        ..Options::default()
    };
    let (mut process, _) = program.launch_with(&["spin"], options);
    process.resume_all().expect("resumed");
    process.send_signal(None, number::SIGSTOP).expect("sent");
    let stop = next(&mut process);
    assert_eq!(stop.causes[..], [Cause::GroupStop(number::SIGSTOP)]);
    process
        .give_signal(stop.tid, number::SIGVTALRM)
        .expect("given");
    process.leave_group_stop().expect("left");
    process.resume_all().expect("resumed");
    let end = next(&mut process);
    assert_eq!(end.ended(), Some(End::Killed(number::SIGVTALRM)), "{end:?}");
}

/// One that was given and not sent yet is sent when the program is let go.
#[test]
fn given_and_detached() {
    let program = compile("waits.c", &["-O1"]);
    let mut child = program.spawn(&["spin"]);
    let pid = Tid(child.id().cast_signed());
    let mut process = Process::attach(pid, transparent()).expect("attached");
    process.give_signal(pid, number::SIGVTALRM).expect("given");
    process.detach().expect("detached");
    let end = child.wait().expect("its end");
    assert_eq!(end.signal(), Some(number::SIGVTALRM));
}

/// System calls: each entry has its exit.
#[test]
fn system_calls() {
    let program = compile("forks.c", &["-O1"]);
    let mut process = program.launch(&["fork"]);
    const WAIT4: u64 = 61;
    let id = process
        .insert(Trap::new(On::Syscall(Some(WAIT4)), Owner::User))
        .expect("a trap");
    let (mut entries, mut exits) = (0, 0);
    let end = run_out(&mut process, |_, stop| {
        for cause in &stop.causes {
            match cause {
                Cause::Syscall {
                    number: WAIT4,
                    value: None,
                    ..
                } => entries += 1,
                Cause::Syscall {
                    number: WAIT4,
                    value: Some(v),
                    ..
                } => {
                    assert!(*v > 0, "the child's id");
                    exits += 1;
                }
                other => panic!("unexpected {other:?}"),
            }
        }
    });
    assert_eq!((end, entries, exits), (End::Exited(0), 20, 20));
    assert_eq!(process.traps().get(id).expect("wait4").hits, 40);
}
