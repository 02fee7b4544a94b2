//! Programs under `verde check`, `record` and `debug`, and their traces under `replay`.
#![allow(dead_code, reason = "each test file uses a part")]

use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub type Failure = Box<dyn std::error::Error>;
pub type Fallible = Result<(), Failure>;

pub fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// `-p` and `-f`, of files below `examples/`.
pub fn monitors(property: &str, functions: Option<&str>) -> Vec<OsString> {
    let mut args: Vec<OsString> = vec!["-p".into(), examples().join(property).into()];
    if let Some(functions) = functions {
        args.extend(["-f".into(), examples().join(functions).into()]);
    }
    args
}

fn verde() -> Command {
    let mut verde = Command::new(env!("CARGO_BIN_EXE_verde"));
    verde.stdin(Stdio::null());
    verde
}

pub struct Program {
    dir: tempfile::TempDir,
}

impl Program {
    /// Compiles a file where it is, into a directory of its own.
    pub fn c(source: &Path, options: &[&str]) -> Result<Program, Failure> {
        let dir = tempfile::tempdir()?;
        let name = source.file_name().ok_or("no file")?;
        let status = Command::new("gcc")
            .args(["-g", "-w", "-o"])
            .arg(dir.path().join("prog"))
            .arg(name)
            .args(options)
            .current_dir(source.parent().ok_or("no directory")?)
            .status()?;
        assert!(status.success(), "{} does not compile", source.display());
        Ok(Program { dir })
    }

    pub fn of_text(text: &str, options: &[&str]) -> Result<Program, Failure> {
        let dir = tempfile::tempdir()?;
        let source = dir.path().join("prog.c");
        std::fs::write(&source, text)?;
        Program::c(&source, options)
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().join("prog")
    }

    /// What the program did, and the rows of the report.
    pub fn check(
        &self,
        monitors: &[OsString],
        args: &[&str],
    ) -> Result<(Output, Vec<Value>), Failure> {
        let report = self.dir.path().join("report.jsonl");
        let mut check = verde();
        check.args(["check", "--timeout", "120", "--format", "jsonl"]);
        check.args(["--show", "changed"]).args(monitors);
        check.arg("--output").arg(&report).arg(self.path());
        let output = check.args(args).output()?;
        Ok((output, rows(&std::fs::read_to_string(&report)?)?))
    }

    /// The trace of a run.
    pub fn record(&self, monitors: &[OsString], options: &[&str]) -> Result<String, Failure> {
        let trace = self.dir.path().join("trace.jsonl");
        let mut record = verde();
        record.arg("record").args(monitors).args(options);
        let output = record.arg("-o").arg(&trace).arg(self.path()).output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!errors.contains("verde:"), "{errors}");
        Ok(std::fs::read_to_string(&trace)?)
    }

    pub fn debug(
        &self,
        monitors: &[OsString],
        scenario: &str,
        commands: &[&str],
    ) -> Result<String, Failure> {
        let mut debug = verde();
        debug.args(["debug", "--batch"]).args(monitors);
        debug.arg("-s").arg(examples().join(scenario));
        for command in commands {
            debug.args(["--ex", command]);
        }
        let output = debug.arg(self.path()).output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        Ok(String::from_utf8(output.stdout)?)
    }

    /// The monitors say the same live and over the trace of another run. For programs that do
    /// the same in every run. How many events there were.
    pub fn same_offline(&self, monitors: &[OsString]) -> Result<usize, Failure> {
        let (checked, live) = self.check(monitors, &[])?;
        let trace = self.record(monitors, &[])?;
        let (code, offline) = replay(monitors, &trace)?;
        assert_eq!(outcome(&live)?, outcome(&offline)?, "{trace}");
        assert_eq!(events(&live), events(&offline), "{trace}");
        assert_eq!(violations(&live), violations(&offline), "{trace}");
        assert_eq!(printed(&live), printed(&offline), "{trace}");
        let violated = checked.status.code() == Some(100);
        assert_eq!(violated, code == Some(100), "{trace}");
        Ok(trace.lines().count())
    }
}

pub fn replay(monitors: &[OsString], trace: &str) -> Result<(Option<i32>, Vec<Value>), Failure> {
    let dir = tempfile::tempdir()?;
    let file = dir.path().join("trace.jsonl");
    std::fs::write(&file, trace)?;
    let mut replay = verde();
    replay.args(["replay", "--format", "jsonl", "--show", "changed"]);
    let output = replay.args(monitors).arg(&file).output()?;
    let rows = rows(&String::from_utf8(output.stdout)?)?;
    Ok((output.status.code(), rows))
}

fn rows(text: &str) -> Result<Vec<Value>, Failure> {
    Ok(text
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?)
}

/// The last row, without what only a live run knows.
pub fn outcome(rows: &[Value]) -> Result<Value, Failure> {
    let mut last = rows.last().ok_or("no rows")?.clone();
    assert_eq!(last["type"], "final");
    if let Some(last) = last.as_object_mut() {
        last.remove("program");
    }
    Ok(last)
}

/// What became of every event.
fn events(rows: &[Value]) -> Vec<Value> {
    let events = rows.iter().filter(|r| r["type"] == "event");
    events.cloned().collect()
}

/// What blocks, actions and callbacks printed.
fn printed(rows: &[Value]) -> Vec<Value> {
    let printed = rows.iter().filter(|r| r["type"] == "print");
    printed.cloned().collect()
}

/// Which slices failed, where and how they came to it.
fn violations(rows: &[Value]) -> Vec<Value> {
    let found = rows.iter().filter(|r| r["type"] == "violation");
    let essence = |v: &Value| {
        let history = v["history"].as_array().into_iter().flatten();
        let history: Vec<Value> = history
            .map(|e| json!([e["n"], e["event"], e["args"], e["from"], e["to"], e["loc"]]))
            .collect();
        json!([
            v["property"],
            v["slice"],
            v["state"],
            v["n"],
            v["loc"],
            history
        ])
    };
    found.map(essence).collect()
}
