//! The plain debugger against gdb, in the same run: what a hit of a condition
//! that never holds costs, and how long the first stop takes in a program with
//! much debug information.
//!
//!     debugger VERDE [LARGE_PROGRAM]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use verde_bench::{Fallible, median, spread};

const REPEATS: usize = 5;

fn main() -> Fallible<()> {
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let verde = args.next().ok_or("usage: debugger VERDE [LARGE_PROGRAM]")?;
    let large = args.next();
    let program = compile()?;
    let both = [Debugger::Verde(verde), Debugger::Gdb];
    println!("### A condition that never holds\n");
    println!(
        "Microseconds per hit, median of {REPEATS} (min-max), runs interleaved; hits are counted from the"
    );
    println!("difference of a long and a short run, so starting does not count.\n");
    println!("| | verde | gdb | ratio | asked |");
    println!("|---|---:|---:|---:|---:|");
    let mut single = None;
    for threads in [1, 2, 4, 8, 16] {
        let stop = "break f if x == -1";
        let figures = compare(&both, &program, threads, "c", stop)?;
        let asked = match single {
            None => "15 times".to_owned(),
            Some(one) => format!("{:.1} of 3 times one thread's", median(&figures.0) / one),
        };
        single.get_or_insert(median(&figures.0));
        row(&format!("breakpoint, {threads} threads"), &figures, &asked);
    }
    for threads in [1, 4] {
        let stop = "watch shared.value if shared.value == -1";
        let figures = compare(&both, &program, threads, "w", stop)?;
        row(
            &format!("watchpoint, {threads} threads"),
            &figures,
            "3 times",
        );
    }
    std::fs::remove_file(&program)?;
    if let Some(large) = large {
        start_up(&both, &large)?;
    }
    Ok(())
}

enum Debugger {
    Verde(PathBuf),
    Gdb,
}

impl Debugger {
    /// The debugger with commands for a program, which gets no input.
    fn command(&self, program: &Path, commands: &[&str]) -> Command {
        let (mut command, option) = match self {
            Debugger::Verde(verde) => {
                let mut command = Command::new(verde);
                command.args(["debug", "--batch"]);
                (command, "--ex")
            }
            Debugger::Gdb => {
                let mut command = verde_oracle::gdb();
                command.args(["-q", "-nx", "-batch", "-ex", "set debuginfod enabled off"]);
                (command, "-ex")
            }
        };
        for text in commands {
            command.args([option, text]);
        }
        command.arg(program);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// Fewer where a hit costs more.
    fn rounds(&self) -> u64 {
        match self {
            Debugger::Verde(_) => 20_000,
            Debugger::Gdb => 1_000,
        }
    }
}

fn compile() -> Fallible<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/programs/counts.c");
    let output = std::env::temp_dir().join(format!("bench-debugger-{}", std::process::id()));
    let mut compiler = Command::new("gcc");
    compiler.args(["-g", "-O1", "-pthread", "-o"]);
    match compiler.arg(&output).arg(source).status()?.success() {
        true => Ok(output),
        false => Err("the program does not compile".into()),
    }
}

fn compare(
    both: &[Debugger; 2],
    program: &Path,
    threads: u64,
    kind: &str,
    stop: &str,
) -> Fallible<(Vec<f64>, Vec<f64>)> {
    let mut figures = (Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        figures
            .0
            .push(per_hit(&both[0], program, threads, kind, stop)?);
        figures
            .1
            .push(per_hit(&both[1], program, threads, kind, stop)?);
    }
    Ok(figures)
}

/// Microseconds per hit.
fn per_hit(
    debugger: &Debugger,
    program: &Path,
    threads: u64,
    kind: &str,
    stop: &str,
) -> Fallible<f64> {
    let time = |rounds: u64| -> Fallible<f64> {
        let run = format!("run {threads} {rounds} {kind}");
        let mut command = debugger.command(program, &[stop, &run]);
        let start = Instant::now();
        if !command.status()?.success() {
            return Err(format!("{command:?} failed").into());
        }
        Ok(start.elapsed().as_secs_f64())
    };
    let rounds = debugger.rounds() / threads;
    let few = rounds / 10;
    let (short, long) = (time(few)?, time(rounds)?);
    // `f` is called twice in each round of "c".
    let each = if kind == "c" { 2 } else { 1 };
    let hits = each * threads * (rounds - few);
    Ok((long - short) * 1e6 / hits as f64)
}

fn row(name: &str, (ours, theirs): &(Vec<f64>, Vec<f64>), asked: &str) {
    println!(
        "| {name} | {} | {} | {:.1} | {asked} |",
        spread(ours),
        spread(theirs),
        median(theirs) / median(ours)
    );
}

/// Time and memory up to the first stop, at `main`.
fn start_up(both: &[Debugger; 2], program: &Path) -> Fallible<()> {
    let mut seconds = (Vec::new(), Vec::new());
    let mut megabytes = (Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        let (time, memory) = to_main(&both[0], program)?;
        seconds.0.push(time);
        megabytes.0.push(memory);
        let (time, memory) = to_main(&both[1], program)?;
        seconds.1.push(time);
        megabytes.1.push(memory);
    }
    println!("\n### To the first stop in a large program\n");
    println!(
        "{:.0} MB of debug information; `break main`, `run`, `backtrace`.\n",
        debug_size(program)?
    );
    println!("| | verde | gdb | gdb/verde |");
    println!("|---|---:|---:|---:|");
    for (name, (ours, theirs)) in [("seconds", &seconds), ("MB at most", &megabytes)] {
        println!(
            "| {name} | {} | {} | {:.2} |",
            spread(ours),
            spread(theirs),
            median(theirs) / median(ours)
        );
    }
    Ok(())
}

fn to_main(debugger: &Debugger, program: &Path) -> Fallible<(f64, f64)> {
    let inner = debugger.command(program, &["break main", "run", "backtrace"]);
    let mut command = Command::new("/usr/bin/time");
    command
        .args(["-f", "%M"])
        .arg(inner.get_program())
        .args(inner.get_args());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let start = Instant::now();
    let output = command.output()?;
    let time = start.elapsed().as_secs_f64();
    let text = String::from_utf8_lossy(&output.stderr);
    let kilobytes: f64 = text.lines().last().unwrap_or_default().trim().parse()?;
    Ok((time, kilobytes / 1024.0))
}

/// Megabytes of the sections that hold it.
fn debug_size(program: &Path) -> Fallible<f64> {
    let output = Command::new("size").arg("-A").arg(program).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let sections = text.lines().filter(|l| l.starts_with(".debug"));
    let sizes = sections.filter_map(|l| l.split_whitespace().nth(1)?.parse::<f64>().ok());
    Ok(sizes.sum::<f64>() / 1e6)
}
