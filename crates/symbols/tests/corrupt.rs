//! Corrupted files: whatever the bytes say, no panic, no hang, no unbounded memory.

mod common;

use common::{Lab, run};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use verde_symbols::{
    Env, FileAddr, FunctionQuery, LocationError, Memory, Module, Outlook, Registers, Type,
};

/// A small generator: the same bytes are flipped on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// Memory that is always there.
struct Anything;

impl Memory for Anything {
    fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), LocationError> {
        for (i, byte) in buf.iter_mut().enumerate() {
            *byte = (addr as u8).wrapping_add(i as u8);
        }
        Ok(())
    }
}

fn registers() -> Registers {
    let mut registers = Registers::default();
    for (i, slot) in registers.general.iter_mut().enumerate() {
        *slot = Some(0x7fff_0000_0000 + 64 * i as u64);
    }
    registers
}

fn look_at_type(ty: &Type, depth: usize) {
    let plain = ty.strip();
    let _ = (plain.size(), plain.qualified_name(), plain.is_unsigned());
    let _ = (plain.enumerators(), plain.methods(), plain.arguments());
    if depth < 4 {
        for member in plain.members().iter().take(20) {
            look_at_type(&member.ty, depth + 1);
        }
        if let Some(part) = plain.variant_part() {
            for variant in part.variants.iter().take(10) {
                look_at_type(&variant.member.ty, depth + 1);
            }
        }
        if let Some(target) = plain.target() {
            look_at_type(&target, depth + 1);
        }
    }
}

/// Asks a file everything.
fn exercise(path: &Path) {
    let Ok(module) = Module::open_with(path, Vec::new()) else {
        return;
    };
    let registers = registers();
    let env = Env {
        memory: &Anything,
        registers: Some(&registers),
        cfa: Some(0x7fff_0000_1000),
        bias: 0,
        tls: Some(0x1000),
        entry: None,
    };
    let _ = (
        module.segments(),
        module.tls(),
        module.interpreter(),
        module.build_id(),
    );
    for name in ["main", "stop_here", "middle", "f", "area", "push", "nosuch"] {
        let query = FunctionQuery::parse(name);
        for function in module.functions(&query).iter().take(8) {
            let addr = module.breakpoint_address(function);
            let _ = (
                module.line_at(addr),
                module.symbol_at(addr),
                module.function_at(addr),
            );
            for argument in module.entry_arguments(function) {
                look_at_type(&argument.variable.ty, 0);
                let _ = argument.locate(&env, function.entry);
            }
            let _ = module.return_place(function);
            for frame in module.frames_at(addr) {
                for block in module.blocks(frame.die, addr) {
                    for variable in &block.variables {
                        look_at_type(&variable.ty, 0);
                        let _ = variable.place(&env, Some(addr)).map(|p| p.read(&env, 16));
                    }
                }
            }
            for step in [0, 1, 4, 9, 30] {
                let at = FileAddr(function.entry.0 + step);
                let _ = module.unwind_frame(0, at, &registers, &Anything);
            }
        }
        let _ = module.inlined_calls(&query);
    }
    for file in ["sym_values.c", "sym_names.cpp"] {
        for line in [1, 50, 60, 88, 95] {
            let _ = module.line_addresses(file, line);
        }
    }
    for name in ["counter", "table", "local_to_thread", "ns::C::made"] {
        for (_, variable) in module.globals(name, None, &Outlook::anywhere()) {
            look_at_type(&variable.ty, 0);
            let _ = variable.place(&env, None);
        }
    }
    let _ = (
        module.types("item", None, &Outlook::anywhere()),
        module.enumerators("RED", &Outlook::anywhere()),
        module.source_files(),
    );
    let _ = module.nearest_names("stop_her", 3);
}

/// Flips bytes where they matter: in the headers and in the sections that are parsed.
fn corrupt(original: &[u8], random: &mut Random, ranges: &[(usize, usize)]) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for _ in 0..1 + random.below(12) {
        let (start, size) = ranges[random.below(ranges.len())];
        let at = start + random.below(size);
        if let Some(byte) = bytes.get_mut(at) {
            *byte = match random.below(4) {
                0 => 0,
                1 => 0xff,
                2 => *byte ^ 1 << random.below(8),
                _ => random.next() as u8,
            };
        }
    }
    if random.below(20) == 0 {
        bytes.truncate(random.below(bytes.len()));
    }
    bytes
}

fn section_ranges(path: &Path) -> Vec<(usize, usize)> {
    let text = run(Command::new("readelf").arg("-SW").arg(path));
    let mut out = vec![(0, 64), (64, 56 * 8)];
    for line in text.lines() {
        let Some((_, rest)) = line.split_once(']') else {
            continue;
        };
        let words: Vec<&str> = rest.split_whitespace().collect();
        let parsed = [
            ".debug",
            ".eh_frame",
            ".symtab",
            ".strtab",
            ".dynsym",
            ".gnu",
            ".note",
            ".zdebug",
        ];
        if words.len() > 5 && parsed.iter().any(|p| words[0].starts_with(p)) {
            let number = |s: &str| usize::from_str_radix(s, 16).unwrap_or(0);
            let (offset, size) = (number(words[3]), number(words[4]));
            if size > 0 {
                out.push((offset, size));
            }
        }
    }
    out
}

fn flip(source: &str, flags: &str, seed: u64, cases: usize) {
    let lab = Lab::new();
    let program = lab.build(source, flags);
    let original = std::fs::read(&program).unwrap();
    let ranges = section_ranges(&program);
    let mut random = Random(seed);
    for case in 0..cases {
        let bytes = corrupt(&original, &mut random, &ranges);
        let path = lab.path(&format!("case{case}"));
        std::fs::write(&path, bytes).unwrap();
        let start = Instant::now();
        exercise(&path);
        let took = start.elapsed();
        assert!(
            took < Duration::from_secs(20),
            "{flags}: case {case} took {took:?}"
        );
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn c_in_dwarf_5() {
    flip("sym_values.c", "-g -O2", 0x1234_5678_9abc_def1, 60);
}

#[test]
fn c_in_dwarf_4_without_optimisation() {
    flip("sym_values.c", "-gdwarf-4 -O0", 0x0bad_cafe_1234_0001, 50);
}

#[test]
fn cpp() {
    flip("sym_names.cpp", "-g -O0", 0x7777_1234_0000_0003, 60);
}

#[test]
fn compressed_sections() {
    flip("sym_values.c", "-g -gz -O0", 0x5151_5151_0000_0007, 30);
}

#[test]
fn rust() {
    flip("sym_names.rs", "-g", 0x0123_4567_89ab_cdef, 10);
}

#[test]
fn memory_stays_bounded() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status
        .lines()
        .find_map(|l| l.strip_prefix("VmHWM:"))
        .unwrap();
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kilobytes < 4 << 20, "{kilobytes} kB");
}
