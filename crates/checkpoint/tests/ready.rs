//! A snapshot whose memory was copied beforehand is restored without a copy, and misses nothing.

#[path = "../../engine/tests/common/mod.rs"]
mod common;

use common::{Program, compile, run_out};
use std::sync::atomic::{AtomicBool, Ordering};
use verde_checkpoint::{Options, Present, Snapshot};
use verde_engine::{Addr, End, Process, Tid};
use verde_sys::memory::Contents;
use verde_sys::{number, procfs, signals, task};

/// Runs a program to `hold`; what it says.
fn held(file: &str, args: &[&str]) -> (Program, Process, common::Output) {
    let program = compile(file, &["-O1", "-lutil"]);
    let (process, output) = program.held_at("hold", args);
    (program, process, output)
}

fn save(process: &mut Process) -> Snapshot {
    let saved = Snapshot::take(process, &Options::default());
    saved.expect("saved").0
}

/// What `act` makes this thread the parent of.
fn born(act: impl FnOnce()) -> Tid {
    let ours = || procfs::children(signals::current_process(), &[signals::current_thread()]);
    let before = ours();
    act();
    let mut new = ours();
    new.retain(|child| !before.contains(child));
    assert_eq!(new.len(), 1, "{new:?}");
    new[0]
}

fn write(pid: Tid, at: Addr, word: u64) {
    let memory = Contents::open(pid).expect("its memory");
    memory.write(at, &word.to_ne_bytes()).expect("written");
}

fn word(process: &Process, at: Addr) -> u64 {
    let mut word = [0; 8];
    process.read(at, &mut word).expect("a word");
    u64::from_ne_bytes(word)
}

#[test]
fn the_copied_memory_is_what_goes_on() {
    let (program, mut process, _) = held("ck_held.c", &["normal"]);
    let at = program.address(&process, "marked");
    let snapshot = save(&mut process);
    assert!(!snapshot.is_ready());
    let twin = born(|| snapshot.make_ready().expect("ready"));
    assert!(snapshot.is_ready());
    // Once is enough.
    snapshot.make_ready().expect("ready");
    write(twin, at, 7);
    write(process.pid(), at, 8);
    snapshot.restore(&mut process, None).expect("restored");
    assert_eq!(word(&process, at), 7);
    assert!(!snapshot.is_ready());
    // Nobody else has it from here on, and the next one has its own.
    write(process.pid(), at, 9);
    snapshot.restore(&mut process, None).expect("restored");
    assert_eq!(word(&process, at), 0);
    let twin = born(|| snapshot.make_ready().expect("ready"));
    write(twin, at, 7);
    snapshot.make_unready();
    assert!(!snapshot.is_ready());
    snapshot.restore(&mut process, None).expect("restored");
    assert_eq!(word(&process, at), 0);
    assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0));
}

#[test]
fn nothing_is_missed() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().to_str().expect("a path");
    let kinds = ["excluded", "cleared", "locks", "later"];
    let ties = kinds.map(|kind| ("ck_ties.c", vec![kind, path], ""));
    let all = [
        ("ck_state.c", vec!["40"], "wrong:\n"),
        ("ck_held.c", vec![], "good\n"),
    ];
    for (file, args, expected) in all.into_iter().chain(ties) {
        let (_program, mut process, output) = held(file, &args);
        let snapshot = save(&mut process);
        for _ in 0..2 {
            snapshot.make_ready().expect("ready");
            // There are none where there are shadow stacks.
            assert!(snapshot.is_ready() || process.has_shadow_stacks());
            snapshot.restore(&mut process, None).expect("restored");
        }
        let end = run_out(&mut process, |_, _| {});
        assert_eq!((end, output.text().as_str()), (End::Exited(0), expected));
    }
}

/// It has the memory of the program itself until then.
#[test]
fn the_moment_before_a_restore_can_be_ready_too() {
    let (program, mut process, output) = held("ck_state.c", &["40"]);
    let at = program.address(&process, "marked");
    let snapshot = save(&mut process);
    write(process.pid(), at, 5);
    let (present, _) = Present::take(&mut process, &Options::default()).expect("saved");
    let restored = snapshot.restore(&mut process, Some(present));
    let present = restored.expect("restored").present.expect("the present");
    assert_eq!(word(&process, at), 0);
    assert!(!present.is_ready());
    present.make_ready().expect("ready");
    assert!(present.is_ready());
    for _ in 0..2 {
        present.restore(&mut process, None).expect("restored");
        assert_eq!(word(&process, at), 5);
    }
    let end = run_out(&mut process, |_, _| {});
    assert_eq!((end, output.text().as_str()), (End::Exited(0), "wrong:\n"));
}

/// The frozen process is still there.
#[test]
fn a_copy_that_was_killed_is_not_needed() {
    let (_program, mut process, output) = held("ck_held.c", &[]);
    let snapshot = save(&mut process);
    let twin = born(|| snapshot.make_ready().expect("ready"));
    signals::send(twin, number::SIGKILL).expect("killed");
    while snapshot.is_ready() {
        std::thread::yield_now();
    }
    snapshot.restore(&mut process, None).expect("restored");
    // And while it is used.
    for round in 0..200 {
        let twin = born(|| snapshot.make_ready().expect("ready"));
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let start = std::time::Instant::now();
                while start.elapsed().as_micros() < 3 * round {
                    std::hint::spin_loop();
                }
                // It may have been used up.
                let _ = signals::send(twin, number::SIGKILL);
            });
            snapshot.restore(&mut process, None).expect("restored");
        });
    }
    let end = run_out(&mut process, |_, _| {});
    assert_eq!((end, output.text().as_str()), (End::Exited(0), "good\n"));
}

/// What is counted of the memory is that of those who are there.
#[test]
fn the_second_copy_takes_the_place_of_the_first() {
    let (program, mut process, _) = held("ck_held.c", &["normal"]);
    let at = program.address(&process, "marked");
    let kill = |pid| {
        signals::send(pid, number::SIGKILL).expect("killed");
        while verde_sys::ptrace::regs(pid).is_ok() {
            std::thread::yield_now();
        }
    };
    let snapshot = save(&mut process);
    kill(born(|| snapshot.make_ready().expect("ready")));
    assert!(snapshot.memory_cost().expect("a size") > 0);
    let twin = born(|| snapshot.make_ready().expect("ready"));
    kill(snapshot.frozen_pid());
    assert!(snapshot.memory_cost().expect("a size") > 0);
    assert_eq!(snapshot.frozen_pid(), twin);
    assert!(!snapshot.is_ready());
    for _ in 0..2 {
        write(process.pid(), at, 5);
        snapshot.make_ready().expect("ready");
        snapshot.restore(&mut process, None).expect("restored");
        assert_eq!(word(&process, at), 0);
    }
    kill(snapshot.frozen_pid());
    assert!(snapshot.make_ready().is_err());
    assert!(snapshot.memory_cost().is_err());
    assert!(!snapshot.is_ready());
    assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0));
}

/// Nothing is copied then, and afterwards the memory is the program's alone.
#[test]
fn memory_is_shared_until_the_copy_has_ended() {
    let (_program, mut process, _) = held("ck_held.c", &["normal"]);
    let snapshot = save(&mut process);
    let mut seen = false;
    // It is a matter of luck to look in the right moment.
    for _ in 0..1000 {
        let twin = born(|| snapshot.make_ready().expect("ready"));
        let (pid, over) = (process.pid(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let look = scope.spawn(|| {
                let mut seen = false;
                while !over.load(Ordering::SeqCst) {
                    // Who is gone is said to share.
                    let there = || [pid, twin].iter().all(|pid| task::group(*pid).is_ok());
                    seen |= there() && task::shares_memory(pid, twin) && there();
                }
                seen
            });
            snapshot.restore(&mut process, None).expect("restored");
            over.store(true, Ordering::SeqCst);
            seen |= look.join().expect("seen");
        });
        if seen {
            break;
        }
    }
    assert!(seen);
    assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0));
}
