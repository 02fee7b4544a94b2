//! Checkpoints and restores beside gdb's, in the same run.
//!
//! `make bench-checkpoint`, or `cargo run --release -p verde-bench --bin checkpoint`.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use verde_checkpoint::{Options, Snapshot};
use verde_engine::{Launch, ModuleKind, On, Owner, Process, SignalPolicy, Trap};

type Fallible<T> = Result<T, Box<dyn Error>>;

/// One shape of program, and the most that is allowed for it.
struct Case {
    megabytes: u32,
    huge: bool,
    threads: u32,
    allowed: &'static str,
}

const CASES: &[Case] = &[
    Case {
        megabytes: 1,
        huge: false,
        threads: 1,
        allowed: "1 ms, 1/40 of gdb",
    },
    Case {
        megabytes: 1,
        huge: false,
        threads: 25,
        allowed: "3 ms",
    },
    Case {
        megabytes: 100,
        huge: false,
        threads: 1,
        allowed: "5 ms",
    },
    Case {
        megabytes: 100,
        huge: false,
        threads: 25,
        allowed: "5 ms",
    },
    Case {
        megabytes: 1000,
        huge: true,
        threads: 1,
        allowed: "3 ms",
    },
    Case {
        megabytes: 1000,
        huge: true,
        threads: 25,
        allowed: "3 ms",
    },
    Case {
        megabytes: 1000,
        huge: false,
        threads: 1,
        allowed: "1.5 of gdb",
    },
    Case {
        megabytes: 1000,
        huge: false,
        threads: 25,
        allowed: "",
    },
];

const ROUNDS: usize = 15;
const GDB_ROUNDS: usize = 5;

impl Case {
    /// What takes less than a millisecond is easily disturbed, and soon repeated.
    fn times(&self) -> usize {
        match self.megabytes {
            1 => 5,
            _ => 1,
        }
    }
}

fn main() -> Fallible<()> {
    let program = compile()?;
    println!(
        "Medians of {ROUNDS} (gdb: {GDB_ROUNDS}), with 1 MB of five times as many, in ms; gdb saves one thread only.\n\
         Goes on: the restore, and until the program runs, for which the memory of a large one is copied first\n\
         (unless nobody has typed anything for 50 ms).\n"
    );
    println!(
        "| memory | pages | threads | checkpoint | restore | goes on | allowed | gdb checkpoint | gdb restart | gdb / Verde |"
    );
    println!("|---:|---|---:|---:|---:|---:|---|---:|---:|---:|");
    for case in CASES {
        measure(&program, case)?;
    }
    many(&program)?;
    std::fs::remove_file(&program)?;
    Ok(())
}

/// A file of this directory, or of the current one's `bench`.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn compile() -> Fallible<PathBuf> {
    let output = std::env::temp_dir().join(format!("verde-bench-memory-{}", std::process::id()));
    let mut gcc = Command::new("gcc");
    gcc.args(["-O1", "-g", "-pthread", "-o"]).arg(&output);
    if !gcc.arg(file("programs/memory.c")).status()?.success() {
        return Err("the program does not compile".into());
    }
    Ok(output)
}

/// Launches the program and runs it to its first mark.
fn launch(program: &Path, args: [String; 4]) -> Fallible<Process> {
    let launch = Launch {
        program: program.into(),
        args: args.map(Into::into).into(),
        ..Launch::default()
    };
    let options = verde_engine::Options {
        signals: SignalPolicy::transparent(),
        quiet_libraries: true,
        ..verde_engine::Options::default()
    };
    let mut process = Process::launch(&launch, options)?;
    let nm = Command::new("nm").arg(program).output()?;
    let symbols = String::from_utf8(nm.stdout)?;
    let mark = symbols.lines().find_map(|l| l.strip_suffix(" T mark"));
    let offset = u64::from_str_radix(mark.ok_or("no mark")?, 16)?;
    let main = process
        .modules()
        .iter()
        .find(|m| m.kind == ModuleKind::Main);
    let bias = main.ok_or("no main module")?.bias;
    let at = verde_engine::Addr(bias + offset);
    process.insert(Trap::new(On::Exec(at), Owner::User))?;
    to_mark(&mut process)?;
    Ok(process)
}

fn to_mark(process: &mut Process) -> Fallible<()> {
    process.resume_all()?;
    await_mark(process)
}

fn await_mark(process: &mut Process) -> Fallible<()> {
    let stop = process.wait()?.ok_or("woken")?;
    if stop.ended().is_some() {
        return Err("the program ended".into());
    }
    process.stop_all()?.keep();
    Ok(())
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e3
}

fn measure(program: &Path, case: &Case) -> Fallible<()> {
    let args = [
        case.megabytes.to_string(),
        u8::from(case.huge).to_string(),
        case.threads.to_string(),
        "0".to_owned(),
    ];
    let mut process = launch(program, args.clone())?;
    let (mut saved, mut restored, mut gone_on) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS * case.times() {
        let (snapshot, _) = Snapshot::take(&mut process, &Options::default())?;
        saved.push(snapshot.saved_in());
        to_mark(&mut process)?;
        let elapsed = snapshot.restore(&mut process, None)?.elapsed;
        restored.push(elapsed);
        let start = Instant::now();
        process.resume_all()?;
        gone_on.push(elapsed + start.elapsed());
        drop(snapshot);
        await_mark(&mut process)?;
    }
    process.kill()?;
    let [saved, restored, gone_on] = [saved, restored, gone_on].map(median);
    let pages = if case.huge { "huge" } else { "4 KB" };
    print!(
        "| {} MB | {pages} | {} | {saved:.2} | {restored:.2} | {gone_on:.2} | {} |",
        case.megabytes, case.threads, case.allowed
    );
    match gdb(program, &args, case)? {
        Some((save, restore)) => {
            println!(
                " {save:.1} | {restore:.1} | {:.1}, {:.1}, {:.1} |",
                save / saved,
                restore / restored,
                restore / gone_on
            );
        }
        None => println!(" | | |"),
    }
    Ok(())
}

/// The same with gdb; `None` where there is none.
fn gdb(program: &Path, args: &[String; 4], case: &Case) -> Fallible<Option<(f64, f64)>> {
    let mut gdb = verde_oracle::gdb();
    gdb.args(["-q", "-nx", "-batch", "-x"])
        .arg(file("baseline/gdb_checkpoint.py"))
        .arg("--args")
        .arg(program)
        .args(args)
        .env("ROUNDS", (GDB_ROUNDS * case.times()).to_string())
        .env("DEBUGINFOD_URLS", "")
        .stdin(Stdio::null());
    if case.threads != 1 {
        return Ok(None);
    }
    let Ok(output) = gdb.output() else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let result = text.lines().find_map(|l| l.strip_prefix("RESULT "));
    let mut numbers = result.unwrap_or("").split(' ').map(str::parse::<f64>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(save)), Some(Ok(restore))) => Ok(Some((save, restore))),
        _ => Ok(None),
    }
}

/// A thousand checkpoints with one page in a hundred changed in between.
fn many(program: &Path) -> Fallible<()> {
    const COUNT: usize = 1000;
    let args = ["100", "0", "1", "100"].map(str::to_owned);
    let mut process = launch(program, args)?;
    let mut snapshots = Vec::with_capacity(COUNT);
    let mut times = Vec::with_capacity(COUNT);
    for _ in 0..COUNT {
        let (snapshot, _) = Snapshot::take(&mut process, &Options::default())?;
        times.push(snapshot.saved_in());
        snapshots.push(snapshot);
        to_mark(&mut process)?;
    }
    let mut memory = 0;
    let mut tables = 0;
    for snapshot in &snapshots {
        memory += snapshot.memory_cost()?;
        let pid = snapshot.frozen_pid();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status.lines().find_map(|l| l.strip_prefix("VmPTE:"));
        let number = line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok());
        tables += number.unwrap_or(0) * 1024;
    }
    println!(
        "\n{COUNT} checkpoints of 100 MB, 1 % changed between two: {:.2} GB and {:.2} GB of page \
         tables (allowed: 1.5 GB in all), {:.2} ms each.",
        memory as f64 / 1e9,
        tables as f64 / 1e9,
        median(times)
    );
    Ok(())
}
