//! Backtraces, arguments and locals, against gdb on the same core file.

mod support;

use std::path::Path;
use support::common::{Lab, line_of};
use support::{Core, gdb_answers, make_core};
use verde_expr::{PrintOptions, arguments, frame_arguments, locals, print_inner};

/// The frames as `function:line` lines, innermost first, up to `main`.
fn our_frames(core: &Core) -> Vec<String> {
    let mut out = Vec::new();
    for frame in &core.frames {
        if frame.is_signal {
            out.push("<signal handler called>".to_owned());
            continue;
        }
        let Some((module, _)) = &frame.module else {
            out.push("??".to_owned());
            continue;
        };
        let sources = frame
            .file_addr()
            .map(|a| module.frames_at(a))
            .unwrap_or_default();
        if sources.is_empty() {
            let function = frame.file_addr().and_then(|a| module.function_at(a));
            out.push(function.map_or("??".to_owned(), |f| f.name));
            continue;
        }
        for source in &sources {
            let line = source.line.as_ref().map_or(0, |l| l.1);
            out.push(format!("{}:{line}", source.name));
            if source.name == "main" || source.name.ends_with("::main") {
                return out;
            }
        }
    }
    out
}

/// The same out of gdb's `bt`.
fn gdb_frames(text: &str) -> Vec<String> {
    let frames = text.lines().filter(|l| l.starts_with('#'));
    let parse = |line: &str| {
        let rest = line.split_once(' ').unwrap().1.trim_start();
        let rest = match rest.strip_prefix("0x") {
            Some(r) => r.split_once(" in ").unwrap().1,
            None => rest,
        };
        if rest.starts_with("<signal") {
            return "<signal handler called>".to_owned();
        }
        let name = rest.split(" (").next().unwrap();
        match rest
            .rsplit_once(" at ")
            .and_then(|(_, at)| at.rsplit_once(':'))
        {
            Some((_, line)) => format!("{name}:{line}"),
            None => name.to_owned(),
        }
    };
    frames.map(parse).collect()
}

fn compare_frames(lab: &Lab, program: &Path, core: &Path) {
    let answers = gdb_answers(lab, program, core, &["bt".to_owned()]);
    let ours = Core::open(core);
    let mut expected = gdb_frames(&answers[0]);
    let mut got = our_frames(&ours);
    // gdb shows the runtime below Rust's main; both stop at C's.
    let end = expected.iter().position(|f| f.contains("main:"));
    expected.truncate(end.map_or(expected.len(), |e| e + 1));
    let end = got.iter().position(|f| f.contains("main:"));
    got.truncate(end.map_or(got.len(), |e| e + 1));
    // Inside libc gdb adds frames of tail calls and shows internal aliases.
    let ours = |f: &String| f.contains(':') || f.starts_with('<');
    let own = |f: &String| ours(f) && !f.contains("raise") && !f.contains("pthread");
    got.retain(own);
    expected.retain(own);
    assert_eq!(got, expected, "{}", answers[0]);
}

/// The text in the parentheses of each of gdb's frames against ours.
fn compare_arguments(lab: &Lab, program: &Path, core_path: &Path) {
    let commands = ["set print entry-values no".to_owned(), "bt".to_owned()];
    let answers = gdb_answers(lab, program, core_path, &commands);
    let mut core = Core::open(core_path);
    let lines = answers[1].lines().filter(|l| l.starts_with('#'));
    for (number, line) in lines.enumerate() {
        let Some((_, rest)) = line.split_once(" (") else {
            continue;
        };
        let expected = rest.rsplit_once(") at ").map_or(rest, |(inside, _)| inside);
        core.select(number);
        let got = frame_arguments(&core, &PrintOptions::default());
        assert_eq!(got, expected, "frame {number}: {line}");
    }
}

fn compare_locals(lab: &Lab, program: &Path, core_path: &Path, frames: &[usize]) {
    for &frame in frames {
        let commands = [
            format!("frame {frame}"),
            "info locals".to_owned(),
            "info args".to_owned(),
        ];
        let answers = gdb_answers(lab, program, core_path, &commands);
        let mut core = Core::open(core_path);
        core.select(frame);
        let show = |list: Vec<verde_expr::Named>| {
            let text = |n: &verde_expr::Named| {
                format!(
                    "{} = {}",
                    n.name,
                    print_inner(&n.value, &core, &PrintOptions::default())
                )
            };
            let mut lines: Vec<String> = list.iter().map(text).collect();
            // gdb lists a block's variables in the order of a hash table.
            lines.sort();
            lines
        };
        for (text, ours) in [
            (&answers[1], show(locals(&core))),
            (&answers[2], show(arguments(&core))),
        ] {
            let mut expected: Vec<String> = text.lines().map(str::to_owned).collect();
            expected.retain(|l| !l.starts_with("No "));
            expected.sort();
            // gdb leaves out floating-point constants that the compiler folded.
            let name = |line: &str| line.split(" = ").next().unwrap_or("").to_owned();
            let known: Vec<String> = expected.iter().map(|l| name(l)).collect();
            let ours: Vec<String> = ours
                .into_iter()
                .filter(|l| known.contains(&name(l)))
                .collect();
            assert_eq!(ours, expected, "frame {frame}");
        }
    }
}

#[test]
fn c_at_o0() {
    let lab = Lab::new();
    let program = lab.build("sym_values.c", "-g -O0");
    let line = line_of("sym_values.c", "STOP");
    let core = make_core(&lab, &program, &format!("sym_values.c:{line}"));
    compare_frames(&lab, &program, &core);
    compare_locals(&lab, &program, &core, &[0, 1, 4]);
    compare_arguments(&lab, &program, &core);
}

#[test]
fn c_at_o2_with_inlined_frames() {
    let lab = Lab::new();
    for flags in ["-g -O2", "-gdwarf-4 -O2 -fno-omit-frame-pointer", "-g -O1"] {
        let program = lab.build("sym_values.c", flags);
        let core = make_core(&lab, &program, "stop_here");
        compare_frames(&lab, &program, &core);
        compare_locals(&lab, &program, &core, &[0, 1]);
        compare_arguments(&lab, &program, &core);
    }
}

#[test]
fn cpp_at_o0_and_o2() {
    let lab = Lab::new();
    let program = lab.build("sym_values.cpp", "-g -O0 -std=c++17");
    let core = make_core(&lab, &program, "stop_here");
    compare_frames(&lab, &program, &core);
    // Before the body has run its locals are garbage; the caller's are not.
    compare_locals(&lab, &program, &core, &[1]);
    compare_arguments(&lab, &program, &core);
    let program = lab.build("sym_names.cpp", "-g -O2");
    let core = make_core(&lab, &program, "Stack<int>::push");
    compare_frames(&lab, &program, &core);
}

#[test]
fn rust_with_and_without_optimisation() {
    let lab = Lab::new();
    for flags in ["-g", "-g -O"] {
        let program = lab.build("sym_values.rs", flags);
        let core = make_core(&lab, &program, "sym_values::helper");
        compare_frames(&lab, &program, &core);
    }
}

#[test]
fn through_a_signal_handler() {
    let lab = Lab::new();
    for flags in ["-g -O0", "-g -O2"] {
        let program = lab.build("sym_signal.c", flags);
        let core = make_core(&lab, &program, "handler");
        compare_frames(&lab, &program, &core);
    }
}

#[test]
fn through_a_call_to_nowhere() {
    let lab = Lab::new();
    let program = lab.build("sym_nowhere.c", "-g -O0");
    let core = lab.path("nowhere.core");
    let commands = [
        "run".to_owned(),
        format!("generate-core-file {}", core.display()),
        "kill".to_owned(),
    ];
    lab.gdb(&program, &commands);
    let ours = Core::open(&core);
    let names = our_frames(&ours);
    assert_eq!(names[0], "??");
    assert!(
        names[1].starts_with("jump:") && names[2].starts_with("main:"),
        "{names:?}"
    );
}

#[test]
fn without_exception_tables() {
    let lab = Lab::new();
    // The rules are in .debug_frame then.
    let flags = "-g -O1 -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-exceptions";
    let program = lab.build("sym_values.c", flags);
    let core = make_core(&lab, &program, "stop_here");
    compare_frames(&lab, &program, &core);
    // And nowhere here: only frame pointers are left.
    let flags = "-g0 -O0 -fno-asynchronous-unwind-tables -fno-omit-frame-pointer";
    let program = lab.build("sym_values.c", flags);
    let core = make_core(&lab, &program, "stop_here");
    let names = our_frames(&Core::open(&core));
    assert_eq!(
        names[..5],
        ["stop_here", "middle", "middle", "middle", "main"]
    );
}
