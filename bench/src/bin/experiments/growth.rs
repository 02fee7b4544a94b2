//! Beyond the paper: many slices, many threads, large programs, memory.

use crate::gap::point;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use verde_bench::lab::{Fallible, Lab, Under, args, installed, succeed};
use verde_bench::plot::{BASELINE, Curve, OURS, Plot};
use verde_bench::report::{Line, Section, Table};
use verde_bench::stats::{Sample, digits};

pub fn slices(lab: &Lab) -> Fallible<Section> {
    let objects = lab.program("objects.c", "objects", &[])?;
    let ours: &[u64] = lab.pick(
        &[1, 1_000, 100_000],
        &[1, 10, 100, 1_000, 10_000, 100_000, 1_000_000],
    );
    let most = lab.pick(100, 1_000);
    let (times, their_times, repetitions) = lab.pick((8_000u64, 300u64, 3), (20_000, 1_000, 5));
    let mut samples = vec![[const { Vec::new() }; 2]; ours.len()];
    let mut memory = vec![[const { Vec::new() }; 2]; ours.len()];
    for round in 0..repetitions {
        for (i, n) in ours.iter().enumerate() {
            // Opening a million takes its time.
            if *n > 100_000 && round > 1 {
                continue;
            }
            for (k, under, times) in [(0, Under::Verde, times), (1, Under::Gdb, their_times)] {
                if under == Under::Gdb && *n > most {
                    continue;
                }
                let ran = lab.run(under, "objects", &objects, &args([n, &times]))?;
                let ran = ran.with_events(n + times)?;
                samples[i][k].push(ran.time() / times as f64);
                memory[i][k].push(ran.debugger_mb());
            }
        }
    }
    let mut table = Table::new(&[
        "live slices",
        "ratio",
        "Verde, an event",
        "gdb, an event",
        "Verde, MB",
        "gdb, MB",
    ]);
    let mut curves = [("Verde", OURS), ("gdb", BASELINE)].map(|(name, colour)| Curve {
        name: name.into(),
        colour,
        line: true,
        points: Vec::new(),
    });
    let mut medians = Vec::new();
    for ((n, samples), memory) in ours.iter().zip(samples).zip(memory) {
        let [us, them] = samples.map(|s| s.into_iter().collect::<Sample>());
        let [our_mb, their_mb] = memory.map(|s| s.into_iter().collect::<Sample>());
        medians.push((*n, us.median(), us.time(), them.clone()));
        curves[0]
            .points
            .push(point(*n as f64, &us.map(|v| v * 1e6)));
        let mut row = vec![n.to_string()];
        match them.count() {
            0 => row.extend([String::new(), us.time(), String::new()]),
            _ => {
                curves[1]
                    .points
                    .push(point(*n as f64, &them.map(|v| v * 1e6)));
                let ratio = them.median() / us.median();
                row.extend([format!("{ratio:.1}"), us.time(), them.time()]);
            }
        }
        let mb = |s: &Sample| match s.count() {
            0 => String::new(),
            _ => digits(s.median()),
        };
        row.extend([mb(&our_mb), mb(&their_mb)]);
        table.row(row);
    }
    let at = |n: u64| medians.iter().find(|m| m.0 == n);
    let mut lines = Vec::new();
    if let (Some(one), Some(many)) = (at(1), at(100_000)) {
        let growth = many.1 / one.1;
        lines.push(Line {
            what: "an event with 100,000 slices against one with 1".into(),
            ratio: Some(growth),
            ours: format!("{} against {}", many.2, one.2),
            baseline: String::new(),
            asked: "at most 2".into(),
            met: Some(growth <= 2.0),
        });
    }
    Ok(Section {
        key: "slices",
        title: "Slices",
        about: format!(
            "Objects are opened, each a slice; then {times} events under Verde ({their_times} under gdb) fall on them at random, \
             {repetitions} repetitions. Memory is the debugger's largest resident size."
        ),
        command: format!("verde check -p bench/properties/objects.prop -- objects 100000 {times}"),
        tables: vec![table],
        plots: vec![Plot {
            title: "Cost of an event against the number of slices".into(),
            x: "live slices".into(),
            y: "time of an event (us)".into(),
            curves: curves.into(),
        }],
        lines,
    })
}

pub fn threads(lab: &Lab) -> Fallible<Section> {
    let calls = lab.program("calls.c", "calls", &[])?;
    let counts: &[u64] = lab.pick(&[1, 4, 16], &[1, 2, 4, 8, 16]);
    let (times, their_times, repetitions) = lab.pick((8_000u64, 320u64, 3), (32_000, 1_600, 7));
    let mut samples = vec![[const { Vec::new() }; 2]; counts.len()];
    for _ in 0..repetitions {
        for (n, into) in counts.iter().zip(&mut samples) {
            for (k, under, times) in [(0, Under::Verde, times), (1, Under::Gdb, their_times)] {
                let ran = lab.run(under, "argument", &calls, &args([&times, &0, n]))?;
                into[k].push(ran.with_events(times)?.time() / times as f64);
            }
        }
    }
    let mut table = Table::new(&["threads", "ratio", "Verde, an event", "gdb, an event"]);
    let mut curves = [("Verde", OURS), ("gdb", BASELINE)].map(|(name, colour)| Curve {
        name: name.into(),
        colour,
        line: true,
        points: Vec::new(),
    });
    let mut lines = Vec::new();
    for (n, samples) in counts.iter().zip(samples) {
        let [us, them] = samples.map(|s| s.into_iter().collect::<Sample>());
        curves[0]
            .points
            .push(point(*n as f64, &us.map(|v| v * 1e6)));
        curves[1]
            .points
            .push(point(*n as f64, &them.map(|v| v * 1e6)));
        let ratio = them.median() / us.median();
        table.row([n.to_string(), format!("{ratio:.1}"), us.time(), them.time()]);
        if *n == 16 {
            lines.push(Line {
                what: "an event, 16 threads".into(),
                ratio: Some(ratio),
                ours: us.time(),
                baseline: them.time(),
                asked: String::new(),
                met: None,
            });
        }
    }
    Ok(Section {
        key: "threads",
        title: "Threads",
        about: format!(
            "{times} events under Verde ({their_times} under gdb), shared by threads that all run; {repetitions} repetitions. \
             Every one is counted."
        ),
        command: format!("verde check -p bench/properties/argument.prop -- calls {times} 0 16"),
        tables: vec![table],
        plots: vec![Plot {
            title: "Cost of an event against the number of threads".into(),
            x: "threads".into(),
            y: "time of an event (us)".into(),
            curves: curves.into(),
        }],
        lines,
    })
}

pub fn start_up(lab: &Lab) -> Fallible<Section> {
    let small = lab.program("calls.c", "calls", &[])?;
    let large = large_program(lab, lab.pick(60, 300))?;
    let repetitions = lab.pick(3, 7);
    let lldb = installed("lldb");
    let mut names = vec!["Verde", "gdb"];
    if lldb.is_some() {
        names.push("lldb");
    }
    let programs: [(&str, &Path, &str, &[&str]); 2] = [
        ("small", &small, "nop", &["1", "0", "1"]),
        ("large", &large, "entry_7", &[]),
    ];
    let mut table = Table::new(&[
        "program",
        "debug information, MB",
        "ratio to gdb",
        "debugger",
        "start to the end of a run with one breakpoint",
        "largest resident size, MB",
    ]);
    let mut lines = Vec::new();
    for (name, program, function, args) in programs {
        let mut times = vec![Vec::new(); names.len()];
        let mut sizes = vec![Vec::new(); names.len()];
        for _ in 0..repetitions {
            for (i, debugger) in names.iter().enumerate() {
                let (time, mb) = to_breakpoint(lab, debugger, program, function, args)?;
                times[i].push(time);
                sizes[i].push(mb);
            }
        }
        let times: Vec<Sample> = times.into_iter().map(|t| t.into_iter().collect()).collect();
        let sizes: Vec<Sample> = sizes.into_iter().map(|t| t.into_iter().collect()).collect();
        for (i, debugger) in names.iter().enumerate() {
            table.row([
                name.to_owned(),
                digits(debug_information(program)?),
                format!("{:.1}", times[1].median() / times[i].median()),
                (*debugger).to_owned(),
                times[i].time(),
                digits(sizes[i].median()),
            ]);
        }
        lines.push(Line {
            what: format!("start-up on a {name} program"),
            ratio: Some(times[1].median() / times[0].median()),
            ours: times[0].time(),
            baseline: times[1].time(),
            asked: String::new(),
            met: None,
        });
        lines.push(Line {
            what: format!("memory on a {name} program, MB"),
            ratio: Some(sizes[1].median() / sizes[0].median()),
            ours: digits(sizes[0].median()),
            baseline: digits(sizes[1].median()),
            asked: String::new(),
            met: None,
        });
    }
    let lldb = match lldb {
        Some(_) => "",
        None => " lldb is not installed here.",
    };
    Ok(Section {
        key: "startup",
        title: "Start-up and memory",
        about: format!(
            "A breakpoint on a function, run, continue to the end, quit; the large program is {} objects with their debug \
             information. {repetitions} repetitions.{lldb}",
            lab.pick(60, 300)
        ),
        command: "verde debug --batch --ex 'break entry_7' --ex run --ex continue large".into(),
        tables: vec![table],
        plots: Vec::new(),
        lines,
    })
}

/// Seconds of the whole session, and the debugger's largest size in MB.
fn to_breakpoint(
    lab: &Lab,
    debugger: &str,
    program: &Path,
    function: &str,
    args: &[&str],
) -> Fallible<(f64, f64)> {
    let said = lab.dir.join("said");
    let _ = std::fs::remove_file(&said);
    let stop = format!("break {function}");
    let mut command = match debugger {
        "Verde" => {
            let mut c = Command::new(&lab.verde);
            c.args(["debug", "--batch", "--ex", &stop, "--ex", "run"])
                .args(["--ex", "continue"]);
            c
        }
        "gdb" => {
            let mut c = verde_oracle::gdb();
            c.args(["-nx", "-batch", "-iex", "set debuginfod enabled off"])
                .args(["-ex", &stop, "-ex", "run", "-ex", "continue", "--args"]);
            c
        }
        _ => {
            let mut c = Command::new("lldb");
            let stop = format!("breakpoint set -n {function}");
            c.args(["--batch", "-o", &stop, "-o", "run", "-o", "continue", "--"]);
            c
        }
    };
    command
        .arg(program)
        .args(args)
        .env("BENCH_OUT", &said)
        .stdin(Stdio::null());
    let start = Instant::now();
    let done = command.output()?;
    let time = start.elapsed().as_secs_f64();
    let out = String::from_utf8_lossy(&done.stdout);
    // lldb says it otherwise.
    if !out.contains("Breakpoint 1, ") && !out.contains("stop reason = breakpoint 1") {
        return Err(format!("{debugger} did not stop at {function}: {out}").into());
    }
    let text = std::fs::read_to_string(&said)
        .map_err(|_| format!("the program did not end under {debugger}: {out}"))?;
    let said: serde_json::Value = serde_json::from_str(&text)?;
    Ok((
        time,
        said["tracer_peak_kb"].as_f64().unwrap_or(f64::NAN) / 1024.0,
    ))
}

/// One object with many functions and types, linked many times under other names.
fn large_program(lab: &Lab, copies: u32) -> Fallible<PathBuf> {
    let program = lab.dir.join(format!("large-{copies}"));
    if program.exists() {
        return Ok(program);
    }
    let mut part = String::new();
    for i in 0..1500 {
        part += &format!(
            "struct s{i} {{ int a, b{i}; struct s{i} *next; char name[{}]; }};\n\
             __attribute__((noinline,used)) static int f{i}(struct s{i} *p, int n) {{ int t = n; for (int k = 0; k < n; k++) \
             {{ int u = p->a + k; t += u; }} return p->next ? t + p->b{i} : t; }}\n",
            i % 60 + 1
        );
    }
    part += "int entry(int n) { struct s7 s = { n, n, 0, \"\" }; return f7(&s, n); }\n";
    let (source, object) = (lab.dir.join("part.c"), lab.dir.join("part.o"));
    std::fs::write(&source, part)?;
    succeed(
        Command::new("gcc")
            .args(["-g", "-O0", "-c", "-o"])
            .arg(&object)
            .arg(&source),
    )?;
    let mut main = String::from("#include \"bench.h\"\n");
    let mut link = Command::new("gcc");
    link.args(["-g", "-o"]).arg(&program);
    let mut body = String::new();
    for k in 0..copies {
        let copy = lab.dir.join(format!("part-{k}.o"));
        let rename = format!("entry=entry_{k}");
        succeed(
            Command::new("objcopy")
                .args(["--redefine-sym", &rename])
                .arg(&object)
                .arg(&copy),
        )?;
        link.arg(&copy);
        main += &format!("int entry_{k}(int);\n");
        body += &format!("    sum += entry_{k}({k});\n");
    }
    main += &format!(
        "int main(void) {{\n    int sum = 0;\n    bench_begin();\n{body}    bench_end(\"\");\n    return sum == 1;\n}}\n"
    );
    let main_file = lab.dir.join("large.c");
    std::fs::write(&main_file, main)?;
    link.arg(&main_file)
        .arg("-I")
        .arg(verde_bench::lab::home().join("programs"));
    succeed(&mut link)?;
    for k in 0..copies {
        let _ = std::fs::remove_file(lab.dir.join(format!("part-{k}.o")));
    }
    Ok(program)
}

/// MB of the debug sections.
fn debug_information(program: &Path) -> Fallible<f64> {
    let text = succeed(Command::new("size").arg("-A").arg(program))?;
    let sizes = text.lines().filter(|l| l.starts_with(".debug"));
    let sizes = sizes.filter_map(|l| l.split_whitespace().nth(1)?.parse::<f64>().ok());
    Ok(sizes.sum::<f64>() / 1e6)
}
