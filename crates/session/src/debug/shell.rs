//! The debugger's surroundings: `shell`, `pwd`, `cd`, and what `/proc` says.

use super::Debugger;
use super::failure::{NOT_RUN, Result, failure};
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The user's shell.
pub(super) fn shell_path() -> PathBuf {
    let shell = std::env::var_os("SHELL").filter(|s| !s.is_empty());
    shell.map_or_else(|| "/bin/sh".into(), PathBuf::from)
}

/// A path in which `~` stands for the user's own directory.
pub(super) fn with_home(text: &str) -> PathBuf {
    let home = || std::env::var_os("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from);
    match text.strip_prefix('~') {
        Some("") => home(),
        Some(rest) if rest.starts_with('/') => home().join(rest.trim_start_matches('/')),
        _ => PathBuf::from(text),
    }
}

impl Debugger {
    /// Runs a command of the shell, or the shell itself, on the terminal. Who commands from
    /// elsewhere is told what a command says, and cannot have a shell.
    pub(super) fn shell(&mut self, text: &str) -> Result<()> {
        self.out.flush()?;
        let mut command = Command::new(shell_path());
        if !text.is_empty() {
            command.args(["-c", text]);
        }
        let elsewhere = self.terminal.kept;
        if elsewhere && text.is_empty() {
            return failure("A shell needs the terminal: shell COMMAND, or shell at the prompt.");
        }
        let ran = match elsewhere {
            true => command.stdin(Stdio::null()).output().map(Some),
            false => command.status().map(|_| None),
        };
        match ran {
            Ok(Some(said)) => {
                self.out.write_all(&said.stdout)?;
                self.out.write_all(&said.stderr)?;
                Ok(())
            }
            // Its failure is its own affair, and it has said so.
            Ok(None) => Ok(()),
            Err(e) => failure(format!("The shell cannot be run: {}", super::reason(&e))),
        }
    }

    pub(super) fn pwd(&mut self, _: &str) -> Result<()> {
        let here = std::env::current_dir()?;
        self.say(&format!("Working directory {}.", here.display()))
    }

    pub(super) fn cd(&mut self, text: &str) -> Result<()> {
        let to = with_home(if text.is_empty() { "~" } else { text });
        // The program is started again from where it was found.
        if let Ok(whole) = std::path::absolute(&self.program) {
            self.program = whole;
        }
        if let Err(e) = std::env::set_current_dir(&to) {
            return failure(format!("{}: {}.", to.display(), super::reason(&e)));
        }
        self.pwd("")
    }

    /// What the kernel says of the process.
    pub(super) fn info_proc(&mut self, text: &str) -> Result<()> {
        let Some(live) = &self.live else {
            return failure(NOT_RUN);
        };
        let pid = live.process.pid();
        let dir = PathBuf::from(format!("/proc/{pid}"));
        if !text.is_empty() && "mappings".starts_with(text) {
            let maps = std::fs::read_to_string(dir.join("maps"))?;
            return self.say_mappings(&format!("process {pid}"), &maps);
        }
        if !text.is_empty() {
            return failure("info proc, or info proc mappings");
        }
        let line = std::fs::read(dir.join("cmdline"))?;
        let words: Vec<_> = line.split(|b| *b == 0).collect();
        let words = words.iter().map(|w| String::from_utf8_lossy(w));
        let line = words.collect::<Vec<_>>().join(" ");
        let link = |name: &str| match std::fs::read_link(dir.join(name)) {
            Ok(path) => path.display().to_string(),
            Err(e) => format!("<{}>", super::reason(&e)),
        };
        let (cwd, exe) = (link("cwd"), link("exe"));
        self.say(&format!(
            "process {pid}\ncmdline = '{}'\ncwd = '{cwd}'\nexe = '{exe}'",
            line.trim_end()
        ))
    }

    fn say_mappings(&mut self, title: &str, maps: &str) -> Result<()> {
        self.say(&format!("{title}\nMapped address spaces:\n"))?;
        let heads = ["Start Addr", "End Addr", "Size", "Offset"];
        let [start, end, size, offset] = heads;
        self.say(&format!(
            "{start:>20} {end:>18} {size:>10} {offset:>10}  Perms  objfile"
        ))?;
        for line in maps.lines() {
            if let Some(row) = mapping(line) {
                self.say(&row)?;
            }
        }
        Ok(())
    }
}

/// A line of `/proc/PID/maps` as a row of the table.
fn mapping(line: &str) -> Option<String> {
    let mut rest = line;
    let mut word = || {
        let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
        rest = after.trim_start();
        word
    };
    let (range, permissions, offset) = (word(), word(), word());
    let (_device, _inode) = (word(), word());
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let (start, end) = range.split_once('-')?;
    let (start, end, offset) = (number(start)?, number(end)?, number(offset)?);
    let size = end.wrapping_sub(start);
    Some(format!(
        "{:>20} {:>18} {:>10} {:>10}  {permissions:<5}  {rest}",
        format!("{start:#x}"),
        format!("{end:#x}"),
        format!("{size:#x}"),
        format!("{offset:#x}"),
    ))
}

#[cfg(test)]
mod tests {
    #[test]
    fn mappings_are_rows() {
        let line = "555555554000-555555555000 r--p 00001000 fe:01 1234       /tmp/a b";
        assert_eq!(
            super::mapping(line).as_deref(),
            Some("      0x555555554000     0x555555555000     0x1000     0x1000  r--p   /tmp/a b")
        );
        assert_eq!(super::mapping("what"), None);
    }
}
