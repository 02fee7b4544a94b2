//! Programs with many threads, saved and restored over and over.

#[path = "../../engine/tests/common/mod.rs"]
mod common;

use common::{Output, compile, transparent};
use std::time::Duration;
use verde_checkpoint::{Options, Snapshot};
use verde_engine::{End, Process};

/// Lets the program run for a moment and stops it. `false`: it has ended.
fn run_for(process: &mut Process, time: Duration) -> bool {
    process.resume_all().expect("resumed");
    let interrupter = process.interrupter();
    let timer = std::thread::spawn(move || {
        std::thread::sleep(time);
        interrupter.interrupt();
    });
    let stop = process.wait().expect("wait").expect("a stop");
    timer.join().expect("the timer");
    if stop.ended().is_some() {
        return false;
    }
    process.stop_all().expect("stopped").keep();
    true
}

fn finish(process: &mut Process, output: &Output) -> (End, String) {
    let end = common::run_out(process, |_, _| {});
    (end, output.text())
}

#[test]
fn twenty_eight_threads_a_hundred_times() {
    let program = compile("ck_threads.c", &["-O1"]);
    let file = format!("{}.joined", program.path.display());
    let items: i64 = 60_000;
    let count = items.to_string();
    let args = [count.as_str(), "12", "13", file.as_str()];
    let (mut process, output) = program.launch_with(&args, transparent());
    assert!(run_for(&mut process, Duration::from_millis(30)));
    let (mut snapshot, _) = Snapshot::take(&mut process, &Options::default()).expect("saved");
    assert_eq!(snapshot.thread_count(), 28);
    for round in 0..100 {
        let pause = Duration::from_micros(500 + 37 * (round % 29));
        assert!(run_for(&mut process, pause), "ended in round {round}");
        snapshot
            .restore(&mut process, None)
            .unwrap_or_else(|e| panic!("round {round}: {e}"));
        if round % 3 == 2 {
            // Go forward, so that many different moments are saved.
            assert!(run_for(&mut process, pause), "ended in round {round}");
            (snapshot, _) = Snapshot::take(&mut process, &Options::default()).expect("saved");
        }
    }
    let (end, text) = finish(&mut process, &output);
    let sum = items * (items + 1) / 2;
    assert_eq!(text, format!("done sum={sum} bad=0\n"));
    assert_eq!(end, End::Exited(0));
    let _ = std::fs::remove_file(file);
}
