//! The source around a stop, for a person at a terminal.

use super::Debugger;
use super::highlight::{paint, tokens};
use super::source::Sources;
use super::style::Style;
use verde_symbols::SourceFile;

/// Lines shown before and after the one where the program stands.
const AROUND: u32 = 2;

impl Sources {
    /// A line as it is shown in a listing, `here` where the program stands.
    fn painted(
        &mut self,
        style: Style,
        file: &SourceFile,
        line: u32,
        here: bool,
    ) -> Option<String> {
        let lines = self.lines(file)?;
        let index = (line as usize).checked_sub(1)?;
        let text = lines.get(index)?;
        let before = lines[..index].iter();
        let open = before.fold(false, |open, line| tokens(line, open).1);
        let text = paint(style, &text.replace('\t', "    "), open);
        let number = format!("{line:>5}");
        Some(match here {
            true => format!("{} {} {text}", style.strong("=>"), style.strong(&number)),
            false => format!("   {} {text}", style.faint(&number)),
        })
    }
}

impl Debugger {
    /// Text for a person: with colours, aligned, and with some source around
    /// each stop.
    pub fn use_colours(&mut self) {
        self.style = Style::coloured();
    }

    /// The source line of a stop; on a terminal with those around it.
    pub(super) fn stop_lines(&mut self, file: &SourceFile, line: u32) -> String {
        if !self.style.is_on() {
            return self.sources.shown(file, line);
        }
        let range = line.saturating_sub(AROUND).max(1)..=line.saturating_add(AROUND);
        let style = self.style;
        let lines: Vec<String> = range
            .filter_map(|n| self.sources.painted(style, file, n, n == line))
            .collect();
        match lines.is_empty() {
            true => self.sources.shown(file, line),
            false => lines.join("\n"),
        }
    }

    /// A line of `list`.
    pub(super) fn listed_line(&mut self, file: &SourceFile, line: u32) -> String {
        let here = self
            .current_line()
            .is_some_and(|(at, n)| n == line && at.path == file.path);
        let style = self.style;
        let painted = match style.is_on() {
            true => self.sources.painted(style, file, line, here),
            false => None,
        };
        painted.unwrap_or_else(|| self.sources.shown(file, line))
    }
}
