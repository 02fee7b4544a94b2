//! Without privileges: the same as with them, as far as the kernel allows.
//!
//! Run by root, the tests repeat themselves as another user.

mod common;

use common::{Program, as_user, compile, exec, run_out, until};
use std::io::Write;
use verde_engine::{Addr, Cause, End, On, Options, Owner, Process, Tid, Trap};

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
    for threads in [1, 4] {
        filtered(&program, threads);
    }
}

fn filtered(program: &Program, threads: u64) {
    let mut child = program.spawn(&[&threads.to_string()]);
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
        .write_all(&vec![b'x'; threads as usize])
        .expect("written");
    assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(100));
    assert_eq!(process.traps().get(f).expect("f").hits, threads * 100);
    // The engine has reaped it.
    assert!(child.wait().is_err());
}

/// A program that nobody may look at any more: libraries are followed, calls
/// return, functions are called, children live.
#[test]
fn a_private_program() {
    as_user("a_private_program");
    let plugin = compile("plugin.c", &["-shared", "-fPIC"]);
    let program = compile("private.c", &["-O1"]);
    let path = plugin.path.to_str().expect("a path");
    let (mut process, _) = program.launch_with(&[path], Options::default());
    let f = program.address(&process, "f");
    let calls = Trap::new(On::Call(f), Owner::Monitor);
    process.insert(calls).expect("a trap");
    let (mut returns, mut hits) = (0, 0);
    let end = run_out(&mut process, |process, stop| {
        for cause in &stop.causes {
            match cause {
                Cause::Loaded => {
                    let mut all = process.modules().iter();
                    if let Some(module) = all.find(|m| m.path == plugin.path) {
                        let at = Addr(module.bias + plugin.symbol("plugged"));
                        exec(process, at);
                    }
                }
                Cause::Return { .. } => returns += 1,
                Cause::Trap { .. } => {
                    hits += 1;
                    let called = process.call_function(stop.tid, f, &[6], |_| {});
                    assert_eq!(called.expect("called").regs.rax, 7);
                    let mut word = [0; 8];
                    let read = process.read_batch(&mut [(f, &mut word)]);
                    assert_eq!(read.expect("read"), 8);
                }
                _ => {}
            }
        }
    });
    assert_eq!((end, returns, hits), (End::Exited(0), 3, 1));
}
