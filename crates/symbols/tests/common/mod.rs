//! Compiles fixtures and asks gdb about them.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory for one test's files, removed at its end.
pub struct Lab {
    dir: tempfile::TempDir,
}

impl Lab {
    pub fn new() -> Lab {
        Lab {
            dir: tempfile::tempdir().expect("temporary directory"),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Compiles a fixture of `tests/programs` with the flags given; the compiler follows the suffix.
    pub fn build(&self, source: &str, flags: &str) -> PathBuf {
        let stem = source.replace('.', "_");
        let tag: String = flags.chars().filter(|c| c.is_alphanumeric()).collect();
        let output = self.path(&format!("{stem}_{tag}"));
        self.build_to(source, flags, &output);
        output
    }

    pub fn build_to(&self, source: &str, flags: &str, output: &Path) {
        let compiler = match Path::new(source).extension().and_then(|e| e.to_str()) {
            Some("c") => "gcc",
            Some("cpp") => "g++",
            _ => "rustc",
        };
        // A copy, so that file names in the debug information are short and the same everywhere.
        let copy = self.path(source);
        std::fs::copy(fixture(source), &copy).expect("fixture");
        let mut command = Command::new(compiler);
        command.current_dir(self.dir.path()).arg("-w");
        if compiler == "rustc" {
            command = Command::new(compiler);
            command.current_dir(self.dir.path()).arg("-Awarnings");
        }
        command.args(flags.split_whitespace());
        command.arg("-o").arg(output).arg(source);
        run(&mut command);
    }

    /// What gdb prints for commands on a program, without user configuration.
    pub fn gdb(&self, program: &Path, commands: &[String]) -> String {
        gdb(self.dir.path(), program, None, commands)
    }

    pub fn gdb_core(&self, program: &Path, core: &Path, commands: &[String]) -> String {
        gdb(self.dir.path(), program, Some(core), commands)
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }
}

pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/programs")
        .join(name)
}

pub fn run(command: &mut Command) -> String {
    let output = command.output().expect("command starts");
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn gdb(dir: &Path, program: &Path, core: Option<&Path>, commands: &[String]) -> String {
    let mut command = Command::new("gdb");
    command
        .current_dir(dir)
        .env("DEBUGINFOD_URLS", "")
        .env("LC_ALL", "C.UTF-8")
        .args([
            "-nx",
            "-batch",
            "-q",
            "-iex",
            "set auto-load python-scripts on",
        ])
        .args([
            "-iex",
            "set width 0",
            "-iex",
            "set height 0",
            "-iex",
            "set style enabled off",
        ]);
    for one in commands {
        command.arg("-ex").arg(one);
    }
    command.arg(program);
    if let Some(core) = core {
        command.arg(core);
    }
    // One file for both streams: errors stay between the answers.
    let mut log = tempfile::tempfile_in(dir).expect("log");
    let clone = || log.try_clone().expect("log");
    let status = command
        .stdin(std::process::Stdio::null())
        .stdout(clone())
        .stderr(clone())
        .status();
    assert!(status.is_ok(), "gdb starts");
    use std::io::{Read, Seek};
    let mut bytes = Vec::new();
    log.rewind().expect("log");
    log.read_to_end(&mut bytes).expect("log");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The line with this marker in a fixture.
pub fn line_of(source: &str, marker: &str) -> u32 {
    let text = std::fs::read_to_string(fixture(source)).expect("fixture");
    let at = text.lines().position(|l| l.contains(marker));
    at.expect("marker") as u32 + 1
}
