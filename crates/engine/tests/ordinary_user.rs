//! Without privileges: the same as with them, as far as the kernel allows.
//!
//! Run by root, the tests repeat themselves as another user.

mod common;

use common::{as_user, compile, exec, run_out, until};
use std::io::Write;
use verde_engine::{End, On, Owner, Process, Tid, Trap};

#[test]
fn traps_and_watches() {
    as_user("traps_and_watches");
    let program = compile("counts.c", &["-O1"]);
    let mut process = program.launch(&["4", "500"]);
    let f = program.address(&process, "f");
    let f = exec(&mut process, f);
    assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(7));
    assert_eq!(process.traps().get(f).expect("f").hits, 4 * 1000);
    // Whether perf events are allowed or not.
    let mut process = program.launch(&["4", "500", "w"]);
    let at = program.address(&process, "shared");
    let watch = process
        .insert(Trap::new(On::Write { at, len: 8 }, Owner::User))
        .expect("a watch");
    assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(7));
    assert_eq!(process.traps().get(watch).expect("a watch").hits, 4 * 500);
}

/// A process of another user is refused with the kernel's reason.
#[test]
fn foreign_process() {
    if as_user("foreign_process") {
        return;
    }
    let error = Process::attach(Tid(1), common::transparent()).map(drop);
    let text = error.expect_err("not allowed").to_string();
    assert!(text.contains("ermi"), "{text}");
}

/// A seccomp filter that kills for any call the engine could inject: with
/// privileges it is suspended, without them the instruction runs in place.
#[test]
fn seccomp() {
    as_user("seccomp");
    let program = compile("filtered.c", &["-O1"]);
    let mut child = program.spawn(&[]);
    let pid = Tid(child.id() as i32);
    // Attached late, so that every slot must be made under the filter.
    until("the filter is on", || {
        verde_sys::procfs::status_field(pid, pid, "Seccomp").as_deref() == Some("2")
    });
    let mut process = Process::attach(pid, common::transparent()).expect("attached");
    let f = program.address(&process, "f");
    let f = exec(&mut process, f);
    child
        .stdin
        .take()
        .expect("input")
        .write_all(b"x")
        .expect("written");
    assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(100));
    assert_eq!(process.traps().get(f).expect("f").hits, 100);
    // The engine has reaped it.
    assert!(child.wait().is_err());
}
