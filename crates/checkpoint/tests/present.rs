//! What a restore replaces is kept with its memory, and can be restored itself.

#[path = "../../engine/tests/common/mod.rs"]
mod common;

use common::{Program, compile, exec, next, run_out, transparent};
use verde_checkpoint::{Error, Options, Present, Snapshot, Warning, copy_now};
use verde_engine::{Cause, End, Process};
use verde_sys::{number, procfs, signals, task};

/// Goes back to `snapshot`, and forth to the present again.
fn there_and_back(process: &mut Process, snapshot: &Snapshot, meanwhile: impl Fn(&Process)) {
    let (present, _) = Present::take(process, &Options::default()).expect("saved");
    let restored = snapshot.restore(process, Some(present)).expect("restored");
    meanwhile(process);
    let present = restored.present.expect("the present");
    for _ in 0..2 {
        present.restore(process, None).expect("restored");
    }
}

/// What a program says that is replaced by itself and comes back at `hold`.
fn said(file: &str, args: &[&str]) -> (End, String) {
    let program = compile(file, &["-O1", "-lutil"]);
    let (mut process, output) = program.held_at("hold", args);
    let (snapshot, _) = Snapshot::take(&mut process, &Options::default()).expect("saved");
    there_and_back(&mut process, &snapshot, |_| {});
    (run_out(&mut process, |_, _| {}), output.text())
}

#[test]
fn threads_have_what_the_kernel_keeps_for_them() {
    let (end, text) = said("ck_state.c", &["40"]);
    assert_eq!((end, text.as_str()), (End::Exited(0), "wrong:\n"));
}

/// The kernel marks robust ones when their owners end.
#[test]
fn mutexes_are_held() {
    let (end, text) = said("ck_held.c", &[]);
    assert_eq!((end, text.as_str()), (End::Exited(0), "good\n"));
}

#[test]
fn memory_is_there_that_forks_leave_out_or_clear() {
    let dir = std::env::temp_dir().join(format!("verde-present-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a directory");
    let path = dir.to_str().expect("a path");
    for kind in ["excluded", "cleared", "locks", "later"] {
        let (end, text) = said("ck_ties.c", &[kind, path]);
        assert_eq!((end, text.as_str()), (End::Exited(0), ""), "{kind}");
    }
    let _ = std::fs::remove_dir_all(dir);
}

/// Runs a program to `hold`.
fn held(kind: &str) -> (Program, Process) {
    let program = compile("ck_ties.c", &["-O1"]);
    let (mut process, output) = program.launch_with(&[kind, "/"], transparent());
    let hold = program.address(&process, "hold");
    exec(&mut process, hold);
    process.resume_all().expect("resumed");
    assert!(next(&mut process).ended().is_none(), "{}", output.text());
    (program, process)
}

/// Where memory runs out copies go first, and the program when it would have gone.
#[test]
fn copies_go_before_the_program() {
    let (_program, mut process) = held("large");
    let (snapshot, _) = Snapshot::take(&mut process, &Options::default()).expect("saved");
    snapshot.treat_as_large();
    let (present, _) = Present::take(&mut process, &Options::default()).expect("saved");
    let score = |pid| procfs::oom_score(pid);
    assert_eq!(score(process.pid()), Some(7));
    let restored = snapshot
        .restore(&mut process, Some(present))
        .expect("restored");
    let present = restored.present.expect("the present");
    // Who shares the program's memory shares this, too.
    assert_eq!(score(process.pid()), Some(7));
    assert_eq!(score(snapshot.frozen_pid()), Some(7));
    copy_now();
    let copies = [snapshot.frozen_pid(), present.frozen_pid()];
    assert_eq!(copies.map(score), [Some(1000); 2]);
    assert_eq!(score(process.pid()), Some(7));
    for snapshot in [present, snapshot] {
        snapshot.restore(&mut process, None).expect("restored");
        assert_eq!(score(process.pid()), Some(7));
    }
}

/// It would go on changing what is kept.
#[test]
fn memory_that_a_child_shares_is_copied() {
    let (_program, mut process) = held("shares");
    let (snapshot, warnings) = Snapshot::take(&mut process, &Options::default()).expect("saved");
    let child = warnings.iter().find_map(|w| match w {
        Warning::Children(list) => list.first().copied(),
        _ => None,
    });
    let child = child.expect("a child");
    assert!(task::shares_memory(process.pid(), child));
    let (present, _) = Present::take(&mut process, &Options::default()).expect("saved");
    let restored = snapshot
        .restore(&mut process, Some(present))
        .expect("restored");
    let present = restored.present.expect("the present");
    let shares = task::shares_memory(present.frozen_pid(), child);
    signals::send(child, number::SIGKILL).expect("killed");
    assert!(!shares);
}

fn consumed(program: &Program, process: &Process) -> u64 {
    let mut word = [0; 8];
    let at = program.address(process, "consumed");
    process.read(at, &mut word).expect("a counter");
    u64::from_ne_bytes(word)
}

#[test]
fn twenty_eight_threads_go_back_and_forth() {
    let program = compile("ck_threads.c", &["-O1"]);
    let file = format!("{}.joined", program.path.display());
    let items: i64 = 60_000;
    let count = items.to_string();
    let args = [count.as_str(), "12", "13", file.as_str()];
    let (mut process, output) = program.launch_with(&args, transparent());
    let at = program.address(&process, "every_kind");
    let id = exec(&mut process, at);
    let trap = Cause::Trap { id };
    let run = |process: &mut Process, hits: usize| {
        let mut seen = 0;
        process.resume_all().expect("resumed");
        let stop = process.run(|process, stop| {
            seen += usize::from(stop.causes.contains(&trap));
            Ok(seen >= hits && process.threads().len() == 28)
        });
        let stop = stop.expect("run").expect("a stop");
        assert_eq!(stop.ended(), None, "it ended too early");
        process.stop_all().expect("stopped").keep();
    };
    run(&mut process, 100);
    for round in 0..15 {
        let (snapshot, _) = Snapshot::take(&mut process, &Options::default()).expect("saved");
        let then = consumed(&program, &process);
        run(&mut process, 1 + 7 * (round % 29));
        let now = consumed(&program, &process);
        there_and_back(&mut process, &snapshot, |process| {
            assert_eq!(consumed(&program, process), then);
        });
        assert_eq!(consumed(&program, &process), now);
        run(&mut process, 40);
    }
    // Whoever ran does not go on, until it is not replaced.
    let (snapshot, _) = Snapshot::take(&mut process, &Options::default()).expect("saved");
    process.remove(id).expect("removed");
    process.resume_all().expect("resumed");
    let (present, _) = Present::take(&mut process, &Options::default()).expect("saved");
    let now = consumed(&program, &process);
    for _ in 0..2000 {
        assert_eq!(consumed(&program, &process), now);
    }
    signals::send(snapshot.frozen_pid(), number::SIGKILL).expect("killed");
    while verde_sys::ptrace::regs(snapshot.frozen_pid()).is_ok() {
        std::thread::yield_now();
    }
    let lost = snapshot.restore(&mut process, Some(present));
    assert!(matches!(lost, Err(Error::Lost)));
    drop(snapshot);
    let end = run_out(&mut process, |_, _| {});
    let sum = items * (items + 1) / 2;
    assert_eq!(output.text(), format!("done sum={sum} bad=0\n"));
    assert_eq!(end, End::Exited(0));
    let _ = std::fs::remove_file(file);
}
