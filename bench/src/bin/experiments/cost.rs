//! The mean cost of an event, and the system calls it takes.

use crate::paper;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use verde_bench::lab::{Fallible, Lab, Under, args, installed, property_file};
use verde_bench::report::{Line, Section, Table};
use verde_bench::stats::{Sample, seconds};

struct Kind {
    name: &'static str,
    property: &'static str,
    /// Before the debugger.
    prefix: &'static [&'static str],
    threads: u32,
}

const KINDS: [Kind; 6] = [
    kind("call", "nop", &[], 1),
    kind("call with its argument", "argument", &[], 1),
    kind(
        "the same, all on one core",
        "argument",
        &["taskset", "-c", "0"],
        1,
    ),
    kind("return with argument and value", "return", &[], 1),
    kind("call with its argument, 2 threads", "argument", &[], 2),
    kind("call with its argument, 8 threads", "argument", &[], 8),
];

const fn kind(
    name: &'static str,
    property: &'static str,
    prefix: &'static [&'static str],
    threads: u32,
) -> Kind {
    Kind {
        name,
        property,
        prefix,
        threads,
    }
}

pub fn measure(lab: &Lab) -> Fallible<Section> {
    let calls = lab.program("calls.c", "calls", &[])?;
    // gdb takes longer for each return the more there were: few keep the comparison fair.
    let (ours, theirs, repetitions) = lab.pick((8_000, 320, 3), (40_000, 400, 7));
    let mut samples = [const { (Vec::new(), Vec::new()) }; KINDS.len()];
    let mut cpu = [const { Vec::new() }; KINDS.len()];
    for _ in 0..repetitions {
        for ((kind, into), cpu) in KINDS.iter().zip(&mut samples).zip(&mut cpu) {
            let one = |under, times: u64| -> Fallible<(f64, f64)> {
                let args = args([&times, &0, &kind.threads]);
                let ran = lab.run_on(under, kind.property, kind.prefix, &calls, &args)?;
                let ran = ran.with_events(times)?;
                Ok((ran.time() / times as f64, ran.debugger_cpu() / times as f64))
            };
            let (time, used) = one(Under::Verde, ours)?;
            into.0.push(time);
            cpu.push(used);
            into.1.push(one(Under::Gdb, theirs)?.0);
        }
    }
    let mut table = Table::new(&["event", "ratio", "Verde", "of it on a processor", "gdb"]);
    let mut lines = Vec::new();
    for ((kind, (us, them)), cpu) in KINDS.iter().zip(samples).zip(cpu) {
        let (us, them): (Sample, Sample) = (us.into_iter().collect(), them.into_iter().collect());
        let ratio = them.median() / us.median();
        let cpu: Sample = cpu.into_iter().collect();
        table.row([
            kind.name.to_owned(),
            format!("{ratio:.1}"),
            us.time(),
            seconds(cpu.median()),
            them.time(),
        ]);
        let asked = match kind.prefix.is_empty() {
            false => Some((
                "10 us and 20 times faster",
                us.median() <= 10e-6 && ratio >= 20.0,
            )),
            true if kind.threads > 1 => None,
            true => Some(("15 times faster", ratio >= 15.0)),
        };
        lines.push(Line {
            what: format!("one event: {}", kind.name),
            ratio: Some(ratio),
            ours: us.time(),
            baseline: them.time(),
            asked: asked.map(|a| a.0.to_owned()).unwrap_or_default(),
            met: asked.map(|a| a.1),
        });
    }
    let mut tables = vec![table];
    match system_calls(lab, &calls) {
        Ok((per_event, table)) => {
            tables.push(table);
            lines.push(Line {
                what: "system calls for a call with its argument".into(),
                ratio: None,
                ours: format!("{per_event:.2}"),
                baseline: String::new(),
                asked: "at most 5".into(),
                // Now and then one looks where the program runs.
                met: Some(per_event.round() <= 5.0),
            });
        }
        Err(e) => eprintln!("system calls are not counted: {e}"),
    }
    Ok(Section {
        key: "cost",
        title: "The cost of an event",
        about: format!(
            "The same function without a gap: {ours} events under Verde, {theirs} under gdb, {repetitions} repetitions. \
             A figure counts only if every event was seen. The second table counts Verde's system calls with strace. \
             The paper: {} for a breakpoint, 300 us on a slower machine.",
            seconds(paper::EVENT)
        ),
        command: "taskset -c 0 verde check -p bench/properties/argument.prop -- calls 40000 0 1"
            .into(),
        tables,
        plots: Vec::new(),
        lines,
    })
}

/// Counts while the program calls: strace comes and goes between its files `ready` and `go`.
fn system_calls(lab: &Lab, calls: &std::path::Path) -> Fallible<(f64, Table)> {
    const TIMES: u64 = 5_000;
    let strace = installed("strace").ok_or("strace is not installed")?;
    let gate = lab.dir.join("gate");
    let (ready, go) = (lab.dir.join("gate.ready"), lab.dir.join("gate.go"));
    for old in [&ready, &go] {
        let _ = std::fs::remove_file(old);
    }
    let mut verde = Command::new(&lab.verde)
        .args(["check", "-p"])
        .arg(property_file("argument"))
        .arg("--")
        .arg(calls)
        .args(args([&TIMES, &0, &1]))
        .arg(&gate)
        .env("BENCH_OUT", lab.dir.join("said"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    // The line is whole when it ends.
    let mut tracer = String::new();
    wait_for(|| {
        tracer = std::fs::read_to_string(&ready).unwrap_or_default();
        tracer.ends_with('\n')
    })?;
    let counts = lab.dir.join("counts");
    let _ = std::fs::remove_file(&counts);
    // Only the thread that traces: a signal that a thread ignores would make strace count twice.
    let mut counting = Command::new(strace)
        .args(["-c", "-U", "calls,name", "-o"])
        .arg(&counts)
        .args(["-p", tracer.trim()])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let status = format!("/proc/{}/status", tracer.trim());
    let attached = wait_for(|| {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        text.lines().any(|l| {
            l.strip_prefix("TracerPid:")
                .is_some_and(|p| p.trim() != "0")
        })
    });
    std::fs::write(&go, "")?;
    verde.wait()?;
    counting.wait()?;
    attached?;
    let text = std::fs::read_to_string(&counts)?;
    let mut table = Table::new(&["system call", "for each event"]);
    let mut sum = 0.0;
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(count), Some(name)) = (words.next(), words.next()) else {
            continue;
        };
        let Ok(count) = count.parse::<f64>() else {
            continue;
        };
        let each = count / TIMES as f64;
        // The rest belongs to the end of the run.
        if name != "total" && each >= 0.01 {
            table.row([name.to_owned(), format!("{each:.2}")]);
            sum += each;
        }
    }
    Ok((sum, table))
}

fn wait_for(mut condition: impl FnMut() -> bool) -> Fallible<()> {
    let start = Instant::now();
    while !condition() {
        if start.elapsed() > Duration::from_secs(20) {
            return Err("waited in vain".into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
