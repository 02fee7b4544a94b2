//! `verde check` and `verde record`: a program to its end, unattended.

use crate::diagnostics::Format;
use crate::launch::LaunchSettings;
use crate::monitors::MonitorSetup;
use crate::paint::Paint;
use crate::{Exit, Web, human, junit, sarif};
use std::cell::RefCell;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;
use verde_session::Show;
use verde_session::debug::{Debugger, Ending, Interruption, Limits, Output, RunOutcome, TraceFile};
use verde_session::report::Row;

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

/// The report of a run: rows as they come, and what the summaries need.
struct Report {
    out: Box<dyn Write>,
    format: Format,
    paint: Paint,
    error: Option<io::Error>,
    junit: Option<(File, junit::Failures)>,
    sarif: Option<(File, sarif::Results)>,
    last: Option<verde_session::report::FinalRow>,
}

impl Report {
    fn row(&mut self, row: Row) {
        if let Row::Violation(v) = &row {
            if let Some((_, failures)) = &mut self.junit {
                failures.add(v);
            }
            if let Some((_, results)) = &mut self.sarif {
                results.add(v);
            }
        }
        if let Row::Final(f) = &row {
            self.last = Some(f.clone());
        }
        if self.error.is_some() {
            return;
        }
        let written = match self.format {
            Format::Human => human::write_row(&row, self.paint, &mut self.out),
            Format::Jsonl => serde_json::to_writer(&mut self.out, &row)
                .map_err(io::Error::from)
                .and_then(|()| self.out.write_all(b"\n")),
        };
        // What a report on a terminal says is seen while the program runs.
        self.error = written.and_then(|()| self.out.flush()).err();
    }
}

impl Report {
    /// Writes the files that were asked for; the number of those that could not be.
    fn write_files(&self, junit: &str) -> u64 {
        let junit = self
            .junit
            .as_ref()
            .map(|(file, _)| (file, junit.to_owned()));
        let sarif = self.sarif.as_ref().map(|(file, r)| (file, r.text()));
        let mut failed = 0;
        for (what, written) in [("JUnit", junit), ("SARIF", sarif)] {
            if let Some((mut file, text)) = written
                && let Err(e) = file.write_all(text.as_bytes())
            {
                complain(&format!("cannot write the {what} report: {e}"));
                failed += 1;
            }
        }
        failed
    }
}

/// Runs a program under its properties to the end.
pub fn check(mut c: CheckCommand, interruption: &Interruption) -> Exit {
    let web = std::mem::take(&mut c.web);
    let c = &c;
    if let Err(exit) = has_properties(&c.monitors) {
        return exit;
    }
    // What cannot be written is better known before the program has run.
    let (output, junit, sarif) = match (create(&c.output), create(&c.junit), create(&c.sarif)) {
        (Ok(output), Ok(junit), Ok(sarif)) => (output, junit, sarif),
        (Err(exit), ..) | (_, Err(exit), _) | (.., Err(exit)) => return exit,
    };
    let (out, paint): (Box<dyn Write>, Paint) = match output {
        Some(file) => (Box::new(BufWriter::new(file)), Paint::off()),
        None => (Box::new(io::stderr()), Paint::stderr()),
    };
    let report = Rc::new(RefCell::new(Report {
        out,
        format: c.format,
        paint,
        error: None,
        junit: junit.map(|file| (file, junit::Failures::default())),
        sarif: sarif.map(|file| (file, sarif::Results::default())),
        last: None,
    }));
    match run(c, web, &report, interruption) {
        Ok(outcome) => finish(c, &outcome, &report.borrow()),
        Err(exit) => {
            // Whoever reads the files must not take nothing for success.
            report.borrow().write_files(&junit::refused());
            exit
        }
    }
}

fn run(
    c: &CheckCommand,
    web: Web,
    report: &Rc<RefCell<Report>>,
    interruption: &Interruption,
) -> Result<RunOutcome, Exit> {
    let rows = report.clone();
    let output = Output::Rows {
        sink: Box::new(move |row| rows.borrow_mut().row(row)),
        show: c.show,
        verbose: c.verbose,
    };
    let mut debugger = open(&c.program, &c.args)?;
    for setting in c.launch.commands() {
        debugger
            .execute(&setting)
            .map_err(|e| complain(&e.to_string()))?;
    }
    c.monitors.load(&mut debugger, output)?;
    web.open(&mut debugger)
        .map_err(|e| complain(&e.to_string()))?;
    let limits = Limits {
        timeout: c.timeout,
        stop_on_violation: c.stop_on_violation,
    };
    let outcome = debugger
        .check(limits, interruption)
        .map_err(|e| complain(&e.to_string()))?;
    if debugger.is_watched() && !outcome.interrupted {
        complain("the run is over; the page stays until ^C");
        debugger.attend(interruption);
    }
    Ok(outcome)
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
        Ok(file) => {
            let out = Box::new(BufWriter::with_capacity(1 << 16, file));
            debugger.record_to(TraceFile::new(out));
        }
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
    if let Some(Err(e)) = debugger.end_recording() {
        return complain(&format!("cannot write {}: {e}", c.output.display()));
    }
    say_missing(&outcome);
    exit_of(&outcome, false, Exit::VIOLATED)
}

/// The file of a report, if one is wanted.
fn create(path: &Option<PathBuf>) -> Result<Option<File>, Exit> {
    let Some(path) = path else {
        return Ok(None);
    };
    match File::create(path) {
        Ok(file) => Ok(Some(file)),
        Err(e) => Err(complain(&format!("cannot write {}: {e}", path.display()))),
    }
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

fn say_missing(outcome: &RunOutcome) {
    for name in &outcome.never_found {
        complain(&format!(
            "event {name} was never found in the program or a library: the verdict is inconclusive"
        ));
    }
}

fn finish(c: &CheckCommand, outcome: &RunOutcome, report: &Report) -> Exit {
    say_missing(outcome);
    if outcome.timed_out {
        complain("the time is up: the program was ended");
    }
    if let Some(e) = &report.error {
        return complain(&format!("cannot write the report: {e}"));
    }
    let Some(last) = &report.last else {
        return complain("the run ended without a verdict");
    };
    let mut outcome = outcome.clone();
    let junit = report.junit.as_ref().map(|(_, f)| f.text(last));
    outcome.errors += report.write_files(&junit.unwrap_or_default());
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
    if !outcome.never_found.is_empty() {
        return Exit::INCONCLUSIVE;
    }
    match outcome.ending {
        Ending::Exited(status) => Exit(status.to_le_bytes()[0]),
        Ending::Killed(signal) => Exit(128u8.wrapping_add(signal.to_le_bytes()[0])),
        Ending::Cut => Exit::INCONCLUSIVE,
    }
}
