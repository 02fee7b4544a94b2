//! A trap on every instruction of a program, libraries' entry code included:
//! whatever the instruction, its copy in a slot has the same effect.

mod common;

use common::{Program, compile, run_out, transparent};
use std::process::Command;
use verde_engine::{Addr, End, On, Owner, Trap, TrapSet};

/// Addresses of the instructions of a program's code, as the disassembler
/// sees them.
fn instructions(program: &Program) -> Vec<u64> {
    let output = Command::new("objdump")
        .args([
            "-d",
            "--no-show-raw-insn",
            "-j",
            ".text",
            "-j",
            ".plt",
            "-j",
            ".init",
        ])
        .arg(&program.path)
        .output()
        .expect("objdump");
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().filter(|l| !l.contains("(bad)"));
    let addresses = lines.filter_map(|line| {
        let (address, rest) = line.split_once(":\t")?;
        let padding = rest.starts_with("nop") || rest.starts_with("data16");
        (!padding).then(|| u64::from_str_radix(address.trim(), 16).ok())?
    });
    addresses.collect()
}

fn check(name: &str, flags: &[&str], args: &[&str]) {
    let program = compile(name, flags);
    let plain = Command::new(&program.path)
        .args(args)
        .output()
        .expect("a plain run");
    let (mut process, output) = program.launch_with(args, transparent());
    let bias = program.address(&process, "main").0 - program.symbol("main");
    let mut wanted = TrapSet::new();
    for at in instructions(&program) {
        wanted.insert(Trap::new(On::Exec(Addr(bias + at)), Owner::Monitor));
    }
    assert!(wanted.len() > 50);
    assert_eq!(
        process.apply(&wanted).len(),
        0,
        "{name}: every trap can be set"
    );
    let mut hits = 0u64;
    let end = run_out(&mut process, |process, stop| {
        hits += 1;
        // The program's own view: on the trap, in its own code.
        let pc = process.regs(stop.tid).expect("registers").pc();
        assert!(process.module_at(pc).is_some());
    });
    assert!(hits > 20, "{name}");
    assert_eq!(
        end,
        End::Exited(plain.status.code().expect("a status")),
        "{name} {flags:?}"
    );
    let printed = output.text().into_bytes();
    assert_eq!(printed, plain.stdout, "{name} {flags:?}");
}

#[test]
fn calls_returns_and_exceptions() {
    for flags in [["-O0"], ["-O2"]] {
        check("calls.c", &flags, &[]);
        check("throws.cpp", &flags, &[]);
    }
}

#[test]
fn signals_and_faults() {
    // Not the program's own SIGTRAP: an int3 in its handler, where SIGTRAP is
    // blocked, makes the kernel reset that handler.
    for kind in ["rt", "fault"] {
        check("signals.c", &["-O1"], &[kind]);
    }
}

#[test]
fn stacks_and_children() {
    check("stacks.c", &["-O2"], &[]);
    for kind in ["fork", "vfork", "thread"] {
        check("forks.c", &["-O1"], &[kind]);
    }
}

/// Code linked statically: the system call instructions themselves.
#[test]
fn a_static_program() {
    check("calls.c", &["-O1", "-static"], &[]);
}

#[test]
fn threads() {
    check("counts.c", &["-O1"], &["4", "100"]);
}
