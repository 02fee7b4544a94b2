//! Checkpoints that cannot be: each refused with its reason, and the program
//! goes on.

#[path = "../../engine/tests/common/mod.rs"]
mod common;

use common::{as_user, compile, exec, next, run_out, transparent};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use verde_checkpoint::{Error, Options, Present, Snapshot, Warning};
use verde_engine::{End, Launch, Process, Tid};
use verde_sys::{procfs, signals, task};

fn at_hold() -> (common::Program, Process, common::Output) {
    let program = compile("ck_calls.c", &["-O1"]);
    let (mut process, output) = program.launch_with(&[], transparent());
    let hold = program.address(&process, "hold");
    exec(&mut process, hold);
    process.resume_all().expect("resumed");
    next(&mut process);
    (program, process, output)
}

#[test]
fn an_attached_process_is_refused() {
    let program = compile("waits.c", &[]);
    let mut child = program.spawn(&["pause"]);
    let pid = Tid(child.id() as i32);
    let mut process = Process::attach(pid, transparent()).expect("attached");
    let refused = Snapshot::take(&mut process, &Options::default());
    assert!(matches!(refused.map(drop), Err(Error::Attached)));
    process.detach().expect("detached");
    child.kill().expect("killed");
    child.wait().expect("reaped");
}

#[test]
fn a_killed_program_is_an_error_and_no_hang() {
    let (_program, mut process, _) = at_hold();
    signals::send(process.pid(), verde_sys::number::SIGKILL).expect("killed");
    let failed = Snapshot::take(&mut process, &Options::default());
    assert!(matches!(failed.map(drop), Err(Error::Ended)));
    let stop = next(&mut process);
    assert_eq!(stop.ended(), Some(End::Killed(9)));
}

#[test]
fn a_killed_snapshot_is_lost_and_the_program_unharmed() {
    let (_program, mut process, output) = at_hold();
    let (snapshot, _) = Snapshot::take(&mut process, &Options::default()).expect("saved");
    signals::send(snapshot.frozen_pid(), verde_sys::number::SIGKILL).expect("killed");
    common::until("it is dead", || {
        matches!(snapshot.restore(&mut process, None), Err(Error::Lost))
    });
    assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0));
    assert!(output.text().starts_with("sum "));
}

/// Saves the program that has something of its surroundings.
fn outside(kind: &str) -> Option<Result<Vec<Warning>, Error>> {
    let program = compile("ck_outside.c", &["-O1", "-lutil"]);
    let (mut process, _) = program.launch_with(&[kind], transparent());
    let hold = program.address(&process, "hold");
    exec(&mut process, hold);
    process.resume_all().expect("resumed");
    if next(&mut process).ended().is_some() {
        return None;
    }
    let saved = Snapshot::take(&mut process, &Options::default());
    let warnings = saved.map(|(_, warnings)| warnings);
    assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0), "unharmed");
    Some(warnings)
}

/// They are not the program's any more, but have its pipe or socket still.
#[test]
fn children_of_before_a_restart_are_known() {
    for kind in ["feeds", "talks"] {
        let program = compile("ck_outside.c", &["-O1", "-lutil"]);
        let (mut process, _) = program.launch_with(&[kind], transparent());
        let hold = program.address(&process, "hold");
        exec(&mut process, hold);
        process.resume_all().expect("resumed");
        assert!(next(&mut process).ended().is_none());
        let mut saved = || {
            let (snapshot, warnings) =
                Snapshot::take(&mut process, &Options::default()).expect("saved");
            snapshot.restore(&mut process, None).expect("restored");
            warnings
        };
        let (first, second) = (saved(), saved());
        let ends = first.iter().find(|w| matches!(w, Warning::OfChildren(_)));
        assert!(
            ends.is_some() && second.contains(ends.expect("ends")),
            "{second:?}"
        );
        assert!(!second.iter().any(|w| matches!(w, Warning::Children(_))));
        assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0));
    }
}

#[test]
fn what_does_not_come_back_is_one_warning_each() {
    let warned = |kind| outside(kind).expect("it runs").expect("saved");
    assert!(matches!(warned("socket").as_slice(), [Warning::Sockets(list)] if list.len() == 1));
    assert!(matches!(warned("child").as_slice(), [Warning::Children(list)] if list.len() == 1));
    let feeds = warned("feeds");
    assert!(
        matches!(
            feeds.as_slice(),
            [Warning::OfChildren(pipes), Warning::Children(children)]
                if pipes.len() == 1 && children.len() == 1
        ),
        "{feeds:?}"
    );
    let talks = warned("talks");
    assert!(
        matches!(
            talks.as_slice(),
            [Warning::OfChildren(ends), Warning::Sockets(sockets), Warning::Children(_)]
                if ends == sockets && ends.len() == 1
        ),
        "{talks:?}"
    );
    assert_eq!(warned("lock"), [Warning::RecordLocks]);
    assert_eq!(warned("inotify"), [Warning::Inotify]);
    let messages = warned("messages");
    assert!(
        matches!(messages.as_slice(), [Warning::SystemVQueues(list)] if list.len() == 1),
        "{messages:?}"
    );
    let semaphores = warned("semaphores");
    assert!(
        matches!(semaphores.as_slice(), [Warning::SystemVSemaphores(list)] if list.len() == 1),
        "{semaphores:?}"
    );
    let pipe = warned("pipe");
    assert!(
        matches!(
            pipe.as_slice(),
            [Warning::OfChildren(ends), Warning::Pipes(read)] if ends.len() == 2 && read.len() == 1
        ),
        "{pipe:?}"
    );
    if let Some(saved) = outside("counter") {
        let warnings = saved.expect("saved");
        assert!(
            matches!(warnings.as_slice(), [Warning::Others(list)] if list[0].1 == "perf_event"),
            "{warnings:?}"
        );
    }
    // Not every kernel has them.
    if let Some(saved) = outside("queue") {
        let warnings = saved.expect("saved");
        assert!(matches!(warnings.as_slice(), [Warning::Queues(list)] if list.len() == 1));
    }
    assert!(matches!(
        warned("rights").as_slice(),
        [Warning::TravellingDescriptors(list)] if list.len() == 1
    ));
    assert!(matches!(warned("terminal").as_slice(), [Warning::Terminals(list)] if list.len() == 1));
}

#[test]
fn what_works_with_the_memory_of_one_process_is_refused() {
    let kinds = [
        ("ring", "io_uring"),
        ("requests", "asynchronous I/O"),
        ("faults", "userfaultfd"),
    ];
    for (kind, name) in kinds {
        // Some kernels have it switched off.
        if let Some(saved) = outside(kind) {
            let error = saved.expect_err("refused");
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}

#[test]
fn no_memory_is_a_clear_error() {
    let error = outside("memory").expect("it runs").expect_err("refused");
    assert!(matches!(error, Error::Refused(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains("Cannot allocate memory"), "{text}");
    assert!(text.contains("the program is unharmed"), "{text}");
}

#[test]
fn no_more_processes_is_a_clear_error() {
    // Root may have as many as it likes.
    if !as_user("no_more_processes_is_a_clear_error") {
        let error = outside("processes").expect("it runs").expect_err("refused");
        assert!(matches!(error, Error::Refused(_)), "{error}");
    }
}

#[test]
fn a_filter_is_refused_if_it_cannot_be_passed() {
    if !as_user("a_filter_is_refused_if_it_cannot_be_passed") {
        let error = outside("filter").expect("it runs").expect_err("refused");
        assert!(error.to_string().contains("seccomp"), "{error}");
        return;
    }
    let program = compile("ck_outside.c", &["-O1", "-lutil"]);
    let (mut process, _) = program.launch_with(&["filter"], transparent());
    let hold = program.address(&process, "hold");
    exec(&mut process, hold);
    process.resume_all().expect("resumed");
    next(&mut process);
    let pid = process.pid();
    let filters = || {
        verde_sys::procfs::rights(pid, pid)
            .expect("a process")
            .seccomp
    };
    let before = filters();
    let (snapshot, _) = Snapshot::take(&mut process, &Options::default()).expect("saved");
    for _ in 0..2 {
        snapshot.restore(&mut process, None).expect("restored");
        assert_eq!(filters(), before);
    }
    assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0));
}

#[test]
fn a_kill_at_any_moment_is_a_clear_error() {
    let program = compile("ck_held.c", &["-O1"]);
    for round in 0..60 {
        let (mut process, _) = program.launch_with(&[], transparent());
        let hold = program.address(&process, "hold");
        exec(&mut process, hold);
        process.resume_all().expect("resumed");
        next(&mut process);
        let pid = process.pid();
        let killer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_micros(round * 20));
            signals::send(pid, verde_sys::number::SIGKILL).expect("killed");
        });
        // As many as it takes until the kill comes in one of them.
        let failed = loop {
            if let Err(error) = Snapshot::take(&mut process, &Options::default()) {
                break error;
            }
        };
        killer.join().expect("the killer");
        assert!(matches!(failed, Error::Ended), "round {round}: {failed}");
        let stop = next(&mut process);
        assert_eq!(stop.ended(), Some(End::Killed(9)), "round {round}");
        common::until("no copy of it is left", || left_of(&program).is_empty());
    }
}

/// Kills of copies are told as such, and the program does not notice: in `take` at any moment.
fn copies_are_killed(take: impl Fn(&mut Process) -> Result<(), Error>) {
    let (program, mut process, output) = at_hold();
    let pid = process.pid();
    let parent = (signals::current_process(), signals::current_thread());
    let is_over = AtomicBool::new(false);
    let mut lost = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut round = 0;
            while !is_over.load(Ordering::Relaxed) {
                let children = procfs::children(parent.0, &[parent.1]);
                for copy in children.into_iter().filter(|child| *child != pid) {
                    round += 1;
                    let start = Instant::now();
                    while start.elapsed() < Duration::from_micros(round * 37 % 300) {
                        std::hint::spin_loop();
                    }
                    // It may be gone.
                    let _ = signals::send(copy, verde_sys::number::SIGKILL);
                }
            }
        });
        for _ in 0..2000 {
            match take(&mut process) {
                Ok(()) => {}
                Err(Error::Lost) => lost += 1,
                Err(other) => {
                    is_over.store(true, Ordering::Relaxed);
                    panic!("{other:?}");
                }
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(lost > 0, "no copy was killed in time");
    let flags = std::fs::read_to_string(format!("/proc/{pid}/smaps")).expect("smaps");
    let flags = flags.lines().filter(|l| l.starts_with("VmFlags:"));
    let marked = |flags: &&str| flags.split(' ').any(|flag| matches!(flag, "dc" | "wf"));
    assert_eq!(flags.filter(marked).count(), 0);
    assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0));
    assert!(output.text().starts_with("sum "));
    common::until("no copy is left", || left_of(&program).is_empty());
}

#[test]
fn a_copy_that_is_killed_while_it_is_made_is_lost() {
    copies_are_killed(|process| Snapshot::take(process, &Options::default()).map(drop));
}

#[test]
fn a_present_that_is_killed_while_it_is_made_is_lost() {
    copies_are_killed(|process| Present::take(process, &Options::default()).map(drop));
}

/// Code of ours in the program ends in a SIGTRAP. One that somebody sends is no such end, and it
/// reaches the program.
#[test]
fn a_signal_that_is_sent_ends_no_code_of_ours() {
    let program = compile("ck_trap.c", &["-O1"]);
    // A number that no process has, where the program's answer to a fork would be.
    let number = "4194305";
    // Only the first checkpoint needs calls of the engine.
    for sent_before in [0, 1] {
        let (mut process, _) = program.launch_with(&[number], transparent());
        let hold = program.address(&process, "hold");
        exec(&mut process, hold);
        process.resume_all().expect("resumed");
        next(&mut process);
        for count in 0..3 {
            if count == sent_before {
                signals::send(process.pid(), verde_sys::number::SIGTRAP).expect("sent");
            }
            let saved = Snapshot::take(&mut process, &Options::default()).map(drop);
            saved.expect("saved");
        }
        assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0));
    }
}

/// Processes that run a program, and are not yet dead.
fn left_of(program: &common::Program) -> Vec<Tid> {
    let all = std::fs::read_dir("/proc").expect("processes").flatten();
    let pids = all.filter_map(|e| e.file_name().to_str()?.parse().ok().map(Tid));
    let runs = |pid: &Tid| {
        let file = std::fs::read_link(format!("/proc/{pid}/exe"));
        file.is_ok_and(|file| file == program.path)
    };
    pids.filter(runs).collect()
}

/// Whoever waits for the program's group waits for none of its copies, and what is sent to the
/// group reaches the program alone.
#[test]
fn a_copy_is_in_no_group_of_others() {
    let (_program, mut process, _) = at_hold();
    let group = task::group(process.pid()).expect("a group");
    let (snapshot, _) = Snapshot::take(&mut process, &Options::default()).expect("saved");
    for _ in 0..2 {
        let frozen = snapshot.frozen_pid();
        assert_eq!(task::group(frozen).expect("a group"), frozen);
        snapshot.restore(&mut process, None).expect("restored");
        assert_eq!(task::group(process.pid()).expect("a group"), group);
    }
    assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0));
}

#[test]
fn a_group_of_its_own_keeps_its_id() {
    let program = compile("ck_calls.c", &["-O1"]);
    let launch = Launch {
        program: program.path.clone(),
        own_group: true,
        ..Launch::default()
    };
    let mut process = Process::launch(&launch, transparent()).expect("launched");
    let hold = program.address(&process, "hold");
    exec(&mut process, hold);
    process.resume_all().expect("resumed");
    next(&mut process);
    let pid = process.pid();
    let (snapshot, _) = Snapshot::take(&mut process, &Options::default()).expect("saved");
    for _ in 0..2 {
        let restored = snapshot.restore(&mut process, None).expect("restored");
        assert_eq!(restored.warnings, []);
        assert_eq!(process.pid(), pid);
        assert_eq!(verde_sys::task::group(pid).expect("a group"), pid);
    }
    assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0));
}
