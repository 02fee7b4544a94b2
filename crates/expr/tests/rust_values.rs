//! Values and types of a Rust program: against gdb where gdb shows the language itself, against
//! rust-gdb's forms for the containers.

mod support;

use support::common::{Lab, line_of};
use support::{Core, answer, compare, make_core};

const EXPRESSIONS: &[&str] = &[
    "print o",
    "print t",
    "print a.total",
    "print a.opt",
    "print none",
    "print color",
    "print red",
    "print wrapper",
    "print nothing",
    "print unit",
    "print letter",
    "print flag",
    "print float",
    "print double",
    "print big",
    "print negative",
    "print array",
    "print nested",
    "print zeros",
    "print *sh",
    "print unit_shape",
    "print circle",
    "print *boxed",
    "print t.0",
    "print t.1",
    "print wrapper.1",
    "print bits",
    "print array[1]",
    "print nested[1][0]",
    "print a.total + 1",
    "print flag && false",
    "print -negative",
    "print !flag",
    "print letter",
    "print *reference",
    "print slice",
    "print reference",
    "print nested[0]",
    "print sizeof(o)",
    "print &a.total",
    "print text",
    "print v",
    "print boxed",
    "print sh",
    "print sym_values::GLOBAL",
    "print sym_values::COUNTER",
    "print 1 + 2",
    "print a.total as i32",
    "print array[0] + array[1]",
    "whatis t",
    "whatis a.total",
    "whatis o",
    "whatis array",
    "whatis color",
    "whatis letter",
    "whatis wrapper",
];

#[test]
fn stop_at_opt_level_0() {
    let lab = Lab::new();
    let program = lab.build("sym_values.rs", "-g");
    let line = line_of("sym_values.rs", "STOP");
    let core = make_core(&lab, &program, &format!("sym_values.rs:{line}"));
    compare(&lab, &program, &core, 0, EXPRESSIONS);
    let mut ours = Core::open(&core);
    for (expression, expected) in [
        ("*v", "Vec(size=3) = {3, 1, 4}"),
        ("*s", "\"sage\""),
        ("text", "\"text\""),
        ("a.name", "\"sage\""),
        (
            "*a",
            "sym_values::Acc {total: 77, name: \"sage\", opt: core::option::Option<u32>::Some(6)}",
        ),
        ("rc", "Rc(strong=2, weak=0) = {value = 5}"),
        ("arc", "Arc(strong=1, weak=0) = {value = 6}"),
        ("strings", "Vec(size=2) = {\"one\", \"two\"}"),
        ("empty", "Vec(size=0)"),
        ("tuple", "(1, \"two\", 3)"),
        (
            "fine",
            "core::result::Result<i32, alloc::string::String>::Ok(8)",
        ),
        (
            "result",
            "core::result::Result<i32, alloc::string::String>::Err(\"bad\")",
        ),
        ("map", "HashMap(size=1) = {[7] = \"seven\"}"),
        ("set", "HashSet(size=1) = {9}"),
        ("ring", "VecDeque(size=3) = {1, 2, 3}"),
        ("v[2]", "4"),
        ("slice[1]", "4"),
        ("v[0..2]", "[3, 1]"),
        ("array[1..3]", "[2, 3]"),
        ("v.len", "3"),
    ] {
        let got = answer(&mut ours, &format!("print {expression}"));
        assert!(
            got.ends_with(&format!(" = {expected}")),
            "{expression}: {got}"
        );
    }
}

/// Only the variant that an enum holds has fields to show.
#[test]
fn fields_are_those_of_the_variant_that_is_held() {
    let lab = Lab::new();
    let program = lab.build("sym_variants.rs", "-g");
    let line = line_of("sym_variants.rs", "STOP");
    let core = make_core(&lab, &program, &format!("sym_variants.rs:{line}"));
    let mut commands = vec!["print some.0".to_owned()];
    for (array, count) in [("pays", 4), ("helds", 5)] {
        for i in 0..count {
            for field in ["amount", "0", "1", "2", "notes", "to"] {
                commands.push(format!("print {array}[{i}].{field}"));
            }
        }
    }
    commands.push("print helds[3].at.y".to_owned());
    commands.push("print helds[0].amount + helds[2].amount".to_owned());
    commands.push("print pays[1].0 == 22".to_owned());
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    compare(&lab, &program, &core, 0, &commands);
    let mut ours = Core::open(&core);
    for (expression, expected) in [
        ("helds[0].note", "$1 = \"x\""),
        (
            "helds[4].note",
            "Could not find field note of struct variant sym_variants::Held::Nothing",
        ),
        (
            "helds[1].at.x",
            "Attempting to access named field at of tuple variant sym_variants::Held::Pair, which has only anonymous fields",
        ),
        ("*&pays[2].amount", "$2 = 33"),
        ("one.amount", "$3 = 33"),
    ] {
        assert_eq!(answer(&mut ours, &format!("print {expression}")), expected);
    }
}
