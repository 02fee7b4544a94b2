//! Watched data: exact counts for each mechanism.

mod common;

use common::{Program, compile, next, run_out, transparent, until, waits_for_input};
use std::io::Write;
use verde_engine::{Addr, Cause, End, FrameRef, On, Owner, Process, Tid, Trap, TrapId};

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
    for (threads, times) in [(1, 20_000), (4, 5_000), (16, 20_000)] {
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

/// Slots change hands while other threads' hits are on their way.
#[test]
fn a_hit_is_one_of_what_the_slot_watched_then() {
    let program = compile("counts.c", &["-O1"]);
    for registers in [false, true] {
        let mut process = program.launch(&["8", "200", "w"]);
        if registers {
            process.avoid_perf_events();
        }
        let at = program.address(&process, "shared");
        let mut shared = watch(&mut process, at, 8);
        let mut others: Vec<TrapId> = Vec::new();
        let mut hits = 0;
        let end = run_out(&mut process, |process, stop| {
            for cause in &stop.causes {
                let Cause::Watch { id, .. } = *cause else {
                    panic!("unexpected {cause:?}");
                };
                assert!(!others.contains(&id), "nobody stores there: {registers}");
                hits += 1;
            }
            process.remove(shared).expect("removed");
            for id in others.drain(..) {
                process.remove(id).expect("removed");
            }
            if hits % 2 == 1 {
                others = (1..4).map(|i| watch(process, at + 8 * i, 8)).collect();
            }
            shared = watch(process, at, 8);
        });
        assert_eq!(end, End::Exited(7));
        assert!(hits > 0);
    }
}

/// What each thread has for itself is at another address in each: every thread
/// has slots of its own, set before it runs.
#[test]
fn each_thread_has_its_own_slots() {
    let program = compile("own.c", &["-O1"]);
    let own = |process: &Process, tid| Addr(process.regs(tid).expect("registers").fs_base - 8);
    let set = |process: &mut Process, tid| {
        let on = On::Write {
            at: own(process, tid),
            len: 8,
        };
        let trap = Trap::new(on, Owner::Monitor).in_thread(tid);
        let id = process.insert(trap).expect("a watch");
        assert_eq!(process.watch_in_hardware(id), Some(true));
        id
    };
    for (threads, times, order) in [(1, 500, "s"), (4, 500, ""), (16, 100, ""), (16, 20, "s")] {
        for registers in [false, true] {
            let (n, m) = (threads.to_string(), times.to_string());
            let mut args = vec![&*n, &*m];
            args.extend(Some(order).filter(|o| !o.is_empty()));
            let mut process = program.launch(&args);
            if registers {
                process.avoid_perf_events();
            }
            // Data of all threads take the other slots, and one more.
            let main = program.address(&process, "main");
            let begin = common::exec(&mut process, main);
            let start = Trap::new(On::Start, Owner::Monitor);
            let start = process.insert(start).expect("a trap");
            let mut globals = Vec::new();
            let mut ids = std::collections::HashMap::new();
            let mut seen = std::collections::HashMap::new();
            let end = run_out(&mut process, |process, stop| {
                for cause in &stop.causes {
                    match *cause {
                        Cause::Trap { id } if id == begin => {
                            let at = program.address(process, "data");
                            globals = (0..4).map(|i| watch(process, at + 8 * i, 8)).collect();
                            ids.insert(set(process, stop.tid), stop.tid);
                        }
                        Cause::Trap { id } if id == start => {
                            ids.insert(set(process, stop.tid), stop.tid);
                        }
                        Cause::Watch {
                            id,
                            write: true,
                            at,
                        } => {
                            assert_eq!(ids[&id], stop.tid, "its own");
                            let value = process.read_u64(at).expect("its value");
                            let last = seen.entry(stop.tid).or_insert(0);
                            assert_eq!(value, *last + 1);
                            *last = value;
                        }
                        Cause::ThreadExit(_) => {
                            let (id, _) = ids.iter().find(|(_, t)| **t == stop.tid).expect("one");
                            process.remove(*id).expect("removed");
                        }
                        ref other => panic!("unexpected {other:?}"),
                    }
                }
            });
            assert_eq!(end, End::Exited(7));
            assert_eq!(seen.len(), threads + 1, "registers: {registers}");
            assert!(seen.values().all(|n| *n == times), "{seen:?}");
            let guarded = globals
                .iter()
                .filter(|id| process.watch_in_hardware(**id) == Some(false));
            assert_eq!(guarded.count(), 1, "one made room");
        }
    }
}

/// Threads that block all signals: a perf event's signal would never come.
/// (An int3 on the way would unblock SIGTRAP, so there is none.)
#[test]
fn stores_with_signals_blocked() {
    let program = compile("counts.c", &["-O1"]);
    for threads in [1, 4] {
        let mut child = program.spawn(&[&threads.to_string(), "500", "b"]);
        let pid = Tid(child.id() as i32);
        until("it waits for input", || waits_for_input(pid));
        let mut process = Process::attach(pid, transparent()).expect("attached");
        let at = program.address(&process, "shared");
        let id = watch(&mut process, at, 8);
        let mut input = child.stdin.take().expect("input");
        input.write_all(b"x").expect("written");
        let end = run_out(&mut process, |_, _| {});
        assert_eq!(end, End::Exited(7));
        let hits = process.traps().get(id).expect("a watch").hits;
        assert_eq!(hits, threads * 500);
        assert!(child.wait().is_err(), "reaped by the engine");
    }
}

/// More watches than slots: the page is guarded, and no thread slips through
/// while another one's store is let in.
#[test]
fn pages_count_every_store() {
    let program = compile("counts.c", &["-O1"]);
    // Stores that the engine does itself, and others that it must step.
    for (kind, each) in [("w", 2_000), ("a", 200), ("n", 200)] {
        for threads in [1, 4, 16] {
            count(&program, kind, threads, each / threads, |process, at| {
                let big = watch(process, at, 64);
                assert_eq!(process.watch_in_hardware(big), Some(false));
                big
            });
        }
    }
}

/// A lock beside the datum: threads wait in the kernel for a word of the
/// guarded page, which is not open to the others meanwhile.
#[test]
fn pages_with_a_lock_on_them() {
    let program = compile("counts.c", &["-O1"]);
    for threads in [1, 4, 16] {
        for reads in [false, true] {
            count(&program, "l", threads, 160 / threads, |process, at| {
                let on = match reads {
                    false => On::Write { at, len: 64 },
                    true => On::Access { at, len: 64 },
                };
                let id = process.insert(Trap::new(on, Owner::User));
                let id = id.expect("a watch");
                assert_eq!(process.watch_in_hardware(id), Some(false));
                id
            });
        }
    }
}

/// Buffers behind vectors and messages are found, and a child that borrows
/// the memory gets through.
#[test]
fn pages_do_not_disturb_calls_and_borrowers() {
    let program = compile("page_calls.c", &["-O1"]);
    for reads in [false, true] {
        let mut process = program.launch(&[]);
        let at = program.address(&process, "shared");
        let on = match reads {
            false => On::Write { at, len: 64 },
            true => On::Access { at, len: 64 },
        };
        let id = process.insert(Trap::new(on, Owner::User)).expect("a watch");
        let mut writes = 0;
        let end = run_out(&mut process, |_, stop| {
            let hits =
                |c: &&Cause| matches!(c, Cause::Watch { id: i, write: true, .. } if *i == id);
            writes += stop.causes.iter().filter(hits).count();
        });
        assert_eq!(end, End::Exited(7), "reads: {reads}");
        assert_eq!(writes, 1, "by recvmmsg");
    }
}

/// Calls that wait with their memory on the guarded page: no page is open
/// meanwhile, so that the stores of the others are seen, each of them, and
/// what the kernel writes is one.
#[test]
fn pages_with_calls_that_wait_on_them() {
    let program = compile("page_waits.c", &["-O1"]);
    let kinds = [
        "read",
        "restart",
        "interrupt",
        "readv",
        "recvfrom",
        "recvmsg",
        "poll",
        "ppoll",
        "select",
        "pselect",
        "epoll",
        "nanosleep",
        "clock_nanosleep",
        "wait4",
        "waitid",
        "write",
        "large",
        "fork",
        "exit",
        "exec",
    ];
    for kind in kinds {
        for (writers, rounds, times) in [(1u64, 3u64, 20u64), (3, 2, 20)] {
            let ends = ["exit", "exec"].contains(&kind);
            let rounds = if ends { 1 } else { rounds };
            for reads in [false, true] {
                let numbers = [rounds, writers, times].map(|n| n.to_string());
                let args = [kind, &numbers[0], &numbers[1], &numbers[2]];
                let mut process = program.launch(&args);
                let (value, buffer) = watch_waits(&program, &mut process, reads);
                let (mut stores, mut kernels) = (0, 0);
                let end = run_out(&mut process, |_, stop| {
                    for cause in &stop.causes {
                        match *cause {
                            Cause::Watch { write: false, .. } => {}
                            Cause::Watch { id, .. } if id == value => stores += 1,
                            Cause::Watch { id, .. } if id == buffer => kernels += 1,
                            Cause::Exec => assert_eq!(kind, "exec"),
                            ref other => panic!("unexpected {other:?}"),
                        }
                    }
                });
                let at = format!("{kind} {writers} reads: {reads}");
                assert_eq!(end, End::Exited(7), "{at}");
                assert_eq!(stores, rounds * writers * times, "{at}");
                let expected = match kind {
                    "write" | "exit" | "exec" => 0,
                    _ => rounds,
                };
                assert_eq!(kernels, expected, "{at}");
            }
        }
    }
}

/// Watches both data of `page_waits.c`, by pages, from its `begin` on.
fn watch_waits(program: &Program, process: &mut Process, reads: bool) -> (TrapId, TrapId) {
    let begin = program.address(process, "begin");
    let begin = common::exec(process, begin);
    process.resume_all().expect("resumed");
    assert!(next(process).traps().any(|id| id == begin));
    process.remove(begin).expect("removed");
    let shared = program.address(process, "shared");
    let ids = [(shared, 64), (shared + 64, 128)].map(|(at, len)| {
        let on = match reads {
            false => On::Write { at, len },
            true => On::Access { at, len },
        };
        let id = process.insert(Trap::new(on, Owner::User)).expect("a watch");
        assert_eq!(process.watch_in_hardware(id), Some(false));
        id
    });
    (ids[0], ids[1])
}

/// A program is let go while it waits so: its call goes on with its own memory.
#[test]
fn a_detached_program_waits_on_with_its_own_memory() {
    let program = compile("page_waits.c", &["-O1"]);
    for kind in ["read", "poll"] {
        for reads in [false, true] {
            let mut child = program.spawn(&[kind, "input"]);
            let pid = Tid(child.id() as i32);
            let call = if kind == "poll" { "7 " } else { "0 0x0 " };
            let waits = || {
                let now = std::fs::read_to_string(format!("/proc/{pid}/syscall"));
                now.is_ok_and(|c| c.starts_with(call))
            };
            until("it waits", waits);
            let mut process = Process::attach(pid, transparent()).expect("attached");
            let at = program.address(&process, "shared");
            let on = match reads {
                false => On::Write { at, len: 192 },
                true => On::Access { at, len: 192 },
            };
            process.insert(Trap::new(on, Owner::User)).expect("a watch");
            for _ in 0..3 {
                // Into its call again, and out of it.
                process.resume_all().expect("resumed");
                let interrupter = process.interrupter();
                let look = std::thread::spawn(move || {
                    until("it sleeps", || sleeps(pid));
                    interrupter.wake();
                });
                assert!(process.wait().expect("a wait").is_none());
                look.join().expect("it slept");
                process.stop_all().expect("stopped").keep();
            }
            process.detach().expect("detached");
            drop(process);
            let mut input = child.stdin.take().expect("input");
            input.write_all(b"abcdefg\0").expect("written");
            let status = child.wait().expect("its end");
            assert_eq!(status.code(), Some(7), "{kind} reads: {reads}");
        }
    }
}

/// The first thread sleeps in the kernel.
fn sleeps(pid: Tid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|s| s.starts_with(" S"))
}

fn watched_program() -> (Program, Process, common::Output) {
    let program = compile("watched.c", &["-O0"]);
    let (mut process, output) = program.launch_with(&[], transparent());
    let begin = program.address(&process, "begin");
    let begin = common::exec(&mut process, begin);
    process.resume_all().expect("resumed");
    assert!(next(&mut process).traps().any(|id| id == begin));
    (program, process, output)
}

/// The paper's sudoku: 81 cells, each its own watch.
#[test]
fn eighty_one_cells() {
    let (program, mut process, output) = watched_program();
    let cells = program.address(&process, "data");
    let ids: Vec<TrapId> = (0..81)
        .map(|i| watch(&mut process, cells + 8 * i, 8))
        .collect();
    let hardware = ids
        .iter()
        .filter(|id| process.watch_in_hardware(**id) == Some(true));
    assert_eq!(hardware.count(), 4);
    let mut order = Vec::new();
    let end = run_out(&mut process, |process, stop| {
        for cause in &stop.causes {
            let Cause::Watch {
                id,
                at,
                write: true,
            } = *cause
            else {
                panic!("unexpected {cause:?}")
            };
            let cell = ids.iter().position(|i| *i == id).expect("a cell");
            assert_eq!(at, cells + 8 * cell as u64);
            order.push((cell, process.read_u64(at).expect("its value")));
        }
    });
    assert_eq!(end, End::Exited(0));
    let mut expected: Vec<(usize, u64)> = (0..81).map(|i| (i, i as u64)).collect();
    expected.extend([(7, 7), (7, 8)]);
    assert_eq!(order, expected);
    let printed = output.text();
    assert!(
        printed.ends_with("a string of some length 0123456789\n"),
        "{printed}"
    );
}

/// Loads and stores are told apart, by hardware and by pages.
#[test]
fn loads_and_stores() {
    for pages in [false, true] {
        let (program, mut process, _) = watched_program();
        let data = program.address(&process, "data");
        if pages {
            // Unrelated watches take the hardware.
            let after = program.address(&process, "after");
            for i in 0..4 {
                watch(&mut process, after + 8 * i, 8);
            }
        }
        let at = data + 8 * 7;
        let mut set = |on| process.insert(Trap::new(on, Owner::User)).expect("a watch");
        let read = set(On::Read { at, len: 8 });
        let write = set(On::Write { at, len: 8 });
        let both = set(On::Access { at, len: 8 });
        assert_eq!(process.watch_in_hardware(read), Some(!pages));
        let end = run_out(&mut process, |_, _| {});
        assert_eq!(end, End::Exited(0));
        let hits = [read, write, both].map(|id| process.traps().get(id).expect("a watch").hits);
        // Stored, loaded into the sum, stored again, loaded and stored by ++.
        assert_eq!(hits, [2, 3, 5], "pages: {pages}");
    }
}

/// An instruction that loads and stores is a read for properties, by hardware
/// and by pages; for the user's `rwatch` it is a change.
#[test]
fn loads_within_stores() {
    let program = compile("counts.c", &["-O1"]);
    for pages in [false, true] {
        let mut process = program.launch(&["1", "10", "a"]);
        let at = program.address(&process, "shared");
        if pages {
            for i in 1..5 {
                watch(&mut process, at + 8 * i, 8);
            }
        }
        let on = On::Read { at, len: 8 };
        let ids = [Owner::Monitor, Owner::User].map(|owner| {
            let id = process.insert(Trap::new(on, owner)).expect("a watch");
            assert_eq!(process.watch_in_hardware(id), Some(!pages));
            id
        });
        assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(7));
        let hits = ids.map(|id| process.traps().get(id).expect("a watch").hits);
        // Ten additions, and the load of the sum at the end.
        assert_eq!(hits, [11, 1], "pages: {pages}");
    }
}

/// libc and the kernel write too; the program is not disturbed.
#[test]
fn stores_by_libc_and_the_kernel() {
    let (program, mut process, output) = watched_program();
    let data = program.address(&process, "data");
    let text = watch(&mut process, data + 81 * 8, 64);
    let buffer = watch(&mut process, data + 81 * 8 + 64, 64);
    assert_eq!(process.watch_in_hardware(text), Some(false));
    let end = run_out(&mut process, |_, _| {});
    assert_eq!(end, End::Exited(0));
    let hits = [text, buffer].map(|id| process.traps().get(id).expect("a watch").hits);
    assert!(hits[0] >= 1, "strcpy");
    assert_eq!(hits[1], 1, "read");
    let printed = output.text();
    assert!(
        printed.ends_with("a string of some length 0123456789\n"),
        "{printed}"
    );
}

/// A watched local belongs to its frame: other frames of the same function
/// and later users of the stack are not reported, its end is, once.
#[test]
fn locals_end_with_their_frame() {
    for leave in [false, true] {
        let (program, mut process, _) = watched_program();
        let announce = program.address(&process, "announce");
        let announce = common::exec(&mut process, announce);
        process.resume_all().expect("resumed");
        let skip = if leave { 3 } else { 0 };
        for _ in 0..skip {
            let stop = next(&mut process);
            process.resume(stop.tid).expect("resumed");
        }
        let stop = next(&mut process);
        assert!(stop.traps().any(|id| id == announce));
        process.remove(announce).expect("removed");
        // At the entry of `announce`: rbp is the frame of `local`.
        let regs = *process.regs(stop.tid).expect("registers");
        let frame = FrameRef {
            cfa: Addr(regs.rbp + 16),
            return_to: Addr(
                process
                    .read_u64(Addr(regs.rbp + 8))
                    .expect("a return address"),
            ),
        };
        let on = On::Write {
            at: Addr(regs.rdi),
            len: 8,
        };
        let trap = Trap::new(on, Owner::User)
            .in_thread(stop.tid)
            .in_frame(frame);
        let id = process.insert(trap).expect("a watch");
        process.resume(stop.tid).expect("resumed");
        let (mut hits, mut ends) = (0, 0);
        let end = run_out(&mut process, |process, stop| {
            for cause in &stop.causes {
                match cause {
                    Cause::Watch { id: i, .. } if *i == id => hits += 1,
                    Cause::WatchEnded { id: i, .. } if *i == id => {
                        ends += 1;
                        assert!(process.traps().get(id).is_none());
                    }
                    other => panic!("unexpected {other:?}"),
                }
            }
        });
        assert_eq!(end, End::Exited(0));
        // Three additions, and the recursion's result in the outer frame.
        assert_eq!(
            (hits, ends),
            (if leave { 3 } else { 4 }, 1),
            "leave: {leave}"
        );
    }
}
