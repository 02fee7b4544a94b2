//! A directory with a program to debug, and the two debuggers.
#![allow(dead_code, reason = "each test file uses a part")]

pub mod shell;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub type Fallible = Result<(), Box<dyn std::error::Error>>;

pub struct Lab {
    dir: tempfile::TempDir,
}

impl Lab {
    /// A program in C, `prog` of `prog.c`.
    pub fn c(source: &str, options: &[&str]) -> Result<Lab, Box<dyn std::error::Error>> {
        Lab::made("gcc", "prog.c", source, options)
    }

    /// `prog` by any compiler.
    pub fn made(
        compiler: &str,
        file: &str,
        source: &str,
        options: &[&str],
    ) -> Result<Lab, Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let lab = Lab { dir };
        lab.build(compiler, file, source, "prog", options)?;
        Ok(lab)
    }

    /// Compiles another file.
    pub fn build(
        &self,
        compiler: &str,
        file: &str,
        source: &str,
        output: &str,
        options: &[&str],
    ) -> Fallible {
        std::fs::write(self.path(file), source)?;
        let mut command = Command::new(compiler);
        command.args(["-g", "-o", output, file]).args(options);
        let done = command.current_dir(self.dir.path()).status()?;
        assert!(done.success());
        Ok(())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn verde(&self, commands: &[&str], args: &[&str]) -> std::io::Result<Output> {
        let mut verde = Command::new(env!("CARGO_BIN_EXE_verde"));
        verde.args(["debug", "--batch"]);
        for command in commands {
            verde.args(["--ex", command]);
        }
        verde.arg(self.path("prog")).args(args);
        verde.stdin(Stdio::null()).output()
    }

    /// What a script of commands says.
    pub fn script(&self, script: &str, args: &[&str]) -> std::io::Result<String> {
        std::fs::write(self.path("script"), script)?;
        let mut verde = Command::new(env!("CARGO_BIN_EXE_verde"));
        verde
            .args(["debug", "--batch", "-x"])
            .arg(self.path("script"));
        verde.arg(self.path("prog")).args(args);
        let output = verde.stdin(Stdio::null()).output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    pub fn text(&self, commands: &[&str]) -> std::io::Result<String> {
        let output = self.verde(commands, &[])?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    pub fn gdb(&self, commands: &[&str]) -> std::io::Result<Option<String>> {
        if !Path::new("/usr/bin/gdb").exists() {
            return Ok(None);
        }
        let mut gdb = verde_oracle::gdb();
        gdb.args(["-q", "-nx", "-batch", "-iex", "set debuginfod enabled off"]);
        for command in ["set width 0"].iter().chain(commands) {
            gdb.args(["-ex", command]);
        }
        let output = gdb.arg(self.path("prog")).stdin(Stdio::null()).output()?;
        Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned()))
    }

    /// Both debuggers say the same lines, but for the noise around starting
    /// and for addresses of the stack, which depend on the environment.
    pub fn same_as_gdb(&self, commands: &[&str]) -> Fallible {
        let ours = essentials(&self.text(commands)?);
        if let Some(theirs) = self.gdb(commands)? {
            assert_eq!(ours, essentials(&theirs), "{commands:?}");
        }
        Ok(())
    }
}

pub fn essentials(text: &str) -> Vec<String> {
    let noise = |line: &&str| {
        line.is_empty()
            || line.starts_with("[Thread debugging")
            || line.starts_with("Using host lib")
            || line.starts_with("[Inferior 1")
            || line.starts_with("Continuing.")
            || line.starts_with("Run till exit")
            || line.starts_with("warning:")
    };
    let lines = text.lines().filter(|l| !noise(l));
    let masked = lines.map(|line| {
        let mut parts = line.split("0x7fff");
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            out.push_str("STACK");
            out.push_str(part.trim_start_matches(|c: char| c.is_ascii_hexdigit()));
        }
        out
    });
    masked.collect()
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
