//! fork, vfork, exec, threads and libraries.

mod common;

use common::{compile, exec, next, run_out, transparent};
use verde_engine::{Cause, End, Follow, ModuleKind, On, Options, Owner, Trap};

/// Children must not die of int3 they inherited, nor count as hits.
#[test]
fn children_survive() {
    let program = compile("forks.c", &["-O1"]);
    for kind in ["fork", "vfork", "spawn", "thread"] {
        let mut process = program.launch(&[kind]);
        let f = program.address(&process, "f");
        let f = exec(&mut process, f);
        let mut hits = 0;
        let end = run_out(&mut process, |_, stop| {
            hits += stop.traps().filter(|id| *id == f).count();
        });
        assert_eq!(end, End::Exited(0), "{kind}: a child went wrong");
        assert_eq!(hits, 20, "{kind}: only the parent's calls");
    }
}

/// Pages guarded for the parent are the child's own business.
#[test]
fn children_of_watched_parents_survive() {
    let program = compile("forks.c", &["-O1"]);
    let mut process = program.launch(&["fork"]);
    let data = program.address(&process, "calls");
    let on = On::Write { at: data, len: 64 };
    process
        .insert(Trap::new(on, Owner::User))
        .expect("a page watch");
    let mut hits = 0;
    let end = run_out(&mut process, |_, stop| hits += stop.traps().count());
    assert_eq!((end, hits), (End::Exited(0), 20));
}

/// Forks can be reported, and the child followed instead of the parent.
#[test]
fn follow_the_child() {
    let program = compile("forks.c", &["-O1"]);
    let options = Options {
        follow: Follow::Child,
        report_forks: true,
        ..transparent()
    };
    let (mut process, _) = program.launch_with(&["fork"], options);
    let parent = process.pid();
    let f = program.address(&process, "f");
    let f = exec(&mut process, f);
    let mut hits = 0;
    let (mut born, mut followed) = (None, None);
    let end = run_out(&mut process, |process, stop| {
        hits += stop.traps().filter(|id| *id == f).count();
        for cause in &stop.causes {
            match cause {
                Cause::Fork { child, .. } => {
                    born = Some(*child);
                    assert_eq!(process.pid(), parent, "nobody has gone on yet");
                }
                Cause::Followed { maker } => {
                    followed = Some(stop.tid);
                    assert_eq!((process.pid(), *maker), (stop.tid, parent));
                }
                _ => {}
            }
        }
    });
    assert_eq!(end, End::Exited(5));
    assert_eq!(hits, 1 + 100, "one in the parent, then the child's");
    assert!(born.is_some() && followed == born, "{born:?} {followed:?}");
}

/// A vfork child is followed into its new program.
#[test]
fn follow_a_vfork_child() {
    let program = compile("forks.c", &["-O1"]);
    let options = Options {
        follow: Follow::Child,
        ..transparent()
    };
    let (mut process, _) = program.launch_with(&["vfork"], options);
    let f = program.address(&process, "f");
    exec(&mut process, f);
    let mut execs = 0;
    let end = run_out(&mut process, |process, stop| {
        if stop.causes.contains(&Cause::Exec) {
            execs += 1;
            let main = process
                .modules()
                .iter()
                .find(|m| m.kind == ModuleKind::Main);
            assert!(!main.expect("a program").path.ends_with(&program.path));
        }
    });
    assert_eq!((end, execs), (End::Exited(5), 1));
}

/// exec in a secondary thread: the other threads vanish without a word, the
/// traps are set again, the new program's calls are all seen.
#[test]
fn exec_from_a_secondary_thread() {
    let program = compile("execs.c", &["-O1"]);
    for _ in 0..5 {
        let mut process = program.launch(&["first"]);
        let f = program.address(&process, "f");
        exec(&mut process, f);
        let mut execs = 0;
        let mut hits = 0;
        let end = run_out(&mut process, |process, stop| {
            if stop.causes.contains(&Cause::Exec) {
                execs += 1;
                assert_eq!(process.threads(), [process.pid()]);
                let f = program.address(process, "f");
                exec(process, f);
            } else if execs > 0 {
                hits += stop.traps().count();
            }
        });
        assert_eq!((end, execs, hits), (End::Exited(50), 1, 50));
    }
}

/// Loading is reported before the library's code runs, unloading after it is
/// gone; traps are set for each load.
#[test]
fn dlopen_and_dlclose() {
    let plugin = compile("plugin.c", &["-shared", "-fPIC"]);
    let program = compile("opens.c", &["-O1"]);
    let path = plugin.path.to_str().expect("a path");
    let (mut process, _) = program.launch_with(&[path], Options::default());
    let (mut loads, mut unloads, mut hits) = (0, 0, 0);
    let end = run_out(&mut process, |process, stop| {
        hits += stop.traps().count();
        let here =
            |p: &verde_engine::Process| p.modules().iter().find(|m| m.path == plugin.path).cloned();
        for cause in &stop.causes {
            match cause {
                Cause::Loaded => {
                    if let Some(module) = here(process) {
                        loads += 1;
                        let at = module.start + 0;
                        assert!(process.module_at(at).is_some());
                        let plugged = verde_engine::Addr(module.bias + plugin.symbol("plugged"));
                        exec(process, plugged);
                    }
                }
                Cause::Unloaded => {
                    unloads += 1;
                    assert!(here(process).is_none());
                }
                _ => {}
            }
        }
    });
    assert_eq!(end, End::Exited(30));
    assert_eq!((loads, unloads, hits), (3, 3, 30));
}

/// Threads are reported when asked for.
#[test]
fn threads_begin_and_end() {
    let program = compile("counts.c", &["-O1"]);
    let mut process = program.launch(&["8", "10"]);
    process
        .insert(Trap::new(On::Thread, Owner::Monitor))
        .expect("a trap");
    let (mut begun, mut ended) = (0, 0);
    run_out(&mut process, |_, stop| {
        for cause in &stop.causes {
            match cause {
                Cause::Clone(_) => begun += 1,
                Cause::ThreadExit(_) => ended += 1,
                other => panic!("unexpected {other:?}"),
            }
        }
    });
    assert_eq!((begun, ended), (7, 8));
}

/// A program that dies at any moment is an end, never an error.
#[test]
fn killed_from_outside() {
    let program = compile("waits.c", &["-O1"]);
    for round in 0..20 {
        let mut process = program.launch(&["spin", "4"]);
        let f = program.address(&process, "f");
        exec(&mut process, f);
        process.resume_all().expect("resumed");
        for _ in 0..round * 10 {
            let stop = next(&mut process);
            process.resume(stop.tid).expect("resumed");
        }
        verde_sys::signals::send(process.pid(), 9).expect("killed");
        let end = loop {
            let stop = next(&mut process);
            if let Some(end) = stop.ended() {
                break end;
            }
            process.resume(stop.tid).expect("resumed");
        };
        assert_eq!(end, End::Killed(9));
        assert!(process.wait().is_err());
    }
}

/// The first thread ends before the others: it never stops again, and nobody
/// may wait for it. And threads come and go while the world is stopped.
#[test]
fn threads_come_and_go() {
    let program = compile("churn.c", &["-O1"]);
    for kind in ["leader", "many"] {
        let mut process = program.launch(&[kind]);
        let f = program.address(&process, "f");
        let f = exec(&mut process, f);
        process
            .insert(Trap::new(On::Thread, Owner::Monitor))
            .expect("a trap");
        let mut stops = 0;
        let end = run_out(&mut process, |process, _| {
            stops += 1;
            if stops % 10 == 0 {
                let world = process.stop_all().expect("stopped");
                for tid in world.threads() {
                    assert!(world.regs(tid).is_ok());
                }
            }
        });
        assert_eq!(end, End::Exited(7), "{kind}");
        assert_eq!(process.traps().get(f).expect("f").hits, 3000, "{kind}");
    }
}
