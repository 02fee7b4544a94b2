//! Reports for people.

use crate::paint::Paint;
use std::collections::HashMap;
use std::io::{self, Write};
use verde_monitor::Violation;
use verde_session::report::*;

/// ` [q = 1]`, or nothing for the slice of a property without any.
fn slice_text(slice: &verde_session::Object) -> String {
    if slice.is_empty() {
        String::new()
    } else {
        format!(" [{slice}]")
    }
}

pub fn write_row(row: &Row, paint: Paint, out: &mut dyn Write) -> io::Result<()> {
    match row {
        Row::Print(p) => writeln!(out, "[verde] {}", p.text),
        Row::Note(n) => writeln!(out, "note: {}", n.text),
        Row::Event(e) => event(e, paint, out),
        Row::Violation(v) => violation(v, paint, out),
        Row::Final(f) => last(f, paint, out),
    }
}

fn env_text(env: &verde_session::Object) -> String {
    if env.is_empty() {
        String::new()
    } else {
        format!("  ({env})")
    }
}

fn event(e: &EventRow, paint: Paint, out: &mut dyn Write) -> io::Result<()> {
    let mut after: HashMap<String, &SliceRow> =
        e.slices.iter().map(|s| (s.slice.to_string(), s)).collect();
    for t in &e.taken {
        let env = after
            .remove(&t.slice.to_string())
            .map(|s| env_text(&s.env))
            .unwrap_or_default();
        let born = if t.created { " new" } else { "" };
        writeln!(
            out,
            "{:>8}  {}{}{born}  {}: {} -> {}{}",
            e.n,
            e.property,
            slice_text(&t.slice),
            e.event,
            t.from,
            paint.strong(&t.to),
            paint.faint(&env)
        )?;
    }
    // With `--show all` also the slices that the event left alone.
    for s in &e.slices {
        if after.contains_key(&s.slice.to_string()) {
            let slice = if s.parent.is_none() {
                " (root)".into()
            } else {
                slice_text(&s.slice)
            };
            writeln!(
                out,
                "{:>8}  {}{slice}  {}: {}{}",
                e.n,
                e.property,
                e.event,
                s.state,
                paint.faint(&env_text(&s.env))
            )?;
        }
    }
    for x in &e.ended {
        let verdict = if x.verdict == "true" {
            paint.good("true")
        } else {
            paint.bad(x.verdict)
        };
        writeln!(
            out,
            "{:>8}  {}{}  {}: ended in {}, {verdict}",
            e.n,
            e.property,
            slice_text(&x.slice),
            e.event,
            x.state
        )?;
    }
    Ok(())
}

/// What became of a slice that broke its property, in every report.
pub fn became(v: &ViolationRow, state: &str) -> String {
    match v.how {
        Violation::Hopeless if v.n.is_none() => format!("begins in {state}"),
        Violation::Hopeless => format!("reached {state}"),
        Violation::Ended => format!("ended in {state}"),
        Violation::Leaked => format!("is still in {state} at the end"),
    }
}

fn violation(v: &ViolationRow, paint: Paint, out: &mut dyn Write) -> io::Result<()> {
    let at = v.n.map(|n| format!(" at event {n}")).unwrap_or_default();
    let what = became(v, &format!("`{}`", v.state));
    let mut place = String::new();
    if let Some(loc) = &v.loc {
        place += &format!(", {loc}");
    }
    if let Some(tid) = v.tid {
        place += &format!(", thread {tid}");
    }
    writeln!(
        out,
        "{} {}{} {what}{at}{place}",
        paint.bad("VIOLATION"),
        paint.strong(&v.property),
        slice_text(&v.slice)
    )?;
    for (i, frame) in v.backtrace.iter().flatten().enumerate() {
        let source = v.source.get(i).and_then(Option::as_deref);
        let source = source.map(|s| format!("    {s}")).unwrap_or_default();
        writeln!(out, "      #{i} {frame}{}", paint.faint(&source))?;
    }
    let width = v
        .history
        .iter()
        .map(|h| h.text().chars().count())
        .max()
        .unwrap_or(0)
        .min(60);
    for h in &v.history {
        let step = match (h.taken, h.from == h.to) {
            (false, _) => "-".to_string(),
            (true, true) => h.from.clone(),
            (true, false) => format!("{} -> {}", h.from, h.to),
        };
        let loc = h
            .loc
            .as_deref()
            .map(|l| format!("  {l}"))
            .unwrap_or_default();
        writeln!(
            out,
            "{:>8}  {:width$}  {step}{}",
            h.n,
            h.text(),
            paint.faint(&loc)
        )?;
    }
    Ok(())
}

/// Why the verdicts are those of a part only.
pub fn cut_short(cut: CutShort) -> String {
    let what = match cut {
        CutShort::Line(n) => format!("the trace is cut in line {n}"),
        CutShort::Recording => "the recorded run was ended before the program was".into(),
        CutShort::Replay => "the replay was interrupted before the end of the trace".into(),
        CutShort::Interrupted => "the run was interrupted before the program's end".into(),
        CutShort::TimeLimit => "the time limit ended the run before the program's end".into(),
        CutShort::Violation => "the run was ended at a violation, as asked for".into(),
        CutShort::Run => "the run was ended before the program was".into(),
    };
    format!("{what}: what follows is not known")
}

fn last(f: &FinalRow, paint: Paint, out: &mut dyn Write) -> io::Result<()> {
    if let Some(cut) = f.cut {
        writeln!(out, "{}", cut_short(cut))?;
    }
    for p in &f.properties {
        let verdict = match p.verdict {
            "true" => paint.good("holds"),
            "false" => paint.bad("violated"),
            other => paint.strong(other),
        };
        let states: Vec<String> = p
            .slices
            .by_state
            .0
            .iter()
            .map(|(state, n)| format!("{n} in {state}"))
            .collect();
        let mut parts = Vec::new();
        if p.violations > 0 {
            parts.push(plural(p.violations, "violation"));
        }
        if p.suppressed > 0 {
            parts.push(format!("{} suppressed", plural(p.suppressed, "violation")));
        }
        parts.push(plural(p.slices.total, "slice"));
        let mut line = parts.join(", ");
        if !states.is_empty() {
            line += &format!(" ({})", states.join(", "));
        }
        if p.slices.ended > 0 {
            line += &format!(", {} ended", p.slices.ended);
        }
        writeln!(out, "{}: {verdict}; {line}", paint.strong(&p.property))?;
        if let Some(e) = &p.error {
            let rest = "it saw no more events";
            writeln!(out, "{}: {}; {rest}", paint.bad("  error"), e.text)?;
        }
    }
    if let Some(ProgramEnd::Signal(name)) = &f.program {
        writeln!(out, "{} by {name}", paint.bad("the program was killed"))?;
    }
    writeln!(out, "{}", plural(f.events, "event"))
}

pub fn plural(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
