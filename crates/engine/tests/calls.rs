//! Return traps: every call that was entered ends exactly once, as returned
//! or as abandoned.

mod common;

use common::{Program, compile, run_out};
use object::{Object, ObjectSymbol};
use std::collections::HashMap;
use verde_engine::{Addr, Cause, End, On, Owner, Process, Trap, TrapId};

#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    entered: usize,
    returned: usize,
    abandoned: usize,
}

/// Runs a program with call traps on the functions; what became of the calls.
fn tally(program: &Program, names: &[&str], observe: &[&str]) -> HashMap<String, Tally> {
    let mut process = program.launch(&[]);
    let mut traps: HashMap<TrapId, String> = HashMap::new();
    for name in names {
        let at = program.address(&process, name);
        let trap = Trap::new(On::Call(at), Owner::Monitor);
        traps.insert(process.insert(trap).expect("a trap"), name.to_string());
    }
    process.options.quiet_libraries = false;
    let mut tallies: HashMap<String, Tally> = HashMap::new();
    let mut open = HashMap::new();
    let end = run_out(&mut process, |process, stop| {
        for cause in &stop.causes {
            match *cause {
                Cause::Entry { id, call } => {
                    tallies.entry(traps[&id].clone()).or_default().entered += 1;
                    assert!(open.insert(call, id).is_none());
                }
                Cause::Return { id, call } => {
                    tallies.entry(traps[&id].clone()).or_default().returned += 1;
                    assert_eq!(open.remove(&call), Some(id));
                }
                Cause::Abandoned { id, call } => {
                    tallies.entry(traps[&id].clone()).or_default().abandoned += 1;
                    assert_eq!(open.remove(&call), Some(id));
                }
                Cause::Loaded => {
                    let exits = library_functions(process, observe);
                    process.observe_exits(&exits).expect("exits");
                }
                ref other => panic!("unexpected {other:?}"),
            }
        }
    });
    assert_eq!(end, End::Exited(0));
    assert!(open.is_empty(), "calls left open: {open:?}");
    tallies
}

/// Addresses of functions in the loaded libraries.
fn library_functions(process: &Process, names: &[&str]) -> Vec<Addr> {
    let mut found = Vec::new();
    for module in process.modules() {
        let Ok(data) = std::fs::read(&module.path) else {
            continue;
        };
        let file = object::File::parse(&*data).expect("a library");
        for symbol in file.dynamic_symbols() {
            let wanted = symbol.name().is_ok_and(|n| names.contains(&n));
            if wanted && symbol.is_definition() && symbol.address() != 0 {
                found.push(Addr(module.bias + symbol.address()));
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

const EXITS: &[&str] = &[
    "longjmp",
    "_longjmp",
    "siglongjmp",
    "_Unwind_RaiseException",
    "__cxa_begin_catch",
];

fn all(n: usize) -> Tally {
    Tally {
        entered: n,
        returned: n,
        abandoned: 0,
    }
}

#[test]
fn recursion_longjmp_and_tail_calls() {
    let program = compile("calls.c", &["-O0"]);
    let names = ["fact", "deep", "tail1", "tail2", "even", "odd", "several"];
    let tallies = tally(&program, &names, EXITS);
    assert_eq!(tallies["fact"], all(3 * 9));
    let left = Tally {
        entered: 3 * 4 * 5,
        returned: 0,
        abandoned: 3 * 4 * 5,
    };
    assert_eq!(tallies["deep"], left);
    assert_eq!(tallies["tail1"], all(3));
    assert_eq!(tallies["tail2"], all(3));
    assert_eq!(tallies["even"], all(3 * 3));
    assert_eq!(tallies["odd"], all(3 * 3));
    assert_eq!(tallies["several"], all(3));
}

/// Without knowing where longjmp is, only tail recursion is judged wrongly.
#[test]
fn longjmp_without_help() {
    let program = compile("calls.c", &["-O0"]);
    let tallies = tally(&program, &["deep", "fact"], &[]);
    assert_eq!(tallies["fact"], all(3 * 9));
    assert_eq!(tallies["deep"].abandoned, 3 * 4 * 5);
}

#[test]
fn exceptions_abandon_calls() {
    // At -O2 the handler in `careful` jumps to the return address of the call
    // it caught: without observing the catch that looks like a return.
    for (flags, exits) in [(["-O0"], EXITS), (["-O2"], EXITS), (["-O0"], &[])] {
        let program = compile("throws.cpp", &flags);
        let tallies = tally(&program, &["risky", "outer", "careful"], exits);
        let risky = Tally {
            entered: 60,
            returned: 40,
            abandoned: 20,
        };
        let outer = Tally {
            entered: 30,
            returned: 20,
            abandoned: 10,
        };
        assert_eq!(tallies["risky"], risky, "{flags:?}");
        assert_eq!(tallies["outer"], outer, "{flags:?}");
        assert_eq!(tallies["careful"], all(30), "{flags:?}");
    }
}

/// Calls on a signal stack and on coroutines do not disturb each other.
#[test]
fn several_stacks() {
    let program = compile("stacks.c", &["-O1"]);
    let tallies = tally(&program, &["inner", "outer", "across"], EXITS);
    assert_eq!(tallies["outer"], all(10));
    assert_eq!(tallies["inner"], all(20 + 4));
    assert_eq!(tallies["across"], all(2));
}

/// Code that is written anew has its return traps anew.
#[test]
fn returns_to_code_made_at_run_time() {
    let program = compile("made_code.c", &["-O1"]);
    assert_eq!(tally(&program, &["f"], EXITS)["f"], all(120));
}

/// Even where the thread's own stack has never been seen.
#[test]
fn coroutines_alone() {
    let program = compile("coroutines.c", &["-O1", "-w"]);
    assert_eq!(tally(&program, &["f"], EXITS)["f"], all(40));
}
