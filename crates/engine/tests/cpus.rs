//! A thread is held on the engine's CPU between hits, and does not notice.

mod common;

use common::{compile, exec, next, run_out};
use verde_engine::{End, Process, Tid};
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
    let tid = at_a_held_hit(&mut process);
    process.detach().expect("detaches");
    assert_eq!(cpus_of(tid), all);
    assert_eq!(CpuSet::current().expect("our CPUs").count(), all);
    verde_sys::signals::send(tid, verde_sys::number::SIGKILL).expect("ends it");
}
