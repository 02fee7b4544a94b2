//! `verde replay`: properties over a saved trace.

use crate::diagnostics::{self, Format};
use crate::exit::Exit;
use crate::paint::Paint;
use crate::{Web, human};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use verde_monitor::{Failure, FailureKind};
use verde_property::{Diagnostic, Property, Span, render};
use verde_session::replay::{Cut, ReplayError, describe};
use verde_session::report::Row;
use verde_session::{Failed, Loader, Outcome, Replay, Show};

pub struct ReplayCommand {
    pub properties: Vec<PathBuf>,
    pub functions: Vec<PathBuf>,
    pub format: Format,
    pub show: Show,
    pub history: usize,
    pub block_limit: Duration,
    pub error_exitcode: u8,
    pub web: Web,
    /// `-` is standard input.
    pub trace: PathBuf,
}

/// What ^C and the replay tell each other.
#[derive(Default)]
pub struct Interrupt {
    /// The user wants it to end.
    pub wanted: AtomicBool,
    /// The replay is about to end by itself.
    pub ending: AtomicBool,
    pub violated: AtomicBool,
}

pub fn replay(mut c: ReplayCommand, interrupt: &Interrupt) -> Exit {
    let web = std::mem::take(&mut c.web);
    let c = &c;
    let loader = Loader {
        properties: c.properties.clone(),
        functions: c.functions.clone(),
        block_limit: c.block_limit,
    };
    let paint = Paint::stderr();
    let set = match loader.load() {
        Ok(set) => set,
        Err(e) => return load_failed(&e),
    };
    if c.format == Format::Human {
        for (source, found) in &set.warnings {
            eprint!("{}", render(source, found, paint.on()));
        }
    }
    let reader: Box<dyn BufRead> = if c.trace.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        match File::open(&c.trace) {
            Ok(f) => Box::new(BufReader::with_capacity(1 << 18, f)),
            Err(e) => {
                eprintln!("verde: cannot read {}: {e}", c.trace.display());
                return Exit::ERROR;
            }
        }
    };
    // Rows of a trace that is still being written appear as they come.
    let live = std::fs::metadata(&c.trace).map_or(true, |m| !m.is_file());
    let mut out = Out::new(c.format, live);
    let mut sink = |row: Row| {
        match row {
            Row::Violation(_) => interrupt.violated.store(true, Ordering::Relaxed),
            Row::Final(_) => interrupt.ending.store(true, Ordering::Relaxed),
            _ => {}
        }
        out.row(&row);
    };
    let outcome = match Replay::new(set, c.show, c.history, &mut sink) {
        Ok(mut replay) => {
            let title = c.trace.display().to_string();
            if let Err(e) = web.open_for(|| replay.open_board(&title)) {
                eprintln!("verde: {e}");
                return Exit::ERROR;
            }
            replay.run(reader, &interrupt.wanted)
        }
        Err(e) => Outcome {
            error: Some(e),
            ..Outcome::default()
        },
    };
    if !out.finish() {
        return Exit::ERROR;
    }
    report(c, &outcome)
}

fn report(c: &ReplayCommand, outcome: &Outcome) -> Exit {
    if outcome.skipped > 0 {
        eprintln!(
            "verde: {} of {} skipped: no property names the event",
            outcome.skipped,
            human::plural(outcome.lines, "line")
        );
    }
    if let Some(cut) = outcome.cut {
        let what = match cut {
            Cut::Line => format!("line {} is cut", outcome.lines),
            Cut::Run => "the run was ended before the program was".to_owned(),
        };
        let trace = c.trace.display();
        eprintln!("verde: {trace}: {what}: the trace is not complete");
    }
    for name in &outcome.halted {
        eprintln!(
            "verde: {name}: it was stopped when the trace ended: the verdict is inconclusive"
        );
    }
    if let Some(e) = &outcome.error {
        explain(c, e);
    }
    if outcome.violated {
        Exit(c.error_exitcode)
    } else if outcome.interrupted {
        Exit::INTERRUPTED
    } else if outcome.error.is_some() {
        Exit::ERROR
    } else if outcome.cut.is_some() || !outcome.halted.is_empty() {
        Exit::INCONCLUSIVE
    } else {
        Exit::OK
    }
}

pub(crate) fn load_failed(e: &Failed) -> Exit {
    let paint = Paint::stderr();
    match e {
        Failed::Diagnostics(list) => {
            for (source, found) in list {
                eprint!("{}", diagnostics::text(source, found, Format::Human, paint));
            }
        }
        Failed::Functions { raised, .. } | Failed::Python { raised, .. } => {
            eprint!("{}", raised.traceback);
            eprintln!("verde: {e}");
        }
        Failed::Initialization { property, failure } => {
            snippet(property, failure);
            eprintln!("verde: {e}");
        }
        Failed::Read { .. } | Failed::NotShipped { .. } => eprintln!("verde: {e}"),
    }
    Exit::ERROR
}

/// The error at its place in the trace, and in the property if it has one.
fn explain(c: &ReplayCommand, e: &ReplayError) {
    match e {
        ReplayError::Failure {
            property, failure, ..
        }
        | ReplayError::Initialization { property, failure } => {
            snippet(property, failure);
            eprintln!("verde: {}: {e}", c.trace.display());
        }
        ReplayError::Callback { failure, .. } => {
            eprint!("{}", failure.raised.traceback);
            eprintln!("verde: {}: {e}", c.trace.display());
        }
        ReplayError::Line { .. } => eprintln!(
            "verde: {}: {e}\n  a trace has one JSON object per line: {{\"event\":\"f\",\"args\":{{\"x\":1}}}}",
            c.trace.display()
        ),
        ReplayError::Read(_) => eprintln!("verde: {}: {e}", c.trace.display()),
    }
}

fn snippet(property: &Property, failure: &Failure) {
    let paint = Paint::stderr();
    let hint = match &failure.kind {
        FailureKind::Raised(r) if !r.traceback.is_empty() => {
            eprint!("{}", r.traceback);
            return;
        }
        FailureKind::Raised(_) => "the transition was not taken and the environment is unchanged",
        FailureKind::MissingArgument(_) => {
            "add it to the event's `args`, or take the parameter out of the transition"
        }
        FailureKind::WrongType { .. } => "change the declared type, or the trace",
    };
    if failure.span != Span::default() {
        let d = Diagnostic::error("replay", failure.span, describe(failure)).hint(hint);
        eprint!("{}", render(&property.source, &[d], paint.on()));
    }
}

/// Rows to standard output. A reader that goes away ends the output, not the run.
struct Out {
    writer: io::BufWriter<io::Stdout>,
    format: Format,
    paint: Paint,
    /// Every row is written out at once.
    live: bool,
    error: Option<io::Error>,
}

impl Out {
    fn new(format: Format, live: bool) -> Out {
        Out {
            live,
            writer: io::BufWriter::with_capacity(1 << 16, io::stdout()),
            format,
            paint: Paint::stdout(),
            error: None,
        }
    }

    fn row(&mut self, row: &Row) {
        if self.error.is_some() {
            return;
        }
        let written = match self.format {
            Format::Human => human::write_row(row, self.paint, &mut self.writer),
            Format::Jsonl => serde_json::to_writer(&mut self.writer, row)
                .map_err(io::Error::from)
                .and_then(|()| self.writer.write_all(b"\n")),
        };
        let written = match written {
            Ok(()) if self.live => self.writer.flush(),
            other => other,
        };
        self.error = written.err();
    }

    /// False when the rows could not be written.
    fn finish(mut self) -> bool {
        let error = self.error.take().or_else(|| self.writer.flush().err());
        match error {
            Some(e) if e.kind() != io::ErrorKind::BrokenPipe => {
                eprintln!("verde: cannot write the report: {e}");
                false
            }
            _ => true,
        }
    }
}
