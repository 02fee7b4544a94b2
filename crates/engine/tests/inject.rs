//! Functions called for the debugger leave the program as it was.

mod common;

use common::{compile, exec, next, run_out, until, waits_for_input};
use std::io::Write;
use std::os::fd::OwnedFd;
use verde_engine::{Addr, Cause, End, Error, Launch, On, Owner, Process, Trap};

/// In a thread that is in a blocking system call, with every kind of result,
/// with a trap in the called function, and when the function crashes.
#[test]
fn called_functions() {
    let program = compile("called.c", &["-O1", "-lm", "-fno-builtin"]);
    let (input, mut feed) = std::io::pipe().expect("a pipe");
    let (mut output, stdout) = std::io::pipe().expect("a pipe");
    let launch = Launch {
        program: program.path.clone(),
        stdio: [
            Some(OwnedFd::from(input)),
            Some(OwnedFd::from(stdout)),
            None,
        ],
        ..Launch::default()
    };
    let mut process = Process::launch(&launch, common::transparent()).expect("launched");
    drop(launch);
    process.options.signals = Default::default();
    let pid = process.pid();
    process.resume_all().expect("resumed");
    let interrupter = process.interrupter();
    let ringer = std::thread::spawn(move || {
        until("the program reads its input", || waits_for_input(pid));
        interrupter.interrupt();
    });
    let stop = next(&mut process);
    assert!(stop.causes.contains(&Cause::Interrupted));
    ringer.join().expect("rung");
    let tid = stop.tid;
    let before = *process.regs(tid).expect("registers");
    let add = program.address(&process, "add");
    let id = exec(&mut process, add);
    for _ in 0..3 {
        let result = process.call_function(tid, add, &[1, 1, 1, 1, 1, 1], |_| {});
        assert_eq!(result.expect("a call").regs.rax, 21);
        assert_eq!(process.regs(tid).expect("registers"), &before);
    }
    assert_eq!(process.traps().get(id).expect("add").hits, 3);
    let half = program.address(&process, "half");
    let mut three = [0; 16];
    three[..8].copy_from_slice(&3.0f64.to_le_bytes());
    let result = process
        .call_function(tid, half, &[], |x| assert!(x.set_xmm(0, three)))
        .expect("a call");
    let xmm0 = result.xstate.xmm(0).expect("xmm0");
    assert_eq!(xmm0[..8], 1.5f64.to_le_bytes());
    let copy = program.address(&process, "copy");
    let text = program.address(&process, "text");
    let result = process
        .call_function(tid, copy, &[text.0], |_| {})
        .expect("a call");
    let made = process.read_c_string(Addr(result.regs.rax), 64);
    assert_eq!(made.expect("a string"), b"some text");
    let crash = program.address(&process, "crash");
    let followed = Trap::new(On::Call(crash), Owner::Monitor);
    let followed = process.insert(followed).expect("a trap");
    let result = process.call_function(tid, crash, &[], |_| {});
    assert!(matches!(result, Err(Error::CallFailed(11))), "{result:?}");
    assert_eq!(process.calls_of(followed), [], "of which nobody has heard");
    assert_eq!(process.regs(tid).expect("registers"), &before);
    // The read goes on as if nothing had been.
    feed.write_all(b"x").expect("written");
    drop(feed);
    assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0));
    drop(process);
    let mut printed = String::new();
    std::io::Read::read_to_string(&mut output, &mut printed).expect("output");
    assert_eq!(printed, "91 1.414214 4\n");
}
