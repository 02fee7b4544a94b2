//! The debugger's prompt: commands from the command line, files, a pipe or a
//! terminal.

mod history;
mod local;
mod paste;
mod reader;
mod shared;

use crate::{Exit, MonitorSetup, Web};
use local::Commands;
use reader::{Reader, Typed};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use verde_session::debug::{Failure, LIST_PROMPT, PAUSE, Reply};

/// What `verde debug` was asked for.
pub struct DebugCommand {
    /// The commands given on the command line, in order.
    pub commands: Vec<Given>,
    /// Ask nothing and end after the commands.
    pub batch: bool,
    pub monitors: MonitorSetup,
    pub web: Web,
    pub target: Target,
}

/// What to debug.
#[derive(Debug)]
pub enum Target {
    /// A program to start, with its arguments.
    Program(PathBuf, Vec<OsString>),
    /// A process that runs.
    Process(i32),
}

/// Commands of the command line.
#[derive(Clone, Debug)]
pub enum Given {
    /// `--ex`
    Line(String),
    /// `-x`
    File(PathBuf),
}

enum Flow {
    Next,
    Quit,
}

struct Prompt {
    debugger: Box<dyn Commands>,
    /// What an empty line runs.
    again: Option<String>,
    /// The line that began the list being read.
    opened: String,
    failed: bool,
}

/// Runs the debugger. A command that fails is reported and the next one runs;
/// a failure in a file ends that file, and makes a batch exit with 1.
pub fn debug(command: DebugCommand) -> Exit {
    let opened = match command.target {
        Target::Program(program, args) => {
            local::open(program, args, command.batch, &command.monitors, command.web)
        }
        Target::Process(pid) => local::attach(pid, &command.monitors, command.web),
    };
    let debugger = match opened {
        Ok(debugger) => debugger,
        Err(e) if e.is_output_closed() => return Exit::OK,
        Err(e) => {
            complain(&format!("verde: {e}"));
            return Exit::ERROR;
        }
    };
    let mut prompt = Prompt {
        debugger,
        again: None,
        opened: String::new(),
        failed: false,
    };
    let exit = prompt.all(&command.commands, command.batch);
    prompt.debugger.end();
    exit
}

/// Not `eprintln!`: a closed standard error must not panic.
fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

impl Prompt {
    fn all(&mut self, commands: &[Given], batch: bool) -> Exit {
        for given in commands {
            let flow = match given {
                Given::Line(line) => self.line(line),
                Given::File(path) => self.file(path),
            };
            if let Flow::Quit = flow {
                return self.exit(batch);
            }
        }
        if !batch {
            self.interact();
        }
        self.report_open();
        self.exit(batch)
    }

    fn is_in_list(&self) -> bool {
        self.debugger.prompt() == LIST_PROMPT
    }

    /// No line comes any more: what was to be run at the end of a list was not run.
    fn report_open(&mut self) {
        if self.is_in_list() {
            self.failed = true;
            complain(&format!(
                "\"{}\": there is no \"end\", so that the lines after it were not run.",
                self.opened
            ));
        }
    }

    fn exit(&self, batch: bool) -> Exit {
        match batch && self.failed {
            true => Exit::ERROR,
            false => Exit::OK,
        }
    }

    fn run(&mut self, line: &str) -> Result<Flow, Failure> {
        match self.debugger.execute(line)? {
            Reply::Quit => Ok(Flow::Quit),
            Reply::Next(again) => {
                self.again = again;
                Ok(Flow::Next)
            }
        }
    }

    fn line(&mut self, line: &str) -> Flow {
        let was_in_list = self.is_in_list();
        let ran = self.run(line);
        if !was_in_list && self.is_in_list() {
            self.opened = line.trim().to_owned();
        }
        if let Some(debugger) = self.debugger.watched() {
            debugger.show_on_board();
        }
        match ran {
            Ok(flow) => flow,
            Err(e) => self.report(&e),
        }
    }

    /// A command failed. Without anybody who reads, the session is over.
    fn report(&mut self, failure: &Failure) -> Flow {
        if failure.is_output_closed() {
            return Flow::Quit;
        }
        self.failed = true;
        complain(&failure.to_string());
        Flow::Next
    }

    fn file(&mut self, path: &Path) -> Flow {
        match self.debugger.source(path) {
            Ok(Reply::Quit) => Flow::Quit,
            Ok(Reply::Next(_)) => Flow::Next,
            Err(e) => self.report(&e),
        }
    }

    /// ^C at the prompt.
    fn give_up_typed(&mut self, in_list: bool) -> Flow {
        if in_list {
            complain("Quit");
        }
        match self.debugger.give_up_typed() {
            Ok(Reply::Quit) => Flow::Quit,
            Ok(Reply::Next(_)) => Flow::Next,
            Err(e) => self.report(&e),
        }
    }

    /// The next line. What is to be done while nobody types is done meanwhile.
    fn next(&mut self, reader: &mut Reader) -> Typed {
        let prompt = self.debugger.prompt();
        if !self.debugger.has_idle_work() {
            return reader.next(&prompt);
        }
        let typed = std::thread::scope(|scope| {
            let (line, lines) = mpsc::channel();
            let (asked, editor) = (&prompt, &mut *reader);
            let read = move || {
                // Whoever wants it waits for it.
                let _ = line.send(editor.next(asked));
            };
            let reading = std::thread::Builder::new().name("verde-prompt".into());
            reading.spawn_scoped(scope, read).ok()?;
            match lines.recv_timeout(PAUSE) {
                Err(RecvTimeoutError::Timeout) => {
                    self.debugger.use_idle_time();
                    lines.recv().ok()
                }
                typed => typed.ok(),
            }
        });
        // There is no room for another thread.
        typed.unwrap_or_else(|| reader.next(&prompt))
    }

    /// Reads commands until `quit` or the end of the input.
    fn interact(&mut self) {
        let mut reader = match Reader::open(self.debugger.completion()) {
            Ok(reader) => reader,
            Err(e) => return complain(&e.to_string()),
        };
        if self.debugger.watched().is_some() {
            drop(reader);
            return self.share();
        }
        loop {
            let typed = self.next(&mut reader);
            let in_list = self.is_in_list();
            let is_over = matches!(typed, Typed::End);
            let line = match typed {
                Typed::Line(line) if line.trim().is_empty() && !in_list => {
                    match self.again.clone() {
                        Some(again) => again,
                        None => continue,
                    }
                }
                Typed::Line(line) => line,
                Typed::GivenUp => match self.give_up_typed(in_list) {
                    Flow::Next => continue,
                    Flow::Quit => break,
                },
                // ^D ends the innermost thing that is open.
                Typed::End if reader.is_terminal() && in_list => "end".to_owned(),
                Typed::End => "quit".to_owned(),
            };
            let question = self.debugger.question(&line);
            if question.is_some_and(|question| !reader.agrees(&question)) {
                complain("Not confirmed.");
                continue;
            }
            if is_over && line == "quit" {
                break;
            }
            if let Flow::Quit = self.line(&line) {
                break;
            }
            reader.complete_with(self.debugger.completion());
            // The line may have opened a page.
            if self.debugger.watched().is_some() {
                drop(reader);
                return self.share();
            }
        }
    }
}
