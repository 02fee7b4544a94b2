//! `verde lint`: everything that can be said about a file without a program.

use crate::diagnostics::{self, Format};
use crate::exit::Exit;
use crate::paint::Paint;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use verde_property::ir::Types;
use verde_property::{
    Block, Diagnostic, Functions, Property, Severity, Source, Tier, load_property, load_scenario,
};
use verde_session::debug::{lint_against, unknown_signals};

pub struct LintCommand {
    pub files: Vec<PathBuf>,
    pub functions: Vec<PathBuf>,
    pub format: Format,
    /// A program that the properties are meant for.
    pub exe: Option<PathBuf>,
    /// Also say how each block runs, and why.
    pub tiers: bool,
}

/// Findings go to `out`; files that cannot be read to standard error.
pub fn lint(c: &LintCommand, out: &mut dyn Write) -> std::io::Result<Exit> {
    let paint = Paint::stdout();
    let mut functions = Functions::default();
    let mut errors = 0;
    let mut warnings = 0;
    let mut count = |found: &[Diagnostic]| {
        let bad = found
            .iter()
            .filter(|d| d.severity == Severity::Error)
            .count();
        errors += bad;
        warnings += found.len() - bad;
    };
    for path in &c.functions {
        let Some(bytes) = read(path) else {
            return Ok(Exit::ERROR);
        };
        let source = Source::new(path.display().to_string(), String::from_utf8_lossy(&bytes));
        if let Err(d) = functions.add(&source) {
            let found = [*d];
            count(&found);
            write!(
                out,
                "{}",
                diagnostics::text(&source, &found, c.format, paint)
            )?;
        }
    }
    for path in &c.files {
        let text = match verde_session::property_text(path) {
            Ok(text) => text,
            Err(e) => {
                eprintln!("verde: {e}");
                return Ok(Exit::ERROR);
            }
        };
        let (name, bytes) = (text.name, text.bytes);
        // What a shipped one brings for its blocks is known to be right.
        let mut functions = functions.clone();
        if let Some(source) = &text.functions {
            let _ = functions.add(source);
        }
        let (source, mut found, property) = if path.extension().is_some_and(|e| e == "sc") {
            let mut l = load_scenario(&name, &bytes, &functions);
            l.found.extend(l.model.iter().flat_map(unknown_signals));
            (l.source, l.found, None)
        } else {
            let l = load_property(&name, &bytes, &functions);
            (l.source, l.found, l.model)
        };
        if let (Some(exe), Some(p)) = (&c.exe, &property) {
            match lint_against(exe, p) {
                Ok(more) => {
                    // The program makes an error of it.
                    let is_said = |d: &Diagnostic| {
                        d.code == "ret-before" && more.iter().any(|m| m.span == d.span)
                    };
                    found.retain(|d| !is_said(d));
                    found.extend(more);
                }
                Err(e) => {
                    eprintln!("verde: {e}");
                    return Ok(Exit::ERROR);
                }
            }
        }
        count(&found);
        write!(
            out,
            "{}",
            diagnostics::text(&source, &found, c.format, paint)
        )?;
        if let Some(p) = property.filter(|_| c.tiers) {
            tiers(&p, c.format, paint, out)?;
        }
    }
    if c.format == Format::Human {
        let s = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let verdict = format!("{}, {}", s(errors, "error"), s(warnings, "warning"));
        let verdict = match (errors, warnings) {
            (0, 0) => paint.good("no findings"),
            (0, _) => verdict,
            _ => paint.bad(&verdict),
        };
        writeln!(out, "{verdict}")?;
    }
    Ok(if errors > 0 { Exit::ERROR } else { Exit::OK })
}

fn read(path: &Path) -> Option<Vec<u8>> {
    verde_session::read_source(path)
        .inspect_err(|e| eprintln!("verde: cannot read {}: {e}", path.display()))
        .ok()
}

#[derive(Serialize)]
struct TierRow<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    file: &'a str,
    line: usize,
    role: &'static str,
    tier: &'static str,
    reason: &'a str,
}

fn tier(b: &Block) -> (&'static str, &str) {
    match &b.tier {
        Tier::Empty => ("empty", ""),
        Tier::Typed(_) => ("typed", ""),
        Tier::Python(r) => ("python", &r.text),
    }
}

fn tiers(p: &Property, format: Format, paint: Paint, out: &mut dyn Write) -> std::io::Result<()> {
    for b in &p.blocks {
        let line = p.source.line(b.span.start);
        let (name, reason) = tier(b);
        if format == Format::Jsonl {
            let row = TierRow {
                kind: "block",
                file: &p.source.name,
                line,
                role: b.role.word(),
                tier: name,
                reason,
            };
            writeln!(out, "{}", serde_json::to_string(&row).unwrap_or_default())?;
            continue;
        }
        let place = match &b.tier {
            Tier::Python(r) => p.source.line(r.span.start),
            _ => line,
        };
        let why = if reason.is_empty() {
            String::new()
        } else {
            format!(": {reason}")
        };
        writeln!(
            out,
            "{}:{place}: {} runs {}{why}",
            p.source.name,
            b.role.word(),
            paint.strong(name)
        )?;
    }
    if format == Format::Human {
        for (name, ty) in p.env.iter().zip(&p.env_types) {
            let ty = if *ty == Types::EMPTY {
                "unknown".into()
            } else {
                ty.to_string()
            };
            writeln!(out, "{}: {name} : {ty}", p.source.name)?;
        }
    }
    Ok(())
}
