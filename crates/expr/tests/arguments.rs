//! Arguments at a function's very first instruction and results just after its return, by the
//! calling convention.

mod support;

use support::common::Lab;
use support::{Core, answer};
use verde_expr::{PrintOptions, print_inner, returned_value};
use verde_symbols::{FileAddr, FunctionQuery, Module};

/// Function, parameters with their values as gdb would print them.
const CASES: &[(&str, &[(&str, &str)])] = &[
    ("f_int", &[("x", "-5")]),
    ("f_uchar", &[("x", "200 '\\310'")]),
    ("f_short", &[("x", "-300")]),
    ("f_bool", &[("x", "true")]),
    ("f_enum", &[("x", "BLUE")]),
    ("f_u64", &[("x", "18446744073709551615")]),
    ("f_double", &[("x", "-2.5")]),
    ("f_float", &[("x", "0.25")]),
    ("f_ld", &[("x", "1.5")]),
    ("f_small", &[("s", "{a = 7, b = -8}"), ("s.b", "-8")]),
    ("f_mixed", &[("s", "{d = 1.5, l = -77}")]),
    ("f_floats", &[("s", "{x = 1.25, y = 2.5, z = 3.75}")]),
    (
        "f_big",
        &[
            ("s", "{a = {1, 2, 3000000000}, tail = 44}"),
            ("s.a[2]", "3000000000"),
        ],
    ),
    ("f_odd", &[("s", "{c = \"ab\"}")]),
    (
        "f_nine",
        &[
            ("a1", "1"),
            ("a6", "6"),
            ("a7", "77"),
            ("a8", "-88"),
            ("a9", "9000000000"),
        ],
    ),
    (
        "f_mix",
        &[
            ("i", "1"),
            ("d", "2.5"),
            ("j", "-3"),
            ("f", "4.5"),
            ("k", "107 'k'"),
            ("e", "6.25"),
        ],
    ),
    (
        "f_after_big",
        &[("x", "31"), ("d", "0.125"), ("s.tail", "44")],
    ),
    ("f_va", &[("n", "3")]),
];

/// One core at the entry and one after the return of every function, in one run; the text gdb prints.
fn record(lab: &Lab, flags: &str) -> (std::path::PathBuf, String) {
    let program = lab.build("sym_args.c", flags);
    let mut commands: Vec<String> = CASES.iter().map(|(f, _)| format!("break *{f}")).collect();
    commands.push("run".to_owned());
    for (i, (function, _)) in CASES.iter().enumerate() {
        commands.push(format!("generate-core-file entry{i}.core"));
        commands.push(format!("echo \\n=={function}\\n"));
        commands.push("finish".to_owned());
        commands.push(format!("generate-core-file return{i}.core"));
        commands.push("continue".to_owned());
    }
    let text = lab.gdb(&program, &commands);
    (program, text)
}

fn check(flags: &str) {
    let lab = Lab::new();
    let (_, text) = record(&lab, flags);
    for (i, (function, parameters)) in CASES.iter().enumerate() {
        let mut core = Core::open(&lab.path(&format!("entry{i}.core")));
        let selected = core.selected.as_ref().expect("frame");
        assert!(selected.at_entry);
        assert_eq!(
            selected.source.as_ref().map(|s| s.name.as_str()),
            Some(*function)
        );
        for (name, expected) in *parameters {
            let got = answer(&mut core, &format!("print {name}"));
            let got = got.split_once(" = ").map_or(got.as_str(), |(_, v)| v);
            assert_eq!(got, *expected, "{flags}: {function}({name})");
        }
        let part = text.split(&format!("=={function}\n")).nth(1).unwrap_or("");
        let part = part.split("\n==").next().unwrap_or("");
        let Some(expected) = part
            .lines()
            .find_map(|l| l.strip_prefix("Value returned is $"))
        else {
            continue;
        };
        let expected = expected.split_once(" = ").unwrap().1;
        let after = Core::open(&lab.path(&format!("return{i}.core")));
        let (module, bias) = core.frames[0].module.clone().unwrap();
        let found = module.functions(&FunctionQuery::parse(function)).remove(0);
        assert_eq!(FileAddr::of(core.frames[0].pc, bias), found.entry);
        let (ty, _) = module.return_place(&found).expect("a result");
        let value =
            returned_value(&ty, module.convention(&found), &after.registers, &after).unwrap();
        let got = print_inner(&value, &after, &PrintOptions::default());
        assert_eq!(got, expected, "{flags}: result of {function}");
    }
}

#[test]
fn at_o0() {
    check("-g -O0 -no-pie");
}

#[test]
fn at_o2() {
    check("-g -O2");
}

#[test]
fn rust_arguments_at_the_entry() {
    let lab = Lab::new();
    let fixed = "-C relocation-model=static -C link-arg=-no-pie";
    for flags in ["-g", "-g -O"] {
        let program = lab.build("sym_values.rs", &format!("{flags} {fixed}"));
        let module = Module::open(&program).unwrap();
        let found = module.functions(&FunctionQuery::parse("sym_values::stop_here"));
        let core_path = support::make_core(&lab, &program, &format!("*{}", found[0].entry));
        let mut core = Core::open(&core_path);
        assert!(core.selected.as_ref().expect("frame").at_entry);
        for (expression, expected) in [
            ("*v", "Vec(size=3) = {3, 1, 4}"),
            ("*s", "\"sage\""),
            ("*sh", "sym_values::Shape::Rect{w: 8, h: 9}"),
            ("a.total", "77"),
            ("o", "core::option::Option<u32>::Some(5)"),
        ] {
            let got = answer(&mut core, &format!("print {expression}"));
            // rustc may promise a constant, or drop a parameter, in optimised code.
            let gone = flags.contains("-O") && got.contains("optimized out");
            assert!(
                gone || got.ends_with(expected),
                "{flags}: {expression}: {got}"
            );
        }
    }
}
