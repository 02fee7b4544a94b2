//! Commands that run when the program stops at a breakpoint.

use super::Debugger;
use super::commands::Reply;
use super::failure::{Result, failure};
use super::lists::Owner;
use super::points::Point;
use std::collections::VecDeque;

/// Commands to be run after a stop.
#[derive(Default)]
pub(super) struct Attached {
    /// Left to run after the present stop.
    due: VecDeque<String>,
    running: bool,
    /// The stop is not to be announced.
    silent: bool,
    /// How often the program was let go.
    resumes: u64,
}

impl Attached {
    /// The program goes on: what was to be done at the last stop is void.
    pub fn forget(&mut self) {
        self.due.clear();
        self.silent = false;
        self.resumes += 1;
    }

    /// Differs when the program has gone on meanwhile and a list of a breakpoint is over by that.
    pub fn stage(&self) -> u64 {
        if self.running { self.resumes } else { 0 }
    }

    /// What is to be run after this stop, to be kept while something else runs.
    pub fn put_off(&mut self) -> (VecDeque<String>, u64) {
        (std::mem::take(&mut self.due), self.resumes)
    }

    /// Back to what was put off, unless the program has gone on meanwhile.
    pub fn take_up(&mut self, due: VecDeque<String>, before: u64) -> bool {
        let stays = self.resumes == before;
        if stays {
            self.due = due;
        }
        stays
    }

    /// The session ends after this stop.
    pub fn quit(&mut self) {
        self.due = VecDeque::from(["quit".to_owned()]);
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
    /// `commands [NUMBER]...`: the lines up to `end` belong to breakpoints.
    pub(super) fn set_commands(&mut self, args: &str) -> Result<()> {
        let points = match args {
            "" => match self.points.list.last() {
                Some(point) => vec![point.number],
                None => return failure("No breakpoints specified."),
            },
            args => self.named_points(args)?,
        };
        self.read_list(Owner::Points(points), Vec::new());
        Ok(())
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
            if done.is_ok() {
                done = self.quit_if_asked().and(done);
            }
            if !matches!(done, Ok(Reply::Next(_))) {
                break;
            }
        }
        self.attached.running = false;
        self.attached.due.clear();
        if done.is_err() {
            self.lists.give_up();
        }
        done
    }
}
