//! What the beginning of a word may become.

use super::Debugger;
use super::info::topics;
use std::sync::Arc;
use verde_symbols::Module;

const MOST: usize = 200;

/// Completes commands and names of the program.
pub struct Completer {
    program: Arc<Module>,
}

impl Debugger {
    /// Completion for this program.
    pub fn completer(&self) -> Completer {
        Completer {
            program: self.images.program().clone(),
        }
    }
}

impl Completer {
    /// Where the last word of a line begins, and what it may become.
    pub fn complete(&self, line: &str) -> (usize, Vec<String>) {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let start = line
            .char_indices()
            .rev()
            .take_while(|(_, c)| is_word(*c))
            .last()
            .map_or(line.len(), |(at, _)| at);
        let word = &line[start..];
        if line[..start].trim().is_empty() {
            let names = Debugger::command_names().into_iter();
            let fitting = names.filter(|n| n.starts_with(word));
            return (start, fitting.map(str::to_owned).collect());
        }
        if matches!(line[..start].trim(), "info" | "i" | "inf") {
            let fitting = topics().filter(|t| t.starts_with(word));
            return (start, fitting.map(str::to_owned).collect());
        }
        if let Some(rest) = line.strip_prefix("verde ")
            && !rest.contains(' ')
        {
            let from = line.len() - rest.len();
            let fitting = Debugger::verde_names().filter(|n| n.starts_with(rest));
            return (from, fitting.map(str::to_owned).collect());
        }
        if word.is_empty() {
            return (start, Vec::new());
        }
        (start, self.program.names_starting_with(word, MOST))
    }
}
