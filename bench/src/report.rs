//! The report of a run: a summary of ratios, then a section for each experiment.

use crate::plot::Plot;
use std::fmt::Write;
use std::path::Path;

/// One experiment.
#[derive(Default)]
pub struct Section {
    /// Names its plots' files.
    pub key: &'static str,
    pub title: &'static str,
    /// What is measured and how, and what the paper says of it.
    pub about: String,
    /// A command that shows one of the figures.
    pub command: String,
    pub tables: Vec<Table>,
    pub plots: Vec<Plot>,
    pub lines: Vec<Line>,
}

/// Rows of text under a head.
pub struct Table {
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// A line of the summary.
pub struct Line {
    pub what: String,
    /// How many times the baseline's figure is ours, or another ratio.
    pub ratio: Option<f64>,
    pub ours: String,
    pub baseline: String,
    pub asked: String,
    /// None where nothing is asked.
    pub met: Option<bool>,
}

impl Table {
    pub fn new(head: &[&str]) -> Table {
        Table {
            head: head.iter().map(|h| (*h).to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    pub fn markdown(&self) -> String {
        let mut out = format!("| {} |\n|---|", self.head.join(" | "));
        out.push_str(&"---:|".repeat(self.head.len().saturating_sub(1)));
        for row in &self.rows {
            let _ = write!(out, "\n| {} |", row.join(" | "));
        }
        out.push('\n');
        out
    }
}

/// The summary: ratios first.
pub fn summary(sections: &[Section]) -> String {
    let mut table = Table::new(&["", "ratio", "Verde", "gdb with Python", "asked", ""]);
    for line in sections.iter().flat_map(|s| &s.lines) {
        let ratio = line.ratio.map(|r| format!("{r:.1}")).unwrap_or_default();
        let met = match line.met {
            Some(true) => "met",
            Some(false) => "**not met**",
            None => "",
        };
        table.row([
            line.what.as_str(),
            &ratio,
            &line.ours,
            &line.baseline,
            &line.asked,
            met,
        ]);
    }
    table.markdown()
}

/// Writes `report.md` and its plots into a folder.
pub fn write(dir: &Path, machine: &str, sections: &[Section]) -> std::io::Result<()> {
    let mut out = format!(
        "# The paper's experiments\n\nWritten by `make bench`. Median and (smallest-largest) of each figure; what is \
         compared was measured in one run, taking turns.\n\n{machine}\n## Summary\n\n{}",
        summary(sections)
    );
    for s in sections {
        let _ = write!(out, "\n## {}\n\n{}\n", s.title, s.about.trim());
        if !s.command.is_empty() {
            let _ = write!(out, "\n    {}\n", s.command);
        }
        for table in &s.tables {
            let _ = write!(out, "\n{}", table.markdown());
        }
        for (i, plot) in s.plots.iter().enumerate() {
            let file = format!("{}-{}.svg", s.key, i + 1);
            std::fs::write(dir.join(&file), plot.svg())?;
            let _ = write!(out, "\n![{}]({file})\n", plot.title);
        }
    }
    std::fs::write(dir.join("report.md"), out)
}

const BEGIN: &str = "<!-- written by make bench: begin -->\n";
const END: &str = "<!-- written by make bench: end -->";

/// Puts the summary where a page of the documentation has its place for it.
pub fn into_page(page: &Path, text: &str) -> std::io::Result<()> {
    let old = std::fs::read_to_string(page)?;
    let missing = || std::io::Error::other(format!("{}: no place for the summary", page.display()));
    let (before, rest) = old.split_once(BEGIN).ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    std::fs::write(page, format!("{before}{BEGIN}{text}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_its_rows_under_its_head() {
        let mut table = Table::new(&["what", "us"]);
        table.row(["call", "8"]);
        assert_eq!(
            table.markdown(),
            "| what | us |\n|---|---:|\n| call | 8 |\n"
        );
    }
}
