//! Blocks that need Python, functions files, and what happens when they go wrong.

use crate::common::{Dir, command, verde};

const TRACE: &str =
    "{\"event\":\"f\",\"args\":{\"q\":1,\"x\":3}}\n{\"event\":\"f\",\"args\":{\"q\":1,\"x\":0}}\n";

fn run(name: &str, prop: &str, functions: Option<&str>, extra: &[&str]) -> crate::common::Ran {
    let dir = Dir::new(name);
    dir.write("p.prop", prop);
    dir.write("t.jsonl", TRACE);
    let mut args = vec!["replay", "-p", "p.prop"];
    if let Some(f) = functions {
        dir.write("functions.py", f);
        args.extend(["-f", "functions.py"]);
    }
    args.extend(extra);
    args.push("t.jsonl");
    verde(dir.path(), &args)
}

#[test]
fn a_traceback_names_the_line_of_the_property() {
    let prop = "slice on q
initialization { seen = [] }
state init {
    transition {
        event f(q, x) {
            y = 10
            return divide(y, x) > 1
        }
        success { seen.append(x) } init
        failure bad
    }
}
state bad non-accepting
";
    let ran = run(
        "traceback",
        prop,
        Some("def divide(a, b):\n    return a // b\n"),
        &[],
    );
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(
        ran.err.contains("File \"p.prop\", line 7, in guard"),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("return divide(y, x) > 1"),
        "the source line is shown: {}",
        ran.err
    );
    assert!(
        ran.err.contains("File \"functions.py\", line 2, in divide"),
        "{}",
        ran.err
    );
    assert!(
        ran.err.contains("ZeroDivisionError") && ran.err.contains("line 2"),
        "{}",
        ran.err
    );
    assert!(
        !ran.err.contains("prelude"),
        "our own frames do not show: {}",
        ran.err
    );
}

#[test]
fn functions_keep_their_state_and_actions_are_called() {
    let prop = "slice on q
state init { transition { event f(q, x) success first() s } }
state s second() { transition { event f(q, x) { note(x) } success s } }
state bad non-accepting
";
    let functions = "\
import collections
count = collections.Counter()
def note(x):
    global last
    last = x
    count['note'] += 1
def first():
    print('first')
def second(monitor, slice):
    print('second', slice, count['note'])
";
    let ran = run("actions", prop, Some(functions), &[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let prints: Vec<&str> = ran
        .out
        .lines()
        .filter(|l| l.starts_with("[verde]"))
        .collect();
    assert_eq!(
        prints,
        [
            "[verde] first",
            "[verde] second {'q': 1} 0",
            "[verde] second {'q': 1} 1"
        ]
    );
    assert!(!ran.err.contains("undefined-action"), "{}", ran.err);
}

#[test]
fn an_endless_block_is_interrupted() {
    for (what, block) in [
        ("loop", "while True: pass"),
        ("sleep", "import time\n            time.sleep(100)"),
        (
            "stubborn",
            "while True:\n                try:\n                    while True: pass\n                except Exception: pass",
        ),
    ] {
        let prop = format!(
            "slice on q\nstate init {{\n    transition {{\n        event f(q, x) {{\n            {block}\n        }}\n        success init\n    }}\n}}\nstate bad non-accepting\n"
        );
        let ran = run("endless", &prop, None, &["--block-timeout", "0.2"]);
        assert_eq!(ran.code, 1, "{what}: {}", ran.err);
        assert!(
            ran.err.contains("did not end within 0.2 s"),
            "{what}: {}",
            ran.err
        );
        assert!(
            ran.err.contains("File \"p.prop\", line ") && !ran.err.contains("handler"),
            "{what}: {}",
            ran.err
        );
    }
}

#[test]
fn without_libpython_typed_properties_run_and_others_are_refused() {
    let dir = Dir::new("nolib");
    dir.write("typed.prop", "slice on q\ninitialization { n = 1 }\nstate init { transition { event f(q, x) { n = n * 3; return n > 0 } success init } }\nstate bad non-accepting");
    dir.write("wide.prop", "slice on q\ninitialization { n = 4611686018427387904 }\nstate init { transition { event f(q, x) { n = n * 8 } success init } }\nstate bad non-accepting");
    dir.write("python.prop", "initialization { l = [] }\nstate init { transition { event f(x) success { l.append(x) } init } }\nstate bad non-accepting");
    dir.write("t.jsonl", TRACE);
    dir.write("functions.py", "def g(): pass\n");
    let none = |args: &[&str]| -> crate::common::Ran {
        command(dir.path())
            .env("VERDE_LIBPYTHON", "/nonexistent/libpython.so")
            .args(args)
            .output()
            .unwrap()
            .into()
    };
    let typed = none(&["replay", "-p", "typed.prop", "t.jsonl"]);
    assert_eq!(typed.code, 0, "{}", typed.err);
    let python = none(&["replay", "-p", "python.prop", "t.jsonl"]);
    assert_eq!(python.code, 1);
    assert!(
        python.err.contains("libpython3.11")
            && python.err.contains("python.prop:1")
            && python.err.contains("a list"),
        "{}",
        python.err
    );
    let wide = none(&["replay", "-p", "wide.prop", "t.jsonl"]);
    assert_eq!(wide.code, 1);
    assert!(
        wide.err.contains("more than 64 bits") && wide.err.contains("wide.prop:3"),
        "{}",
        wide.err
    );
    let functions = none(&[
        "replay",
        "-p",
        "typed.prop",
        "-f",
        "functions.py",
        "t.jsonl",
    ]);
    assert_eq!(functions.code, 1);
    assert!(functions.err.contains("libpython3.11"), "{}", functions.err);
    // A plugin that is missing is said to be missing.
    let plugin: crate::common::Ran = command(dir.path())
        .env("VERDE_PYTHON", "/nonexistent/libverde_python.so")
        .args(["replay", "-p", "python.prop", "t.jsonl"])
        .output()
        .unwrap()
        .into();
    assert!(
        plugin.code == 1 && plugin.err.contains("libverde_python.so"),
        "{}",
        plugin.err
    );
}

#[test]
fn environments_hold_any_value_and_children_get_copies() {
    let prop = "slice on q
initialization {
    import math
    class Box:
        def __init__(self): self.items = []
    def twice(v): return 2 * v
    box = Box(); shared = [1]; alias = shared
}
state init { transition { event f(q, x) success {
    box.items.append(x); shared.append(twice(x)); big = 2 ** 70; text = f\"{x:#x}\"
    print(len(box.items), shared is alias, alias, math.floor(2.5), big, text)
} s } }
state s { transition { event f(q, x) success { print(len(box.items), shared is alias, alias); del text } s } }
state bad non-accepting
";
    let ran = run(
        "values",
        prop,
        None,
        &["--format", "jsonl", "--show", "all"],
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    let texts: Vec<String> = ran
        .out
        .lines()
        .map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap())
        .filter(|v| v["type"] == "print")
        .map(|v| v["text"].as_str().unwrap().to_string())
        .collect();
    assert_eq!(
        texts,
        [
            "1 True [1, 6] 2 1180591620717411303424 0x3",
            "1 True [1, 6]"
        ],
        "what two names share in the parent, they share in the child"
    );
    let last_event = ran
        .out
        .lines()
        .rev()
        .find(|l| l.contains("\"type\":\"event\""))
        .unwrap();
    let v: serde_json::Value = serde_json::from_str(last_event).unwrap();
    let root = v["slices"]
        .as_array()
        .unwrap()
        .iter()
        .find(|s| s["parent"].is_null())
        .unwrap();
    assert_eq!(
        root["env"]["shared"],
        serde_json::json!([1]),
        "the parent's list is its own"
    );
    let child = v["slices"]
        .as_array()
        .unwrap()
        .iter()
        .find(|s| !s["parent"].is_null())
        .unwrap();
    assert!(
        child["env"].get("text").is_none(),
        "`del` takes the name away"
    );
    assert!(
        last_event.contains("\"big\":1180591620717411303424"),
        "integers are exact"
    );
}

#[test]
fn a_value_without_a_copy_is_an_error_with_its_place() {
    let prop = "slice on q
initialization { import threading; lock = threading.Lock() }
state init { transition { event f(q, x) success s } }
state s
";
    let ran = run("nocopy", prop, None, &[]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(
        ran.err.contains("lock") && ran.err.contains("TypeError"),
        "{}",
        ran.err
    );
}

#[test]
fn broken_functions_files_are_explained() {
    let prop = "state init { transition { event f(x) success init } }\nstate bad non-accepting";
    let syntax = run("fsyntax", prop, Some("def f(:\n"), &[]);
    assert!(
        syntax.code == 1 && syntax.err.contains("functions.py:1:7"),
        "{}",
        syntax.err
    );
    let raises = run(
        "fraises",
        prop,
        Some("x = 1\nraise ValueError('no')\n"),
        &[],
    );
    assert!(
        raises.code == 1 && raises.err.contains("ValueError: no") && raises.err.contains("line 2"),
        "{}",
        raises.err
    );
}

#[test]
fn strings_and_structures_as_arguments_and_keys() {
    let dir = Dir::new("strings");
    dir.write(
        "p.prop",
        "slice on name
initialization { n = 0 }
state init { transition { event open(name : str, o) success { n = len(name) + o[\"a\"] } s } }
state s { transition { event open(name : str, o) { print(\"again \" + str(name)) } success s } }
state bad non-accepting",
    );
    dir.write(
        "t.jsonl",
        "{\"event\":\"open\",\"args\":{\"name\":\"caf\\u00e9\",\"o\":{\"a\":1}}}\n\
         {\"event\":\"open\",\"args\":{\"name\":\"b\",\"o\":{\"a\":2}}}\n\
         {\"event\":\"open\",\"args\":{\"name\":\"café\",\"o\":{\"a\":1}}}\n",
    );
    let ran = verde(dir.path(), &["replay", "-p", "p.prop", "t.jsonl"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("[verde] again café"), "{}", ran.out);
    assert!(ran.out.contains("2 slices (2 in s)"), "{}", ran.out);
}

/// Numbers that JSON has no word for stay numbers, in environments and as keys; reports have text.
#[test]
fn infinite_numbers_and_nan_stay_numbers() {
    let dir = Dir::new("nan");
    dir.write(
        "p.prop",
        "slice on x
initialization { k = 0.0 }
state init { transition { event f(x : double) success act() s } }
state s { transition { event f(x : double) success act() s } }
state bad non-accepting",
    );
    dir.write(
        "functions.py",
        "def act(m, s):
    m.set_env_value(s, 'k', s['x'])
    m.set_env_value(s, 'own', s['x'])
    print(m.get_env(s), m.get_env_value(m.get_slices()[-1], 'own'))
    print(m.get_slice_bindings()['x'], m.get_env({'x': s['x']}))
    m.set_current_state('s', s)
",
    );
    dir.write(
        "t.jsonl",
        "{\"event\":\"f\",\"args\":{\"x\":\"inf\"}}\n\
         {\"event\":\"f\",\"args\":{\"x\":\"-inf\"}}\n\
         {\"event\":\"f\",\"args\":{\"x\":\"nan\"}}\n\
         {\"event\":\"f\",\"args\":{\"x\":\"nan\"}}\n",
    );
    let ask = ["-p", "p.prop", "-f", "functions.py", "t.jsonl"];
    let ran = verde(dir.path(), &[&["replay"], &ask[..]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let printed: Vec<&str> = ran
        .out
        .lines()
        .filter_map(|l| l.strip_prefix("[verde] "))
        .collect();
    let wanted = [
        "{'k': inf, 'own': inf} inf",
        "[inf] {'k': inf, 'own': inf}",
        "{'k': -inf, 'own': -inf} -inf",
        "[inf, -inf] {'k': -inf, 'own': -inf}",
        "{'k': nan, 'own': nan} nan",
        "[inf, -inf, nan] {'k': nan, 'own': nan}",
        "{'k': nan, 'own': nan} nan",
        "[inf, -inf, nan] {'k': nan, 'own': nan}",
    ];
    assert_eq!(printed, wanted, "{}", ran.err);
    let rows = verde(
        dir.path(),
        &[&["replay", "--format", "jsonl"], &ask[..]].concat(),
    );
    let row = r#""slice":{"x":"nan"},"parent":{},"state":"s","verdict":"true","env":{"k":"nan"}"#;
    assert!(rows.out.contains(row), "{}", rows.out);
}

/// A monitor that its own code stops sees nothing more, and has no verdict.
#[test]
fn a_monitor_stops_itself() {
    let prop = "state init { transition { event f(x) {
        if x == 3:
            monitor.stop_execution()
    } success init } transition { event f(x) success bad } }
state bad non-accepting
";
    let ran = run("stopped", prop, None, &["--format", "jsonl"]);
    assert_eq!(ran.code, 101, "{}", ran.err);
    let says = "verde: p: it was stopped when the trace ended: the verdict is inconclusive";
    assert!(ran.err.contains(says), "{}", ran.err);
    assert!(ran.out.contains(r#""events":1"#), "{}", ran.out);
}

/// A callback that raises ends the replay like a block that does.
#[test]
fn a_callback_that_raises_ends_the_replay() {
    let prop = "initialization { monitor.register_event(\"event_applied\", wrong) }
state init { transition { event f(x) success init } }
";
    let functions = "def wrong():\n    print('asked')\n    raise ValueError('no')\n";
    let ran = run("callback", prop, Some(functions), &[]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.out.contains("asked"), "{}", ran.out);
    let says = "line 1: property p: callback `wrong` for event_applied failed: ValueError: no";
    assert!(ran.err.contains(says), "{}", ran.err);
    assert!(
        ran.err.contains("File \"functions.py\", line 3, in wrong"),
        "{}",
        ran.err
    );
}

/// What only a program has is told to be missing.
#[test]
fn there_is_no_program_to_ask() {
    for (asked, what) in [
        ("gdb.parse_and_eval(\"1\")", "eval"),
        ("gdb.selected_frame()", "frame"),
        ("checkpoint()", "checkpoint"),
        ("set_breakpoint(\"main\")", "set_breakpoint"),
    ] {
        let prop =
            format!("state init {{ transition {{ event f(x) {{ {asked} }} success init }} }}");
        let ran = run("nothing", &prop, None, &[]);
        assert_eq!(ran.code, 1, "{asked}: {}", ran.err);
        let says = format!("gdb.error: {what}: there is no program: this is a trace");
        assert!(ran.err.contains(&says), "{asked}: {}", ran.err);
    }
}
