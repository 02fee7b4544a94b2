//! Programs that are measured: alone, under Verde and under the baseline.

use serde_json::Value;
use std::error::Error;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

pub type Fallible<T> = Result<T, Box<dyn Error>>;

/// Longer than any run that goes well.
const LIMIT: &str = "300";

pub struct Lab {
    pub verde: PathBuf,
    /// Programs and what runs leave.
    pub dir: PathBuf,
    pub quick: bool,
}

/// Who watches the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Under {
    Nothing,
    Verde,
    VerdeStatic,
    Gdb,
    GdbStatic,
}

/// A run and what it said.
pub struct Ran {
    /// From the start of the debugger to its end, in seconds.
    pub wall: f64,
    /// What the program said of itself; null when it says nothing.
    pub said: Value,
    pub events: u64,
    pub violations: u64,
    /// What went to standard error.
    pub errors: String,
}

impl Ran {
    /// What the program took, in seconds.
    pub fn time(&self) -> f64 {
        self.number("ns") / 1e9
    }

    /// What the debugger used of a processor meanwhile, in seconds.
    pub fn debugger_cpu(&self) -> f64 {
        self.number("tracer_cpu_ns") / 1e9
    }

    /// The debugger's largest resident size, in MB.
    pub fn debugger_mb(&self) -> f64 {
        self.number("tracer_peak_kb") / 1024.0
    }

    pub fn number(&self, field: &str) -> f64 {
        self.said[field].as_f64().unwrap_or(f64::NAN)
    }

    /// A figure counts only if every event was seen.
    pub fn with_events(self, n: u64) -> Fallible<Ran> {
        match self.events == n {
            true => Ok(self),
            false => Err(format!("{} events seen, {n} expected", self.events).into()),
        }
    }
}

impl Lab {
    pub fn new(verde: PathBuf, dir: PathBuf, quick: bool) -> Fallible<Lab> {
        std::fs::create_dir_all(&dir)?;
        let verde = verde
            .canonicalize()
            .map_err(|e| format!("{}: {e}", verde.display()))?;
        let dir = dir.canonicalize()?;
        Ok(Lab { verde, dir, quick })
    }

    /// One figure for short runs, another for long ones.
    pub fn pick<T>(&self, quick: T, full: T) -> T {
        if self.quick { quick } else { full }
    }

    /// Compiles a program of `bench/programs`.
    pub fn program(&self, source: &str, name: &str, options: &[&str]) -> Fallible<PathBuf> {
        let output = self.dir.join(name);
        let mut gcc = Command::new("gcc");
        gcc.args(["-g", "-O1", "-pthread", "-o"])
            .arg(&output)
            .arg(home().join("programs").join(source))
            .args(options);
        succeed(&mut gcc)?;
        Ok(output)
    }

    /// One run. `property` is a file of `bench/properties`; nothing means no monitor.
    pub fn run(
        &self,
        under: Under,
        property: &str,
        program: &Path,
        args: &[String],
    ) -> Fallible<Ran> {
        self.run_on(under, property, &[], program, args)
    }

    /// The same with options of Verde's, or prefixed by a command such as `taskset -c 1`.
    pub fn run_on(
        &self,
        under: Under,
        property: &str,
        prefix: &[&str],
        program: &Path,
        args: &[String],
    ) -> Fallible<Ran> {
        let mut line = vec!["timeout", LIMIT];
        line.extend_from_slice(prefix);
        let mut command = Command::new(line[0]);
        command.args(&line[1..]);
        self.watched(&mut command, under, property, &[]);
        command.arg(program).args(args);
        self.finish(command, under)
    }

    /// A run under Verde with these options.
    pub fn verde_with(&self, property: &str, options: &[String], program: &Path) -> Fallible<Ran> {
        let mut command = Command::new("timeout");
        command.arg(LIMIT);
        self.watched(&mut command, Under::Verde, property, options);
        command.arg(program);
        self.finish(command, Under::Verde)
    }

    fn watched(&self, command: &mut Command, under: Under, property: &str, options: &[String]) {
        let property = property_file(property);
        match under {
            Under::Nothing => {}
            Under::Verde | Under::VerdeStatic => {
                command.arg(&self.verde).args(["check", "-p"]).arg(property);
                if under == Under::VerdeStatic {
                    command.arg("--all-events");
                }
                command
                    .args(options)
                    .args(["--format", "jsonl", "--output"])
                    .arg(self.dir.join("report"))
                    .arg("--");
            }
            Under::Gdb | Under::GdbStatic => {
                command
                    .args(["gdb", "-nx", "-batch", "-x"])
                    .arg(home().join("baseline/gdb_monitor.py"))
                    .arg("--args")
                    .env("BENCH_PROPERTY", property)
                    .env("BENCH_REPORT", self.dir.join("report"));
                if under == Under::GdbStatic {
                    command.env("BENCH_STATIC", "1");
                }
            }
        }
    }

    fn finish(&self, mut command: Command, under: Under) -> Fallible<Ran> {
        let (said, report) = (self.dir.join("said"), self.dir.join("report"));
        for old in [&said, &report] {
            let _ = std::fs::remove_file(old);
        }
        command
            .env("BENCH_OUT", &said)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let start = Instant::now();
        let done = command.output().map_err(|e| format!("{command:?}: {e}"))?;
        let wall = start.elapsed().as_secs_f64();
        let errors = String::from_utf8_lossy(&done.stderr).into_owned();
        let said = match std::fs::read_to_string(&said) {
            Ok(text) => serde_json::from_str(&text)?,
            Err(_) => Value::Null,
        };
        let mut ran = Ran {
            wall,
            said,
            events: 0,
            violations: 0,
            errors,
        };
        if under == Under::Nothing {
            return Ok(ran);
        }
        let text = std::fs::read_to_string(&report)
            .map_err(|_| format!("{command:?} left no report: {}", ran.errors.trim()))?;
        let last: Value = serde_json::from_str(text.lines().last().unwrap_or_default())?;
        ran.events = last["events"].as_u64().unwrap_or_default();
        let violations = match under {
            Under::Verde | Under::VerdeStatic => &last["properties"][0]["violations"],
            _ => &last["violations"],
        };
        ran.violations = violations.as_u64().unwrap_or_default();
        Ok(ran)
    }
}

/// The folder `bench/`.
pub fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn property_file(name: &str) -> PathBuf {
    home().join("properties").join(format!("{name}.prop"))
}

/// Runs a command that must succeed, and gives what it printed.
pub fn succeed(command: &mut Command) -> Fallible<String> {
    let done = command
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("{command:?}: {e}"))?;
    if !done.status.success() {
        let errors = String::from_utf8_lossy(&done.stderr);
        return Err(format!("{command:?} failed: {}", errors.trim()).into());
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// Where a program is that may not be installed. Scripts in its place do not count.
pub fn installed(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|file| is_elf(file))
}

fn is_elf(file: &Path) -> bool {
    let mut magic = [0; 4];
    let read = std::fs::File::open(file).and_then(|mut f| f.read_exact(&mut magic));
    read.is_ok() && magic == *b"\x7fELF"
}

/// Arguments as text.
pub fn args<const N: usize>(of: [&dyn std::fmt::Display; N]) -> Vec<String> {
    of.iter().map(|a| a.to_string()).collect()
}
