//! Files that are opened and closed, and iterators over GLib's hash tables.

use std::path::PathBuf;
use std::process::Command;
use verde_bench::lab::{Fallible, Lab, Under, args, installed, succeed};
use verde_bench::report::{Line, Section, Table};
use verde_bench::stats::Sample;

struct Case {
    name: &'static str,
    property: &'static str,
    program: PathBuf,
    args: Vec<String>,
}

pub fn measure(lab: &Lab) -> Fallible<Section> {
    let mut cases = Vec::new();
    let mut missing = Vec::new();
    match installed("python3") {
        Some(program) => cases.push(Case {
            name: "open and close of files, CPython",
            property: "files",
            program,
            args: args([&"-c", &"import asyncio, json, http.server"]),
        }),
        None => missing.push("python3"),
    }
    match glib(lab) {
        Some(program) => cases.push(Case {
            name: "GHashTableIter, a loop over a table",
            property: "iterators",
            program,
            args: args([&100]),
        }),
        None => missing.push("GLib's development files"),
    }
    match installed("gsettings") {
        Some(program) => cases.push(Case {
            name: "GHashTableIter, `gsettings list-recursively`",
            property: "iterators",
            program,
            args: args([&"list-recursively"]),
        }),
        None => missing.push("gsettings"),
    }
    let repetitions = lab.pick(3, 7);
    let mut table = Table::new(&["", "ratio of slow-downs", "alone", "Verde", "gdb", "events"]);
    let mut lines = Vec::new();
    for case in cases {
        let mut times = [const { Vec::new() }; 3];
        let mut events = 0;
        for _ in 0..repetitions {
            for (i, under) in [Under::Nothing, Under::Verde, Under::Gdb]
                .into_iter()
                .enumerate()
            {
                let ran = lab.run(under, case.property, &case.program, &case.args)?;
                if under == Under::Verde && (ran.events == 0 || ran.violations != 0) {
                    let (n, v) = (ran.events, ran.violations);
                    return Err(format!("{}: {n} events, {v} violations", case.name).into());
                }
                times[i].push(ran.wall);
                events = ran.events.max(events);
            }
        }
        let [alone, ours, theirs] = times.map(|t| t.into_iter().collect::<Sample>());
        let ratio = (theirs.median() - alone.median()) / (ours.median() - alone.median());
        table.row([
            case.name.to_owned(),
            format!("{ratio:.1}"),
            alone.time(),
            ours.time(),
            theirs.time(),
            events.to_string(),
        ]);
        lines.push(Line {
            what: case.name.into(),
            ratio: Some(ratio),
            ours: ours.time(),
            baseline: theirs.time(),
            asked: String::new(),
            met: None,
        });
    }
    let missing = match missing.is_empty() {
        true => String::new(),
        false => format!(
            " Not measured, because not installed: {}.",
            missing.join(", ")
        ),
    };
    Ok(Section {
        key: "libraries",
        title: "Files and iterators of real programs",
        about: format!(
            "Functions of libraries without debug information, in programs as they are installed: whole runs, from the start of \
             the debugger to its end, {repetitions} repetitions. The ratio is of the time added.{missing} The paper: usable \
             despite some slow-downs for files, strong slow-downs for iterators."
        ),
        command:
            "verde check -p bench/properties/iterators.prop -- /usr/bin/gsettings list-recursively"
                .into(),
        tables: vec![table],
        plots: Vec::new(),
        lines,
    })
}

fn glib(lab: &Lab) -> Option<PathBuf> {
    let flags =
        succeed(Command::new("pkg-config").args(["--cflags", "--libs", "glib-2.0"])).ok()?;
    let flags: Vec<&str> = flags.split_whitespace().collect();
    lab.program("tables.c", "tables", &flags).ok()
}
