//! Lines of commands, edited on a terminal or read plainly.

use super::history::History;
use super::paste::Pastes;
use rustyline::completion::{Completer as Complete, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{CompletionType, Config, Context, Editor, Helper};
use std::io::{BufRead, IsTerminal, Write};

/// Completion for the line editor.
pub(super) struct Names(Completion);

/// Where the last word of a line begins, and what it may become.
pub(super) type Completion = Box<dyn Fn(&str) -> (usize, Vec<String>) + Send>;

impl Complete for Names {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let (start, words) = (self.0)(line.get(..at).unwrap_or(line));
        let pair = |word: String| Pair {
            display: word.trim_end().to_owned(),
            replacement: word,
        };
        Ok((start, words.into_iter().map(pair).collect()))
    }
}

impl Hinter for Names {
    type Hint = String;
}
impl Highlighter for Names {}
impl Validator for Names {}
impl Helper for Names {}

/// What comes of waiting for a line.
pub(super) enum Typed {
    Line(String),
    /// ^C: the line is given up, not the session.
    GivenUp,
    /// The end of the input.
    End,
}

/// A line editor. What was typed ahead of a line stays in it for the next.
pub(super) struct Terminal {
    editor: Editor<Names, MemHistory>,
    history: History,
    pastes: Pastes,
}

impl Terminal {
    fn next(&mut self, prompt: &str) -> Typed {
        loop {
            self.pastes.next_line();
            match self.editor.readline(prompt) {
                Ok(line) if !self.pastes.entered(&line) => {}
                Ok(line) => {
                    if self.history.add(&line) {
                        // A line that is not kept in the history is still run.
                        let _ = self.editor.add_history_entry(line.as_str());
                    }
                    return Typed::Line(line);
                }
                Err(ReadlineError::Interrupted) => {
                    self.pastes.dropped();
                    return Typed::GivenUp;
                }
                Err(_) => return Typed::End,
            }
        }
    }

    fn agrees(&mut self, question: &str) -> bool {
        let (before, last) = question.rsplit_once('\n').unwrap_or(("", question));
        if !before.is_empty() {
            // Who cannot be shown the question does not answer it either.
            let _ = writeln!(std::io::stdout(), "{before}");
        }
        loop {
            let answer = self.editor.readline(&format!("{last} (y or n) "));
            match answer.as_deref().map(str::trim) {
                Ok(word) if word.eq_ignore_ascii_case("y") || word.eq_ignore_ascii_case("yes") => {
                    return true;
                }
                Ok(word) if word.eq_ignore_ascii_case("n") || word.eq_ignore_ascii_case("no") => {
                    return false;
                }
                Ok(_) => {
                    let _ = writeln!(std::io::stdout(), "Please answer y or n.");
                }
                Err(ReadlineError::Interrupted) => return false,
                Err(_) => return true,
            }
        }
    }
}

fn is_dumb() -> bool {
    let kind = std::env::var_os("TERM").unwrap_or_default();
    kind.is_empty() || kind == "dumb"
}

pub(super) enum Reader {
    Terminal(Box<Terminal>),
    Plain,
}

impl Reader {
    /// A line editor if somebody sits in front of it.
    pub fn open(completer: Completion) -> Result<Reader, ReadlineError> {
        if !std::io::stdin().is_terminal() {
            return Ok(Reader::Plain);
        }
        let config = Config::builder().completion_type(CompletionType::List);
        let mut editor = Editor::with_history(config.build(), MemHistory::new())?;
        editor.set_helper(Some(Names(completer)));
        let pastes = Pastes::of(&mut editor);
        let (history, lines) = History::open();
        for line in lines {
            editor.add_history_entry(line)?;
        }
        Ok(Reader::Terminal(Box::new(Terminal {
            editor,
            history,
            pastes,
        })))
    }

    /// What completes from now on.
    pub fn complete_with(&mut self, completion: Completion) {
        if let Reader::Terminal(terminal) = self {
            terminal.editor.set_helper(Some(Names(completion)));
        }
    }

    /// Whether somebody types.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Reader::Terminal(_))
    }

    /// Whether the user agrees with what is asked. Only who can edit lines is asked: on a dumb
    /// terminal it is a program that types.
    pub fn agrees(&mut self, question: &str) -> bool {
        match self {
            Reader::Terminal(terminal) if !is_dumb() => terminal.agrees(question),
            _ => true,
        }
    }

    /// The next line.
    pub fn next(&mut self, prompt: &str) -> Typed {
        match self {
            Reader::Terminal(terminal) => terminal.next(prompt),
            Reader::Plain => plain_line(prompt).map_or(Typed::End, Typed::Line),
        }
    }
}

/// A line without an editor; `None` at the end of the input.
fn plain_line(prompt: &str) -> Option<String> {
    let mut out = std::io::stdout();
    out.write_all(prompt.as_bytes()).ok()?;
    out.flush().ok()?;
    let mut line = Vec::new();
    let read = std::io::stdin().lock().read_until(b'\n', &mut line).ok()?;
    (read > 0).then(|| String::from_utf8_lossy(&line).into_owned())
}
