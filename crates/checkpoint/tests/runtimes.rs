//! Programs of language runtimes with threads, saved and restored in the
//! middle of their work, end with the right answer.

#[path = "../../engine/tests/common/mod.rs"]
mod common;

use common::{run_out, source, transparent};
use std::fs::File;
use std::io::{PipeReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::Command;
use verde_checkpoint::{Options, Snapshot};
use verde_engine::{End, Launch, Process};
use verde_sys::descriptors::set_flags;

/// Lets the program run until it writes a mark, of which there is always another, and stops it.
fn run_to_mark(process: &mut Process, marks: &PipeReader) {
    process.resume_all().expect("resumed");
    let interrupter = process.interrupter();
    let mut marks = marks.try_clone().expect("a descriptor");
    let watcher = std::thread::spawn(move || {
        let read = marks.read_exact(&mut [0]);
        interrupter.interrupt();
        read
    });
    let stop = process.wait().expect("wait").expect("a stop");
    assert_eq!(stop.ended(), None, "it ended too early");
    watcher.join().expect("the watcher").expect("a mark");
    process.stop_all().expect("stopped").keep();
}

/// More marks than any of the programs needs to have all its threads.
const MANY: usize = 10_000;

/// Runs a program with some checkpoints and restores; its last line. The program writes marks
/// while it works and, when it is done, until its standard input is at its end.
fn answer(program: &Path, args: &[&Path], threads: usize) -> String {
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let (input, gate) = std::io::pipe().expect("a pipe");
    set_flags(input.as_fd(), verde_sys::number::O_NONBLOCK).expect("a pipe that does not wait");
    let launch = Launch {
        program: program.into(),
        args: args.iter().map(Into::into).collect(),
        stdio: [Some(input.into()), Some(OwnedFd::from(writer)), None],
        ..Launch::default()
    };
    let mut process = Process::launch(&launch, transparent()).expect("launched");
    drop(launch);
    for _ in 0..MANY {
        if process.threads().len() >= threads {
            break;
        }
        run_to_mark(&mut process, &reader);
    }
    assert!(process.threads().len() >= threads, "it has no such threads");
    for _ in 0..4 {
        let (snapshot, _) = Snapshot::take(&mut process, &Options::default()).expect("saved");
        for _ in 0..3 {
            run_to_mark(&mut process, &reader);
            snapshot.restore(&mut process, None).expect("restored");
        }
        run_to_mark(&mut process, &reader);
    }
    drop(gate);
    assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0));
    let mut text = String::new();
    reader.read_to_string(&mut text).expect("output");
    text.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn rust_with_twenty_five_threads() {
    let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ck_runtime_rs");
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition", "2024", "-O", "-o"]).arg(&output);
    let built = rustc.arg(source("ck_runtime.rs")).status();
    assert!(built.is_ok_and(|s| s.success()), "it does not compile");
    assert_eq!(answer(&output, &[], 26), "true");
}

#[test]
fn cpython_with_threads() {
    let python = Path::new("/usr/bin/python3");
    assert!(File::open(python).is_ok(), "CPython is needed");
    let script = source("ck_runtime.py");
    assert_eq!(answer(python, &[&script], 10), "True");
}

#[test]
fn node_with_workers() {
    let node = Path::new("/usr/bin/node");
    if File::open(node).is_err() {
        eprintln!("no Node.js here");
        return;
    }
    let script = source("ck_runtime.js");
    assert_eq!(answer(node, &[&script], 9), "true");
}
