//! Where breakpoints on functions and lines go, against gdb, over compilers and formats.

mod common;

use common::{Lab, fixture, run};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
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

#[test]
fn optimised_cpp_and_rust() {
    let lab = Lab::new();
    compare(
        &lab,
        "sym_names.cpp",
        "-g -O2",
        &["main", "Square::area", "Stack<int>::push"],
    );
    compare(
        &lab,
        "sym_names.rs",
        "-g -O",
        &["sym_names::shapes::deep::helper"],
    );
}

#[test]
fn functions_with_nothing_but_lines() {
    let lab = Lab::new();
    let flags = "-Cdebuginfo=line-tables-only -Cforce-frame-pointers=yes";
    let program = lab.build("sym_names.rs", flags);
    let module = Module::open(&program).unwrap();
    let found = module.functions(&FunctionQuery::parse("sym_names::shapes::deep::helper"));
    let [helper] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert!(helper.die.is_none() && module.line_at(helper.entry).is_some());
    // push %rbp; mov %rsp,%rbp
    assert_eq!(module.breakpoint_address(helper), helper.entry.plus(4));
}

#[test]
fn split_dwarf_of_both_versions() {
    let lab = Lab::new();
    compare(
        &lab,
        "sym_values.c",
        "-gdwarf-5 -gsplit-dwarf -O0",
        &C_NAMES,
    );
    compare(
        &lab,
        "sym_values.c",
        "-gdwarf-4 -gsplit-dwarf -O0",
        &C_NAMES,
    );
    compare(
        &lab,
        "sym_names.cpp",
        "-gdwarf-5 -gsplit-dwarf -O0",
        &CPP_NAMES,
    );
}

#[test]
fn split_dwarf_in_a_package() {
    let lab = Lab::new();
    // GNU's packer writes version 4 only, and LLVM's loops on GCC's version 5.
    {
        let program = lab.build("sym_values.c", "-gdwarf-4 -gsplit-dwarf -O0");
        let package = PathBuf::from(format!("{}.dwp", program.display()));
        run(Command::new("dwp")
            .current_dir(lab.dir())
            .arg("-e")
            .arg(&program)
            .arg("-o")
            .arg(&package));
        let expected = gdb_addresses(&lab, &program, &["stop_here".to_owned()]);
        for entry in std::fs::read_dir(lab.dir()).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "dwo") {
                std::fs::remove_file(path).unwrap();
            }
        }
        let module = Module::open(&program).unwrap();
        assert_eq!(ours(&module, "stop_here"), expected[0]);
        let main = module.functions(&FunctionQuery::parse("stop_here"));
        assert_eq!(module.parameters(main[0].die.unwrap()).len(), 5);
    }
}

#[test]
fn compressed_and_typed_sections() {
    let lab = Lab::new();
    compare(&lab, "sym_values.c", "-g -gz=zlib -O0", &C_NAMES);
    compare(&lab, "sym_values.c", "-g -gz=zlib-gnu -O0", &C_NAMES);
    compare(
        &lab,
        "sym_names.cpp",
        "-gdwarf-4 -fdebug-types-section -O0",
        &CPP_NAMES,
    );
    compare(&lab, "sym_values.c", "-gdwarf-2 -O0", &C_NAMES);
}

#[test]
fn zstd_sections() {
    let lab = Lab::new();
    let program = lab.build("sym_values.c", "-g -O0");
    let packed = lab.path("zstd");
    let mut command = Command::new("objcopy");
    command
        .arg("--compress-debug-sections=zstd")
        .arg(&program)
        .arg(&packed);
    let supported = command.output().is_ok_and(|o| o.status.success());
    // Binutils older than 2.40 cannot make them; zlib is covered above.
    if supported {
        let plain = Module::open(&program).unwrap();
        let module = Module::open(&packed).unwrap();
        assert_eq!(ours(&module, "stop_here"), ours(&plain, "stop_here"));
    }
}

#[test]
fn static_programs() {
    compare(&Lab::new(), "sym_values.c", "-g -O0 -static", &C_NAMES);
}

#[test]
fn link_time_optimisation() {
    compare(
        &Lab::new(),
        "sym_values.c",
        "-g -O2 -flto",
        &["main", "stop_here"],
    );
}

#[test]
fn a_stripped_program_with_its_debug_file_beside_it() {
    let lab = Lab::new();
    let program = lab.build("sym_values.c", "-g -O0");
    let stripped = lab.path("stripped");
    let debug = lab.path("stripped.debug");
    run(Command::new("objcopy")
        .arg("--only-keep-debug")
        .arg(&program)
        .arg(&debug));
    run(Command::new("strip").arg("-o").arg(&stripped).arg(&program));
    run(Command::new("objcopy")
        .current_dir(lab.dir())
        .arg("--add-gnu-debuglink=stripped.debug")
        .arg(&stripped));
    compare_program(&lab, &stripped, "sym_values.c", "debuglink", &C_NAMES);
    let module = Module::open(&stripped).unwrap();
    assert_eq!(module.debug_file().unwrap(), debug.canonicalize().unwrap());
    // A debug file of another build is not taken.
    let other = lab.build("sym_values.c", "-g -O2");
    run(Command::new("objcopy")
        .arg("--only-keep-debug")
        .arg(&other)
        .arg(&debug));
    assert!(
        !Module::open_with(&stripped, Vec::new())
            .unwrap()
            .has_debug_info()
    );
}

#[test]
fn a_debug_file_by_build_id() {
    let lab = Lab::new();
    let program = lab.build("sym_values.c", "-g -O0 -Wl,--build-id=sha1");
    let stripped = lab.path("stripped");
    run(Command::new("strip").arg("-o").arg(&stripped).arg(&program));
    let plain = Module::open(&program).unwrap();
    let id: String = plain
        .build_id()
        .unwrap()
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    let store = lab.path("debug");
    let dir = store.join(".build-id").join(&id[..2]);
    std::fs::create_dir_all(&dir).unwrap();
    let debug = dir.join(format!("{}.debug", &id[2..]));
    run(Command::new("objcopy")
        .arg("--only-keep-debug")
        .arg(&program)
        .arg(&debug));
    let module = Module::open_with(&stripped, vec![store]).unwrap();
    assert_eq!(module.debug_file(), Some(debug.as_path()));
    assert_eq!(ours(&module, "stop_here"), ours(&plain, "stop_here"));
}

#[test]
fn a_stripped_library_knows_what_it_exports() {
    let lab = Lab::new();
    let library = lab.path("libvalues.so");
    lab.build_to("sym_values.c", "-g -O2 -shared -fPIC", &library);
    let described = Module::open(&library).unwrap();
    let before = described.functions(&FunctionQuery::parse("stop_here"));
    let stripped = lab.path("libstripped.so");
    run(Command::new("strip")
        .arg("--strip-all")
        .arg("-o")
        .arg(&stripped)
        .arg(&library));
    let module = Module::open(&stripped).unwrap();
    assert!(!module.has_debug_info());
    let found = module.functions(&FunctionQuery::parse("stop_here"));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].entry, before[0].entry);
    assert!(found[0].die.is_none());
    // A static function has no name any more; its bounds are still in the unwind tables.
    let hidden = described.functions(&FunctionQuery::parse("done"));
    let bounds = module.function_at(hidden[0].entry).unwrap();
    assert_eq!(
        (bounds.entry, bounds.ranges[0].0),
        (hidden[0].entry, hidden[0].entry)
    );
}
