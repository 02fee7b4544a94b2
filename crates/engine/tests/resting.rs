//! Return traps that rest: calls that were seen to begin are followed to their
//! ends, others are not seen.

mod common;

use common::{compile, run_out, transparent};
use object::{Object, ObjectSymbol};
use std::collections::HashMap;
use verde_engine::{Addr, CallId, Cause, End, Follow, On, Options, Owner, Process, Trap, TrapId};
use verde_sys::memory::Memory;

/// What is in memory, not what the program would see.
fn byte_at(process: &Process, at: Addr) -> u8 {
    let memory = Memory::open(process.pid()).expect("memory");
    let mut byte = [0];
    memory.read(at, &mut byte).expect("code");
    byte[0]
}

fn on_calls(process: &mut Process, at: Addr) -> TrapId {
    let trap = Trap::new(On::Call(at), Owner::Monitor);
    process.insert(trap).expect("a trap")
}

/// Where longjmp is in the loaded libraries.
fn jumps(process: &Process) -> Vec<Addr> {
    let mut found = Vec::new();
    for module in process.modules() {
        let Ok(data) = std::fs::read(&module.path) else {
            continue;
        };
        let file = object::File::parse(&*data).expect("a library");
        let jumps = file.dynamic_symbols().filter(|s| {
            s.is_definition() && matches!(s.name(), Ok("longjmp" | "_longjmp" | "siglongjmp"))
        });
        found.extend(jumps.map(|s| Addr(module.bias + s.address())));
    }
    found.sort();
    found.dedup();
    found
}

/// The calls that began and are not over.
#[derive(Default)]
struct Open {
    calls: HashMap<CallId, TrapId>,
    entered: usize,
    returned: usize,
    abandoned: usize,
    cut: usize,
}

impl Open {
    fn see(&mut self, cause: &Cause) {
        match *cause {
            Cause::Entry { id, call } => {
                self.entered += 1;
                assert!(self.calls.insert(call, id).is_none());
            }
            Cause::Return { id, call } => {
                self.returned += 1;
                assert_eq!(self.calls.remove(&call), Some(id));
            }
            Cause::Abandoned { id, call } => {
                self.abandoned += 1;
                assert_eq!(self.calls.remove(&call), Some(id));
            }
            Cause::Cut { id, call } => {
                self.cut += 1;
                assert_eq!(self.calls.remove(&call), Some(id));
            }
            _ => {}
        }
    }
}

/// The third call of each recursion is the last one that is seen.
#[test]
fn recursion_is_followed_to_its_end() {
    let program = compile("calls.c", &["-O0"]);
    let mut process = program.launch(&[]);
    let fact = program.address(&process, "fact");
    let bare = byte_at(&process, fact);
    let id = on_calls(&mut process, fact);
    let mut open = Open::default();
    let end = run_out(&mut process, |process, stop| {
        for cause in &stop.causes {
            open.see(cause);
        }
        if open.calls.len() == 3 && !process.traps().is_resting(id) {
            process.rest(id).expect("rests");
            assert_eq!(byte_at(process, fact), bare, "nobody waits for entries");
            assert_eq!(process.followed_calls().len(), 3);
        }
        assert_eq!(process.stray_return(), None);
        if open.calls.is_empty() {
            assert_eq!(on_calls(process, fact), id, "it wakes with its id");
        }
    });
    assert_eq!(end, End::Exited(0));
    assert!(open.calls.is_empty());
    // Three rounds of two recursions.
    assert_eq!((open.entered, open.returned), (18, 18));
}

/// What is left by longjmp is over when that begins, seen or not.
#[test]
fn calls_left_by_longjmp() {
    let program = compile("calls.c", &["-O0"]);
    let mut process = program.launch(&[]);
    process.options.quiet_libraries = false;
    let deep = program.address(&process, "deep");
    let bare = byte_at(&process, deep);
    let id = on_calls(&mut process, deep);
    let mut open = Open::default();
    let end = run_out(&mut process, |process, stop| {
        for cause in &stop.causes {
            open.see(cause);
            if *cause == Cause::Loaded {
                let jumps = jumps(process);
                process.observe_jumps(&jumps).expect("exits");
            }
        }
        if open.calls.len() == 3 {
            process.rest(id).expect("rests");
        }
        assert_eq!(process.stray_return(), None);
        if open.calls.is_empty() && open.abandoned > 0 {
            assert_eq!(byte_at(process, deep), bare);
            assert_eq!(on_calls(process, deep), id);
        }
    });
    assert_eq!(end, End::Exited(0));
    // The third of five is the last that is seen, twelve times.
    assert_eq!((open.entered, open.abandoned, open.returned), (36, 36, 0));
}

/// However often a trap rests and wakes, each call that began ends once.
#[test]
fn threads_lose_no_return() {
    let program = compile("counts.c", &["-O1"]);
    for threads in [1, 3, 16] {
        let times = 200;
        let (mut process, _) =
            program.launch_with(&[&threads.to_string(), &times.to_string()], transparent());
        let (f, g) = (
            program.address(&process, "f"),
            program.address(&process, "g"),
        );
        let id = on_calls(&mut process, g);
        // So that there are stops while it rests.
        let clock = process
            .insert(Trap::new(On::Exec(f), Owner::User))
            .expect("a trap");
        let mut open = Open::default();
        let mut ticks = 0;
        let end = run_out(&mut process, |process, stop| {
            for cause in &stop.causes {
                open.see(cause);
            }
            if stop.traps().any(|t| t == clock) {
                ticks += 1;
                match ticks % 5 {
                    2 => process.rest(id).expect("rests"),
                    4 => assert_eq!(on_calls(process, g), id),
                    _ => {}
                }
                assert_eq!(process.stray_return(), None);
            }
        });
        assert_eq!(end, End::Exited(7));
        assert_eq!(ticks, 2 * threads * times);
        assert!(open.calls.is_empty(), "{threads}: {:?}", open.calls);
        assert_eq!(open.entered, open.returned, "{threads} threads");
        let all = threads * times;
        assert!(open.entered < all && open.entered > all / 4, "{threads}");
    }
}

/// Two references: it rests with the last one. Removed, it is gone with its calls.
#[test]
fn references_and_removal() {
    let program = compile("calls.c", &["-O0"]);
    let mut process = program.launch(&[]);
    let fact = program.address(&process, "fact");
    let id = on_calls(&mut process, fact);
    assert_eq!(on_calls(&mut process, fact), id);
    let mut open = Open::default();
    let end = run_out(&mut process, |process, stop| {
        for cause in &stop.causes {
            open.see(cause);
        }
        match open.entered {
            2 => process.rest(id).expect("one of two"),
            4 => process.rest(id).expect("the other"),
            _ => {}
        }
        if open.returned == 1 {
            process.remove(id).expect("removed");
            assert!(process.traps().get(id).is_none());
            assert!(process.followed_calls().is_empty());
            assert!(process.rest(id).is_err() && process.remove(id).is_err());
        }
    });
    assert_eq!(end, End::Exited(0));
    assert_eq!((open.entered, open.returned), (4, 1));
}

/// A child that is followed has the calls of the thread that forked.
#[test]
fn a_followed_child() {
    let program = compile("forks.c", &["-O1"]);
    let options = Options {
        follow: Follow::Child,
        ..transparent()
    };
    let (mut process, _) = program.launch_with(&["fork"], options);
    let main = program.address(&process, "main");
    let id = on_calls(&mut process, main);
    let mut open = Open::default();
    let end = run_out(&mut process, |process, stop| {
        for cause in &stop.causes {
            open.see(cause);
        }
        if !process.traps().is_resting(id) {
            process.rest(id).expect("rests");
        }
        assert_eq!(process.stray_return(), None);
    });
    assert_eq!(end, End::Exited(5));
    // The child ends in it.
    assert_eq!((open.entered, open.abandoned, open.cut), (1, 0, 1));
}
