//! Calls that have moved some of their bytes when they are stopped: the
//! program sees one call that moved them all, unless a handler interrupts it.

mod common;

use common::{Output, Program, compile, exec, run_out, until};
use std::rc::Rc;
use verde_engine::{Cause, End, NoGuide, On, Owner, Process, StepKind, Stop, Tid, Trap};
use verde_sys::{WaitStatus, number, procfs, signals, wait};

const KINDS: [&str; 8] = [
    "write",
    "writev",
    "send",
    "sendmsg",
    "sockwrite",
    "recv",
    "recvmsg",
    "tty",
];
const ALL: &str = "moved 1048576\n";

/// The program is run to its end, and looked at whenever its transfer waits.
fn held(kind: &str, look: impl FnMut(&mut Process, &Stop)) -> (End, String) {
    held_with(kind, |_, _| {}, look)
}

fn held_with(
    kind: &str,
    prepare: impl FnOnce(&mut Process, &Program),
    mut look: impl FnMut(&mut Process, &Stop),
) -> (End, String) {
    let (mut process, output, _program) = at_start(kind, prepare);
    let end = run_out(&mut process, |process, stop| look(process, stop));
    (end, output.text())
}

fn at_start(
    kind: &str,
    prepare: impl FnOnce(&mut Process, &Program),
) -> (Process, Output, Program) {
    let program = compile("transfers.c", &["-O1", "-lutil"]);
    let (mut process, output) = program.launch_with(&[kind], common::transparent());
    let hold = program.address(&process, "hold");
    exec(&mut process, hold);
    prepare(&mut process, &program);
    (process, output, program)
}

fn stop_and_go(process: &mut Process) {
    process.stop_all().expect("stopped").calm().expect("calm");
}

/// The thread that moves bytes, which is not the first.
fn mover(process: &Process) -> Option<Tid> {
    let others = process.threads();
    others.into_iter().find(|tid| *tid != process.pid())
}

fn sleeps(pid: Tid, tid: Tid) -> bool {
    procfs::status_field(pid, tid, "State").is_some_and(|s| s.starts_with('S'))
}

#[test]
fn a_stop_does_not_shorten_a_transfer() {
    for kind in KINDS {
        let mut stops = 0;
        let done = held(kind, |process, _| {
            stops += 1;
            // The second finds it at the entry of the rest, and the third leaves it there.
            stop_and_go(process);
            stop_and_go(process);
            drop(process.stop_all().expect("stopped"));
        });
        assert_eq!(done, (End::Exited(0), ALL.to_owned()), "{kind}");
        assert!(stops > 3, "{kind} was held {stops} times");
    }
}

/// One that its program ignores does not, either.
#[test]
fn an_ignored_signal_does_not_shorten_a_transfer() {
    for kind in KINDS {
        let done = held(kind, |process, _| {
            if let Some(tid) = mover(process) {
                let sent = signals::send_to_thread(process.pid(), tid, number::SIGWINCH);
                sent.expect("sent");
            }
        });
        assert_eq!(done, (End::Exited(0), ALL.to_owned()), "{kind}");
    }
}

/// A handler ends the call with what it has moved: also in the rest after a stop.
#[test]
fn a_handler_ends_a_transfer() {
    for kind in KINDS {
        let mut stops = 0;
        let (end, text) = held(kind, |process, _| {
            stops += 1;
            stop_and_go(process);
            if stops == 3
                && let Some(tid) = mover(process)
            {
                let sent = signals::send_to_thread(process.pid(), tid, number::SIGUSR1);
                sent.expect("sent");
            }
        });
        // Where it goes on is checked by the program.
        assert_eq!(end, End::Exited(0), "{kind}: {text}");
        assert_ne!(text, ALL, "{kind}");
    }
}

/// Whoever follows calls hears of one, with one value.
#[test]
fn a_transfer_is_told_once() {
    for kind in KINDS {
        let mut told = Vec::new();
        let calls = |process: &mut Process, _: &Program| {
            process
                .insert(Trap::new(On::Syscall(None), Owner::User))
                .expect("a trap");
        };
        let (end, text) = held_with(kind, calls, |process, stop| {
            let of_mover = mover(process) == Some(stop.tid);
            let is_call = |c: &&Cause| matches!(c, Cause::Syscall { .. });
            if stop.causes.iter().find(is_call).is_none() {
                stop_and_go(process);
            }
            told.extend(stop.causes.iter().filter_map(|c| match c {
                Cause::Syscall { value, number, .. } if of_mover => Some((*number, *value)),
                _ => None,
            }));
        });
        assert_eq!((end, text.as_str()), (End::Exited(0), ALL), "{kind}");
        let number = match kind {
            "writev" => number::SYS_writev,
            "send" => number::SYS_sendto,
            "sendmsg" => number::SYS_sendmsg,
            "recv" => number::SYS_recvfrom,
            "recvmsg" => number::SYS_recvmsg,
            _ => number::SYS_write,
        };
        let number = number.cast_unsigned();
        let whole = [(number, None), (number, Some(1 << 20))];
        let found = told.windows(2).filter(|w| **w == whole).count();
        assert_eq!(found, 1, "{kind}: {told:?}");
        let parts = told
            .iter()
            .filter(|(n, v)| *n == number && v.is_some_and(|v| v > 4096 && v < 1 << 20));
        assert_eq!(parts.count(), 0, "{kind}: {told:?}");
    }
}

/// A breakpoint on the instruction itself is hit once.
#[test]
fn a_transfer_with_a_breakpoint_on_it() {
    for kind in KINDS {
        let mut hits = 0;
        let set = |process: &mut Process, program: &Program| {
            let at = program.address(process, "at_call");
            exec(process, at);
        };
        let done = held_with(kind, set, |process, stop| match mover(process) {
            Some(tid) if tid == stop.tid => hits += 1,
            _ => {
                stop_and_go(process);
                stop_and_go(process);
            }
        });
        assert_eq!(done, (End::Exited(0), ALL.to_owned()), "{kind}");
        assert_eq!(hits, 1, "{kind}");
    }
}

/// A program that is let go within a transfer gets what was moved until then.
#[test]
fn a_program_released_within_a_transfer() {
    for kind in KINDS {
        let (mut process, output, _program) = at_start(kind, |_, _| {});
        let pid = process.pid();
        let mut stops = 0;
        process.resume_all().expect("goes on");
        process
            .run(|process, _| {
                stops += 1;
                stop_and_go(process);
                Ok(stops == 3)
            })
            .expect("run");
        process.detach().expect("detached");
        assert_eq!(
            wait::task(pid).expect("its end"),
            WaitStatus::Exited(0),
            "{kind}: {}",
            output.text()
        );
        assert_ne!(output.text(), ALL);
    }
}

/// Without a debugger's stop nothing is done to a call.
#[test]
fn a_call_that_ends_by_itself_is_left_alone() {
    let (mut process, output, _program) = at_start("recv", |_, _| {});
    let pid = process.pid();
    let end = run_out(&mut process, |process, _| {
        let tid = mover(process).expect("a thread");
        until("it waits", || sleeps(pid, tid));
    });
    assert_eq!((end, output.text().as_str()), (End::Exited(0), ALL));
}

/// With watched data in its way, more than there are debug registers: the call works on other
/// memory then.
#[test]
fn a_transfer_of_watched_data() {
    for kind in ["write", "send", "sendmsg", "recv", "recvmsg"] {
        let name = if kind.starts_with("recv") {
            "to"
        } else {
            "from"
        };
        let mut writes = 0;
        let watch = |process: &mut Process, program: &Program| {
            let start = program.address(process, name);
            for i in 0..8 {
                let at = start + 100_000 + i * 64;
                let on = On::Write { at, len: 8 };
                let set = process.insert(Trap::new(on, Owner::User));
                set.expect("a watch");
            }
        };
        let done = held_with(kind, watch, |process, stop| {
            if mover(process) == Some(stop.tid) {
                writes += 1;
            } else if mover(process).is_some() {
                stop_and_go(process);
            }
        });
        assert_eq!(done, (End::Exited(0), ALL.to_owned()), "{kind}");
        assert_eq!(writes, usize::from(name == "to"), "{kind}");
    }
}

/// A step over the call is done when all is moved.
#[test]
fn a_stepped_transfer() {
    for kind in KINDS {
        let (mut at, mut ends) = (None, Vec::new());
        let set = |process: &mut Process, program: &Program| {
            let call = program.address(process, "at_call");
            exec(process, call);
            at = Some(call);
        };
        let done = held_with(kind, set, |process, stop| {
            let Some(tid) = mover(process).filter(|tid| *tid == stop.tid) else {
                return stop_and_go(process);
            };
            if stop.causes.contains(&Cause::StepDone) {
                let regs = process.regs(tid).expect("stopped");
                ends.push((regs.pc(), regs.rax));
            } else {
                let step = process.step(tid, StepKind::Instruction, Rc::new(NoGuide));
                step.expect("a step");
            }
        });
        assert_eq!(done, (End::Exited(0), ALL.to_owned()), "{kind}");
        let behind = at.expect("a call") + 2;
        assert_eq!(ends, [(behind, 1 << 20)], "{kind}");
    }
}

/// What happens to a channel while its transfer is stopped happens to the call as it would have
/// alone: what is left goes nowhere else, and the errors are those of the calls that would get them.
#[test]
fn a_channel_that_changes_within_a_transfer() {
    let program = compile("transfer_fates.c", &["-O1"]);
    for fate in ["other", "reset", "shut"] {
        let (mut process, output) = program.launch_with(&[fate], common::transparent());
        assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0), "{fate}");
        let alone = output.text();
        assert!(alone.contains("first: a part"), "{fate}: {alone}");

        let (mut process, output) = program.launch_with(&[fate], common::transparent());
        for name in ["hold", "changed"] {
            let at = program.address(&process, name);
            exec(&mut process, at);
        }
        let pid = process.pid();
        process.resume_all().expect("goes on");
        common::next(&mut process);
        let mut world = process.stop_all().expect("stopped");
        world.calm().expect("calm");
        world.keep();
        process.resume(pid).expect("one goes on");
        common::next(&mut process);
        assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0), "{fate}");
        assert_eq!(output.text(), alone, "{fate}");
    }
}
