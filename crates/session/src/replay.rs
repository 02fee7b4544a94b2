//! Properties over a saved trace, without a process.

use crate::inquiry::Switches;
use crate::lines::{Line, at_hand, next_line};
use crate::properties::LoadedSet;
use crate::recorder::{CallbackFailure, Recorder};
use crate::replay_board::Watch;
use crate::replay_code::Code;
use crate::report::*;
use crate::router::{ArgList, Route, Router, arguments};
use crate::rows::{event_row, final_property, final_word, violation_row};
use crate::trace::{self, Strings};
use smallvec::SmallVec;
use std::io::{BufRead, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use verde_monitor::{Event, Failure, FinalVerdict, Monitor};
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
    /// The trace is not complete.
    pub cut: Option<Cut>,
    pub interrupted: bool,
    pub lines: u64,
    /// Lines whose event no property names.
    pub skipped: u64,
    pub error: Option<ReplayError>,
    /// Properties whose own code stopped them before the end, with no verdict.
    pub halted: Vec<String>,
}

/// What is not complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The last line.
    Line,
    /// The run that was recorded.
    Run,
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
    #[error("line {line}: property {}: {failure}", .property.name)]
    Callback {
        line: u64,
        property: Arc<Property>,
        failure: Box<CallbackFailure>,
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
    switches: Switches,
    pub violations: u64,
    /// The last word, when the trace is read.
    pub outcome: Option<&'static str>,
}

impl One {
    /// Its monitor, and what code uses beside it.
    fn parts<'a>(&'a mut self, python: &'a mut PythonHost) -> (&'a mut Monitor, Code<'a>) {
        let code = Code {
            python,
            recorder: &mut self.recorder,
            switches: &mut self.switches,
        };
        (&mut self.monitor, code)
    }
}

/// Most lines that are read before the first of them is applied.
const TOGETHER: usize = 16;

/// What is said of it.
pub(crate) const REPLACED: &str = "the program was replaced by exec: the monitors begin anew";

/// A line that was read. A few of them lie on the stack.
#[allow(clippy::large_enum_variant)]
enum Read<'a> {
    Blank,
    /// With the line itself, for who watches.
    Event(trace::TraceEvent<'a>, SmallVec<[Call<'a>; 1]>, &'a [u8]),
    Wrong(String),
}

/// An event for one monitor.
struct Call<'a> {
    route: Route,
    args: ArgList<'a>,
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
    pub(crate) events: u64,
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
            let mut switches = Switches::default();
            let code = Code {
                python: &mut replay.host,
                recorder: &mut recorder,
                switches: &mut switches,
            };
            let started = code.start(p.clone());
            let monitor = match started {
                Ok(monitor) => monitor,
                Err(failure) => {
                    say(replay.sink, &p, &mut recorder);
                    return Err(ReplayError::Initialization {
                        property: p,
                        failure,
                    });
                }
            };
            replay.router.add(replay.ones.len(), &p);
            replay.ones.push(One {
                monitor,
                recorder,
                switches,
                violations: 0,
                outcome: None,
            });
            replay.say_printed(replay.ones.len() - 1);
            replay.violations(replay.ones.len() - 1, None);
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
            // Lines that are there already go together; nobody waits for more of them.
            let used = match reader.fill_buf() {
                Ok(available) => self.lines_at_hand(available),
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => {
                    self.outcome.error = Some(ReplayError::Read(e));
                    break;
                }
            };
            reader.consume(used);
            if self.outcome.error.is_some() {
                break;
            }
            if used > 0 {
                continue;
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
            let strings = Strings::with_capacity(0);
            let read = self.read(&buffer, self.outcome.lines == 0, &strings);
            if last && matches!(read, Read::Wrong(_)) {
                self.outcome.lines += 1;
                self.outcome.cut = Some(Cut::Line);
                break;
            }
            self.line(read);
            if self.outcome.error.is_some() {
                break;
            }
        }
        self.finish(stop)
    }

    /// Applies some of the whole lines in `available`; returns how many bytes they take.
    /// The monitors hear of all these events before the first is applied.
    fn lines_at_hand(&mut self, available: &[u8]) -> usize {
        let strings = Strings::with_capacity(0);
        let mut lines: SmallVec<[Read; TOGETHER]> = SmallVec::new();
        let mut used = 0;
        while lines.len() < TOGETHER
            && let Some(line) = at_hand(&available[used..])
        {
            used += line.len() + 1;
            let first = self.outcome.lines == 0 && lines.is_empty();
            lines.push(self.read(line, first, &strings));
        }
        for (monitor, one) in self.ones.iter().enumerate() {
            let events = lines.iter().flat_map(|l| match l {
                Read::Event(_, calls, _) => &calls[..],
                _ => &[],
            });
            let own = events.filter(|c| c.route.monitor == monitor);
            one.monitor.expect(own.map(|c| (c.route.spec, &c.args[..])));
        }
        for line in lines {
            self.line(line);
            if self.outcome.error.is_some() {
                break;
            }
        }
        used
    }

    /// Reads a line; `first`: the first of the trace.
    fn read<'a>(&self, line: &'a [u8], first: bool, strings: &'a Strings) -> Read<'a> {
        let mark = "\u{feff}".as_bytes();
        let line = match line.strip_prefix(mark) {
            Some(rest) if first => rest,
            _ => line,
        };
        if line.iter().all(u8::is_ascii_whitespace) {
            return Read::Blank;
        }
        match trace::parse(line, strings) {
            Ok(event) => {
                let routes = self.router.find(&event).iter();
                let calls = routes.map(|route| {
                    let property = self.ones[route.monitor].monitor.property();
                    Call {
                        route: *route,
                        args: arguments(&event, &property.event(route.spec).params),
                    }
                });
                let calls = calls.collect();
                Read::Event(event, calls, line)
            }
            Err(e) => Read::Wrong(e.to_string()),
        }
    }

    fn line(&mut self, read: Read) {
        self.outcome.lines += 1;
        match read {
            Read::Blank => {}
            Read::Event(event, ..)
                if event.kind == verde_property::Kind::Process && event.name == trace::EXEC =>
            {
                self.begin_again();
            }
            Read::Event(event, ..)
                if event.kind == verde_property::Kind::Process && event.name == trace::CUT =>
            {
                self.outcome.cut = Some(Cut::Run);
            }
            Read::Event(event, calls, line) => {
                let n = self.event(&event, &calls);
                if let Some(watch) = &mut self.watch {
                    watch.event(n, event.time, line);
                    self.tend_board();
                }
            }
            Read::Wrong(detail) => self.malformed(detail),
        }
    }

    /// The program was replaced by exec: every monitor begins anew, as in the live run.
    fn begin_again(&mut self) {
        if self.events > 0 {
            (self.sink)(Row::Print(PrintRow {
                property: "verde".into(),
                text: REPLACED.into(),
            }));
        }
        for index in 0..self.ones.len() {
            let one = &mut self.ones[index];
            let property = one.monitor.property().clone();
            one.recorder.clear();
            self.host.forget(property.uid);
            one.switches = Switches::default();
            let (_, code) = one.parts(&mut self.host);
            match code.start(property.clone()) {
                Ok(new) => std::mem::replace(&mut one.monitor, new).discard(&mut self.host),
                Err(failure) => {
                    self.outcome.error = Some(ReplayError::Initialization { property, failure });
                    return;
                }
            }
            self.say_printed(index);
            self.violations(index, None);
        }
    }

    fn malformed(&mut self, detail: String) {
        self.outcome.error = Some(ReplayError::Line {
            line: self.outcome.lines,
            detail,
        });
    }

    /// Applies an event; its number.
    fn event(&mut self, e: &trace::TraceEvent, calls: &[Call]) -> u64 {
        if calls.is_empty() {
            self.outcome.skipped += 1;
        }
        // With every slice after every event, a property shows that it saw nothing.
        if self.show == Show::All {
            self.ones.iter_mut().for_each(|one| one.recorder.clear());
        }
        let n = e.n.unwrap_or(self.outcome.lines);
        let mut relevant = false;
        for Call { route, args } in calls {
            let one = &mut self.ones[route.monitor];
            let event = Event {
                n,
                spec: route.spec,
                args,
                tid: e.tid,
                time: e.time,
                loc: e.loc,
            };
            one.recorder.clear();
            let (monitor, code) = one.parts(&mut self.host);
            relevant |= code.apply(monitor, &event);
        }
        self.events += u64::from(relevant);
        // Every property has seen the event; now the rows.
        let called = |index: &usize| calls.iter().any(|c| c.route.monitor == *index);
        let all = 0..self.ones.len();
        let shown: SmallVec<[usize; 4]> = match self.show {
            Show::All => all.collect(),
            _ => calls.iter().map(|c| c.route.monitor).collect(),
        };
        for monitor in shown {
            self.rows(monitor, n, e);
            if called(&monitor) {
                let (seen, code) = self.ones[monitor].parts(&mut self.host);
                code.applied(seen, n);
                self.say_printed(monitor);
            }
            self.violations(monitor, Some(e));
            let one = &mut self.ones[monitor];
            if let Some(failure) = one.recorder.callback.take() {
                self.outcome.error.get_or_insert(ReplayError::Callback {
                    line: self.outcome.lines,
                    property: one.monitor.property().clone(),
                    failure,
                });
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
        self.say_printed(monitor);
        let one = &mut self.ones[monitor];
        if !one.recorder.failures.is_empty() {
            let failure = one.recorder.failures.remove(0);
            self.outcome.error.get_or_insert(ReplayError::Failure {
                line: self.outcome.lines,
                property,
                failure: Box::new(failure),
            });
            return;
        }
        if self.show != Show::Final && !one.switches.halted {
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
    }

    /// Rows for the violations that were just found.
    fn violations(&mut self, monitor: usize, e: Option<&trace::TraceEvent>) {
        let tid = e.and_then(|e| e.tid);
        let loc = e.and_then(|e| e.loc);
        let one = &mut self.ones[monitor];
        for found in std::mem::take(&mut one.recorder.violations) {
            one.violations += 1;
            self.outcome.violated = true;
            let row = violation_row(&one.monitor, found, self.history, tid, loc);
            if let Some(watch) = &mut self.watch {
                watch.violation(&row, e.and_then(|e| e.time));
            }
            (self.sink)(Row::Violation(row));
        }
    }

    fn say_printed(&mut self, monitor: usize) {
        let one = &mut self.ones[monitor];
        say(self.sink, one.monitor.property(), &mut one.recorder);
    }

    fn finish(mut self, stop: &AtomicBool) -> Outcome {
        if self.outcome.error.is_some() {
            self.attend(stop);
            return self.outcome;
        }
        let cut = match self.outcome.cut {
            _ if self.outcome.interrupted => Some(CutShort::Replay),
            Some(Cut::Line) => Some(CutShort::Line(self.outcome.lines)),
            Some(Cut::Run) => Some(CutShort::Recording),
            None => None,
        };
        let mut properties = Vec::new();
        for one in &mut self.ones {
            one.recorder.clear();
            let known = cut.is_none() && !one.switches.halted;
            let mut verdict = one.monitor.finish(known, &mut one.recorder);
            for found in one.recorder.violations.drain(..) {
                one.violations += 1;
                let row = violation_row(&one.monitor, found, self.history, None, None);
                if let Some(watch) = &mut self.watch {
                    watch.violation(&row, None);
                }
                (self.sink)(Row::Violation(row));
            }
            // What was reported stays so, also when the program was replaced after it.
            if one.violations > 0 {
                verdict = FinalVerdict::False;
            }
            self.outcome.violated |= verdict == FinalVerdict::False;
            one.outcome = Some(final_word(verdict));
            let mut row = final_property(&one.monitor, verdict, one.violations);
            if one.switches.halted {
                row.away = Some("it was stopped");
                if verdict == FinalVerdict::Inconclusive {
                    self.outcome.halted.push(row.property.clone());
                }
            }
            properties.push(row);
        }
        (self.sink)(Row::Final(FinalRow {
            events: self.events,
            cut,
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

/// What code printed.
fn say(sink: &mut dyn FnMut(Row), property: &Property, recorder: &mut Recorder) {
    for text in recorder.printed.drain(..) {
        let property = property.name.clone();
        sink(Row::Print(PrintRow { property, text }));
    }
}
