//! `verde check` and `verde record`: a program to its end, unattended.

use crate::check_report::{ELSEWHERE, Files, Report};
use crate::diagnostics::Format;
use crate::launch::LaunchSettings;
use crate::monitors::MonitorSetup;
use crate::{Exit, Web, human, junit};
use std::cell::RefCell;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;
use verde_session::Show;
use verde_session::debug::{Debugger, Ending, Interruption, Limits, Output, RunOutcome, TraceFile};
use verde_session::report::{FinalRow, ProgramEnd};

const TIME_IS_UP: &str = "the time is up: the program was ended";
const INTERRUPTED: &str = "the run was interrupted: the program was ended";

/// What `verde check` was asked for.
pub struct CheckCommand {
    pub monitors: MonitorSetup,
    pub format: Format,
    pub show: Show,
    pub verbose: bool,
    /// Standard error without it.
    pub output: Option<PathBuf>,
    pub junit: Option<PathBuf>,
    pub sarif: Option<PathBuf>,
    pub timeout: Option<Duration>,
    pub stop_on_violation: bool,
    /// The program gets ids of its own, which a restore can keep without privileges.
    pub launch: LaunchSettings,
    pub error_exitcode: u8,
    pub web: Web,
    pub program: PathBuf,
    pub args: Vec<OsString>,
}

/// What `verde record` was asked for.
pub struct RecordCommand {
    pub monitors: MonitorSetup,
    pub output: PathBuf,
    pub timeout: Option<Duration>,
    pub program: PathBuf,
    pub args: Vec<OsString>,
}

/// Runs a program under its properties to the end.
pub fn check(mut c: CheckCommand, interruption: &Interruption) -> Exit {
    let web = std::mem::take(&mut c.web);
    let c = &c;
    if let Err(exit) = has_properties(&c.monitors) {
        return exit;
    }
    let files = Files {
        output: &c.output,
        junit: &c.junit,
        sarif: &c.sarif,
    };
    let Ok(report) = Report::create(&files, c.format) else {
        return Exit::ERROR;
    };
    let report = Rc::new(RefCell::new(report));
    match run(c, web, &report, interruption) {
        Ok(outcome) => finish(c, &outcome, &mut report.borrow_mut()),
        Err(reason) => {
            report.borrow_mut().refuse(&reason);
            Exit::ERROR
        }
    }
}

/// The error was shown.
fn run(
    c: &CheckCommand,
    web: Web,
    report: &Rc<RefCell<Report>>,
    interruption: &Interruption,
) -> Result<RunOutcome, String> {
    let rows = report.clone();
    let output = Output::Rows {
        sink: Box::new(move |row| rows.borrow_mut().row(row)),
        show: c.show,
        verbose: c.verbose,
    };
    let elsewhere = |_| ELSEWHERE.to_owned();
    let mut debugger = open(&c.program, &c.args).map_err(elsewhere)?;
    for setting in c.launch.commands() {
        debugger.execute(&setting).map_err(said)?;
    }
    c.monitors.load(&mut debugger, output).map_err(elsewhere)?;
    web.open(&mut debugger).map_err(said)?;
    let limits = Limits {
        timeout: c.timeout,
        stop_on_violation: c.stop_on_violation,
    };
    let outcome = debugger.check(limits, interruption).map_err(said)?;
    if debugger.is_watched() && !outcome.interrupted {
        complain("the run is over; the page stays until ^C");
        debugger.attend(interruption);
    }
    Ok(outcome)
}

fn said(e: impl std::fmt::Display) -> String {
    let text = e.to_string();
    complain(&text);
    text
}

/// Runs a program and writes down the events that its properties saw.
pub fn record(c: &RecordCommand, interruption: &Interruption) -> Exit {
    if let Err(exit) = has_properties(&c.monitors) {
        return exit;
    }
    let mut debugger = match open(&c.program, &c.args) {
        Ok(debugger) => debugger,
        Err(exit) => return exit,
    };
    let output = Output::Rows {
        sink: Box::new(|_| {}),
        show: Show::Final,
        verbose: false,
    };
    if let Err(exit) = c.monitors.load(&mut debugger, output) {
        return exit;
    }
    match File::create(&c.output) {
        Ok(file) => debugger.record_to(TraceFile::new(file)),
        Err(e) => return complain(&format!("cannot write {}: {e}", c.output.display())),
    }
    let limits = Limits {
        timeout: c.timeout,
        stop_on_violation: false,
    };
    let outcome = match debugger.check(limits, interruption) {
        Ok(outcome) => outcome,
        Err(e) => return complain(&e.to_string()),
    };
    if let Some(Err(e)) = debugger.end_recording(outcome.ending) {
        return complain(&format!("cannot write {}: {e}", c.output.display()));
    }
    say_missing(&outcome);
    exit_of(&outcome, false, Exit::VIOLATED)
}

/// A run without properties finds nothing.
fn has_properties(monitors: &MonitorSetup) -> Result<(), Exit> {
    match monitors.properties.is_empty() {
        true => Err(complain(
            "there is no property: name one with -p FILE, or a shipped one with -p std:NAME (as std:file)",
        )),
        false => Ok(()),
    }
}

fn open(program: &Path, args: &[OsString]) -> Result<Debugger, Exit> {
    let out = Box::new(io::stderr());
    Debugger::open(program.to_owned(), args.to_vec(), out).map_err(|e| complain(&e.to_string()))
}

pub(crate) fn complain(text: &str) -> Exit {
    let _ = writeln!(io::stderr(), "verde: {text}");
    Exit::ERROR
}

/// Why the verdicts of a run are not the whole truth.
fn shortcomings(outcome: &RunOutcome, last: &FinalRow) -> Vec<String> {
    let mut out: Vec<String> = outcome
        .unobserved
        .iter()
        .map(|reason| inconclusive(reason))
        .collect();
    match ended_by_us(outcome) {
        Some((_, text)) => out.push(text.to_owned()),
        None => out.extend(cut_short(last)),
    }
    for property in &last.properties {
        let error = property.error.as_ref();
        out.extend(error.map(|e| format!("property {}: {}", property.property, e.text)));
    }
    out.extend(errors_beside(outcome, last));
    out
}

/// Errors that no property has.
fn errors_beside(outcome: &RunOutcome, last: &FinalRow) -> Option<String> {
    let failures = last.properties.iter().map(|p| p.failures).sum();
    let left = outcome.errors.saturating_sub(failures);
    let count = human::plural(left, "error");
    (left > 0).then(|| format!("{count} on the way; standard error says which"))
}

/// Why the program was ended from outside, as a word and as a sentence.
fn ended_by_us(outcome: &RunOutcome) -> Option<(&'static str, &'static str)> {
    match (outcome.timed_out, outcome.interrupted) {
        (true, _) => Some(("timeout", TIME_IS_UP)),
        (_, true) => Some(("interrupted", INTERRUPTED)),
        _ => None,
    }
}

/// Why the program did not come to an end of its own.
fn cut_short(last: &FinalRow) -> Option<String> {
    match &last.program {
        Some(ProgramEnd::Signal(name)) => Some(junit::killed(name)),
        _ => last.cut.map(human::cut_short),
    }
}

fn inconclusive(reason: &str) -> String {
    format!("{reason}: the verdict is inconclusive")
}

/// What is missing of a run.
fn say_missing(outcome: &RunOutcome) {
    for reason in &outcome.unobserved {
        complain(&inconclusive(reason));
    }
    if let Some((_, text)) = ended_by_us(outcome) {
        complain(text);
    }
}

fn finish(c: &CheckCommand, outcome: &RunOutcome, report: &mut Report) -> Exit {
    say_missing(outcome);
    let mut outcome = outcome.clone();
    if let Some(e) = &report.error {
        complain(&format!("cannot write the report: {e}"));
        outcome.errors += 1;
    }
    let Some(last) = &report.last else {
        let text = "the run ended without a verdict";
        report.refuse(text);
        return complain(text);
    };
    let incomplete = shortcomings(&outcome, last);
    let apart = junit::Apart {
        cut: ended_by_us(&outcome),
        beside: errors_beside(&outcome, last),
    };
    outcome.errors += report.finish(&incomplete, &apart);
    exit_of(&outcome, outcome.violated, c.error_exitcode)
}

/// The first that applies, as the help says.
fn exit_of(outcome: &RunOutcome, violated: bool, error_exitcode: u8) -> Exit {
    if violated {
        return Exit(error_exitcode);
    }
    if outcome.interrupted {
        return Exit::INTERRUPTED;
    }
    if outcome.timed_out {
        return Exit::TIME_LIMIT;
    }
    if outcome.errors > 0 {
        return Exit::ERROR;
    }
    if !outcome.unobserved.is_empty() {
        return Exit::INCONCLUSIVE;
    }
    match outcome.ending {
        Ending::Exited(status) => Exit(status.to_le_bytes()[0]),
        Ending::Killed(signal) => Exit(128u8.wrapping_add(signal.to_le_bytes()[0])),
        Ending::Cut => Exit::INCONCLUSIVE,
    }
}
