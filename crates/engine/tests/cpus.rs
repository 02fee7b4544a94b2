//! A thread is held on the engine's CPU between hits, and does not notice.

mod common;

use common::{compile, exec, next, run_out, transparent, until};
use std::collections::BTreeSet;
use verde_engine::{End, Interrupter, Options, Process, Tid};
use verde_sys::affinity::CpuSet;

fn several_cpus() -> bool {
    CpuSet::current().is_ok_and(|set| set.count() > 1)
}

fn cpus_of(tid: Tid) -> usize {
    CpuSet::of(tid).expect("its CPUs").count()
}

/// System calls, files of the kernel, children, threads and handlers show the
/// program the CPUs it has without a debugger.
#[test]
fn a_held_thread_does_not_notice() {
    for flags in [["-O0", "-pthread"], ["-O2", "-pthread"]] {
        let program = compile("cpus.c", &flags);
        let mut process = program.launch(&[]);
        let f = program.address(&process, "f");
        exec(&mut process, f);
        let (mut hits, mut held) = (0, 0);
        let end = run_out(&mut process, |_, stop| {
            hits += 1;
            held += usize::from(cpus_of(stop.tid) == 1);
        });
        assert_eq!(end, End::Exited(0), "the way that shows it");
        assert_eq!(hits, 30 * 7 * 20 + 3000);
        if several_cpus() {
            // Else this would test nothing. The program's own choices are 600.
            assert!(held > 2500, "held at {held} of {hits} hits");
        }
    }
}

fn at_a_held_hit(process: &mut Process) -> Tid {
    for _ in 0..200 {
        process.resume_all().expect("goes on");
        let stop = next(process);
        if cpus_of(stop.tid) == 1 {
            return stop.tid;
        }
    }
    panic!("never held");
}

/// Whoever stops the program or lets it go finds its own CPUs.
#[test]
fn a_stopped_or_released_program_has_its_own_cpus() {
    if !several_cpus() {
        return;
    }
    let all = CpuSet::current().expect("our CPUs").count();
    let program = compile("counts.c", &["-O1", "-pthread"]);
    let mut process = program.launch(&["1", "100000"]);
    let f = program.address(&process, "f");
    exec(&mut process, f);
    let tid = at_a_held_hit(&mut process);
    process.stop_all().expect("stops").keep();
    assert_eq!(cpus_of(tid), all);
    // What we start now inherits ours.
    assert_eq!(CpuSet::current().expect("our CPUs").count(), all);
    let tid = at_a_held_hit(&mut process);
    process.detach().expect("detaches");
    assert_eq!(cpus_of(tid), all);
    assert_eq!(CpuSet::current().expect("our CPUs").count(), all);
    verde_sys::signals::send(tid, verde_sys::number::SIGKILL).expect("ends it");
}

/// Whoever stops the world at hits, again and again, has not found that holding is not worth it.
#[test]
fn a_thread_is_held_also_from_stop_to_stop() {
    if !several_cpus() {
        return;
    }
    let program = compile("counts.c", &["-O1", "-pthread"]);
    let mut process = program.launch(&["1", "100000"]);
    let f = program.address(&process, "f");
    exec(&mut process, f);
    let mut held = 0;
    for _ in 0..100 {
        process.resume_all().expect("goes on");
        let stop = next(&mut process);
        held += usize::from(cpus_of(stop.tid) == 1);
        process.stop_all().expect("stops").keep();
    }
    assert!(held > 80, "{held} times of 100");
    process.kill().expect("killed");
}

/// What somebody else chooses for a held thread stays.
#[test]
fn a_choice_of_others_stays() {
    if !several_cpus() {
        return;
    }
    let ours = CpuSet::current().expect("our CPUs");
    let program = compile("counts.c", &["-O1", "-pthread"]);
    let mut process = program.launch(&["1", "100000"]);
    let f = program.address(&process, "f");
    exec(&mut process, f);
    let tid = at_a_held_hit(&mut process);
    let held = CpuSet::of(tid).expect("its CPU");
    let other = (0..1024).find(|cpu| ours.contains(*cpu) && !held.contains(*cpu));
    let other = other.expect("another CPU");
    CpuSet::only(other).apply(tid).expect("applied");
    process.stop_all().expect("stops").keep();
    let now = CpuSet::of(tid).expect("its CPU");
    assert!(now.count() == 1 && now.contains(other));
}

/// Ends the engine's wait, come what may.
struct Wake(Interrupter);

impl Drop for Wake {
    fn drop(&mut self) {
        self.0.wake();
    }
}

/// Threads that hit in turns may be held together. They do not notice, and
/// when they go on to something longer they have all CPUs for it.
#[test]
fn threads_held_together_part_when_they_compute() {
    if !several_cpus() {
        return;
    }
    let all = CpuSet::current().expect("our CPUs").count();
    let program = compile("crowd.c", &["-O1", "-pthread"]);
    let options = Options {
        hold_all: true,
        ..transparent()
    };
    let (mut process, _) = program.launch_with(&[], options);
    let f = program.address(&process, "f");
    let go = program.address(&process, "go");
    exec(&mut process, f);
    process.resume_all().expect("goes on");
    let mut tids = BTreeSet::new();
    let mut most = 0;
    for _ in 0..6000 {
        let stop = next(&mut process);
        tids.insert(stop.tid);
        most = most.max(tids.iter().filter(|tid| cpus_of(**tid) == 1).count());
        process.resume(stop.tid).expect("goes on");
    }
    assert!(most > 1, "{most} held");
    let wake = Wake(process.interrupter());
    let looker = std::thread::spawn(move || {
        let _wake = wake;
        until("they have all CPUs", || {
            tids.iter().all(|tid| cpus_of(*tid) == all)
        });
    });
    assert!(process.wait().expect("waits").is_none());
    looker.join().expect("they have all CPUs");
    process.write(go, &1i32.to_le_bytes()).expect("writes");
    assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(0));
}
