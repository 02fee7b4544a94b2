//! Guarded pages that the program itself does something to.

mod common;

use common::{Program, compile, exec, next, run_out};
use std::rc::Rc;
use verde_engine::{Addr, Cause, End, NoGuide, On, Owner, Process, StepKind, Stop, Trap, TrapId};

/// Runs a fixture to `begin` and watches 64 bytes of what it has chosen.
fn watched(program: &Program, kind: &str, reads: bool) -> (Process, Stop, TrapId) {
    let mut process = program.launch(&[kind]);
    let begin = program.address(&process, "begin");
    let begin = exec(&mut process, begin);
    process.resume_all().expect("resumed");
    let stop = next(&mut process);
    assert!(stop.traps().any(|id| id == begin));
    let pointer = program.address(&process, "watched");
    let at = Addr(process.read_u64(pointer).expect("a pointer"));
    let on = match reads {
        false => On::Write { at, len: 64 },
        true => On::Access { at, len: 64 },
    };
    let id = process.insert(Trap::new(on, Owner::User)).expect("a watch");
    assert_eq!(process.watch_in_hardware(id), Some(false));
    (process, stop, id)
}

/// The writes seen, the watches ended, and the program's end.
fn counted(mut process: Process, watch: TrapId) -> (usize, usize, End) {
    let (mut writes, mut ends) = (0, 0);
    let end = run_out(&mut process, |process, stop| {
        for cause in &stop.causes {
            match cause {
                Cause::Watch { id, write, .. } => {
                    assert_eq!(*id, watch);
                    writes += usize::from(*write);
                }
                Cause::WatchEnded { id, frame } => {
                    assert_eq!((*id, *frame), (watch, None));
                    assert!(process.traps().get(watch).is_none());
                    ends += 1;
                }
                other => panic!("unexpected {other:?}"),
            }
        }
    });
    (writes, ends, end)
}

#[test]
fn a_watch_ends_with_its_memory() {
    let program = compile("page_fates.c", &["-O0"]);
    for kind in ["unmap", "trim", "move"] {
        for reads in [false, true] {
            let (process, _, id) = watched(&program, kind, reads);
            let seen = counted(process, id);
            assert_eq!(seen, (1, 1, End::Exited(7)), "{kind}, reads: {reads}");
        }
    }
}

/// Nobody has looked at the page since it went.
#[test]
fn a_program_without_its_watched_memory_is_let_go() {
    let program = compile("page_fates.c", &["-O0"]);
    for kind in ["unmap", "trim", "move"] {
        let (mut process, _, id) = watched(&program, kind, false);
        let after = program.address(&process, "after");
        let after = exec(&mut process, after);
        process.resume_all().expect("resumed");
        let last = process
            .run(|_, stop| Ok(stop.traps().any(|trap| trap == after)))
            .expect("run")
            .expect("a stop");
        assert!(last.ended().is_none(), "{kind}");
        assert!(process.traps().get(id).is_none(), "{kind}");
        process.detach().expect("detached");
    }
}

/// What the program forbids itself stays forbidden.
#[test]
fn a_page_keeps_the_protection_that_the_program_sets() {
    let program = compile("page_fates.c", &["-O0"]);
    for reads in [false, true] {
        let (process, _, id) = watched(&program, "close", reads);
        let seen = counted(process, id);
        assert_eq!(seen, (2, 0, End::Exited(7)), "reads: {reads}");
    }
}

/// An access that is done in place of the CPU is a step like any other.
#[test]
fn stores_to_guarded_pages_are_single_steps() {
    let program = compile("page_fates.c", &["-O0"]);
    let (mut process, stop, id) = watched(&program, "unmap", false);
    let tid = stop.tid;
    // Out of `begin`, and on to the store.
    let mut hits = 0;
    for _ in 0..40 {
        let pc = process.regs(tid).expect("registers").pc();
        let mut bytes = [0; 16];
        process.read(pc, &mut bytes).expect("code");
        // `movb $1, (%rax)`
        let stores = bytes[..3] == [0xc6, 0x00, 0x01];
        process
            .step(tid, StepKind::Instruction, Rc::new(NoGuide))
            .expect("a step");
        let stop = next(&mut process);
        assert!(stop.causes.contains(&Cause::StepDone), "{stop:?}");
        if stores {
            let now = process.regs(tid).expect("registers").pc();
            assert_eq!(now, pc + 3, "one instruction");
            let hit = |c: &Cause| matches!(c, Cause::Watch { id: i, .. } if *i == id);
            assert!(stop.causes.iter().any(hit));
            hits += 1;
            break;
        }
    }
    assert_eq!(hits, 1);
}

/// The kernel writes a handler's frame to a guarded page, and reads it there.
#[test]
fn signals_are_handled_on_guarded_stacks() {
    let program = compile("page_fates.c", &["-O0"]);
    for kind in ["stack", "alternate"] {
        for reads in [false, true] {
            let (mut process, _, id) = watched(&program, kind, reads);
            let mut writes = 0;
            let end = run_out(&mut process, |_, stop| {
                let hits =
                    |c: &&Cause| matches!(c, Cause::Watch { id: i, write: true, .. } if *i == id);
                writes += stop.causes.iter().filter(hits).count();
            });
            assert_eq!(end, End::Exited(7), "{kind}, reads: {reads}");
            if kind == "stack" {
                assert_eq!(writes, 3, "reads: {reads}");
            }
        }
    }
}

/// A wait with a limit goes on by another number after a stop; no page is open
/// meanwhile, and the stores of the others are seen.
#[test]
fn waits_with_a_limit_on_guarded_pages() {
    let program = compile("page_limits.c", &["-O1"]);
    let mut process = program.launch(&[]);
    let at = program.address(&process, "shared");
    let id = process
        .insert(Trap::new(On::Write { at, len: 64 }, Owner::User))
        .expect("a watch");
    let (writes, ends, end) = counted(process, id);
    assert_eq!((writes, ends, end), (1000, 0, End::Exited(7)));
}

/// A call that makes a child may be left without its end being seen; the next
/// one has its memory all the same.
#[test]
fn calls_on_a_guarded_page_after_a_fork() {
    let program = compile("page_fates.c", &["-O0"]);
    for reads in [false, true] {
        let (process, _, id) = watched(&program, "fork", reads);
        let seen = counted(process, id);
        assert_eq!(seen, (6, 0, End::Exited(7)), "reads: {reads}");
    }
}

/// Children that have the memory on loan get what their calls need, and the
/// pages are guarded again when they are gone.
#[test]
fn children_with_their_arguments_on_guarded_pages() {
    let program = compile("page_spawns.c", &["-O0"]);
    let (mut process, output) = program.launch_with(&[], common::transparent());
    let at = program.address(&process, "shared");
    let on = On::Access { at, len: 64 };
    let id = process.insert(Trap::new(on, Owner::User)).expect("a watch");
    let mut writes = 0;
    let end = run_out(&mut process, |_, stop| {
        let hits = |c: &&Cause| matches!(c, Cause::Watch { id: i, write: true, .. } if *i == id);
        writes += stop.causes.iter().filter(hits).count();
    });
    assert_eq!(end, End::Exited(7));
    assert_eq!(output.text(), "spawned\nspawned\n");
    assert_eq!(writes, 3, "one after each child, and one of the last");
}

/// Nobody else runs while they are open for that, and they are not open at all
/// where they can be read.
#[test]
fn writes_while_children_are_made() {
    let program = compile("page_spawning.c", &["-O1"]);
    for reads in [false, true] {
        let mut process = program.launch(&[]);
        let at = program.address(&process, "shared");
        let on = match reads {
            false => On::Write { at, len: 64 },
            true => On::Access { at, len: 64 },
        };
        let id = process.insert(Trap::new(on, Owner::User)).expect("a watch");
        let (mut writes, mut count) = (0, 0);
        let end = run_out(&mut process, |process, stop| {
            let hits =
                |c: &&Cause| matches!(c, Cause::Watch { id: i, write: true, .. } if *i == id);
            writes += stop.causes.iter().filter(hits).count() as u64;
            count = process.read_u64(at + 8).expect("readable");
        });
        assert_eq!(end, End::Exited(7));
        assert_eq!(writes, count + 1, "reads: {reads}");
    }
}

/// Threads asleep in calls of which they come out with a stop need not be woken
/// for the page to be opened; woken, each would have it opened for its call.
#[test]
fn sleepers_on_a_guarded_page_are_let_sleep() {
    let program = compile("sleepers.c", &["-O1"]);
    let mut process = program.launch(&[]);
    let begin = program.address(&process, "begin");
    let begin = exec(&mut process, begin);
    process.resume_all().expect("resumed");
    next(&mut process);
    process.remove(begin).expect("removed");
    let at = program.address(&process, "page");
    let on = On::Read { at, len: 64 };
    process.insert(Trap::new(on, Owner::User)).expect("a watch");
    let mut reads = 0;
    let end = run_out(&mut process, |_, stop| {
        let watched = |c: &&Cause| matches!(c, Cause::Watch { .. });
        reads += stop.causes.iter().filter(watched).count();
    });
    assert_eq!((end, reads), (End::Exited(0), 100));
}

/// Threads that contend for a page have something to tell all the time.
#[test]
fn an_interrupt_comes_before_what_contending_threads_tell() {
    let program = compile("contended.c", &["-O1"]);
    let mut process = program.launch(&["0"]);
    let main = program.address(&process, "main");
    let main = exec(&mut process, main);
    process.resume_all().expect("resumed");
    next(&mut process);
    process.remove(main).expect("removed");
    let at = program.address(&process, "page");
    let on = On::Read { at, len: 64 };
    process.insert(Trap::new(on, Owner::User)).expect("a watch");
    process.resume_all().expect("resumed");
    let interrupter = process.interrupter();
    for _ in 0..30 {
        let stop = next(&mut process);
        // What the others have to tell is queued now.
        drop(process.stop_all().expect("stopped"));
        interrupter.interrupt();
        process.resume(stop.tid).expect("resumed");
        let stop = next(&mut process);
        assert_eq!(stop.causes.as_slice(), [Cause::Interrupted]);
        process.resume(stop.tid).expect("resumed");
    }
    process.kill().expect("killed");
}
