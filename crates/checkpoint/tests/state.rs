//! What the kernel keeps for a thread is there after a restore; without any
//! one of the saved items the programs notice.

#[path = "../../engine/tests/common/mod.rs"]
mod common;

use common::{compile, exec, run_out, transparent};
use verde_checkpoint::{Item, Options, Snapshot, Warning, WhyNewIds};
use verde_engine::End;

/// Runs the verifying program with a restore in the middle; what it found
/// wrong.
fn state_after(without: &[Item]) -> String {
    said_after("ck_state.c", &["40"], without)
}

fn said_after(file: &str, args: &[&str], without: &[Item]) -> String {
    let program = compile(file, &["-O1"]);
    let (mut process, output) = program.launch_with(args, transparent());
    let hold = program.address(&process, "hold");
    let trap = exec(&mut process, hold);
    process.resume_all().expect("resumed");
    if common::next(&mut process).ended().is_some() {
        let text = output.text();
        assert!(text.starts_with("no "), "it ended before it held: {text}");
        return text;
    }
    process.remove(trap).expect("removed");
    let (snapshot, _) = Snapshot::take(&mut process, &Options::default()).expect("saved");
    snapshot
        .restore_without(&mut process, None, without)
        .expect("restored");
    assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0));
    output.text()
}

#[test]
fn threads_keep_what_the_kernel_has_for_them() {
    assert_eq!(state_after(&[]), "wrong:\n");
}

#[test]
fn vector_registers_are_missed() {
    assert!(state_after(&[Item::Vectors]).contains("vectors"));
}

#[test]
fn threads_keep_their_tiles() {
    let kept = said_after("ck_tiles.c", &[], &[]);
    if kept == "no tiles\n" {
        eprintln!("skipped: the CPU or the kernel has no AMX");
        return;
    }
    assert_eq!(kept, "wrong: 0\n");
}

#[test]
fn robust_lists_are_missed() {
    assert!(state_after(&[Item::Robust]).contains("robust"));
}

#[test]
fn restartable_sequences_are_missed() {
    assert!(state_after(&[Item::Rseq]).contains("rseq"));
}

#[test]
fn signal_masks_are_missed() {
    assert!(state_after(&[Item::Mask]).contains("mask"));
}

#[test]
fn affinity_is_missed() {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    if cpus > 1 {
        assert!(state_after(&[Item::Affinity]).contains("affinity"));
    }
}

#[test]
fn priorities_are_missed() {
    assert!(state_after(&[Item::Scheduling]).contains("priority"));
}

#[test]
fn names_are_missed() {
    assert!(state_after(&[Item::Name]).contains("name"));
}

#[test]
fn signal_stacks_are_missed() {
    assert!(state_after(&[Item::AltStack]).contains("stack"));
}

#[test]
fn the_ends_of_threads_are_missed() {
    assert!(state_after(&[Item::ClearTid]).contains("join"));
}

/// Runs the program with held mutexes and blocked calls; how it ended and
/// what it said.
fn held_after(without: &[Item]) -> (End, String, Vec<Warning>) {
    held_with(&[], without)
}

fn held_with(args: &[&str], without: &[Item]) -> (End, String, Vec<Warning>) {
    let program = compile("ck_held.c", &["-O1"]);
    let (mut process, output) = program.launch_with(args, transparent());
    let hold = program.address(&process, "hold");
    exec(&mut process, hold);
    process.resume_all().expect("resumed");
    common::next(&mut process);
    let (snapshot, _) = Snapshot::take(&mut process, &Options::default()).expect("saved");
    let restored = snapshot
        .restore_without(&mut process, None, without)
        .expect("restored");
    // The stop at `hold` was reported before the checkpoint.
    let mut hits = 0;
    let end = run_out(&mut process, |_, _| hits += 1);
    assert_eq!(hits, 0);
    (end, output.text(), restored.warnings)
}

#[test]
fn held_mutexes_and_blocked_calls_go_on() {
    let (end, text, warnings) = held_after(&[]);
    assert_eq!((end, text.as_str()), (End::Exited(0), "good\n"));
    assert_eq!(warnings, []);
}

#[test]
fn thread_ids_are_missed() {
    let (end, text, warnings) = held_after(&[Item::Ids]);
    assert_eq!(end, End::Exited(1));
    assert!(
        text.contains("unlock errorcheck: Operation not permitted"),
        "{text}"
    );
    assert!(matches!(warnings[..], [Warning::NewIds(_)]), "{warnings:?}");
}

#[test]
fn the_warning_of_new_ids_names_the_locks_that_miss_them() {
    let warning = Warning::NewIds(WhyNewIds::Ordinary).to_string();
    for kind in ["errorcheck", "recursive", "robust", "priority", "rwlocks"] {
        let (end, text, _) = held_with(&[kind], &[Item::Ids]);
        assert_eq!(end, End::Exited(1), "{kind}: {text}");
        assert!(warning.contains(kind), "{kind}: {warning}");
    }
    for kind in ["normal", "adaptive", "reading"] {
        let (end, text, _) = held_with(&[kind], &[Item::Ids]);
        assert_eq!((end, text.as_str()), (End::Exited(0), "good\n"), "{kind}");
    }
}

#[test]
fn restarted_calls_are_missed() {
    let (end, text, _) = held_after(&[Item::Restart]);
    assert_eq!(end, End::Exited(1));
    assert!(text.contains("Interrupted system call"), "{text}");
}

#[test]
fn calls_that_go_on_after_an_earlier_stop() {
    let program = compile("ck_again.c", &["-O1"]);
    let (mut process, output) = program.launch_with(&[], transparent());
    let mark = program.address(&process, "mark");
    exec(&mut process, mark);
    let mut snapshots = Vec::new();
    let end = run_out(&mut process, |process, _| {
        let (snapshot, _) = Snapshot::take(process, &Options::default()).expect("saved");
        snapshots.push(snapshot);
    });
    assert_eq!((end, output.text().as_str()), (End::Exited(0), "good\n"));
    assert_eq!(snapshots.len(), 3);
    for snapshot in &snapshots {
        snapshot.restore(&mut process, None).expect("restored");
        let end = run_out(&mut process, |_, _| {});
        assert_eq!((end, output.text().as_str()), (End::Exited(0), "good\n"));
    }
}
