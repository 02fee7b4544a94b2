//! Lines of commands, edited on a terminal or read plainly.

use rustyline::error::ReadlineError;
use rustyline::history::MemHistory;
use rustyline::{Config, Editor};
use std::io::{BufRead, IsTerminal, Write};

const PROMPT: &str = "(verde) ";

pub(super) enum Reader {
    Terminal(Box<Editor<(), MemHistory>>),
    Plain,
}

impl Reader {
    /// A line editor if somebody sits in front of it.
    pub fn open() -> Result<Reader, ReadlineError> {
        if !std::io::stdin().is_terminal() {
            return Ok(Reader::Plain);
        }
        let editor = Editor::with_history(Config::default(), MemHistory::new())?;
        Ok(Reader::Terminal(Box::new(editor)))
    }

    /// The next line; `None` at the end of the input.
    pub fn next(&mut self) -> Option<String> {
        match self {
            Reader::Terminal(editor) => loop {
                match editor.readline(PROMPT) {
                    Ok(line) => {
                        // A line that is not kept in the history is still run.
                        let _ = editor.add_history_entry(line.as_str());
                        return Some(line);
                    }
                    // ^C gives up the line, not the session.
                    Err(ReadlineError::Interrupted) => {}
                    Err(_) => return None,
                }
            },
            Reader::Plain => {
                let mut out = std::io::stdout();
                out.write_all(PROMPT.as_bytes()).ok()?;
                out.flush().ok()?;
                let mut line = Vec::new();
                let read = std::io::stdin().lock().read_until(b'\n', &mut line).ok()?;
                (read > 0).then(|| String::from_utf8_lossy(&line).into_owned())
            }
        }
    }
}
