//! A debugger at its prompt, driven from outside: both debuggers are timed in the same way,
//! from sending a command until the answer to the next one.

use crate::lab::Fallible;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

pub struct Prompt {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    asked: u32,
}

impl Prompt {
    pub fn start(command: &mut Command) -> Fallible<Prompt> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .env("NO_COLOR", "1")
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the debugger has no pipes".into());
        };
        let output = BufReader::new(output);
        Ok(Prompt {
            child,
            input,
            output,
            asked: 0,
        })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Seconds until the command is done, and what was printed.
    pub fn command(&mut self, command: &str) -> Fallible<(f64, String)> {
        self.asked += 1;
        let mark = 471_100_000 + self.asked;
        let start = Instant::now();
        write!(self.input, "{command}\nprint {mark}\n")?;
        self.input.flush()?;
        let mut text = String::new();
        let end = format!(" = {mark}\n");
        loop {
            let before = text.len();
            if self.output.read_line(&mut text)? == 0 {
                return Err(format!("the debugger ended at `{command}`: {text}").into());
            }
            if text[before..].ends_with(&end) {
                return Ok((start.elapsed().as_secs_f64(), text));
            }
        }
    }
}

impl Drop for Prompt {
    fn drop(&mut self) {
        let _ = writeln!(self.input, "kill\nquit");
        let _ = self.input.flush();
        // What still comes must not fill the pipe while it ends.
        let _ = std::io::copy(&mut self.output, &mut std::io::sink());
        let _ = self.child.wait();
    }
}
