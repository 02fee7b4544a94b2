//! Where monitors speak: to the prompt, or in rows of a report.

use super::Irv;
use crate::replay::Show;
use crate::report::{NoteRow, PrintRow, Row};
use std::io::Write;

/// Where what monitors say goes.
pub enum Output {
    /// To the user at the prompt.
    Prompt,
    /// Into a report.
    Rows {
        sink: Box<dyn FnMut(Row)>,
        show: Show,
        /// State changes are said, too.
        verbose: bool,
    },
}

impl Output {
    /// A line of a block, an action or a scenario.
    pub(super) fn print(&mut self, out: &mut dyn Write, property: &str, text: &str) {
        match self {
            Output::Prompt => {
                let _ = writeln!(out, "[verde] {text}");
            }
            Output::Rows { sink, .. } => sink(Row::Print(PrintRow {
                property: property.to_owned(),
                text: text.to_owned(),
            })),
        }
    }

    /// What is to be known about the run. A report says it, not the program's standard error.
    pub(super) fn note(&mut self, out: &mut dyn Write, text: &str) {
        match self {
            Output::Prompt => {
                let _ = writeln!(out, "[verde] note: {text}");
            }
            Output::Rows { sink, .. } => sink(Row::Note(NoteRow {
                text: text.to_owned(),
            })),
        }
    }

    /// A change of state.
    pub(super) fn state(&mut self, out: &mut dyn Write, property: &str, text: &str) {
        match self {
            Output::Rows { verbose: false, .. } => {}
            _ => self.print(out, property, text),
        }
    }

    /// Says state changes.
    pub(super) fn says_states(&self) -> bool {
        !matches!(self, Output::Rows { verbose: false, .. })
    }

    /// Something that is no row of a report: a warning, an error.
    pub(super) fn remark(&mut self, out: &mut dyn Write, text: &str) {
        for line in text.lines() {
            match self {
                Output::Prompt => {
                    let _ = writeln!(out, "[verde] {line}");
                }
                Output::Rows { .. } => {
                    let _ = writeln!(std::io::stderr(), "verde: {line}");
                }
            }
        }
    }

    pub(super) fn show(&self) -> Show {
        match self {
            Output::Prompt => Show::Final,
            Output::Rows { show, .. } => *show,
        }
    }

    pub(super) fn row(&mut self, row: Row) {
        if let Output::Rows { sink, .. } = self {
            sink(row);
        }
    }
}

impl Irv {
    /// Whether a remark is new.
    pub(super) fn once(&mut self, text: &str) -> bool {
        if self.said.iter().any(|s| s == text) {
            return false;
        }
        self.said.push(text.to_owned());
        true
    }
}
