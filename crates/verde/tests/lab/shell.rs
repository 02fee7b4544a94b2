//! A shell with job control, on a terminal.

use super::{Fallible, Lab};
use std::io::{BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

/// What is read before somebody asks for it. Who writes more waits: a long answer cannot be over
/// before the one who reads it has had the time to interrupt it.
const READ_AHEAD: usize = 4096;

/// A shell on a terminal of its own.
pub struct Shell {
    pub script: Child,
    input: ChildStdin,
    output: Receiver<u8>,
    seen: String,
}

impl Shell {
    pub fn start(lab: &Lab) -> Result<Shell, Box<dyn std::error::Error>> {
        Shell::with_terminal(lab, "dumb")
    }

    pub fn with_terminal(lab: &Lab, kind: &str) -> Result<Shell, Box<dyn std::error::Error>> {
        let mut command = Command::new("script");
        command.args(["-q", "-f", "-c", "bash --rcfile shellrc -i", "/dev/null"]);
        std::fs::write(lab.path("shellrc"), "PS1='shell> '\n")?;
        command.env("TERM", kind).env_remove("NO_COLOR");
        command.env("XDG_STATE_HOME", lab.path("state"));
        command.env("VERDE", env!("CARGO_BIN_EXE_verde"));
        command.current_dir(lab.path("."));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut script = command.spawn()?;
        let input = script.stdin.take().ok_or("no input")?;
        let stdout = script.stdout.take().ok_or("no output")?;
        let (bytes, output) = sync_channel(READ_AHEAD);
        std::thread::spawn(move || {
            for byte in BufReader::new(stdout).bytes().map_while(Result::ok) {
                if bytes.send(byte).is_err() {
                    return;
                }
            }
        });
        let seen = String::new();
        let mut shell = Shell {
            script,
            input,
            output,
            seen,
        };
        shell.expect("shell> ")?;
        Ok(shell)
    }

    pub fn send(&mut self, text: &str) -> Fallible {
        self.input.write_all(text.as_bytes())?;
        Ok(self.input.flush()?)
    }

    /// Waits for a text; what came before it.
    pub fn expect(&mut self, wanted: &str) -> Result<String, Box<dyn std::error::Error>> {
        match self.wait_for(wanted, Duration::from_secs(30)) {
            Some(before) => Ok(before),
            None => panic!("{wanted:?} is missing: {}", self.seen),
        }
    }

    /// The same for so long; `None`: it has not come.
    pub fn wait_for(&mut self, wanted: &str, limit: Duration) -> Option<String> {
        let end = Instant::now() + limit;
        if let Some(at) = self.seen.find(wanted) {
            let after = self.seen.split_off(at + wanted.len());
            return Some(std::mem::replace(&mut self.seen, after));
        }
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(byte) => self.seen.push(byte.into()),
                Err(_) => return None,
            }
            // It can only end here: looking at everything again for each byte takes longer than
            // a long answer may.
            if self.seen.ends_with(wanted) {
                return Some(std::mem::take(&mut self.seen));
            }
            // A program that always has something to say does not put off the end.
            if left.is_zero() {
                return None;
            }
        }
    }

    pub fn command(&mut self, line: &str, answer: &str) -> Fallible {
        self.send(&format!("{line}\n"))?;
        self.expect(answer)?;
        self.expect("(verde) ")?;
        Ok(())
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // It may be gone, which is as well.
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}
