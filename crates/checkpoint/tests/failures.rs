//! Checkpoints that cannot be: each refused with its reason, and the program
//! goes on.

#[path = "../../engine/tests/common/mod.rs"]
mod common;

use common::{compile, exec, next, run_out, transparent};
use verde_checkpoint::{Error, Options, Snapshot};
use verde_engine::{End, Process, Tid};
use verde_sys::signals;

fn at_hold() -> (common::Program, Process, common::Output) {
    let program = compile("ck_calls.c", &["-O1"]);
    let (mut process, output) = program.launch_with(&[], transparent());
    let hold = program.address(&process, "hold");
    exec(&mut process, hold);
    process.resume_all().expect("resumed");
    next(&mut process);
    (program, process, output)
}

#[test]
fn an_attached_process_is_refused() {
    let program = compile("waits.c", &[]);
    let mut child = program.spawn(&["pause"]);
    let pid = Tid(child.id() as i32);
    let mut process = Process::attach(pid, transparent()).expect("attached");
    let refused = Snapshot::take(&mut process, &Options::default());
    assert!(matches!(refused.map(drop), Err(Error::Attached)));
    process.detach().expect("detached");
    child.kill().expect("killed");
    child.wait().expect("reaped");
}

#[test]
fn a_killed_program_is_an_error_and_no_hang() {
    let (_program, mut process, _) = at_hold();
    signals::send(process.pid(), verde_sys::number::SIGKILL).expect("killed");
    let failed = Snapshot::take(&mut process, &Options::default());
    assert!(matches!(failed.map(drop), Err(Error::Ended)));
    let stop = next(&mut process);
    assert_eq!(stop.ended(), Some(End::Killed(9)));
}

#[test]
fn a_killed_snapshot_is_lost_and_the_program_unharmed() {
    let (_program, mut process, output) = at_hold();
    let (snapshot, _) = Snapshot::take(&mut process, &Options::default()).expect("saved");
    signals::send(snapshot.frozen_pid(), verde_sys::number::SIGKILL).expect("killed");
    common::until("it is dead", || {
        matches!(snapshot.restore(&mut process, None), Err(Error::Lost))
    });
    assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0));
    assert!(output.text().starts_with("sum "));
}
