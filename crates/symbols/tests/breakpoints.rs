//! Where breakpoints on functions and lines go, against gdb, over compilers and formats.

mod common;

use common::{Lab, fixture};
use std::collections::BTreeSet;
use std::path::Path;
use verde_symbols::{FunctionQuery, Module};

/// Addresses gdb gives to breakpoints on each location (empty when it finds none).
fn gdb_addresses(lab: &Lab, program: &Path, locations: &[String]) -> Vec<BTreeSet<u64>> {
    let mut commands = vec!["set breakpoint pending off".to_owned()];
    for location in locations {
        commands.push("echo ==\\n".to_string());
        commands.push(format!("break {location}"));
        commands.push("info breakpoints".to_owned());
        commands.push("delete".to_owned());
    }
    // An error ends `-ex` processing of nothing but its own command.
    let text = lab.gdb(program, &commands);
    let parts: Vec<&str> = text.split("==\n").skip(1).collect();
    assert_eq!(parts.len(), locations.len(), "{text}");
    parts.iter().map(|part| addresses_in(part)).collect()
}

fn addresses_in(part: &str) -> BTreeSet<u64> {
    let table = part.split("Num ").nth(1).unwrap_or("");
    let words = table.split_whitespace();
    words
        .filter(|w| w.len() == 18)
        .filter_map(|w| u64::from_str_radix(w.strip_prefix("0x")?, 16).ok())
        .collect()
}

fn ours(module: &Module, location: &str) -> BTreeSet<u64> {
    if let Some((file, line)) = location.split_once(':')
        && let Ok(line) = line.parse()
    {
        let found = module.line_addresses(file, line);
        return found
            .iter()
            .flat_map(|m| &m.addresses)
            .map(|a| a.0)
            .collect();
    }
    let query = FunctionQuery::parse(location);
    let functions = module.functions(&query);
    let outer = functions.iter().map(|f| module.breakpoint_address(f).0);
    let inlined = module.inlined_calls(&query);
    // gdb takes the first range of an inlined body, which need not be where it is entered.
    outer
        .chain(inlined.iter().map(|c| c.ranges[0].0.0))
        .collect()
}

fn compare(lab: &Lab, source: &str, flags: &str, functions: &[&str]) {
    let program = lab.build(source, flags);
    compare_program(lab, &program, source, flags, functions);
}

fn compare_program(lab: &Lab, program: &Path, source: &str, flags: &str, functions: &[&str]) {
    let count = std::fs::read_to_string(fixture(source))
        .unwrap()
        .lines()
        .count();
    let mut locations: Vec<String> = functions.iter().map(|f| f.to_string()).collect();
    locations.extend((1..=count).map(|line| format!("{source}:{line}")));
    let expected = gdb_addresses(lab, program, &locations);
    let module = Module::open(program).unwrap();
    let mut wrong = Vec::new();
    for (location, expected) in locations.iter().zip(expected) {
        let got = ours(&module, location);
        if got != expected {
            wrong.push(format!("{location}: gdb {expected:x?}, here {got:x?}"));
        }
    }
    assert!(wrong.is_empty(), "{source} {flags}:\n{}", wrong.join("\n"));
}

const C_NAMES: [&str; 6] = [
    "main",
    "stop_here",
    "middle",
    "add",
    "sym_values.c:done",
    "nosuch",
];
const CPP_NAMES: [&str; 12] = [
    "main",
    "ns::f",
    "f",
    "ns::C::m",
    "ns::C::s",
    "hidden",
    "Stack<int>::push",
    "largest<int>",
    "Square::area",
    "ns::f(int)",
    "squeezed",
    "ns::C::C",
];

#[test]
fn c_without_optimisation() {
    compare(&Lab::new(), "sym_values.c", "-g -O0", &C_NAMES);
}

#[test]
fn c_optimised() {
    compare(&Lab::new(), "sym_values.c", "-g -O2", &C_NAMES);
}

#[test]
fn c_in_dwarf_4() {
    compare(
        &Lab::new(),
        "sym_values.c",
        "-gdwarf-4 -O0 -no-pie",
        &C_NAMES,
    );
}

#[test]
fn cpp_without_optimisation() {
    compare(&Lab::new(), "sym_names.cpp", "-g -O0", &CPP_NAMES);
}

#[test]
fn rust_without_optimisation() {
    let names = ["sym_names::main", "sym_names::shapes::deep::helper"];
    compare(&Lab::new(), "sym_names.rs", "-g", &names);
}
