//! Lines that end with `end`: commands of breakpoints, what `if` and `while` run, commands that
//! users define.

use super::Debugger;
use super::commands::{Reply, split};
use super::failure::{Result, failure};
use super::user_commands::Substitutes;

/// Commands that run commands, blocks within blocks: they are on the stack together.
const DEEPEST: usize = 256;

/// What is shown before a line of a list is read.
pub const LIST_PROMPT: &str = ">";

/// What a list of lines is for.
pub(super) enum Owner {
    Points(Vec<u32>),
    /// It is run when it is complete; its first line says when.
    Block,
    /// The definition of a command.
    Command(String),
    /// What `help` says of one.
    Help(String),
}

impl Owner {
    fn word(&self) -> &'static str {
        match self {
            Owner::Points(_) => "commands",
            Owner::Block => "if or while",
            Owner::Command(_) => "define",
            Owner::Help(_) => "document",
        }
    }
}

/// A list on its way, up to its `end`.
struct Reading {
    owner: Owner,
    lines: Vec<String>,
    /// Lists within the list.
    depth: usize,
}

/// Lists being typed and being run.
#[derive(Default)]
pub(super) struct Lists {
    reading: Option<Reading>,
    /// Commands, files and blocks that run inside each other.
    depth: usize,
}

impl Lists {
    /// Nobody will end what is being read.
    pub fn give_up(&mut self) {
        self.reading = None;
    }

    pub fn is_reading(&self) -> bool {
        self.reading.is_some()
    }
}

/// How the lines of a list ended.
enum Flow {
    On,
    Break,
    Again,
    Quit,
}

fn opens(word: &str) -> bool {
    matches!(word, "commands" | "if" | "while" | "define" | "document")
}

/// Whether a line ends a list: other words behind it make it another line, as in gdb.
fn is_end(line: &str) -> bool {
    line.trim() == "end"
}

/// Where the block that begins with the first line has its `else` and its `end`.
fn extent(lines: &[String]) -> (Option<usize>, usize) {
    let (mut depth, mut otherwise) = (0usize, None);
    for (i, line) in lines.iter().enumerate() {
        match split(line).0 {
            word if opens(word) => depth += 1,
            "else" if depth == 1 => otherwise = Some(i),
            _ if is_end(line) => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return (otherwise, i);
        }
    }
    (otherwise, lines.len())
}

impl Debugger {
    /// What to show before a line is read.
    pub fn prompt(&self) -> &'static str {
        match self.lists.reading {
            Some(_) => LIST_PROMPT,
            None => "(verde) ",
        }
    }

    /// The user has given up what was being typed: a line that goes on, a list.
    pub fn give_up_typed(&mut self) {
        self.continued.clear();
        self.lists.give_up();
    }

    /// The lines that follow are a list.
    pub(super) fn read_list(&mut self, owner: Owner, lines: Vec<String>) {
        self.lists.reading = Some(Reading {
            owner,
            lines,
            depth: 0,
        });
    }

    /// Takes a line for the list being read; `None`: none is.
    pub(super) fn take_line(&mut self, line: &str) -> Result<Option<Reply>> {
        let Some(reading) = &mut self.lists.reading else {
            return Ok(None);
        };
        let is_text = matches!(reading.owner, Owner::Help(_));
        let line = if is_text {
            line.trim_end()
        } else {
            line.trim()
        };
        if !is_text && opens(split(line).0) {
            reading.depth += 1;
        }
        if !is_end(line) || reading.depth > 0 {
            reading.depth -= usize::from(is_end(line));
            if is_text || !line.is_empty() {
                reading.lines.push(line.to_owned());
            }
            return Ok(Some(Reply::Next(None)));
        }
        let Some(Reading { owner, lines, .. }) = self.lists.reading.take() else {
            return Ok(None);
        };
        match owner {
            Owner::Points(points) => {
                for number in points {
                    self.points.get_mut(number)?.commands = lines.clone();
                }
            }
            Owner::Block => return self.run_list(&lines, None).map(Some),
            Owner::Command(name) => self.user.define(name, lines),
            Owner::Help(name) => self.user.document(&name, lines),
        }
        Ok(Some(Reply::Next(None)))
    }

    /// The commands of a file are over: a list must be complete.
    pub(super) fn end_of_lines(&mut self) -> Result<()> {
        match self.lists.reading.take() {
            Some(reading) => failure(format!("{}: there is no \"end\".", reading.owner.word())),
            None => Ok(()),
        }
    }

    /// Runs the lines of a complete list.
    pub(super) fn run_list(
        &mut self,
        lines: &[String],
        arguments: Option<&Substitutes>,
    ) -> Result<Reply> {
        let flow = self.run_lines(lines, arguments);
        if flow.is_err() {
            self.lists.give_up();
        }
        Ok(match flow? {
            Flow::Quit => Reply::Quit,
            _ => Reply::Next(None),
        })
    }

    /// Does something that may run further commands, which may do the same.
    pub(super) fn nested<T>(&mut self, act: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.lists.depth >= DEEPEST {
            return failure(format!(
                "Commands, blocks and files are nested more than {DEEPEST} deep."
            ));
        }
        if self.lists.depth == 0 {
            self.interrupts.begin();
        }
        self.lists.depth += 1;
        let done = act(self);
        self.lists.depth -= 1;
        done
    }

    /// After a line of several: the user's ^C ends them all.
    pub(super) fn quit_if_asked(&self) -> Result<()> {
        match self.interrupts.is_asked() {
            true => failure("Quit"),
            false => Ok(()),
        }
    }

    fn run_lines(&mut self, lines: &[String], arguments: Option<&Substitutes>) -> Result<Flow> {
        self.nested(|debugger| debugger.run_each(lines, arguments))
    }

    fn run_each(&mut self, lines: &[String], arguments: Option<&Substitutes>) -> Result<Flow> {
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            let whole = arguments.map_or_else(|| line.clone(), |a| a.put_into(line));
            let (word, condition) = split(&whole);
            let mut flow = Flow::On;
            let stage = self.attached.stage();
            let before = at;
            at += 1;
            match word {
                _ if self.lists.is_reading() => {
                    self.execute(&whole)?;
                }
                "if" | "while" => {
                    let (otherwise, length) = extent(&lines[before..]);
                    if length == 0 {
                        return failure(format!("\"{word}\" cannot come from an argument."));
                    }
                    at = before + length + 1;
                    let inner = &lines[before + 1..before + length];
                    let (then, rest) = inner.split_at(otherwise.map_or(inner.len(), |o| o - 1));
                    flow = match word {
                        "if" if self.is_true(condition)? => self.run_lines(then, arguments)?,
                        "if" => self.run_lines(rest.get(1..).unwrap_or_default(), arguments)?,
                        _ => self.run_while(condition, inner, arguments)?,
                    };
                }
                "loop_break" => flow = Flow::Break,
                "loop_continue" => flow = Flow::Again,
                _ => {
                    if self.execute(&whole)? == Reply::Quit {
                        flow = Flow::Quit;
                    }
                    self.quit_if_asked()?;
                }
            }
            // What stops next has its own list.
            if self.attached.stage() != stage {
                return Ok(Flow::Break);
            }
            if !matches!(flow, Flow::On) {
                return Ok(flow);
            }
        }
        Ok(Flow::On)
    }

    fn run_while(
        &mut self,
        condition: &str,
        inner: &[String],
        arguments: Option<&Substitutes>,
    ) -> Result<Flow> {
        while self.is_true(condition)? {
            let stage = self.attached.stage();
            match self.run_lines(inner, arguments)? {
                Flow::Quit => return Ok(Flow::Quit),
                Flow::Break => break,
                Flow::On | Flow::Again => {}
            }
            if self.attached.stage() != stage {
                break;
            }
            self.quit_if_asked()?;
        }
        Ok(Flow::On)
    }

    fn is_true(&mut self, condition: &str) -> Result<bool> {
        if condition.is_empty() {
            return failure("if/while commands require arguments.");
        }
        let value = self.evaluate(condition)?;
        Ok(value.to_bool()?)
    }
}
