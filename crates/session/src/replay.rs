//! Properties over a saved trace, without a process.

use crate::lines::{Line, next_line};
use crate::properties::LoadedSet;
use crate::recorder::Recorder;
use crate::replay_board::Watch;
use crate::report::*;
use crate::router::{Route, Router, arguments};
use crate::rows::{event_row, final_property, violation_row};
use crate::trace::{self, Strings};
use smallvec::SmallVec;
use std::io::BufRead;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use verde_monitor::{Event, Failure, FinalVerdict, Monitor, Options};
use verde_property::Property;
use verde_pyhost::PythonHost;

/// Which slices an event's row shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// Every live slice.
    All,
    /// Those that took a transition.
    Changed,
    /// No rows for events.
    Final,
}

/// How the replay ended.
#[derive(Debug, Default)]
pub struct Outcome {
    pub violated: bool,
    /// The last line was cut.
    pub cut: bool,
    pub interrupted: bool,
    pub lines: u64,
    /// Lines whose event no property names.
    pub skipped: u64,
    pub error: Option<ReplayError>,
}

/// Why it ended before the end of the trace.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error("line {line}: {detail}")]
    Line { line: u64, detail: String },
    #[error("line {line}: property {}: {}", .property.name, describe(.failure))]
    Failure {
        line: u64,
        property: Arc<Property>,
        failure: Box<Failure>,
    },
    #[error("property {}: the initialization failed: {}", .property.name, describe(.failure))]
    Initialization {
        property: Arc<Property>,
        failure: Box<Failure>,
    },
    #[error("cannot read the trace: {0}")]
    Read(std::io::Error),
}

/// What went wrong, in one line.
pub fn describe(f: &Failure) -> String {
    use verde_monitor::FailureKind::*;
    match &f.kind {
        Raised(r) => r.error.clone(),
        MissingArgument(p) => format!("the event has no argument `{p}`"),
        WrongType { param, declared } => {
            format!("argument `{param}` is not of its declared type `{declared}`")
        }
    }
}

pub(crate) struct One {
    pub monitor: Monitor,
    pub recorder: Recorder,
    pub violations: u64,
}

/// Monitors and what they have seen. Rows go to the sink as they come.
pub struct Replay<'s> {
    pub(crate) ones: Vec<One>,
    pub(crate) host: PythonHost,
    router: Router,
    show: Show,
    history: usize,
    sink: &'s mut dyn FnMut(Row),
    outcome: Outcome,
    events: u64,
    /// Somebody watches.
    pub(crate) watch: Option<Box<Watch>>,
}

impl<'s> Replay<'s> {
    /// `history`: how many events of a slice a violation shows.
    pub fn new(
        set: LoadedSet,
        show: Show,
        history: usize,
        sink: &'s mut dyn FnMut(Row),
    ) -> Result<Replay<'s>, ReplayError> {
        let mut replay = Replay {
            ones: Vec::new(),
            host: set.host,
            router: Router::default(),
            show,
            history,
            sink,
            outcome: Outcome::default(),
            events: 0,
            watch: None,
        };
        for p in set.properties {
            let mut recorder = Recorder {
                rows: show != Show::Final,
                ..Recorder::default()
            };
            let started = Monitor::new(
                p.clone(),
                Options::default(),
                &mut replay.host,
                &mut recorder,
            );
            replay.prints(&p, &recorder);
            let monitor = started.map_err(|failure| ReplayError::Initialization {
                property: p.clone(),
                failure,
            })?;
            replay.router.add(replay.ones.len(), &p);
            replay.ones.push(One {
                monitor,
                recorder,
                violations: 0,
            });
            replay.violations(replay.ones.len() - 1, None, None);
        }
        Ok(replay)
    }

    /// Applies every line, then reports the end. `stop` ends it early.
    pub fn run(mut self, mut reader: impl BufRead, stop: &AtomicBool) -> Outcome {
        let mut buffer = Vec::new();
        loop {
            if stop.load(Ordering::Relaxed) {
                self.outcome.interrupted = true;
                break;
            }
            let line = match next_line(&mut reader, &mut buffer) {
                Ok(line) => line,
                Err(e) => {
                    self.outcome.error = Some(ReplayError::Read(e));
                    break;
                }
            };
            let last = match line {
                Line::End => break,
                Line::Whole => false,
                Line::Last => true,
                Line::TooLong => {
                    self.outcome.lines += 1;
                    self.malformed("the line is longer than 16 MiB".into());
                    break;
                }
            };
            self.outcome.lines += 1;
            if self.outcome.lines == 1 && buffer.starts_with("\u{feff}".as_bytes()) {
                buffer.drain(..3);
            }
            if buffer.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let strings = Strings::with_capacity(0);
            match trace::parse(&buffer, &strings) {
                Ok(event) => {
                    let n = self.event(&event);
                    if let Some(watch) = &mut self.watch {
                        watch.event(n, event.time, &buffer);
                        self.tend_board();
                    }
                    if self.outcome.error.is_some() {
                        break;
                    }
                }
                Err(_) if last => {
                    self.outcome.cut = true;
                    break;
                }
                Err(e) => {
                    self.malformed(e.to_string());
                    break;
                }
            }
        }
        self.finish(stop)
    }

    fn malformed(&mut self, detail: String) {
        self.outcome.error = Some(ReplayError::Line {
            line: self.outcome.lines,
            detail,
        });
    }

    /// Applies an event; its number.
    fn event(&mut self, e: &trace::TraceEvent) -> u64 {
        let routes: SmallVec<[Route; 4]> = self.router.find(e).into();
        if routes.is_empty() {
            self.outcome.skipped += 1;
        }
        // With every slice after every event, a property shows that it saw nothing.
        if self.show == Show::All {
            self.ones.iter_mut().for_each(|one| one.recorder.clear());
        }
        let n = e.n.unwrap_or(self.outcome.lines);
        let mut relevant = false;
        for route in &routes {
            let one = &mut self.ones[route.monitor];
            let args = arguments(e, &one.monitor.property().event(route.spec).params);
            let event = Event {
                n,
                spec: route.spec,
                args: &args,
                tid: e.tid,
                time: e.time,
                loc: e.loc,
            };
            one.recorder.clear();
            relevant |= one.monitor.apply(&event, &mut self.host, &mut one.recorder);
        }
        self.events += u64::from(relevant);
        // Every property has seen the event; now the rows.
        if self.show == Show::All {
            for monitor in 0..self.ones.len() {
                self.rows(monitor, n, e);
            }
        } else {
            for route in &routes {
                self.rows(route.monitor, n, e);
            }
        }
        n
    }

    fn rows(&mut self, monitor: usize, n: u64, e: &trace::TraceEvent) {
        let one = &mut self.ones[monitor];
        if self.show == Show::Final && one.recorder.is_quiet() {
            return;
        }
        let property = one.monitor.property().clone();
        for text in one.recorder.printed.drain(..) {
            (self.sink)(Row::Print(PrintRow {
                property: property.name.clone(),
                text,
            }));
        }
        if !one.recorder.failures.is_empty() {
            let failure = one.recorder.failures.remove(0);
            self.violations(monitor, e.tid, e.loc);
            self.outcome.error.get_or_insert(ReplayError::Failure {
                line: self.outcome.lines,
                property,
                failure: Box::new(failure),
            });
            return;
        }
        if self.show != Show::Final {
            let name = e.name.to_string();
            let row = event_row(
                &one.monitor,
                &mut one.recorder,
                self.show,
                n,
                name,
                &mut self.host,
            );
            (self.sink)(Row::Event(row));
        }
        self.violations(monitor, e.tid, e.loc);
    }

    /// Rows for the violations that were just found.
    fn violations(&mut self, monitor: usize, tid: Option<u64>, loc: Option<&str>) {
        let one = &mut self.ones[monitor];
        for found in std::mem::take(&mut one.recorder.violations) {
            one.violations += 1;
            self.outcome.violated = true;
            let row = violation_row(&one.monitor, found, self.history, tid, loc);
            if let Some(watch) = &mut self.watch {
                watch.violation(&row);
            }
            (self.sink)(Row::Violation(row));
        }
    }

    fn prints(&mut self, property: &Property, recorder: &Recorder) {
        for text in &recorder.printed {
            (self.sink)(Row::Print(PrintRow {
                property: property.name.clone(),
                text: text.clone(),
            }));
        }
    }

    fn finish(mut self, stop: &AtomicBool) -> Outcome {
        if self.outcome.error.is_some() {
            self.attend(stop);
            return self.outcome;
        }
        let complete = !self.outcome.cut && !self.outcome.interrupted;
        let mut properties = Vec::new();
        for one in &mut self.ones {
            one.recorder.clear();
            let verdict = one.monitor.finish(complete, &mut one.recorder);
            for found in one.recorder.violations.drain(..) {
                one.violations += 1;
                let row = violation_row(&one.monitor, found, self.history, None, None);
                if let Some(watch) = &mut self.watch {
                    watch.violation(&row);
                }
                (self.sink)(Row::Violation(row));
            }
            self.outcome.violated |= verdict == FinalVerdict::False;
            properties.push(final_property(&one.monitor, verdict, one.violations));
        }
        (self.sink)(Row::Final(FinalRow {
            events: self.events,
            complete,
            properties,
            program: None,
        }));
        self.attend(stop);
        for one in self.ones {
            one.monitor.discard(&mut self.host);
        }
        self.outcome
    }
}
