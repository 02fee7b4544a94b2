//! What one hit of a conditional breakpoint or watchpoint costs when the
//! condition never holds, against gdb on the same program in the same run.
//!
//!     cargo run --release -p verde-engine --example cost_per_hit

use object::{Object, ObjectSymbol};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use verde_engine::{Addr, Launch, ModuleKind, On, Options, Owner, Process, SignalPolicy, Trap};

type Fallible<T> = Result<T, Box<dyn Error>>;

fn main() -> Fallible<()> {
    let program = compile()?;
    println!("{:<34} {:>10} {:>10} {:>7}", "", "verde", "gdb", "ratio");
    for threads in [1, 2, 4, 8, 16] {
        let ours = calls(&program, threads, 40_000 / threads)?;
        let theirs = gdb(
            &program,
            threads,
            4_000 / threads,
            "c",
            "break f if x == -1",
        )?;
        row(&format!("break, {threads} threads"), ours, theirs);
    }
    let ours = returns(&program, 20_000)?;
    row("call and return, 1 thread", ours, None);
    for threads in [1, 4] {
        let ours = stores(&program, threads, 20_000 / threads, 8, true)?;
        let condition = "watch shared.value if shared.value == -1";
        let theirs = gdb(&program, threads, 4_000 / threads, "w", condition)?;
        row(&format!("watch, {threads} threads"), ours, theirs);
    }
    let ours = stores(&program, 1, 10_000, 8, false)?;
    row("watch without perf events", ours, None);
    let ours = stores(&program, 1, 10_000, 64, true)?;
    row("watch of a page, 1 thread", ours, None);
    std::fs::remove_file(program)?;
    Ok(())
}

fn row(name: &str, ours: f64, theirs: Option<f64>) {
    match theirs {
        Some(theirs) => println!(
            "{name:<34} {ours:>7.1} us {theirs:>7.0} us {:>6.0}x",
            theirs / ours
        ),
        None => println!("{name:<34} {ours:>7.1} us"),
    }
}

fn compile() -> Fallible<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs/counts.c");
    let output = std::env::temp_dir().join(format!("cost-per-hit-{}", std::process::id()));
    let mut compiler = Command::new("gcc");
    compiler.args(["-g", "-O1", "-pthread", "-o"]);
    let done = compiler.arg(&output).arg(source).status()?;
    if !done.success() {
        return Err("the program does not compile".into());
    }
    Ok(output)
}

fn launch(program: &Path, threads: u64, times: u64, kind: &str) -> Fallible<Process> {
    let launch = Launch {
        program: program.to_path_buf(),
        args: vec![
            threads.to_string().into(),
            times.to_string().into(),
            kind.into(),
        ],
        stdio: [None, Some(std::fs::File::create("/dev/null")?.into()), None],
        ..Launch::default()
    };
    let options = Options {
        signals: SignalPolicy::transparent(),
        quiet_libraries: true,
        ..Options::default()
    };
    Ok(Process::launch(&launch, options)?)
}

fn address(process: &Process, program: &Path, name: &str) -> Fallible<Addr> {
    let data = std::fs::read(program)?;
    let file = object::File::parse(&*data)?;
    let mut symbols = file.symbols();
    let symbol = symbols
        .find(|s| s.name() == Ok(name))
        .ok_or("no such symbol")?;
    let mut modules = process.modules().iter();
    let main = modules
        .find(|m| m.kind == ModuleKind::Main)
        .ok_or("no program")?;
    Ok(Addr(main.bias + symbol.address()))
}

/// Runs to the end with a condition on each stop; microseconds per stop,
/// from the first to the last.
fn measure(
    process: &mut Process,
    mut never: impl FnMut(&Process, verde_engine::Tid) -> bool,
) -> Fallible<f64> {
    process.resume_all()?;
    let mut first = None;
    let mut last = Instant::now();
    let mut stops = 0u32;
    process.run(|process, stop| {
        if stop.ended().is_none() {
            last = Instant::now();
            first.get_or_insert(last);
            stops += 1;
            return Ok(never(process, stop.tid));
        }
        Ok(false)
    })?;
    let first = first.ok_or("no hit")?;
    Ok((last - first).as_secs_f64() * 1e6 / f64::from(stops.max(2) - 1))
}

fn calls(program: &Path, threads: u64, times: u64) -> Fallible<f64> {
    let mut process = launch(program, threads, times, "c")?;
    let f = address(&process, program, "f")?;
    process.insert(Trap::new(On::Exec(f), Owner::User))?;
    measure(&mut process, |process, tid| {
        process.regs(tid).is_ok_and(|r| r.rdi == u64::MAX)
    })
}

fn returns(program: &Path, times: u64) -> Fallible<f64> {
    let mut process = launch(program, 1, times, "c")?;
    let f = address(&process, program, "f")?;
    process.insert(Trap::new(On::Call(f), Owner::Monitor))?;
    measure(&mut process, |process, tid| {
        process.regs(tid).is_ok_and(|r| r.rax == u64::MAX)
    })
}

fn stores(program: &Path, threads: u64, times: u64, len: u64, perf: bool) -> Fallible<f64> {
    let mut process = launch(program, threads, times, "w")?;
    let at = address(&process, program, "shared")?;
    if !perf {
        process.avoid_perf_events();
    }
    process.insert(Trap::new(On::Write { at, len }, Owner::User))?;
    measure(&mut process, |process, _| {
        process.read_u64(at).is_ok_and(|value| value == u64::MAX)
    })
}

/// The same in gdb: the time of a run with many hits less one with few.
fn gdb(program: &Path, threads: u64, times: u64, kind: &str, stop: &str) -> Fallible<Option<f64>> {
    let run = |times: u64| -> Fallible<Option<f64>> {
        let start = Instant::now();
        let status = Command::new("gdb")
            .args(["-q", "-nx", "-batch", "-ex", "set debuginfod enabled off"])
            .args(["-ex", stop, "-ex", &format!("run {threads} {times} {kind}")])
            .arg(program)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        match status {
            Ok(_) => Ok(Some(start.elapsed().as_secs_f64())),
            Err(_) => Ok(None),
        }
    };
    let (Some(short), Some(long)) = (run(1)?, run(times)?) else {
        return Ok(None);
    };
    // `f` is called twice in each round of "c".
    let each = if kind == "c" { 2 } else { 1 };
    let hits = (each * threads * (times - 1)) as f64;
    Ok(Some((long - short) * 1e6 / hits))
}
