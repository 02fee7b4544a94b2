//! A report as JUnit XML: one test case for each property.

use crate::human::plural;
use verde_session::report::{FinalRow, ViolationRow};

pub fn text(last: &FinalRow, violations: &[ViolationRow]) -> String {
    let failures = last.properties.iter().filter(|p| p.verdict == "false");
    let skipped = last
        .properties
        .iter()
        .filter(|p| p.verdict == "inconclusive");
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out += &format!(
        "<testsuites>\n  <testsuite name=\"verde\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">\n",
        last.properties.len(),
        failures.count(),
        skipped.count()
    );
    for p in &last.properties {
        let name = escaped(&p.property);
        out += &format!("    <testcase classname=\"verde\" name=\"{name}\">\n");
        let own: Vec<&ViolationRow> = violations
            .iter()
            .filter(|v| v.property == p.property)
            .collect();
        for v in &own {
            out += &format!(
                "      <failure type=\"violation\" message=\"{}\">{}</failure>\n",
                escaped(&title(v)),
                escaped(&details(v))
            );
        }
        if p.verdict == "false" && own.is_empty() {
            out += "      <failure type=\"violation\" message=\"violated\"/>\n";
        }
        if p.verdict == "inconclusive" {
            out += "      <skipped message=\"inconclusive\"/>\n";
        }
        if p.suppressed > 0 {
            let count = plural(p.suppressed, "violation");
            out += &format!("      <system-out>{count} suppressed</system-out>\n");
        }
        out += "    </testcase>\n";
    }
    out += "  </testsuite>\n</testsuites>\n";
    out
}

/// What happened, in one line.
pub fn title(v: &ViolationRow) -> String {
    let slice = match v.slice.is_empty() {
        true => String::new(),
        false => format!(" [{}]", v.slice),
    };
    let loc = v
        .loc
        .as_ref()
        .map(|l| format!(" at {l}"))
        .unwrap_or_default();
    format!("{}{slice} reached {}{loc}", v.property, v.state)
}

fn details(v: &ViolationRow) -> String {
    let mut lines = Vec::new();
    for (i, frame) in v.backtrace.iter().flatten().enumerate() {
        lines.push(format!("#{i} {frame}"));
    }
    for h in &v.history {
        lines.push(format!(
            "{} {}({}): {} -> {}",
            h.n, h.event, h.args, h.from, h.to
        ));
    }
    lines.join("\n")
}

/// Text that XML 1.0 can hold: control characters have no place in it.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '&' => out += "&amp;",
            '"' => out += "&quot;",
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
