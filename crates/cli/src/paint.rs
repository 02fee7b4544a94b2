//! Colours, only where a person sees them.

use anstyle::{AnsiColor, Style};
use std::io::IsTerminal;

#[derive(Clone, Copy, Debug)]
pub struct Paint(bool);

impl Paint {
    /// Plain text, for files.
    pub fn off() -> Paint {
        Paint(false)
    }

    /// For standard output; `NO_COLOR` is obeyed.
    pub fn stdout() -> Paint {
        Paint(std::io::stdout().is_terminal() && wanted())
    }

    pub fn stderr() -> Paint {
        Paint(std::io::stderr().is_terminal() && wanted())
    }

    pub fn on(self) -> bool {
        self.0
    }

    fn with(self, style: Style, text: &str) -> String {
        if self.0 {
            format!("{style}{text}{style:#}")
        } else {
            text.to_string()
        }
    }

    pub fn good(self, text: &str) -> String {
        self.with(AnsiColor::Green.on_default(), text)
    }

    pub fn bad(self, text: &str) -> String {
        self.with(AnsiColor::Red.on_default().bold(), text)
    }

    pub fn strong(self, text: &str) -> String {
        self.with(Style::new().bold(), text)
    }

    pub fn faint(self, text: &str) -> String {
        self.with(Style::new().dimmed(), text)
    }
}

fn wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}
