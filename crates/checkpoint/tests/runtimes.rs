//! Programs of language runtimes with threads, saved and restored in the
//! middle of their work, end with the right answer.

#[path = "../../engine/tests/common/mod.rs"]
mod common;

use common::{run_out, source, transparent};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use verde_checkpoint::{Options, Snapshot};
use verde_engine::{End, Launch, Process};

/// Lets the program run for a moment and stops it.
fn run_for(process: &mut Process, time: Duration) {
    process.resume_all().expect("resumed");
    let interrupter = process.interrupter();
    let timer = std::thread::spawn(move || {
        std::thread::sleep(time);
        interrupter.interrupt();
    });
    let stop = process.wait().expect("wait").expect("a stop");
    assert_eq!(stop.ended(), None, "it ended too early");
    timer.join().expect("the timer");
    process.stop_all().expect("stopped").keep();
}

/// Runs a program with some checkpoints and restores; its last line.
fn answer(program: &Path, args: &[&Path], threads: usize) -> String {
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let launch = Launch {
        program: program.into(),
        args: args.iter().map(Into::into).collect(),
        stdio: [None, Some(OwnedFd::from(writer)), None],
        ..Launch::default()
    };
    let mut process = Process::launch(&launch, transparent()).expect("launched");
    drop(launch);
    while process.threads().len() < threads {
        run_for(&mut process, Duration::from_millis(2));
    }
    for _ in 0..4 {
        let (snapshot, _) = Snapshot::take(&mut process, &Options::default()).expect("saved");
        for _ in 0..3 {
            run_for(&mut process, Duration::from_millis(3));
            snapshot.restore(&mut process, None).expect("restored");
        }
        run_for(&mut process, Duration::from_millis(3));
    }
    assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0));
    let mut text = String::new();
    reader.read_to_string(&mut text).expect("output");
    text
}

#[test]
fn rust_with_twenty_five_threads() {
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ck_runtime_rs");
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition", "2024", "-O", "-o"]).arg(&output);
    let built = rustc.arg(source("ck_runtime.rs")).status();
    assert!(built.is_ok_and(|s| s.success()), "it does not compile");
    assert_eq!(answer(&output, &[], 26), "true\n");
}

#[test]
fn cpython_with_threads() {
    let python = Path::new("/usr/bin/python3");
    assert!(File::open(python).is_ok(), "CPython is needed");
    let script = source("ck_runtime.py");
    assert_eq!(answer(python, &[&script], 10), "True\n");
}

#[test]
fn node_with_workers() {
    let node = Path::new("/usr/bin/node");
    if File::open(node).is_err() {
        eprintln!("no Node.js here");
        return;
    }
    let script = source("ck_runtime.js");
    assert_eq!(answer(node, &[&script], 9), "true\n");
}
