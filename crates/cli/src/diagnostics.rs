//! Findings in files, for people or for programs.

use crate::paint::Paint;
use serde::Serialize;
use verde_property::{Diagnostic, Source, render};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Human,
    Jsonl,
}

/// One finding as a JSON line.
#[derive(Serialize)]
struct DiagnosticRow<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    file: &'a str,
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
    severity: &'static str,
    code: &'a str,
    message: &'a str,
    hint: &'a str,
}

pub fn text(source: &Source, found: &[Diagnostic], format: Format, paint: Paint) -> String {
    match format {
        Format::Human => render(source, found, paint.on()),
        Format::Jsonl => found.iter().map(|d| row(source, d) + "\n").collect(),
    }
}

fn row(source: &Source, d: &Diagnostic) -> String {
    let (line, column) = source.place(d.span.start);
    let (end_line, end_column) = source.place(d.span.end);
    let row = DiagnosticRow {
        kind: "diagnostic",
        file: &source.name,
        line,
        column,
        end_line,
        end_column,
        severity: d.severity.word(),
        code: d.code,
        message: &d.message,
        hint: &d.hint,
    };
    serde_json::to_string(&row).unwrap_or_default()
}
