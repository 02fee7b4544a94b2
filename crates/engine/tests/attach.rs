//! Attaching, interrupting, detaching.

mod common;

use common::{compile, exec, next, run_out, transparent, until, waits_for_input};
use std::io::{BufRead, BufReader, Write};
use std::process::Child;
use std::time::{Duration, Instant};
use verde_engine::{Addr, Cause, End, On, Owner, Process, Tid, Trap, TrapSet};
use verde_sys::{memory::Memory, procfs};

fn wait_ready(child: &mut Child) {
    let mut line = String::new();
    let output = child.stdout.take().expect("output");
    BufReader::new(output).read_line(&mut line).expect("a line");
    assert_eq!(line, "ready\n");
}

fn code_of(pid: Tid) -> Vec<(Addr, Vec<u8>)> {
    let memory = Memory::open(pid).expect("memory");
    let maps = procfs::maps(pid).expect("maps");
    maps.iter()
        .filter(|m| m.execute && m.name != "[vsyscall]")
        .map(|m| {
            let mut bytes = vec![0; (m.end - m.start) as usize];
            memory.read(m.start, &mut bytes).expect("code");
            (m.start, bytes)
        })
        .collect()
}

/// Detach leaves code and memory map as they were, whatever was set, and the
/// program goes on; again and again, at any moment.
#[test]
fn detach_leaves_no_trace() {
    let program = compile("waits.c", &["-O1"]);
    let mut child = program.spawn(&["spin", "4"]);
    wait_ready(&mut child);
    let pid = Tid(child.id() as i32);
    until("all threads run", || {
        procfs::threads(pid).is_ok_and(|t| t.len() == 4)
    });
    let before = code_of(pid);
    for round in 0..30 {
        let mut process = Process::attach(pid, transparent()).expect("attached");
        assert_eq!(process.threads().len(), 4);
        let f = program.address(&process, "f");
        let calls = process
            .insert(Trap::new(On::Call(f), Owner::Monitor))
            .expect("a trap");
        let data = program.address(&process, "tick");
        for (i, len) in [8, 8, 8, 8, 64].into_iter().enumerate() {
            let at = data + 8 * i as u64;
            process
                .insert(Trap::new(On::Write { at, len }, Owner::User))
                .expect("a watch");
        }
        process.resume_all().expect("resumed");
        for _ in 0..round * 7 {
            let stop = next(&mut process);
            assert_eq!(stop.ended(), None);
            process.resume(stop.tid).expect("resumed");
        }
        if round % 2 == 1 {
            // Only the returns of open calls are left of it.
            process.rest(calls).expect("rests");
        }
        process.detach().expect("detached");
        assert!(
            process
                .wait()
                .is_ok_and(|s| s.is_some_and(|s| s.ended() == Some(End::Detached)))
        );
        assert_eq!(child.try_wait().expect("status"), None, "round {round}");
        assert!(
            code_of(pid) == before,
            "code or map changed in round {round}"
        );
    }
    child.kill().expect("killed");
    child.wait().expect("reaped");
}

/// Applying the empty set takes everything out.
#[test]
fn the_empty_set() {
    let program = compile("counts.c", &["-O1"]);
    let mut process = program.launch(&["1", "1000"]);
    let f = program.address(&process, "f");
    let g = program.address(&process, "g");
    let mut wanted = TrapSet::new();
    wanted.insert(Trap::new(On::Exec(f), Owner::Monitor));
    wanted.insert(Trap::new(On::Return(g), Owner::Monitor));
    wanted.insert(Trap::new(On::Exec(Addr(8)), Owner::Monitor));
    let failed = process.apply(&wanted);
    assert_eq!(failed.len(), 1, "no code at address 8");
    let mut stops = 0;
    let end = run_out(&mut process, |process, _| {
        stops += 1;
        if stops == 100 {
            assert!(process.apply(&TrapSet::new()).is_empty());
        }
    });
    assert_eq!((end, stops), (End::Exited(7), 100));
}

/// A trap removed while hits of it are queued in other threads: these go on
/// at the instruction, not behind its first byte.
#[test]
fn removed_while_hits_are_queued() {
    let program = compile("counts.c", &["-O0"]);
    for _ in 0..10 {
        let (mut process, output) = program.launch_with(&["8", "200"], transparent());
        let f = program.address(&process, "f");
        let mut id = Some(exec(&mut process, f));
        let mut stops = 0;
        let end = run_out(&mut process, |process, stop| {
            stops += 1;
            assert!(id.is_none() || stop.traps().all(|i| Some(i) == id));
            if stops % 5 == 0 {
                // Everybody runs into the trap or is stopped on the way.
                drop(process.stop_all().expect("stopped"));
                if let Some(id) = id.take() {
                    process.remove(id).expect("removed");
                }
                id = Some(exec(process, f));
            }
            if stops == 300 {
                process.remove(id.take().expect("set")).expect("removed");
            }
        });
        assert_eq!(end, End::Exited(7));
        let sum: i64 = (0..200).map(|i| 2 * (i + 1) + (i + 1)).sum();
        let printed = output.text();
        assert_eq!(printed.trim(), (8 * sum).to_string());
    }
}

/// ^C from another thread: a program in a blocking call stops within 50 ms,
/// and the call goes on as if nothing had been.
#[test]
fn interrupt_in_a_system_call() {
    let program = compile("waits.c", &["-O1"]);
    let mut child = program.spawn(&["pipe"]);
    wait_ready(&mut child);
    let pid = Tid(child.id() as i32);
    let mut process = Process::attach(pid, transparent()).expect("attached");
    let mut slowest = Duration::ZERO;
    for _ in 0..20 {
        process.resume_all().expect("resumed");
        let interrupter = process.interrupter();
        let ringer = std::thread::spawn(move || {
            let start = Instant::now();
            interrupter.interrupt();
            start
        });
        let stop = next(&mut process);
        let now = Instant::now();
        assert!(stop.causes.contains(&Cause::Interrupted));
        assert!(process.is_stopped(stop.tid));
        slowest = slowest.max(now - ringer.join().expect("rung"));
        // Traps planted in the meantime need remote calls in this thread.
        let f = program.address(&process, "f");
        let id = exec(&mut process, f);
        process.remove(id).expect("removed");
    }
    assert!(slowest < Duration::from_millis(50), "{slowest:?}");
    let f = program.address(&process, "f");
    exec(&mut process, f);
    process.resume_all().expect("resumed");
    child
        .stdin
        .take()
        .expect("input")
        .write_all(b"x")
        .expect("written");
    let stop = next(&mut process);
    assert_eq!(stop.traps().count(), 1, "the read has returned a byte");
    process.detach().expect("detached");
    assert_eq!(child.wait().expect("reaped").code(), Some(1));
}

/// A thread moved elsewhere in the middle of a system call goes exactly there:
/// the kernel would restart the call and take 2 off the pc.
#[test]
fn jump_out_of_a_system_call() {
    let program = compile("waits.c", &["-O1"]);
    let mut child = program.spawn(&["pipe"]);
    let pid = Tid(child.id() as i32);
    until("it waits for input", || waits_for_input(pid));
    let mut process = Process::attach(pid, transparent()).expect("attached");
    let f = program.address(&process, "f");
    let id = exec(&mut process, f);
    let mut regs = *process.regs(pid).expect("registers");
    let interrupted = regs.rax;
    assert!((-516..=-512).contains(&(interrupted as i64)));
    regs.rip = f.0;
    process.set_regs(pid, &regs).expect("moved");
    process.resume_all().expect("resumed");
    let stop = next(&mut process);
    assert!(stop.traps().any(|i| i == id), "{stop:?}");
    let regs = process.regs(pid).expect("registers");
    assert_eq!((regs.pc(), regs.rax), (f, interrupted));
    process.kill().expect("killed");
    assert!(child.wait().is_err(), "reaped by the engine");
}

/// Waking the engine does not stop the program.
#[test]
fn wake() {
    let program = compile("waits.c", &["-O1"]);
    let mut process = program.launch(&["pause"]);
    process.resume_all().expect("resumed");
    let interrupter = process.interrupter();
    let pid = process.pid();
    let ringer = std::thread::spawn(move || {
        // Behind the stops of its loader, which may be waiting to be looked at.
        let state = || verde_sys::procfs::status_field(pid, pid, "State");
        until("it sleeps", || state().is_some_and(|s| s.starts_with('S')));
        interrupter.wake();
    });
    assert!(process.wait().expect("wait").is_none());
    ringer.join().expect("rung");
    assert!(!process.is_stopped(process.pid()));
}

/// Stopping the world under load: every thread can be read, and goes on.
#[test]
fn stop_the_world_under_load() {
    let program = compile("counts.c", &["-O1"]);
    let mut process = program.launch(&["8", "500"]);
    let f = program.address(&process, "f");
    let id = exec(&mut process, f);
    let mut stops = 0;
    let end = run_out(&mut process, |process, _| {
        stops += 1;
        if stops % 50 == 0 {
            let world = process.stop_all().expect("stopped");
            for tid in world.threads() {
                let pc = world.regs(tid).expect("registers").pc();
                let module = world.module_at(pc).or(world.module_at(pc - 1));
                assert!(module.is_some(), "{tid} at {pc} is in no module");
            }
        }
    });
    assert_eq!(end, End::Exited(7));
    assert_eq!(process.traps().get(id).expect("f").hits, 8 * 1000);
}

/// Errors are values: the process stays usable.
#[test]
fn refusals() {
    let no_such = Process::attach(Tid(i32::MAX), transparent());
    assert!(no_such.is_err());
    let launch = verde_engine::Launch {
        program: "/nonexistent/program".into(),
        ..Default::default()
    };
    let error = Process::launch(&launch, transparent())
        .map(drop)
        .expect_err("no file");
    assert_eq!(
        error.to_string(),
        "start program: No such file or directory (os error 2)"
    );
    let program = compile("counts.c", &["-O1"]);
    let mut process = program.launch(&["1", "1"]);
    assert!(
        process
            .insert(Trap::new(On::Exec(Addr(0)), Owner::User))
            .is_err()
    );
    let watch = |at, len| Trap::new(On::Write { at, len }, Owner::User);
    assert!(process.insert(watch(Addr(0x1000), 0)).is_err());
    assert!(process.insert(watch(Addr(0x1000), 64)).is_err());
    assert!(process.remove(verde_engine::TrapId(999)).is_err());
    assert!(process.regs(Tid(1)).is_err());
    assert_eq!(run_out(&mut process, |_, _| {}), End::Exited(7));
}

/// A process that job control has stopped can be attached to, and is left
/// stopped.
#[test]
fn attach_to_a_stopped_process() {
    let program = compile("waits.c", &["-O1"]);
    let mut child = program.spawn(&["spin", "3"]);
    wait_ready(&mut child);
    let pid = Tid(child.id() as i32);
    until("all threads run", || {
        procfs::threads(pid).is_ok_and(|t| t.len() == 3)
    });
    let state = |letter| {
        procfs::threads(pid).expect("alive").iter().all(|tid| {
            let stat = procfs::Stat::open(pid, *tid).expect("stat");
            stat.state() == Some(letter)
        })
    };
    verde_sys::signals::send(pid, 19).expect("stopped");
    until("it is stopped", || state('T'));
    let mut process = Process::attach(pid, transparent()).expect("attached");
    assert_eq!(process.threads().len(), 3);
    for tid in process.threads() {
        assert!(process.regs(tid).is_ok());
    }
    let f = program.address(&process, "f");
    exec(&mut process, f);
    process.detach().expect("detached");
    until("it is stopped again", || state('T'));
    verde_sys::signals::send(pid, 18).expect("continued");
    until("it runs", || state('R'));
    assert_eq!(child.try_wait().expect("status"), None);
    child.kill().expect("killed");
    child.wait().expect("reaped");
}
