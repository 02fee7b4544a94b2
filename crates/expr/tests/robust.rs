//! Nonsense in, one line out: random expressions, and values of corrupted files.

mod support;

use std::process::Command;
use support::common::{Lab, run};
use support::{Core, make_core};
use verde_expr::{
    PrintOptions, StaticScope, evaluate, layout, name_of, print_inner, print_value, ptype,
    type_named,
};
use verde_symbols::Module;

/// A small generator: the same cases on every machine.
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

const WORDS: &[&str] = &[
    "k",
    "p",
    "table",
    "items",
    "packed",
    "nest",
    "un",
    "op",
    "d",
    "s",
    "huge",
    "big",
    "letter",
    "add",
    "text",
    "matrix",
    "words",
    "1",
    "0",
    "-1",
    "0xffffffffffffffff",
    "2.5",
    "'a'",
    "\"x\"",
    "$rip",
    "$x",
    "$",
    "$$3",
    "+",
    "-",
    "*",
    "/",
    "%",
    "<<",
    ">>",
    "&",
    "|",
    "^",
    "~",
    "!",
    "==",
    "<",
    ">=",
    "&&",
    "||",
    "?",
    ":",
    "=",
    "+=",
    ",",
    ".",
    "->",
    "[",
    "]",
    "(",
    ")",
    "@",
    "sizeof",
    "struct item",
    "int",
    "char",
    "unsigned long",
    "(int)",
    "(char *)",
    "(struct item *)",
    "(long double)",
    "id",
    "name",
    "next",
    "at",
    "{int}",
    "..",
    "as",
    "::",
    "'sym_values.c'::counter",
    "RED",
    "nosuch",
    "++",
    "--",
    "(enum color)",
];

#[test]
fn random_expressions() {
    let lab = Lab::new();
    let program = lab.build("sym_values.c", "-g -O0");
    let core = make_core(&lab, &program, "stop_here");
    let mut core = Core::open(&core);
    core.result = Some(7);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut good = 0;
    for _ in 0..2500 {
        let words: Vec<&str> = (0..1 + random.below(9))
            .map(|_| WORDS[random.below(WORDS.len())])
            .collect();
        let text = words.join(if random.below(2) == 0 { " " } else { "" });
        match evaluate(&text, &mut core) {
            Ok(value) => {
                good += 1;
                let _ = print_value(&value, &core, &PrintOptions::default());
                let _ = (name_of(&value.ty), ptype(&value.ty), layout(&value.ty));
                core.values.push(value);
            }
            Err(e) => {
                let line = e.to_string();
                assert!(!line.is_empty() && !line.contains('\n'), "{text}: {line}");
            }
        }
        let _ = type_named(&text, &core);
    }
    assert!(good > 100, "only {good} made sense");
}

/// Where the sections that describe types and values are in the file.
fn ranges(path: &std::path::Path) -> Vec<(usize, usize)> {
    let text = run(Command::new("readelf").arg("-SW").arg(path));
    let mut out = Vec::new();
    for line in text.lines() {
        let Some((_, rest)) = line.split_once(']') else {
            continue;
        };
        let words: Vec<&str> = rest.split_whitespace().collect();
        let wanted = [".debug_info", ".debug_abbrev", ".data", ".debug_str"];
        if words.len() > 5 && wanted.contains(&words[0]) {
            let number = |s: &str| usize::from_str_radix(s, 16).unwrap_or(0);
            out.push((number(words[3]), number(words[4])));
        }
    }
    out
}

#[test]
fn values_of_corrupted_files() {
    let lab = Lab::new();
    for (source, names) in [
        (
            "sym_values.c",
            &[
                "items", "packed", "handlers", "matrix", "numbers", "words", "text", "third",
                "twisted",
            ][..],
        ),
        (
            "sym_values.cpp",
            &["global_counter", "geo::Point::made", "sizeof(geo::Both)"][..],
        ),
    ] {
        let program = lab.build(source, "-g -O0");
        let original = std::fs::read(&program).unwrap();
        let ranges = ranges(&program);
        let mut random = Random(0x1357_9bdf_0246_8ace);
        for case in 0..100 {
            let mut bytes = original.clone();
            for _ in 0..1 + random.below(30) {
                let (start, size) = ranges[random.below(ranges.len())];
                // The beginning of the debug information is this program's own.
                let at = start + random.below(size.min(20_000));
                bytes[at] = random.next() as u8;
            }
            let path = lab.path(&format!("case{case}"));
            std::fs::write(&path, bytes).unwrap();
            let Ok(module) = Module::open_with(&path, Vec::new()) else {
                continue;
            };
            let mut scope = StaticScope::new(module);
            for name in names {
                if let Ok(value) = evaluate(name, &mut scope) {
                    let _ = print_inner(&value, &scope, &PrintOptions::default());
                    let _ = (name_of(&value.ty), ptype(&value.ty), layout(&value.ty));
                }
            }
            for name in [
                "struct item",
                "struct bits",
                "enum color",
                "operation",
                "geo::Point",
                "geo::Both",
            ] {
                if let Ok((ty, _)) = type_named(name, &scope) {
                    let _ = ptype(&ty);
                }
            }
            std::fs::remove_file(&path).unwrap();
        }
    }
}
