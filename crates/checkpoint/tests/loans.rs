//! A restore of a large program goes on in the memory of the snapshot, which has a copy before
//! anything changes, and misses nothing.

#[path = "../../engine/tests/common/mod.rs"]
mod common;

use common::{Program, as_user, compile, exec, limited, next, run_out, until};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::time::{Duration, Instant};
use verde_checkpoint::{
    Error, Item, Loss, Options, Present, Snapshot, copy_now, is_copy_due, losses,
};
use verde_engine::{Addr, End, Process, Tid};
use verde_sys::memory::Contents;
use verde_sys::{number, procfs, signals, task};

/// Runs a program to `hold`; what it says.
fn held(file: &str, args: &[&str]) -> (Program, Process, common::Output) {
    let program = compile(file, &["-O1", "-lutil"]);
    let (process, output) = program.held_at("hold", args);
    (program, process, output)
}

/// A small program, which is restored as a large one.
fn save(process: &mut Process) -> Snapshot {
    let saved = Snapshot::take(process, &Options::default());
    let snapshot = saved.expect("saved").0;
    snapshot.treat_as_large();
    snapshot
}

fn restore(snapshot: &Snapshot, process: &mut Process) {
    snapshot.restore(process, None).expect("restored");
}

/// Restores it, and keeps the present.
fn replace(snapshot: &Snapshot, process: &mut Process) -> Snapshot {
    let (present, _) = Present::take(process, &Options::default()).expect("saved");
    let restored = snapshot.restore(process, Some(present)).expect("restored");
    restored.present.expect("the present")
}

/// Processes of this thread that have not ended.
fn ours() -> usize {
    let mut ours = procfs::children(signals::current_process(), &[signals::current_thread()]);
    let state = |pid| procfs::status_field(pid, pid, "State");
    ours.retain(|pid| state(*pid).is_some_and(|s| !s.starts_with(['Z', 'X'])));
    ours.len()
}

fn write(pid: Tid, at: Addr, word: u64) {
    let memory = Contents::open(pid).expect("its memory");
    memory.write(at, &word.to_ne_bytes()).expect("written");
}

fn word(pid: Tid, at: Addr) -> u64 {
    let memory = Contents::open(pid).expect("its memory");
    memory.read_u64(at).expect("a word")
}

fn kill(pid: Tid) {
    signals::send(pid, number::SIGKILL).expect("killed");
    until("it is gone", || verde_sys::ptrace::regs(pid).is_err());
}

fn ends_well(process: &mut Process, output: &common::Output) {
    let end = limited(process, |process| run_out(process, |_, _| {}));
    assert_eq!((end, output.text().as_str()), (End::Exited(0), "good\n"));
}

#[test]
fn memory_is_copied_before_it_changes() {
    let (program, mut process, output) = held("ck_held.c", &[]);
    let at = program.address(&process, "marked");
    let snapshot = save(&mut process);
    for _ in 0..3 {
        let frozen = snapshot.frozen_pid();
        restore(&snapshot, &mut process);
        assert!(is_copy_due());
        assert_eq!((ours(), snapshot.frozen_pid()), (2, frozen));
        assert!(task::shares_memory(process.pid(), frozen));
        write(process.pid(), at, 8);
        assert!(!is_copy_due());
        assert!(!task::shares_memory(process.pid(), snapshot.frozen_pid()));
        let words = [process.pid(), snapshot.frozen_pid()].map(|pid| word(pid, at));
        assert_eq!(words, [8, 0]);
    }
    // As it does when the program itself goes on, to its end as well.
    for _ in 0..3 {
        restore(&snapshot, &mut process);
        assert!(is_copy_due());
        ends_well(&mut process, &output);
        assert!(!is_copy_due());
    }
}

#[test]
fn traps_of_now_are_not_in_the_snapshot() {
    let (program, mut process, _) = held("ck_held.c", &["normal"]);
    let at = program.address(&process, "hold");
    let snapshot = save(&mut process);
    let code = |snapshot: &Snapshot| word(snapshot.frozen_pid(), at);
    let original = code(&snapshot);
    for before in [false, true] {
        let mut trap = before.then(|| exec(&mut process, at));
        restore(&snapshot, &mut process);
        assert_eq!(is_copy_due(), !before);
        let trap = trap.get_or_insert_with(|| exec(&mut process, at));
        assert_eq!(word(process.pid(), at) & 0xff, 0xcc);
        assert_eq!(code(&snapshot), original);
        process.remove(*trap).expect("removed");
    }
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
        restore(&snapshot, &mut process);
        // The end of the first one is no change.
        restore(&snapshot, &mut process);
        copy_now();
        restore(&snapshot, &mut process);
        let other = save(&mut process);
        for snapshot in [&other, &snapshot] {
            restore(snapshot, &mut process);
        }
        let end = run_out(&mut process, |_, _| {});
        assert_eq!((end, output.text().as_str()), (End::Exited(0), expected));
    }
}

/// Its end changes the memory that is on loan: what tells of threads, and of locks that they hold.
#[test]
fn the_end_of_the_program_is_not_in_the_snapshot() {
    let (_program, mut process, output) = held("ck_held.c", &[]);
    let (one, other) = (save(&mut process), save(&mut process));
    // Nothing is copied for it, so that the memory has to be mended.
    restore(&one, &mut process);
    let frozen = one.frozen_pid();
    restore(&other, &mut process);
    assert_eq!(one.frozen_pid(), frozen);
    restore(&one, &mut process);
    assert_eq!(one.frozen_pid(), frozen);
    ends_well(&mut process, &output);
    // The same where it gets a copy afterwards.
    restore(&one, &mut process);
    restore(&other, &mut process);
    let frozen = one.frozen_pid();
    one.memory_cost().expect("a size");
    assert_ne!(one.frozen_pid(), frozen);
    for snapshot in [&one, &other] {
        restore(snapshot, &mut process);
        ends_well(&mut process, &output);
    }
    // Somebody else has killed it.
    restore(&one, &mut process);
    signals::send(process.pid(), number::SIGKILL).expect("killed");
    let stop = next(&mut process);
    assert_eq!(stop.ended(), Some(End::Killed(9)));
    for _ in 0..2 {
        restore(&one, &mut process);
        ends_well(&mut process, &output);
    }
}

#[test]
fn a_kill_while_it_is_restored_takes_nothing_from_it() {
    let (program, mut process, output) = held("ck_held.c", &[]);
    let at = program.address(&process, "marked");
    let snapshot = save(&mut process);
    for round in 0..200 {
        let pid = snapshot.pid();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let start = Instant::now();
                while start.elapsed() < Duration::from_micros(5 * round) {
                    std::hint::spin_loop();
                }
                // There may be none just now.
                let _ = signals::send(pid, number::SIGKILL);
            });
            match snapshot.restore(&mut process, None) {
                Ok(_) | Err(Error::Ended) => {}
                Err(Error::Broken { source, .. }) if matches!(*source, Error::Ended) => {}
                Err(other) => panic!("round {round}: {other:?}"),
            }
        });
        if round % 10 == 9 {
            restore(&snapshot, &mut process);
            assert_eq!(word(process.pid(), at), 0);
            write(process.pid(), at, 8);
        }
    }
    restore(&snapshot, &mut process);
    ends_well(&mut process, &output);
}

/// Who is saved in a memory that is on loan shares it with the others there.
#[test]
fn checkpoints_at_once_copy_once() {
    let (program, mut process, output) = held("ck_held.c", &[]);
    let at = program.address(&process, "marked");
    let first = save(&mut process);
    write(process.pid(), at, 5);
    let five = replace(&first, &mut process);
    // The second has a copy, the first goes on without one.
    let lent = first.frozen_pid();
    let second = save(&mut process);
    assert!(is_copy_due());
    assert_eq!((first.frozen_pid(), ours()), (lent, 4));
    let zero = replace(&second, &mut process);
    assert_eq!((first.frozen_pid(), ours()), (lent, 5));
    assert!(task::shares_memory(lent, zero.frozen_pid()));
    write(process.pid(), at, 7);
    // The one that they have is nobody's whose memory changes.
    assert_eq!((first.frozen_pid(), ours()), (lent, 5));
    let seven = replace(&zero, &mut process);
    write(process.pid(), at, 8);
    assert_ne!(first.frozen_pid(), lent);
    let all = [
        (&five, 5),
        (&seven, 7),
        (&first, 0),
        (&second, 0),
        (&zero, 0),
    ];
    for (snapshot, value) in all {
        restore(snapshot, &mut process);
        assert_eq!(word(process.pid(), at), value);
        ends_well(&mut process, &output);
    }
}

#[test]
fn what_nobody_wants_any_more_is_not_copied() {
    let (_program, mut process, output) = held("ck_held.c", &[]);
    let (kept, gone) = (save(&mut process), save(&mut process));
    restore(&gone, &mut process);
    drop(gone);
    let frozen = kept.frozen_pid();
    process.resume_all().expect("resumed");
    assert_eq!((kept.frozen_pid(), ours()), (frozen, 2));
    ends_well(&mut process, &output);
    restore(&kept, &mut process);
    ends_well(&mut process, &output);
}

/// The program is not: it has the memory, too.
#[test]
fn a_copy_that_was_killed_is_lost() {
    let (_program, mut process, output) = held("ck_held.c", &[]);
    let snapshot = save(&mut process);
    restore(&snapshot, &mut process);
    kill(snapshot.frozen_pid());
    ends_well(&mut process, &output);
    assert!(matches!(losses()[..], [Loss::Uncopied(Error::Lost)]));
    let lost = snapshot.restore(&mut process, None);
    assert!(matches!(lost, Err(Error::Lost)), "{lost:?}");
}

/// It would change with the program.
#[test]
fn what_cannot_be_copied_is_lost() {
    if as_user("what_cannot_be_copied_is_lost") {
        return;
    }
    let (_program, mut process, output) = held("ck_held.c", &["normal"]);
    let limit = |pid: Tid, most: usize| {
        let mut prlimit = Command::new("prlimit");
        prlimit.arg(format!("--pid={pid}"));
        let done = prlimit.arg(format!("--nproc={most}:")).status();
        assert!(done.expect("prlimit").success());
    };
    let snapshot = save(&mut process);
    // Nothing is lent where that is to be feared.
    for (most, is_lent) in [(100, false), (5000, true)] {
        limit(snapshot.frozen_pid(), most);
        restore(&snapshot, &mut process);
        assert_eq!(is_copy_due(), is_lent);
    }
    copy_now();
    // The present goes first.
    let present = replace(&snapshot, &mut process);
    limit(snapshot.frozen_pid(), tasks_of_user());
    process.resume_all().expect("resumed");
    let lost = losses();
    assert!(matches!(lost[..], [Loss::GaveWay]), "{lost:?}");
    ends_well(&mut process, &output);
    let lost = present.restore(&mut process, None);
    assert!(matches!(lost, Err(Error::Lost)), "{lost:?}");
    limit(snapshot.frozen_pid(), 5000);
    restore(&snapshot, &mut process);
    limit(snapshot.frozen_pid(), 1);
    ends_well(&mut process, &output);
    assert!(matches!(&losses()[..], [Loss::Uncopied(why)] if why.is_lack()));
    let lost = snapshot.restore(&mut process, None);
    assert!(matches!(lost, Err(Error::Lost)), "{lost:?}");
}

/// All that count against its limit.
fn tasks_of_user() -> usize {
    let ours = fs::metadata("/proc/self").expect("ourselves").uid();
    let all = fs::read_dir("/proc").expect("processes").flatten();
    let is_ours = |entry: &fs::DirEntry| entry.metadata().is_ok_and(|meta| meta.uid() == ours);
    let tasks = |entry: fs::DirEntry| fs::read_dir(entry.path().join("task")).ok();
    all.filter(is_ours)
        .filter_map(tasks)
        .map(Iterator::count)
        .sum()
}

/// Whoever fails half-way may not have given the memory what forks leave out.
#[test]
fn what_forks_leave_out_is_not_forgotten() {
    for (kind, flag) in [("excluded", "dc"), ("cleared", "wf")] {
        let (_program, mut process, output) = held("ck_ties.c", &[kind, "/tmp"]);
        let flagged = |process: &Process| {
            let text = fs::read_to_string(format!("/proc/{}/smaps", process.pid()));
            let text = text.expect("its memory");
            let flags = text.lines().filter(|line| line.starts_with("VmFlags:"));
            flags
                .filter(|line| line.split(' ').any(|f| f == flag))
                .count()
        };
        let then = flagged(&process);
        assert!(then > 0, "{kind}");
        let snapshot = save(&mut process);
        for _ in 0..2 {
            copy_now();
            let partly = snapshot.restore_without(&mut process, None, &[Item::Ranges]);
            partly.expect("restored");
            assert_eq!(flagged(&process), 0, "{kind}");
            copy_now();
            restore(&snapshot, &mut process);
            assert_eq!(flagged(&process), then, "{kind}");
        }
        let end = limited(&mut process, |process| run_out(process, |_, _| {}));
        assert_eq!((end, output.text().as_str()), (End::Exited(0), ""));
    }
}

/// Who has left the memory to the snapshot does not count for it any more where memory runs out;
/// and its end is no change, whoever makes it.
#[test]
fn what_is_left_without_a_copy_is_a_frozen_one_again() {
    let (_program, mut process, output) = held("ck_ties.c", &["large", "/tmp"]);
    let (one, other) = (save(&mut process), save(&mut process));
    let score = |pid| procfs::oom_score(pid);
    restore(&one, &mut process);
    let frozen = one.frozen_pid();
    assert_eq!([process.pid(), frozen].map(score), [Some(7); 2]);
    restore(&other, &mut process);
    assert_eq!(one.frozen_pid(), frozen);
    let scores = [process.pid(), frozen].map(score);
    assert_eq!(scores, [Some(7), Some(1000)]);
    restore(&one, &mut process);
    process.kill().expect("killed");
    assert_eq!(one.frozen_pid(), frozen);
    for snapshot in [&one, &other, &one] {
        restore(snapshot, &mut process);
        let end = limited(&mut process, |process| run_out(process, |_, _| {}));
        assert_eq!((end, output.text().as_str()), (End::Exited(0), ""));
    }
}
