//! The engine goes on with a restored process: calls that were open then,
//! traps and watches of now.

#[path = "../../engine/tests/common/mod.rs"]
mod common;

use common::{Output, Program, compile, exec, next, run_out, transparent};
use std::fs;
use verde_checkpoint::{Options, Restored, Snapshot};
use verde_engine::{Cause, End, On, Owner, Process, Stop, Trap, TrapId};
use verde_sys::affinity::CpuSet;

const OUTPUT: &str = "sum 157 total 143\n";

struct Lab {
    program: Program,
    process: Process,
    output: Output,
}

impl Lab {
    fn new() -> Lab {
        let program = compile("ck_calls.c", &["-O1", "-fno-optimize-sibling-calls"]);
        let (process, output) = program.launch_with(&[], transparent());
        Lab {
            program,
            process,
            output,
        }
    }

    fn trap(&mut self, on: impl Fn(verde_engine::Addr) -> On, symbol: &str) -> TrapId {
        let at = self.program.address(&self.process, symbol);
        let trap = Trap::new(on(at), Owner::Monitor);
        self.process.insert(trap).expect("a trap")
    }

    /// Runs to `hold`; the causes seen on the way.
    fn run_to_hold(&mut self) -> Vec<Cause> {
        let hold = self.program.address(&self.process, "hold");
        let hold = exec(&mut self.process, hold);
        let mut causes = Vec::new();
        self.process.resume_all().expect("resumed");
        self.process
            .run(|_, stop: &Stop| {
                causes.extend(stop.causes.iter().copied());
                Ok(causes.contains(&Cause::Trap { id: hold }))
            })
            .expect("run");
        self.process.remove(hold).expect("removed");
        causes
    }

    fn save(&mut self) -> Snapshot {
        let (snapshot, warnings) =
            Snapshot::take(&mut self.process, &Options::default()).expect("saved");
        assert_eq!(warnings, []);
        snapshot
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Restored {
        snapshot.restore(&mut self.process, None).expect("restored")
    }

    /// Runs to the end; the causes seen on the way.
    fn finish(&mut self) -> Vec<Cause> {
        let mut causes = Vec::new();
        let end = run_out(&mut self.process, |_, stop| {
            causes.extend(stop.causes.iter().copied());
        });
        assert_eq!(end, End::Exited(0));
        assert_eq!(self.output.text(), OUTPUT);
        causes
    }
}

fn entries(causes: &[Cause]) -> usize {
    let entry = |c: &&Cause| matches!(c, Cause::Entry { .. } | Cause::Trap { .. });
    causes.iter().filter(entry).count()
}

fn returns(causes: &[Cause]) -> usize {
    let back = |c: &&Cause| matches!(c, Cause::Return { .. });
    causes.iter().filter(back).count()
}

#[test]
fn a_child_that_has_just_called_exec_is_not_in_the_way() {
    let program = compile("ck_spawns.c", &["-O1"]);
    let mut process = program.launch(&[]);
    let hold = program.address(&process, "hold");
    exec(&mut process, hold);
    let mut saved = 0;
    let end = run_out(&mut process, |process, _| {
        let taken = Snapshot::take(process, &Options::default());
        saved += usize::from(taken.is_ok());
    });
    assert_eq!((end, saved), (End::Exited(0), 20));
}

#[test]
fn open_calls_return_after_a_restore_each_time() {
    let mut lab = Lab::new();
    lab.trap(On::Call, "deep");
    assert_eq!(entries(&lab.run_to_hold()), 7, "six calls and the stop");
    let snapshot = lab.save();
    assert_eq!(lab.process.open_call_count(lab.process.pid()), 6);
    for _ in 0..3 {
        let causes = lab.finish();
        assert_eq!((entries(&causes), returns(&causes)), (0, 6));
        lab.restore(&snapshot);
        assert_eq!(lab.process.open_call_count(lab.process.pid()), 6);
    }
}

/// Its next stop is then as fast as that of the program of then.
#[test]
fn who_was_stopped_by_a_hit_goes_on_from_one() {
    let cpus = |tid| CpuSet::of(tid).expect("its CPUs").count();
    if !CpuSet::current().is_ok_and(|ours| ours.count() > 1) {
        return;
    }
    let mut lab = Lab::new();
    lab.run_to_hold();
    lab.trap(On::Exec, "leaf");
    let snapshot = lab.save();
    for _ in 0..3 {
        lab.restore(&snapshot);
        lab.process.resume_all().expect("resumed");
        let stop = next(&mut lab.process);
        assert_eq!(cpus(stop.tid), 1, "held on the engine's CPU");
    }
}

#[test]
fn open_calls_of_a_trap_that_rests() {
    let mut lab = Lab::new();
    let id = lab.trap(On::Call, "deep");
    let deep = lab.program.address(&lab.process, "deep");
    let byte = |lab: &Lab| {
        let memory = verde_sys::memory::Memory::open(lab.process.pid()).expect("memory");
        let mut byte = [0];
        memory.read(deep, &mut byte).expect("code");
        byte[0]
    };
    lab.run_to_hold();
    let planted = byte(&lab);
    // Awake then, it rests now.
    let awake = lab.save();
    lab.process.rest(id).expect("rests");
    let bare = byte(&lab);
    assert_ne!(bare, planted);
    lab.restore(&awake);
    assert_eq!((byte(&lab), lab.process.stray_return()), (bare, None));
    assert_eq!(returns(&lab.finish()), 6);
    // It rested then and now, and calls of now are over.
    lab.restore(&awake);
    let resting = lab.save();
    assert_eq!(returns(&lab.finish()), 6);
    lab.restore(&resting);
    assert_eq!(lab.process.followed_calls().len(), 6);
    assert_eq!(lab.process.stray_return(), None);
    // It rested then and is awake now.
    assert_eq!(lab.trap(On::Call, "deep"), id);
    lab.restore(&resting);
    assert_eq!(byte(&lab), planted);
    assert_eq!(returns(&lab.finish()), 6);
}

#[test]
fn traps_of_then_are_out_and_traps_of_now_are_in() {
    let mut lab = Lab::new();
    let leaf = lab.trap(On::Exec, "leaf");
    lab.trap(On::Return, "deep");
    lab.run_to_hold();
    let snapshot = lab.save();
    // Of then only.
    lab.process.remove(leaf).expect("removed");
    assert_eq!(lab.finish().len(), 6);
    lab.restore(&snapshot);
    assert_eq!(lab.finish().len(), 6);
    // Of now only.
    lab.restore(&snapshot);
    lab.trap(On::Exec, "leaf");
    lab.restore(&snapshot);
    let causes = lab.finish();
    assert_eq!((entries(&causes), returns(&causes)), (13, 6));
}

#[test]
fn code_is_the_programs_own_after_the_last_trap() {
    let mut lab = Lab::new();
    let text = |lab: &Lab| {
        let at = lab.program.address(&lab.process, "leaf");
        let memory = verde_sys::memory::Memory::open(lab.process.pid()).expect("memory");
        let mut bytes = [0; 64];
        memory.read(at, &mut bytes).expect("code");
        bytes
    };
    lab.run_to_hold();
    let clean = text(&lab);
    let leaf = lab.trap(On::Exec, "leaf");
    assert_ne!(text(&lab), clean);
    let snapshot = lab.save();
    lab.process.remove(leaf).expect("removed");
    lab.restore(&snapshot);
    assert_eq!(text(&lab), clean);
}

#[test]
fn watches_of_now_see_every_write() {
    let mut lab = Lab::new();
    lab.run_to_hold();
    let snapshot = lab.save();
    let cells = lab.program.address(&lab.process, "cells");
    let mut ids = Vec::new();
    // More than the hardware has: some are guarded pages.
    for i in 0..8 {
        let at = cells + i * 512;
        let trap = Trap::new(On::Write { at, len: 4 }, Owner::User);
        ids.push(lab.process.insert(trap).expect("a watch"));
    }
    assert_eq!(lab.process.watch_in_hardware(ids[7]), Some(false));
    for _ in 0..2 {
        lab.restore(&snapshot);
        let causes = lab.finish();
        let writes = causes.iter().filter(|c| matches!(c, Cause::Watch { .. }));
        assert_eq!(writes.count(), 13, "{causes:?}");
    }
    // Watched then, not now.
    lab.restore(&snapshot);
    let watched = lab.save();
    for id in ids {
        lab.process.remove(id).expect("removed");
    }
    lab.restore(&watched);
    assert!(lab.finish().is_empty());
}

#[test]
fn a_pending_stop_is_reported_again() {
    let mut lab = Lab::new();
    let hold = lab.program.address(&lab.process, "hold");
    exec(&mut lab.process, hold);
    lab.process.resume_all().expect("resumed");
    // The stop arrives while the world is being stopped, so it waits.
    let pid = lab.process.pid();
    common::until("it is at the trap", || {
        verde_sys::procfs::status_field(pid, pid, "State").is_some_and(|s| s.starts_with('t'))
    });
    let snapshot = lab.save();
    let stop = next(&mut lab.process);
    assert!(matches!(stop.causes.as_slice(), [Cause::Trap { .. }]));
    lab.restore(&snapshot);
    let stop = next(&mut lab.process);
    assert!(matches!(stop.causes.as_slice(), [Cause::Trap { .. }]));
    assert!(lab.finish().is_empty());
}

/// A fault on a guarded page is on its way in the saved process; nobody watches
/// the page when it is restored.
#[test]
fn a_pending_fault_is_not_the_programs() {
    let mut lab = Lab::new();
    lab.run_to_hold();
    let cells = lab.program.address(&lab.process, "cells");
    let on = On::Write {
        at: cells,
        len: 4096,
    };
    let trap = Trap::new(on, Owner::User);
    let id = lab.process.insert(trap).expect("a watch");
    lab.process.resume_all().expect("resumed");
    let pid = lab.process.pid();
    common::until("it has faulted", || {
        verde_sys::procfs::status_field(pid, pid, "State").is_some_and(|s| s.starts_with('t'))
    });
    let snapshot = lab.save();
    lab.process.remove(id).expect("removed");
    assert!(lab.finish().is_empty());
    lab.restore(&snapshot);
    assert!(lab.finish().is_empty());
}

#[test]
fn the_program_cannot_see_its_checkpoints() {
    let program = compile("ck_waits.c", &["-O1"]);
    let (mut process, output) = program.launch_with(&[], transparent());
    let hold = program.address(&process, "hold");
    exec(&mut process, hold);
    process.resume_all().expect("resumed");
    next(&mut process);
    let snapshots: Vec<Snapshot> = (0..3)
        .map(|_| {
            Snapshot::take(&mut process, &Options::default())
                .expect("saved")
                .0
        })
        .collect();
    snapshots[1].restore(&mut process, None).expect("restored");
    assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0));
    assert_eq!(output.text(), "waited for 1\n");
}

#[test]
fn a_dropped_snapshot_is_gone() {
    let mut lab = Lab::new();
    lab.run_to_hold();
    let before = children();
    let snapshot = lab.save();
    assert_eq!(children(), before + 1);
    assert!(snapshot.memory_cost().expect("a size") > 0);
    drop(snapshot);
    common::until("no frozen process", || children() == before);
    assert_eq!(lab.finish(), []);
}

/// Living children of this thread.
fn children() -> usize {
    let text = fs::read_to_string("/proc/thread-self/children").expect("children");
    let alive = |pid: &&str| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.is_ok_and(|s| !s.contains(") Z "))
    };
    text.split_whitespace().filter(alive).count()
}

/// A thread waits in the kernel with the memory of its call on a guarded page. The saved process
/// has nothing of the memory that the engine lent to that call.
#[test]
fn calls_that_wait_on_guarded_pages() {
    let program = compile("page_waits.c", &["-O1"]);
    // No sleep: its signal could come before the restored thread sleeps again.
    let kinds = [
        "read", "readv", "recvmsg", "poll", "ppoll", "select", "epoll",
    ];
    for kind in kinds {
        let (mut process, _output) = program.launch_with(&[kind, "2", "2", "10"], transparent());
        let begin = program.address(&process, "begin");
        let begin = exec(&mut process, begin);
        process.resume_all().expect("resumed");
        assert!(next(&mut process).traps().any(|id| id == begin));
        let shared = program.address(&process, "shared");
        let mut watch = |at, len| {
            let trap = Trap::new(On::Write { at, len }, Owner::Monitor);
            process.insert(trap).expect("a watch")
        };
        let (value, buffer) = (watch(shared, 64), watch(shared + 64, 128));
        let hold = program.address(&process, "hold");
        let hold = exec(&mut process, hold);
        let seen = |stop: &Stop, id: TrapId| {
            let hit = |c: &&Cause| matches!(c, Cause::Watch { id: i, write: true, .. } if *i == id);
            stop.causes.iter().filter(hit).count()
        };
        // The stores of one round have been seen, and the waiter sleeps on.
        let mut stores = 0;
        process.resume_all().expect("resumed");
        let run = process.run(|_, stop| {
            stores += seen(stop, value);
            Ok(stop.traps().any(|id| id == hold))
        });
        run.expect("run");
        assert_eq!(stores, 20, "{kind}");
        let options = Options::default();
        let (snapshot, warnings) = Snapshot::take(&mut process, &options).expect("saved");
        assert_eq!(warnings, []);
        for _ in 0..3 {
            let (mut stores, mut kernels) = (0, 0);
            let end = run_out(&mut process, |_, stop| {
                stores += seen(stop, value);
                kernels += seen(stop, buffer);
            });
            assert_eq!(end, End::Exited(7), "{kind}");
            assert_eq!((stores, kernels), (20, 2), "{kind}");
            snapshot.restore(&mut process, None).expect("restored");
        }
    }
}
