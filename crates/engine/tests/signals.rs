//! Signals of the program: none lost, none invented, none changed.

mod common;

use common::{compile, exec, next, run_out, transparent, until};
use verde_engine::{Cause, End, On, Options, Owner, SignalPolicy, Trap, Treatment};
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
