//! Without privileges: in a namespace everything is as with them, elsewhere
//! ids change and a warning says so.
//!
//! Run by root, the tests repeat themselves as another user.

#[path = "../../engine/tests/common/mod.rs"]
mod common;

use common::{as_user, compile, exec, next, run_out, transparent};
use std::os::fd::OwnedFd;
use verde_checkpoint::{Options, Snapshot, Warning, WhyNewIds};
use verde_engine::{End, Launch, Process};

/// Runs the program with held mutexes through three restores; how it ended,
/// its warnings and what it said.
fn held(namespace: bool) -> (End, Vec<Warning>, String) {
    let program = compile("ck_held.c", &["-O1"]);
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let launch = Launch {
        program: program.path.clone(),
        stdio: [None, Some(OwnedFd::from(writer)), None],
        namespace,
        ..Launch::default()
    };
    let mut process = Process::launch(&launch, transparent()).expect("launched");
    drop(launch);
    let hold = program.address(&process, "hold");
    exec(&mut process, hold);
    process.resume_all().expect("resumed");
    next(&mut process);
    let (snapshot, _) = Snapshot::take(&mut process, &Options::default()).expect("saved");
    let mut warnings = Vec::new();
    for round in 0..3 {
        if round > 0 {
            snapshot.treat_as_large();
        }
        let restored = snapshot.restore(&mut process, None).expect("restored");
        warnings.extend(restored.warnings);
    }
    drop(snapshot);
    let end = run_out(&mut process, |_, stop| panic!("{stop:?}"));
    let mut text = String::new();
    std::io::Read::read_to_string(&mut reader, &mut text).expect("output");
    (end, warnings, text)
}

#[test]
fn a_namespace_keeps_ids() {
    as_user("a_namespace_keeps_ids");
    let (end, warnings, text) = held(true);
    assert_eq!((end, text.as_str()), (End::Exited(0), "good\n"));
    assert_eq!(warnings, []);
}

#[test]
fn without_a_namespace_ids_change() {
    if as_user("without_a_namespace_ids_change") {
        return;
    }
    let (end, warnings, text) = held(false);
    assert_eq!(warnings, vec![Warning::NewIds(WhyNewIds::Ordinary); 3]);
    assert_eq!(end, End::Exited(1));
    assert!(text.contains("Operation not permitted"), "{text}");
}
