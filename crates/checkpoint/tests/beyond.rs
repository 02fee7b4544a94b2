//! State beyond threads and memory: it is there again after a restore, and
//! missed when it was not saved.

#[path = "../../engine/tests/common/mod.rs"]
mod common;

use common::{compile, exec, limited, next, run_out, transparent};
use std::time::Duration;
use verde_checkpoint::{Item, Options, Snapshot, Warning};
use verde_engine::End;

const EXPECTED: &str = "\
offset 4
nameless memfd
pipe hello
epoll 1 42
eventfd 0 7
timerfd long long
stream stream
message one two
echo 1
memory shared excluded cleared
forked 1 1
timer 0 long
itimer long
signal 1 99 1
";

/// What the program says after going back, and the warnings.
fn said(without: &[Item]) -> (String, Vec<Warning>) {
    let program = compile("ck_beyond.c", &["-O1", "-lutil"]);
    let file = format!("{}.data", program.path.display());
    let (mut process, output) = program.launch_with(&[&file], transparent());
    for name in ["hold", "used"] {
        let at = program.address(&process, name);
        exec(&mut process, at);
    }
    process.resume_all().expect("resumed");
    assert!(next(&mut process).ended().is_none(), "{}", output.text());
    let (snapshot, warnings) = Snapshot::take(&mut process, &Options::default()).expect("saved");
    assert_eq!(warnings, []);
    process.resume_all().expect("resumed");
    assert!(next(&mut process).ended().is_none());
    assert_eq!(output.text(), EXPECTED, "before the restore");
    let restored = snapshot
        .restore_without(&mut process, None, without)
        .expect("restored");
    let end = run_out(&mut process, |_, _| {});
    assert_eq!(end, End::Exited(0));
    let _ = std::fs::remove_file(file);
    // Without offsets the second time goes behind the first.
    let text = output.text();
    let text = match text.strip_prefix(EXPECTED) {
        Some(second) if !second.is_empty() => second.to_owned(),
        _ => text,
    };
    (text, restored.warnings)
}

#[test]
fn everything_is_there_again() {
    let (text, warnings) = said(&[]);
    assert_eq!(text, EXPECTED);
    assert_eq!(warnings, []);
}

/// Without an item, this line is another.
fn missed(item: Item, name: &str) {
    let (text, _) = said(&[item]);
    let line = |text: &str| {
        let mut lines = text.lines();
        lines.find(|l| l.starts_with(name)).map(str::to_owned)
    };
    assert!(line(EXPECTED).is_some());
    assert_ne!(line(&text), line(EXPECTED), "{text}");
}

#[test]
fn offsets_are_missed() {
    missed(Item::Offsets, "offset");
}

#[test]
fn contents_of_files_without_a_name_are_missed() {
    missed(Item::Nameless, "nameless");
}

#[test]
fn pipes_are_missed() {
    missed(Item::Pipes, "pipe");
}

#[test]
fn counters_are_missed() {
    missed(Item::Counters, "eventfd");
}

#[test]
fn timer_descriptors_are_missed() {
    missed(Item::Timers, "timerfd");
}

#[test]
fn socket_pairs_are_missed() {
    missed(Item::Pairs, "stream");
    missed(Item::Pairs, "message");
}

#[test]
fn terminal_modes_are_missed() {
    missed(Item::Modes, "echo");
}

#[test]
fn epoll_sets_are_missed() {
    missed(Item::Epoll, "epoll");
}

#[test]
fn timers_are_missed() {
    missed(Item::PosixTimers, "timer ");
    missed(Item::PosixTimers, "itimer");
}

#[test]
fn pending_signals_are_missed() {
    missed(Item::Signals, "signal");
}

#[test]
fn shared_memory_is_missed() {
    missed(Item::Shared, "memory");
}

#[test]
fn what_forks_do_not_copy_is_missed() {
    missed(Item::Ranges, "forked");
}

#[test]
fn a_checkpoint_keeps_nobody_waiting_for_the_end_of_a_pipe() {
    for args in [&[][..], &["child"]] {
        let program = compile("ck_eof.c", &["-O1"]);
        let (mut process, output) = program.launch_with(args, transparent());
        let hold = program.address(&process, "hold");
        exec(&mut process, hold);
        process.resume_all().expect("resumed");
        next(&mut process);
        let (snapshot, _) = Snapshot::take(&mut process, &Options::default()).expect("saved");
        for _ in 0..3 {
            let end = limited(&mut process, |process| run_out(process, |_, _| {}));
            assert_eq!(end, End::Exited(0));
            assert_eq!(output.text(), "read 11\n");
            snapshot.restore(&mut process, None).expect("restored");
        }
    }
}

/// It has expired in nearly every moment that the program stands still, and stands still as well
/// until the program hears of that.
#[test]
fn timers_that_expire_often_go_on() {
    let program = compile("ck_often.c", &["-O1"]);
    for kind in ["alarm", "timerfd"] {
        let (mut process, _) = program.held_at("hold", &[kind]);
        for round in 0..60 {
            std::thread::sleep(Duration::from_micros(17 * round));
            let saved = Snapshot::take(&mut process, &Options::default());
            let (snapshot, _) = saved.expect("saved");
            snapshot.restore(&mut process, None).expect("restored");
            let end = limited(&mut process, |process| run_out(process, |_, _| {}));
            assert_eq!(end, End::Exited(0), "{kind}, round {round}");
            snapshot.restore(&mut process, None).expect("restored");
        }
    }
}
