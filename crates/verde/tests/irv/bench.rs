//! A folder with a program, properties and what `verde` makes of them.

#[path = "../lab/plugin.rs"]
mod plugin;

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Stdio};

pub struct Bench {
    dir: tempfile::TempDir,
}

/// What a run gave.
pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
    /// Rows of the report, or lines of the trace.
    pub rows: Vec<Value>,
}

impl Bench {
    pub fn new() -> Bench {
        plugin::plugin();
        let dir = tempfile::tempdir().expect("a temporary folder");
        Bench { dir }
    }

    /// A program in C, compiled with these options.
    pub fn c(source: &str, options: &[&str]) -> Bench {
        let bench = Bench::new();
        bench.compile("gcc", "prog.c", source, "prog", options);
        bench
    }

    pub fn compile(
        &self,
        compiler: &str,
        file: &str,
        source: &str,
        output: &str,
        options: &[&str],
    ) {
        self.write(file, source);
        let mut command = Command::new(compiler);
        command
            .args(["-g", "-o", output, file])
            .args(options)
            .current_dir(self.dir.path());
        let done = command.output().expect("the compiler runs");
        let errors = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{errors}");
    }

    /// Makes the program of a file in Rust.
    pub fn rust(&self, source: &str) {
        self.rust_with(source, &[]);
    }

    pub fn rust_with(&self, source: &str, options: &[&str]) {
        self.write("prog.rs", source);
        let done = Command::new("rustc")
            .args(["-g", "--edition", "2021", "-o", "prog", "prog.rs"])
            .args(options)
            .current_dir(self.dir.path())
            .status()
            .expect("rustc runs");
        assert!(done.success());
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).expect("a file is written");
        path
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn command(&self, name: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_verde"));
        command
            .arg(name)
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .env("NO_COLOR", "1");
        command
    }

    /// The program alone.
    pub fn alone(&self, args: &[&str]) -> Ran {
        let mut command = Command::new(self.path("prog"));
        let done = command.args(args).stdin(Stdio::null()).output();
        ran(done.expect("the program runs"), Vec::new())
    }

    /// `verde check` with a report as rows; options may name files of the folder.
    pub fn check(&self, options: &[&str], args: &[&str]) -> Ran {
        let report = self.path("report.jsonl");
        let _ = std::fs::remove_file(&report);
        let done = self
            .command("check")
            .args(options)
            .args([
                "--format",
                "jsonl",
                "--output",
                "report.jsonl",
                "--",
                "./prog",
            ])
            .args(args)
            .output()
            .expect("verde runs");
        ran(done, rows(&report))
    }

    /// Checks one property that is written here.
    pub fn check_property(&self, property: &str, args: &[&str]) -> Ran {
        self.write("p.prop", property);
        self.check(&["-p", "p.prop"], args)
    }

    /// `verde lint` of a property for the program: its status and what it found.
    pub fn lint(&self, property: &str) -> (Option<i32>, String) {
        let mut lint = self.command("lint");
        let done = lint.args([property, "--exe", "./prog"]).output();
        let done = done.expect("verde runs");
        let found = String::from_utf8_lossy(&done.stdout).into_owned();
        (done.status.code(), found)
    }

    /// The events that a property with these events would see.
    pub fn events(&self, events: &[&str]) -> Vec<Value> {
        let (rows, errors) = self.events_and_remarks(events);
        assert!(!errors.contains("verde: "), "{errors}");
        rows
    }

    /// The same, with what is said about them.
    pub fn events_and_remarks(&self, events: &[&str]) -> (Vec<Value>, String) {
        let mut text = String::from("state init accepting {\n");
        for event in events {
            text += &format!("    transition {{ {event} success init }}\n");
        }
        text += "}\n";
        self.write("all.prop", &text);
        let trace = self.path("trace.jsonl");
        let done = self
            .command("record")
            .args(["-p", "all.prop", "-o", "trace.jsonl", "--", "./prog"])
            .output()
            .expect("verde runs");
        let errors = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(trace.exists(), "{errors}");
        (rows(&trace), errors)
    }

    /// `kind when event {args}` of each, for comparison.
    pub fn seen(&self, events: &[&str]) -> Vec<String> {
        let line = |e: &Value| {
            let word = |k: &str| e[k].as_str().unwrap_or_default().to_owned();
            let when = word("when");
            format!("{} {when} {} {}", word("kind"), word("event"), e["args"])
        };
        self.events(events).iter().map(line).collect()
    }

    /// The lines where events of a kind happened.
    pub fn lines_of(&self, events: &[&str], kind: &str) -> Vec<usize> {
        let all = self.events(events);
        let of_kind = all.iter().filter(|e| e["kind"] == kind);
        let line = |e: &Value| e["loc"].as_str()?.rsplit(':').next()?.parse().ok();
        of_kind.filter_map(line).collect()
    }

    /// The prompt, with commands; both streams as one text.
    pub fn debug(&self, options: &[&str], commands: &[&str]) -> String {
        let mut verde = self.command("debug");
        verde.arg("--batch").args(options);
        for command in commands {
            verde.args(["--ex", command]);
        }
        let done = verde.arg("./prog").output().expect("verde runs");
        let out = String::from_utf8_lossy(&done.stdout);
        format!("{out}{}", String::from_utf8_lossy(&done.stderr))
    }
}

fn ran(done: std::process::Output, rows: Vec<Value>) -> Ran {
    use std::os::unix::process::ExitStatusExt;
    let signal = done.status.signal().map(|s| 128 + s);
    Ran {
        code: done.status.code().or(signal).unwrap_or(-1),
        out: String::from_utf8_lossy(&done.stdout).into_owned(),
        err: String::from_utf8_lossy(&done.stderr).into_owned(),
        rows,
    }
}

fn rows(path: &std::path::Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .map(|l| serde_json::from_str(l).expect("a row is JSON"))
        .collect()
}

impl Ran {
    pub fn last(&self) -> &Value {
        let last = self.rows.last().expect("there is a final row");
        assert_eq!(last["type"], "final", "{last}");
        last
    }

    /// What blocks, actions and the session itself printed.
    pub fn printed(&self) -> Vec<&str> {
        let rows = self.of_type("print").into_iter();
        rows.filter_map(|r| r["text"].as_str()).collect()
    }

    /// What is to be known about the run.
    pub fn notes(&self) -> Vec<&str> {
        let rows = self.of_type("note").into_iter();
        rows.filter_map(|r| r["text"].as_str()).collect()
    }

    pub fn of_type(&self, wanted: &str) -> Vec<&Value> {
        let all = self.rows.iter();
        all.filter(|r| r["type"] == wanted).collect()
    }
}

/// All the texts, in this order.
pub fn in_order(text: &str, wanted: &[&str]) {
    let mut rest = text;
    for piece in wanted {
        match rest.split_once(piece) {
            Some((_, after)) => rest = after,
            None => panic!("{piece:?} is missing after the others in:\n{text}"),
        }
    }
}
