//! A report as JUnit XML: one test case for each property.

use crate::human::{became, plural};
use std::collections::HashMap;
use verde_session::report::{FinalProperty, FinalRow, ProgramEnd, PropertyError, ViolationRow};

/// Violations of a property that are told one by one.
const MOST: usize = 1000;

/// What the report will hold of the violations: of each property the first ones.
#[derive(Default)]
pub struct Failures {
    of: HashMap<String, Vec<String>>,
}

/// What belongs to no property.
pub struct Apart {
    /// Why the program was not let come to its end: a word and a sentence.
    pub cut: Option<(&'static str, &'static str)>,
    /// What went wrong.
    pub beside: Option<String>,
}

impl Failures {
    pub fn add(&mut self, v: &ViolationRow) {
        let own = self.of.entry(v.property.clone()).or_default();
        if own.len() < MOST {
            own.push(format!(
                "      <failure type=\"violation\" message=\"{}\">{}</failure>\n",
                escaped(&title(v)),
                escaped(&details(v))
            ));
        }
    }

    pub fn text(&self, last: &FinalRow, apart: &Apart) -> String {
        let count = |wanted: fn(&FinalProperty) -> bool| {
            let fitting = last.properties.iter().filter(|p| wanted(p));
            fitting.count()
        };
        let crash = match &last.program {
            Some(ProgramEnd::Signal(name)) => Some((name.as_str(), killed(name))),
            _ => apart.cut.map(|(kind, text)| (kind, text.to_owned())),
        };
        let more = usize::from(crash.is_some()) + usize::from(apart.beside.is_some());
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        out += &format!(
            "<testsuites>\n  <testsuite name=\"verde\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n",
            last.properties.len() + more,
            count(|p| p.verdict == "false"),
            count(|p| failed(p).is_some()) + more,
            count(is_skipped)
        );
        for p in &last.properties {
            out += &self.case(p);
        }
        let crash = crash.map(|(kind, text)| ("(program)", kind, text));
        let beside = apart.beside.clone();
        let beside = beside.map(|text| ("(run)", "error", text));
        for (case, kind, text) in crash.into_iter().chain(beside) {
            out += &format!("    <testcase classname=\"verde\" name=\"{case}\">\n");
            out += &format!(
                "      <error type=\"{}\" message=\"{}\"/>\n    </testcase>\n",
                escaped(kind),
                escaped(&text)
            );
        }
        out += "  </testsuite>\n</testsuites>\n";
        out
    }

    fn case(&self, p: &FinalProperty) -> String {
        let name = escaped(&p.property);
        let mut out = format!("    <testcase classname=\"verde\" name=\"{name}\">\n");
        let own = self.of.get(&p.property).map_or(&[][..], Vec::as_slice);
        out.extend(own.iter().map(String::as_str));
        if p.verdict == "false" && own.is_empty() {
            out += "      <failure type=\"violation\" message=\"violated\"/>\n";
        }
        if is_skipped(p) {
            out += "      <skipped message=\"inconclusive\"/>\n";
        }
        if let Some(e) = failed(p) {
            out += &format!(
                "      <error type=\"{}\" message=\"{}\">{}</error>\n",
                escaped(&e.kind),
                escaped(&e.text),
                escaped(&e.traceback)
            );
        }
        let more = match own.len() {
            MOST => p.violations.saturating_sub(MOST as u64),
            _ => 0,
        };
        for (n, what) in [(more, "not shown"), (p.suppressed, "suppressed")] {
            if n > 0 {
                let count = plural(n, "violation");
                out += &format!("      <system-out>{count} {what}</system-out>\n");
            }
        }
        out += "    </testcase>\n";
        out
    }
}

/// What went wrong with a property of which nothing else is known. A case that failed is no
/// error as well.
fn failed(p: &FinalProperty) -> Option<&PropertyError> {
    p.error.as_ref().filter(|_| p.verdict != "false")
}

fn is_skipped(p: &FinalProperty) -> bool {
    p.verdict == "inconclusive" && p.error.is_none()
}

/// The report of a program that was not run to its end.
pub fn refused(reason: &str) -> String {
    let reason = escaped(reason);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites>\n  <testsuite name=\"verde\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">\n    \
         <testcase classname=\"verde\" name=\"(program)\">\n      \
         <error type=\"refused\" message=\"{reason}\"/>\n    \
         </testcase>\n  </testsuite>\n</testsuites>\n"
    )
}

/// What ended a program that did not end by itself.
pub fn killed(signal: &str) -> String {
    format!("the program was killed by {signal}")
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
    format!("{}{slice} {}{loc}", v.property, became(v, &v.state))
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
