//! Watched data: exact counts for each mechanism.

mod common;

use common::{Program, compile, run_out};
use verde_engine::{Addr, Cause, End, On, Owner, Process, Trap, TrapId};

fn watch(process: &mut Process, at: Addr, len: u64) -> TrapId {
    process
        .insert(Trap::new(On::Write { at, len }, Owner::User))
        .expect("a watch")
}

/// Counts the stores to `shared` by every thread.
fn count(
    program: &Program,
    kind: &str,
    threads: u64,
    times: u64,
    set: impl Fn(&mut Process, Addr) -> TrapId,
) {
    let args = [threads.to_string(), times.to_string()];
    let mut process = program.launch(&[&args[0], &args[1], kind]);
    let at = program.address(&process, "shared");
    let id = set(&mut process, at);
    let mut hits = 0;
    let end = run_out(&mut process, |_, stop| {
        for cause in &stop.causes {
            match cause {
                Cause::Watch { id: i, write, .. } => {
                    assert!(*write && *i == id);
                    hits += 1;
                }
                other => panic!("unexpected {other:?}"),
            }
        }
    });
    assert_eq!(end, End::Exited(7), "{kind} {threads} {hits}");
    assert_eq!(hits, threads * times, "{threads} threads");
}

#[test]
fn perf_events_count_every_store() {
    let program = compile("counts.c", &["-O1"]);
    for (threads, times) in [(1, 20_000), (4, 5_000), (16, 1_250)] {
        count(&program, "w", threads, times, |process, at| {
            let id = watch(process, at, 8);
            assert_eq!(process.watch_in_hardware(id), Some(true));
            id
        });
    }
}

/// As where perf events are denied: new threads must get the registers too.
#[test]
fn debug_registers_count_every_store() {
    let program = compile("counts.c", &["-O1"]);
    for (threads, times) in [(1, 5_000), (4, 1_250), (16, 300)] {
        count(&program, "w", threads, times, |process, at| {
            process.avoid_perf_events();
            watch(process, at, 8)
        });
    }
}

/// More watches than slots: the page is guarded, and no thread slips through
/// while another one's store is let in.
#[test]
fn pages_count_every_store() {
    let program = compile("counts.c", &["-O1"]);
    // Stores that the engine does itself, and others that it must step.
    for (kind, each) in [("w", 2_000), ("a", 200)] {
        for threads in [1, 4, 16] {
            count(&program, kind, threads, each / threads, |process, at| {
                let big = watch(process, at, 64);
                assert_eq!(process.watch_in_hardware(big), Some(false));
                big
            });
        }
    }
}
