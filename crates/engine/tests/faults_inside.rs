//! Accesses to guarded pages by a thread that blocks SIGSEGV, or where the
//! program ignores it: the kernel does not allow for that, and unblocks the
//! signal and takes the handler away.

mod common;

use common::{compile, exec, next, run_out};
use verde_engine::{Addr, Cause, End, On, Owner, Trap};

/// How it ends with its data on a guarded page, and how many accesses were seen.
fn watched(kind: &str) -> (End, usize) {
    let program = compile("faults_inside.c", &["-O0", "-pthread"]);
    let mut process = program.launch(&[kind]);
    let begin = program.address(&process, "begin");
    exec(&mut process, begin);
    process.resume_all().expect("resumed");
    next(&mut process);
    let pointer = program.address(&process, "watched");
    let at = Addr(process.read_u64(pointer).expect("a pointer"));
    let watch = Trap::new(On::Write { at, len: 64 }, Owner::User);
    let id = process.insert(watch).expect("a watch");
    assert_eq!(process.watch_in_hardware(id), Some(false));
    let mut seen = 0;
    let end = run_out(&mut process, |_, stop| {
        let hits = stop.causes.iter();
        seen += hits.filter(|c| matches!(c, Cause::Watch { .. })).count();
    });
    (end, seen)
}

const WELL: End = End::Exited(7);
const SEGV: End = End::Killed(11);

#[test]
fn a_handler_touches_watched_data() {
    assert_eq!(watched("handler"), (WELL, 40));
}

#[test]
fn handlers_for_one_time_are_gone_after_it() {
    assert_eq!(watched("once"), (WELL, 60));
}

/// Also while a SIGSEGV that was sent waits.
#[test]
fn a_thread_that_blocks_all_signals_touches_watched_data() {
    assert_eq!(watched("mask"), (WELL, 100));
}

#[test]
fn what_is_ignored_stays_ignored() {
    assert_eq!(watched("ignored"), (WELL, 20));
}

#[test]
fn faults_of_the_program_end_it() {
    assert_eq!(watched("twice"), (SEGV, 1));
    assert_eq!(watched("blocked"), (SEGV, 1));
}

#[test]
fn one_thread_faults_while_another_touches() {
    let (end, seen) = watched("threads");
    assert_eq!(end, WELL);
    assert!(seen > 40, "{seen}");
}
