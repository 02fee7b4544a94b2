//! What monitors say at the prompt: violations, failures, verdicts.

use super::super::Debugger;
use super::{Irv, Output};
use crate::replay::describe;
use crate::report::{FinalProperty, PropertyError, ViolationRow};
use verde_monitor::{Failure, FailureKind, Raised, Violation};

/// `violation: queue [queue = 0x55..] reached sink at event 64, queue.c:4`.
pub(super) fn violation_line(v: &ViolationRow) -> String {
    let slice = match v.slice.is_empty() {
        true => String::new(),
        false => format!(" [{}]", v.slice),
    };
    let how = match v.how {
        Violation::Hopeless => "reached",
        Violation::Ended => "ended in",
        Violation::Leaked => "is at the end still in",
    };
    let event = v.n.map(|n| format!(" at event {n}")).unwrap_or_default();
    let loc = v.loc.as_ref().map(|l| format!(", {l}")).unwrap_or_default();
    format!(
        "violation: {}{slice} {how} {}{event}{loc}",
        v.property, v.state
    )
}

/// `queue: violated, 1 violation`.
pub(super) fn final_line(p: &FinalProperty) -> String {
    let verdict = match p.verdict {
        "true" => "holds",
        "false" => "violated",
        other => other,
    };
    let mut line = format!("{}: {verdict}", p.property);
    if let (Some(away), "inconclusive") = (p.away, verdict) {
        line += &format!(" ({away})");
    }
    for (count, after) in [(p.violations, ""), (p.suppressed, " suppressed")] {
        match count {
            0 => {}
            1 => line += &format!(", 1 violation{after}"),
            n => line += &format!(", {n} violations{after}"),
        }
    }
    line
}

/// `ZeroDivisionError` of `ZeroDivisionError: division by zero`.
fn name_of(raised: &Raised) -> &str {
    let name = raised.error.split(':').next().unwrap_or_default().trim();
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    match !name.is_empty() && name.chars().all(is_name) {
        true => name,
        false => "raised",
    }
}

impl Debugger {
    /// A block raised, or an argument was wrong: it is shown; at the prompt the program stops, in
    /// an unattended run the property is dropped.
    #[cold]
    pub(super) fn failed(&mut self, irv: &mut Irv, index: usize, failure: &Failure) {
        irv.errors += 1;
        let one = &mut irv.ones[index];
        one.tally.failed += 1;
        let Some(monitor) = &one.monitor else {
            return;
        };
        let property = monitor.property();
        let line = property.source.line(failure.span.start);
        let (kind, traceback) = match &failure.kind {
            FailureKind::Raised(raised) => (name_of(raised), raised.traceback.as_str()),
            FailureKind::MissingArgument(_) | FailureKind::WrongType { .. } => ("argument", ""),
        };
        for text in traceback.lines() {
            irv.output.remark(&mut self.out, text);
        }
        let what = describe(failure);
        let file = &property.source.name;
        let text = format!("error: {file}:{line}: property {}: {what}", property.name);
        irv.output.remark(&mut self.out, &text);
        one.error.get_or_insert_with(|| PropertyError {
            kind: kind.to_owned(),
            text: format!("{file}:{line}: {what}"),
            traceback: traceback.to_owned(),
        });
        if matches!(irv.output, Output::Prompt) {
            irv.latch.stop = true;
        } else {
            one.dropped = true;
            one.version = u64::MAX;
            let name = property.name.clone();
            let text = format!("property {name} is no longer checked; the program goes on");
            irv.output.remark(&mut self.out, &text);
        }
    }
}
