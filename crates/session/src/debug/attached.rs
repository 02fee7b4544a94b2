//! Commands that run when the program stops at a breakpoint.

use super::Debugger;
use super::commands::Reply;
use super::failure::{Result, failure};
use super::points::Point;
use std::collections::VecDeque;

/// Commands being typed and commands to be run.
#[derive(Default)]
pub(super) struct Attached {
    reading: Option<Reading>,
    /// Left to run after the present stop.
    due: VecDeque<String>,
    running: bool,
    /// The stop is not to be announced.
    silent: bool,
}

/// A list of commands on its way, up to its `end`.
struct Reading {
    points: Vec<u32>,
    lines: Vec<String>,
    /// Lists within the list.
    depth: usize,
}

impl Attached {
    /// The program goes on: what was to be done at the last stop is void.
    pub fn forget(&mut self) {
        self.due.clear();
        self.silent = false;
    }

    /// A point stops the program.
    pub fn hit(&mut self, point: &Point) {
        let mut commands = point.commands.iter();
        if commands.clone().next().is_some_and(|c| c == "silent") {
            commands.next();
            self.silent = true;
        }
        self.due.extend(commands.cloned());
    }

    /// The stop is not to be announced.
    pub fn is_silent(&self) -> bool {
        self.silent
    }

    /// A command of a list is being run: it is not the user's own.
    pub fn is_running(&self) -> bool {
        self.running
    }
}

impl Debugger {
    /// What to show before a line is read.
    pub fn prompt(&self) -> &'static str {
        match self.attached.reading {
            Some(_) => ">",
            None => "(verde) ",
        }
    }

    /// `commands [NUMBER]...`: the lines up to `end` belong to breakpoints.
    pub(super) fn set_commands(&mut self, args: &str) -> Result<()> {
        let points = match args {
            "" => match self.points.list.last() {
                Some(point) => vec![point.number],
                None => return failure("No breakpoints specified."),
            },
            args => self.named_points(args)?,
        };
        self.attached.reading = Some(Reading {
            points,
            lines: Vec::new(),
            depth: 0,
        });
        Ok(())
    }

    /// Takes a line for the list being read; `false`: none is.
    pub(super) fn take_line(&mut self, line: &str) -> Result<bool> {
        let Some(reading) = &mut self.attached.reading else {
            return Ok(false);
        };
        let word = line.split_whitespace().next().unwrap_or_default();
        if word == "commands" {
            reading.depth += 1;
        }
        if word != "end" || reading.depth > 0 {
            reading.depth -= usize::from(word == "end");
            if !word.is_empty() {
                reading.lines.push(line.to_owned());
            }
            return Ok(true);
        }
        if let Some(reading) = self.attached.reading.take() {
            for number in reading.points {
                self.points.get_mut(number)?.commands = reading.lines.clone();
            }
        }
        Ok(true)
    }

    /// The commands of a file are over: a list must be complete.
    pub(super) fn end_of_lines(&mut self) -> Result<()> {
        match self.attached.reading.take() {
            Some(_) => failure("commands: there is no \"end\"."),
            None => Ok(()),
        }
    }

    /// Runs the commands of the points at which the program has stopped. One
    /// that lets the program go on ends the list; the next stop has its own.
    pub(super) fn run_attached(&mut self) -> Result<Reply> {
        if self.attached.running {
            return Ok(Reply::Next(None));
        }
        self.attached.running = true;
        let mut done = Ok(Reply::Next(None));
        while let Some(line) = self.attached.due.pop_front() {
            done = self.execute(&line);
            if !matches!(done, Ok(Reply::Next(_))) {
                break;
            }
        }
        self.attached.running = false;
        self.attached.due.clear();
        done
    }
}
