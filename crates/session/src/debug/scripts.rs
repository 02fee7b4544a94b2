//! Commands from files.

use super::commands::Reply;
use super::failure::{Failure, Result, failure};
use super::{Debugger, reason};
use std::path::Path;

/// Files that read files.
const DEEPEST: usize = 16;

impl Debugger {
    /// Runs the commands of a file, up to the first that fails.
    pub fn source(&mut self, path: &Path) -> Result<Reply> {
        let bytes = std::fs::read(path)
            .map_err(|e| Failure(format!("{}: {}", path.display(), reason(&e))))?;
        if self.nesting >= DEEPEST {
            return failure(format!("{}: files read each other", path.display()));
        }
        self.nesting += 1;
        let text = String::from_utf8_lossy(&bytes);
        let done = self.nested(|debugger| debugger.source_text(path, &text));
        self.nesting -= 1;
        done
    }

    fn source_text(&mut self, path: &Path, text: &str) -> Result<Reply> {
        for (i, line) in text.lines().enumerate() {
            let place = |e| located(e, &format!("{}:{}", path.display(), i + 1));
            if self.execute(line).map_err(place)? == Reply::Quit {
                return Ok(Reply::Quit);
            }
            self.quit_if_asked().map_err(place)?;
        }
        let place = |e| located(e, &path.display().to_string());
        self.end_of_lines().map_err(place)?;
        Ok(Reply::Next(None))
    }
}

/// A failure with its place. Where nobody reads, there is nothing to say.
fn located(e: Failure, place: &str) -> Failure {
    match e.is_output_closed() {
        true => e,
        false => Failure(format!("{place}: {e}")),
    }
}
