//! Single steps over system calls: no SIGTRAP of a step is ever delivered or left behind.

mod common;

use common::{compile, exec, next, transparent, until, waits_for_input};
use std::io::Write;
use std::process::Child;
use std::rc::Rc;
use verde_engine::{Cause, End, NoGuide, On, Owner, Process, StepKind, Stop, Tid, Trap};
use verde_sys::number;

const KINDS: [StepKind; 4] = [
    StepKind::Instruction,
    StepKind::InstructionOver,
    StepKind::Over,
    StepKind::Into,
];

/// Every instruction of a program's run, system calls and a signal included.
#[test]
fn a_whole_run_by_instruction() {
    let program = compile("steps.c", &["-O0"]);
    let (mut process, output) = program.launch_with(&[], transparent());
    let main = program.address(&process, "main");
    exec(&mut process, main);
    process.resume_all().expect("resumed");
    let tid = next(&mut process).tid;
    let mut steps = 0;
    let end = loop {
        process
            .step(tid, StepKind::Instruction, Rc::new(NoGuide))
            .expect("step");
        let stop = next(&mut process);
        if let Some(end) = stop.ended() {
            break end;
        }
        assert!(stop.causes.contains(&Cause::StepDone), "{stop:?}");
        steps += 1;
    };
    assert_eq!(end, End::Exited(0));
    assert_eq!(output.text(), "126\n");
    assert!(steps > 1000, "{steps} steps");
}

/// Begins a step of a thread that waits for input, and interrupts it there.
fn interrupted_step(process: &mut Process, tid: Tid, kind: StepKind) -> Stop {
    process.step(tid, kind, Rc::new(NoGuide)).expect("step");
    process.resume_all().expect("resumed");
    until("it waits again", || waits_for_input(process.pid()));
    process.interrupter().interrupt();
    next(process)
}

/// Stopped in a read of its standard input.
fn attached() -> (Child, Process, Tid, common::Program) {
    let program = compile("waits.c", &["-O1"]);
    let child = program.spawn(&["pipe"]);
    let pid = Tid(child.id() as i32);
    until("it waits", || waits_for_input(pid));
    let process = Process::attach(pid, transparent()).expect("attached");
    (child, process, pid, program)
}

fn give_input(child: &mut Child) {
    let mut input = child.stdin.take().expect("input");
    input.write_all(b"x").expect("written");
}

#[test]
fn an_interrupted_step_leaves_nothing() {
    for kind in KINDS {
        let (mut child, mut process, tid, _program) = attached();
        let before = *process.regs(tid).expect("stopped");
        for _ in 0..2 {
            let stop = interrupted_step(&mut process, tid, kind);
            assert_eq!(stop.causes[..], [Cause::Interrupted], "{kind:?}");
            let now = process.regs(tid).expect("stopped");
            assert_eq!((now.rip, now.rsp), (before.rip, before.rsp), "{kind:?}");
            assert!(process.pending_signal(tid).expect("stopped").is_none());
            process.cancel_step(tid).expect("cancelled");
        }
        // It goes on, and is let go.
        process.resume_all().expect("resumed");
        until("it waits again", || waits_for_input(tid));
        process.detach().expect("detached");
        until("it waits again", || waits_for_input(tid));
        give_input(&mut child);
        assert_eq!(child.wait().expect("its end").code(), Some(1), "{kind:?}");
    }
}

/// Let go in the middle of the step, without a word before.
#[test]
fn detached_in_a_step() {
    for kind in KINDS {
        let (mut child, mut process, tid, _program) = attached();
        process.step(tid, kind, Rc::new(NoGuide)).expect("step");
        until("it waits again", || waits_for_input(tid));
        process.detach().expect("detached");
        give_input(&mut child);
        assert_eq!(child.wait().expect("its end").code(), Some(1), "{kind:?}");
    }
}

/// The step goes on after stops, and is done when the call is.
#[test]
fn a_step_outlives_stops() {
    let (mut child, mut process, tid, _program) = attached();
    let before = process.regs(tid).expect("stopped").pc();
    process
        .step(tid, StepKind::Instruction, Rc::new(NoGuide))
        .expect("step");
    for _ in 0..5 {
        until("it waits again", || waits_for_input(tid));
        drop(process.stop_all().expect("stopped"));
    }
    give_input(&mut child);
    let stop = next(&mut process);
    assert_eq!(stop.causes[..], [Cause::StepDone]);
    let now = process.regs(tid).expect("stopped");
    assert_eq!((now.pc(), now.rax), (before, 1), "behind the call");
    process.resume_all().expect("resumed");
    let end = next(&mut process).ended();
    assert_eq!(end, Some(End::Exited(1)));
    child.wait().expect_err("reaped by the engine");
}

/// A job control stop comes between the call and the trap of its step.
#[test]
fn stopped_by_job_control_in_a_step() {
    let (mut child, mut process, tid, _program) = attached();
    process
        .step(tid, StepKind::Instruction, Rc::new(NoGuide))
        .expect("step");
    until("it waits again", || waits_for_input(tid));
    process.options.signals = verde_engine::SignalPolicy::default();
    process.send_signal(None, number::SIGSTOP).expect("sent");
    let stop = next(&mut process);
    let signal = |s: &Stop| matches!(s.causes[..], [Cause::Signal { signal, .. }] if signal == number::SIGSTOP);
    assert!(signal(&stop), "{stop:?}");
    process.cancel_step(tid).expect("cancelled");
    process.resume(tid).expect("resumed");
    let stop = next(&mut process);
    assert_eq!(stop.causes[..], [Cause::GroupStop(number::SIGSTOP)]);
    process.resume(tid).expect("resumed");
    process.send_signal(None, number::SIGCONT).expect("sent");
    give_input(&mut child);
    let end = process.run(|_, _| Ok(false)).expect("run").expect("an end");
    assert_eq!(end.ended(), Some(End::Exited(1)));
}

/// Threads that had begun to die when they stopped.
#[test]
fn kill_ends_the_dying() {
    let program = compile("waits.c", &["-O1"]);
    for stops in 1..4 {
        let mut process = program.launch(&["spin", "4"]);
        let f = program.address(&process, "f");
        let f = exec(&mut process, f);
        process.resume_all().expect("resumed");
        while process.threads().len() < 4 {
            let tid = next(&mut process).tid;
            process.resume(tid).expect("resumed");
        }
        process.remove(f).expect("removed");
        process
            .insert(Trap::new(On::Thread, Owner::User))
            .expect("a trap");
        process.send_signal(None, number::SIGSEGV).expect("sent");
        process.resume_all().expect("resumed");
        for _ in 0..stops {
            loop {
                let stop = next(&mut process);
                let exits = |c: &Cause| matches!(c, Cause::ThreadExit(_));
                if stop.causes.iter().any(exits) {
                    break;
                }
                process.resume(stop.tid).expect("resumed");
            }
        }
        process.kill().expect("killed");
        assert!(matches!(process.ended(), Some(End::Killed(_))));
    }
}
