//! What monitors say at the prompt: violations, failures, verdicts.

use super::super::Debugger;
use super::{Irv, Output};
use crate::recorder::CallbackFailure;
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
    /// A block raised, or an argument was wrong.
    #[cold]
    pub(super) fn failed(&mut self, irv: &mut Irv, index: usize, failure: &Failure) {
        let Some(monitor) = &irv.ones[index].monitor else {
            return;
        };
        let property = monitor.property();
        let line = property.source.line(failure.span.start);
        let (kind, traceback) = match &failure.kind {
            FailureKind::Raised(raised) => (name_of(raised), raised.traceback.as_str()),
            FailureKind::MissingArgument(_) | FailureKind::WrongType { .. } => ("argument", ""),
        };
        let what = describe(failure);
        let file = &property.source.name;
        let text = format!("{file}:{line}: property {}: {what}", property.name);
        let error = PropertyError {
            kind: kind.to_owned(),
            text: format!("{file}:{line}: {what}"),
            traceback: traceback.to_owned(),
        };
        self.went_wrong(irv, index, &text, error);
    }

    /// A function that was registered for a moment raised.
    #[cold]
    pub(super) fn callback_failed(
        &mut self,
        irv: &mut Irv,
        index: usize,
        failure: &CallbackFailure,
    ) {
        let text = format!("property {}: {failure}", irv.ones[index].property_name());
        let error = PropertyError {
            kind: name_of(&failure.raised).to_owned(),
            text: failure.to_string(),
            traceback: failure.raised.traceback.clone(),
        };
        self.went_wrong(irv, index, &text, error);
    }

    /// It is shown; at the prompt the program stops, in an unattended run the property is dropped.
    fn went_wrong(&mut self, irv: &mut Irv, index: usize, text: &str, error: PropertyError) {
        irv.errors += 1;
        let one = &mut irv.ones[index];
        one.tally.failed += 1;
        for line in error.traceback.lines() {
            irv.output.remark(&mut self.out, line);
        }
        irv.output.remark(&mut self.out, &format!("error: {text}"));
        one.error.get_or_insert(error);
        if matches!(irv.output, Output::Prompt) {
            irv.latch.stop = true;
        } else if !std::mem::replace(&mut one.dropped, true) {
            one.version = u64::MAX;
            let name = one.property_name();
            let text = format!("property {name} is no longer checked; the program goes on");
            irv.output.remark(&mut self.out, &text);
        }
    }
}
