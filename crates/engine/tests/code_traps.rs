//! Traps on code: exact counts, and the ways they can go wrong.

mod common;

use common::{compile, exec, run_out};
use std::collections::HashMap;
use verde_engine::{Cause, End, On, Owner, Trap};

/// Every thread's every call is seen once, whatever the optimisation.
#[test]
fn exact_counts_with_threads() {
    // `f` is hit twice in each round.
    for (flags, counts) in [
        (["-O0"], [(1, 10_000), (3, 2_000)]),
        (["-O2"], [(4, 10_000), (16, 10_000)]),
    ] {
        let program = compile("counts.c", &flags);
        for (threads, times) in counts {
            let args = [threads.to_string(), times.to_string()];
            let mut process = program.launch(&[&args[0], &args[1]]);
            let f = program.address(&process, "f");
            let g = program.address(&process, "g");
            let f = exec(&mut process, f);
            let g = exec(&mut process, g);
            let mut seen = HashMap::new();
            let mut tids = HashMap::new();
            let end = run_out(&mut process, |process, stop| {
                *tids.entry(stop.tid).or_insert(0) += 1;
                for id in stop.traps() {
                    *seen.entry(id).or_insert(0) += 1;
                }
                assert!(process.regs(stop.tid).is_ok());
            });
            assert_eq!(end, End::Exited(7));
            assert_eq!(
                seen[&f],
                2 * threads * times,
                "{threads} threads, {flags:?}"
            );
            assert_eq!(seen[&g], threads * times, "{threads} threads, {flags:?}");
            assert_eq!(tids.len(), threads as usize);
            assert_eq!(process.traps().get(f).expect("f").hits, 2 * threads * times);
        }
    }
}

/// Two owners at one address are told apart, and one can leave.
#[test]
fn owners_share_an_address() {
    let program = compile("counts.c", &["-O1"]);
    let mut process = program.launch(&["1", "100"]);
    let f = program.address(&process, "f");
    let user = exec(&mut process, f);
    let monitor = process
        .insert(Trap::new(On::Exec(f), Owner::Monitor))
        .expect("a trap");
    let mut seen = (0, 0);
    run_out(&mut process, |process, stop| {
        for id in stop.traps() {
            if id == user {
                seen.0 += 1;
                if seen.0 == 50 {
                    process.remove(user).expect("removed");
                }
            } else if id == monitor {
                seen.1 += 1;
            }
        }
    });
    assert_eq!(seen, (50, 200));
}

/// Returns are seen once for every call, by every thread.
#[test]
fn exact_returns_with_threads() {
    let program = compile("counts.c", &["-O2"]);
    for (threads, times) in [(1, 10_000u64), (4, 5_000), (16, 10_000)] {
        let args = [threads.to_string(), times.to_string()];
        let mut process = program.launch(&[&args[0], &args[1]]);
        let f = program.address(&process, "f");
        let id = process
            .insert(Trap::new(On::Call(f), Owner::Monitor))
            .expect("a trap");
        let mut open = HashMap::new();
        let (mut entries, mut returns) = (0, 0);
        run_out(&mut process, |process, stop| {
            let regs = *process.regs(stop.tid).expect("registers");
            for cause in &stop.causes {
                match *cause {
                    Cause::Entry { id: i, call } if i == id => {
                        entries += 1;
                        open.insert(call, regs.rdi);
                    }
                    Cause::Return { id: i, call } if i == id => {
                        returns += 1;
                        let argument = open.remove(&call).expect("an entry");
                        assert_eq!(regs.rax, argument + 1, "the result of this call");
                    }
                    ref other => panic!("unexpected {other:?}"),
                }
            }
        });
        assert_eq!(
            (entries, returns),
            (2 * threads * times, 2 * threads * times)
        );
        assert!(open.is_empty());
    }
}

/// A program that nobody loads tells less about where it is.
#[test]
fn programs_without_a_loader() {
    for flags in [["-O1", "-static"], ["-O1", "-static-pie"]] {
        let program = compile("counts.c", &flags);
        let mut process = program.launch(&["2", "100"]);
        let f = program.address(&process, "f");
        let f = exec(&mut process, f);
        let end = run_out(&mut process, |_, _| {});
        let hits = process.traps().get(f).expect("f").hits;
        assert_eq!((end, hits), (End::Exited(7), 400), "{flags:?}");
    }
}
