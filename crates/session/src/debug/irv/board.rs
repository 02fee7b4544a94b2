//! The session on a board: frames for watchers, and answers to what they ask.

use super::super::Debugger;
use super::super::failure::Failure;
use super::super::idle::PAUSE;
use super::super::live::Seen;
use super::super::stops::{Reason, description};
use super::feed::{Moment, Stands};
use super::then::Then;
use super::values::Owned;
use super::{Interruption, Irv, One, nanoseconds_since};
use crate::board::{
    self, Answer, Asked, Board, CheckpointView, EventView, Frame, FrameView, Keeper, Marks,
    ProgramState, ProgramView, PropertyView, Request, SliceId, SourceView, ThreadView, TrackView,
};
use crate::json::Json;
use crate::recorder::Recorder;
use crate::report::ViolationRow;
use crate::rows::final_word;
use crate::trace::key_of;
use smallvec::SmallVec;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::Write;
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use verde_engine::{End, Tid};
use verde_monitor::Monitor;

/// Events kept between two frames; of a faster stream the watchers see the last ones.
const BETWEEN_FRAMES: usize = 1024;
/// Until somebody wants something.
const A_LONG_TIME: Duration = Duration::from_secs(3600);
/// Lines of source before and after a stop.
const AROUND: u32 = 30;
/// Threads that have a name on the page.
const TRACKS: usize = 1024;
/// Threads whose place is looked up at a stop.
const THREADS: usize = 64;
/// Events of a slice in its details.
const HISTORY: usize = 200;

/// An event before anybody wants to see it.
struct Raw {
    serial: u64,
    n: u64,
    time: u64,
    tid: Tid,
    source: usize,
    values: SmallVec<[Owned; 3]>,
    loc: Option<Arc<str>>,
}

/// A session that is watched.
pub(in super::super) struct Watched {
    keeper: Keeper,
    raw: VecDeque<Raw>,
    serial: u64,
    /// When the last event was.
    time: u64,
    tracks: Arc<Vec<TrackView>>,
    /// When the monitors started whose events are shown.
    started: Option<Instant>,
    /// Of the properties that were last pinned.
    uids: Vec<u64>,
    program: Arc<ProgramView>,
    /// The last stop was a watcher's wish.
    interrupted: bool,
    copy: Copy,
}

/// What the owner of a watched session does next.
pub enum Turn {
    /// A line for the prompt.
    Line(Order),
    /// Nobody needs the session any more.
    Quit,
}

/// A command line of one of the session's users.
pub struct Order {
    pub line: String,
    /// Its user wants to see what it says.
    pub shared: bool,
    reply: mpsc::Sender<Answer>,
}

impl Order {
    /// The line was run, or it failed.
    pub fn done(self, text: String, prompt: &str, over: bool) {
        // Whoever asked may be gone.
        let _ = self.reply.send(Answer::Done {
            text,
            prompt: prompt.to_owned(),
            over,
        });
    }

    pub fn failed(self, error: String) {
        let _ = self.reply.send(Answer::Failed { error });
    }
}

/// Opens a page for a board: the address, or why not.
pub type PageOpener = Box<dyn FnMut(Board) -> Result<String, String>>;

/// The live page of a session.
#[derive(Default)]
pub(in super::super) struct Page {
    opener: Option<PageOpener>,
    address: Option<String>,
}

/// What is said to a watcher as well, while one listens.
type Copy = Rc<RefCell<Option<Vec<u8>>>>;

/// The terminal, and whoever listens.
struct Copied {
    out: Box<dyn Write>,
    copy: Copy,
}

impl Write for Copied {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.out.write(bytes)?;
        if let Some(copy) = &mut *self.copy.borrow_mut() {
            copy.extend_from_slice(&bytes[..written]);
        }
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

impl Debugger {
    /// How a page is opened when somebody wants one.
    pub fn set_page_opener(&mut self, opener: PageOpener) {
        self.page.opener = Some(opener);
    }

    /// Opens the live page, once; its address.
    pub fn open_page(&mut self) -> Result<String, Failure> {
        if let Some(address) = &self.page.address {
            return Ok(address.clone());
        }
        let Some(mut opener) = self.page.opener.take() else {
            return Err(Failure("This session has no page.".into()));
        };
        let opened = opener(self.open_board());
        self.page.opener = Some(opener);
        let address = opened.map_err(Failure)?;
        self.page.address = Some(address.clone());
        Ok(address)
    }

    /// Others may watch and command this session.
    pub fn is_watched(&self) -> bool {
        self.watched.is_some()
    }

    /// Lets others watch and command this session.
    pub fn open_board(&mut self) -> Board {
        if let Some(watched) = &self.watched {
            return watched.keeper.board();
        }
        let command: Vec<String> = std::iter::once(self.program.display().to_string())
            .chain(Some(self.args.shown()).filter(|a| !a.is_empty()))
            .collect();
        let copy = Copy::default();
        let out = std::mem::replace(&mut self.out, Box::new(std::io::sink()));
        self.out = Box::new(Copied {
            out,
            copy: copy.clone(),
        });
        let keeper = Keeper::new();
        let board = keeper.board();
        self.watched = Some(Box::new(Watched {
            keeper,
            raw: VecDeque::new(),
            serial: 0,
            time: 0,
            tracks: Arc::default(),
            started: None,
            uids: Vec::new(),
            program: Arc::new(ProgramView {
                command: command.join(" "),
                controllable: true,
                startable: true,
                ..ProgramView::default()
            }),
            interrupted: false,
            copy,
        }));
        self.show_on_board();
        board
    }

    /// An event was applied.
    #[inline]
    pub(super) fn board_event(&mut self, irv: &Irv, source: usize, at: &Moment) {
        let Some(watched) = &mut self.watched else {
            return;
        };
        if watched.raw.len() == BETWEEN_FRAMES {
            watched.raw.pop_front();
        }
        watched.serial += 1;
        watched.time = at.time;
        watched.raw.push_back(Raw {
            serial: watched.serial,
            n: irv.n,
            time: at.time,
            tid: at.tid,
            source,
            values: irv.values.iter().cloned().collect(),
            loc: at.loc.clone(),
        });
        watched.keeper.touch();
    }

    pub(super) fn board_violation(&mut self, irv: &Irv, row: &ViolationRow, time: Option<u64>) {
        if let Some(watched) = &mut self.watched {
            watched.follow(irv);
            watched.keeper.violation(row.clone(), time);
        }
    }

    /// Between two events: a frame if one is wanted, answers if somebody asks.
    #[inline]
    pub(in super::super) fn tend_board(&mut self) {
        if self.watched.as_ref().is_some_and(|w| w.keeper.is_due()) {
            self.tend_now();
        }
    }

    #[cold]
    fn tend_now(&mut self) {
        while let Some(asked) = self.watched.as_ref().and_then(|w| w.keeper.take()) {
            match asked.request {
                Request::Line { .. } | Request::Quit => {
                    let error = "The program is running; interrupt it first.".to_owned();
                    let _ = asked.reply.send(Answer::Failed { error });
                }
                _ => self.answer(asked),
            }
        }
        if self
            .watched
            .as_ref()
            .is_some_and(|w| w.keeper.wants_frame())
        {
            self.pin_frame();
        }
    }

    /// The program is not started again.
    pub(super) fn runs_once(&mut self) {
        if let Some(watched) = &mut self.watched {
            watched.program = Arc::new(ProgramView {
                startable: false,
                ..ProgramView::clone(&watched.program)
            });
        }
    }

    /// The program goes on.
    pub(in super::super) fn board_runs(&mut self) {
        let (Some(watched), Some(live)) = (&mut self.watched, &self.live) else {
            return;
        };
        watched.keeper.running(live.process.interrupter());
        watched.program = Arc::new(ProgramView {
            state: ProgramState::Running,
            reason: Vec::new(),
            frames: Vec::new(),
            pid: Some(live.process.pid().0),
            ..ProgramView::clone(&watched.program)
        });
        watched.interrupted = false;
        watched.keeper.touch();
    }

    /// The program stopped or ended.
    pub(in super::super) fn board_stops(&mut self, reason: Option<&Reason>) {
        let Some(watched) = &mut self.watched else {
            return;
        };
        watched.interrupted = watched.keeper.stopped();
        watched.program = Arc::new(ProgramView {
            state: match reason {
                Some(Reason::Ended(_)) => ProgramState::Ended,
                _ => ProgramState::Stopped,
            },
            reason: reason.map(reason_lines).unwrap_or_default(),
            ..ProgramView::clone(&watched.program)
        });
        // The frame comes when the command that let it go is over.
    }

    /// The program is where a command put it, not where it stopped.
    pub(in super::super) fn board_moved(&mut self, reason: String) {
        if let Some(watched) = &mut self.watched {
            watched.program = Arc::new(ProgramView {
                reason: vec![reason],
                ..ProgramView::clone(&watched.program)
            });
        }
    }

    /// A watcher asked for the last stop.
    pub(super) fn is_stop_of_board(&self) -> bool {
        self.watched.as_ref().is_some_and(|w| w.interrupted)
    }

    /// Brings what is known of the stopped program up to date.
    fn look_around(&mut self) {
        let Some(watched) = &self.watched else {
            return;
        };
        let mut view = ProgramView::clone(&watched.program);
        view.frames.clear();
        view.threads.clear();
        view.source = None;
        if let Some(live) = &mut self.live
            && live.process.ended().is_none()
            && live.look_further(&self.images, Seen::Near).is_err()
        {
            return;
        }
        match &self.live {
            None => {
                if view.state != ProgramState::Idle {
                    view.state = ProgramState::Ended;
                }
            }
            Some(live) if live.process.ended().is_some() => view.state = ProgramState::Ended,
            Some(live) => {
                view.state = ProgramState::Stopped;
                view.pid = Some(live.process.pid().0);
                view.selected = live.selected;
                let levels = live.levels.len();
                let (all, tid) = (live.process.numbered_threads(), live.tid);
                view.frames = (0..levels)
                    .map(|level| FrameView {
                        text: self.frame_text(level, true),
                    })
                    .collect();
                view.source = self.source_here();
                for (number, t) in all.iter().take(THREADS) {
                    view.threads.push(ThreadView {
                        number: *number,
                        tid: t.0,
                        name: self.thread_name(*t),
                        place: self
                            .stack_text(*t, 1, Stands::At)
                            .into_iter()
                            .next()
                            .unwrap_or_default(),
                        selected: *t == tid,
                    });
                }
            }
        }
        if let Some(watched) = &mut self.watched {
            watched.program = Arc::new(view);
        }
    }

    fn source_here(&mut self) -> Option<SourceView> {
        let (file, line) = self.current_line()?;
        let first = line.saturating_sub(AROUND).max(1);
        let most = (line - first + 1 + AROUND) as usize;
        let lines = self.sources.some(&file, first, most);
        Some(SourceView {
            file: file.name.clone(),
            path: file.path.clone(),
            line,
            first,
            lines,
        })
    }

    /// Shows how things are now.
    pub(in super::super) fn pin_frame(&mut self) {
        self.name_tracks();
        let (Some(watched), irv) = (&mut self.watched, &self.irv) else {
            return;
        };
        let checkpoints = self.checkpoints.all().iter();
        let mut frame = Frame {
            program: watched.program.clone(),
            checkpoints: checkpoints
                .map(|(number, c)| CheckpointView {
                    number: *number,
                    label: c.place.clone(),
                    event: c.monitors.as_ref().map_or(0, Then::event),
                    time: c.monitors.as_ref().and_then(Then::time),
                })
                .collect(),
            ..Frame::default()
        };
        let Some(irv) = irv else {
            return watched.keeper.pin(frame, std::iter::empty());
        };
        watched.follow(irv);
        frame.tracks = watched.tracks.clone();
        frame.events = irv.n;
        frame.relevant = irv.relevant;
        frame.time = nanoseconds_since(irv.started);
        let monitors = irv.ones.iter().filter(|o| o.monitor.is_some());
        frame.properties = monitors
            .enumerate()
            .filter_map(|(i, one)| {
                let m = one.monitor.as_ref()?;
                Some(PropertyView {
                    name: one.name.clone(),
                    violations: one.tally.violations,
                    listens: one.listens(),
                    outcome: one.outcome.map(final_word),
                    ..board::property_view(i, m, one.recorder.last.as_ref())
                })
            })
            .collect();
        let skipped = watched.raw.len() - watched.keeper.allow(watched.raw.len());
        let raw = watched.raw.drain(..).skip(skipped);
        let events: Vec<EventView> = raw.filter_map(|raw| raw.shown(irv)).collect();
        watched.keeper.pin(frame, events.into_iter());
    }

    /// Threads that are new among the events get their names, while they live.
    fn name_tracks(&mut self) {
        let Some(watched) = &self.watched else {
            return;
        };
        let mut new: Vec<Tid> = Vec::new();
        for raw in &watched.raw {
            let known = |t: &TrackView| t.tid == i64::from(raw.tid.0);
            // Most events come from the thread of the one before.
            if new.last() != Some(&raw.tid)
                && !new.contains(&raw.tid)
                && !watched.tracks.iter().any(known)
            {
                new.push(raw.tid);
            }
        }
        if new.is_empty() {
            return;
        }
        let mut tracks = Vec::clone(&watched.tracks);
        tracks.extend(new.into_iter().map(|tid| TrackView {
            tid: tid.0.into(),
            name: self.thread_name(tid),
        }));
        let extra = tracks.len().saturating_sub(TRACKS);
        tracks.drain(..extra);
        if let Some(watched) = &mut self.watched {
            watched.tracks = Arc::new(tracks);
        }
    }

    /// Waits for what users of the session want; questions are answered on the way.
    pub fn next_turn(&mut self) -> Turn {
        loop {
            let has_work = self.has_idle_work();
            let limit = if has_work { PAUSE } else { A_LONG_TIME };
            let start = Instant::now();
            match self.turn_within(limit) {
                Some(turn) => return turn,
                // Not if somebody was answered.
                None if has_work && start.elapsed() >= PAUSE => self.use_idle_time(),
                None => {}
            }
        }
    }

    /// As `next_turn`, for a while at most.
    fn turn_within(&mut self, limit: Duration) -> Option<Turn> {
        let Some(watched) = &self.watched else {
            return Some(Turn::Quit);
        };
        if watched.keeper.wants_frame() {
            self.pin_frame();
        }
        let asked = self.watched.as_ref()?.keeper.wait(limit)?;
        match asked.request {
            Request::Quit => {
                let _ = asked.reply.send(Answer::Done {
                    text: String::new(),
                    prompt: String::new(),
                    over: true,
                });
                Some(Turn::Quit)
            }
            Request::Line { line, shared } => Some(Turn::Line(Order {
                line,
                shared,
                reply: asked.reply,
            })),
            _ => {
                self.answer(asked);
                None
            }
        }
    }

    /// Serves the board until somebody lets the program go on, the session is not needed any
    /// more or the run is interrupted.
    pub fn attend(&mut self, interruption: &Interruption) {
        self.show_on_board();
        let was_live = self.live.is_some();
        while !interruption.is_wanted() {
            let order = match self.turn_within(Duration::from_millis(100)) {
                None => continue,
                Some(Turn::Quit) => {
                    interruption.ask();
                    return;
                }
                Some(Turn::Line(order)) => order,
            };
            let word = super::super::commands::name_of(&order.line);
            if word == Some("continue") && self.live.is_some() {
                let prompt = self.prompt();
                return order.done(String::new(), prompt, false);
            }
            if matches!(word, Some("run" | "start")) {
                order
                    .failed("This run is the only one; verde debug starts a program again.".into());
                continue;
            }
            let (text, ran) = self.execute_shared(&order.line);
            let prompt = self.prompt();
            match ran {
                Ok(_) => order.done(text, prompt, false),
                Err(e) => order.failed(e.to_string()),
            }
            if was_live && self.live.is_none() {
                return;
            }
        }
    }

    /// Does what others asked for since the last call; for an owner that waits elsewhere.
    pub(in super::super) fn serve_board(&mut self) {
        while let Some(turn) = self.turn_within(Duration::ZERO) {
            let Turn::Line(order) = turn else {
                return;
            };
            let (text, ran) = self.execute_shared(&order.line);
            match ran {
                Ok(_) => order.done(text, self.prompt(), false),
                Err(e) => order.failed(e.to_string()),
            }
        }
    }

    /// Runs a line, and gives what it says to its user as well.
    pub fn execute_shared(&mut self, line: &str) -> (String, Result<super::super::Reply, Failure>) {
        let copy = self.watched.as_ref().map(|w| w.copy.clone());
        let copy = copy.unwrap_or_default();
        *copy.borrow_mut() = Some(Vec::new());
        // At the terminal somebody may be typing.
        self.terminal.kept = true;
        let ran = self.execute(line);
        self.terminal.kept = false;
        let said = copy.borrow_mut().take().unwrap_or_default();
        let text = String::from_utf8_lossy(&said).into_owned();
        self.show_on_board();
        (text, ran)
    }

    /// A command may have changed anything.
    pub fn show_on_board(&mut self) {
        if self.watched.is_some() {
            self.look_around();
            self.pin_frame();
        }
    }

    fn answer(&mut self, asked: Asked) {
        let changes = matches!(
            asked.request,
            Request::SetEnv { .. } | Request::SetState { .. }
        );
        let answer = match (asked.request, self.irv.take()) {
            (Request::GiveUp, irv) => {
                self.irv = irv;
                self.give_up_typed();
                Ok(self.done())
            }
            (_, None) => Err("there are no monitors".to_owned()),
            (request, Some(mut irv)) => {
                let answer = self.answer_with(&mut irv, request);
                self.irv = Some(irv);
                answer
            }
        };
        if changes {
            self.pin_frame();
        }
        let answer = answer.unwrap_or_else(|error| Answer::Failed { error });
        // Whoever asked may be gone.
        let _ = asked.reply.send(answer);
    }

    fn answer_with(&mut self, irv: &mut Irv, request: Request) -> Result<Answer, String> {
        match request {
            Request::Slices(query) => {
                let index = irv.monitor_of_board(query.property)?;
                let Irv { ones, python, .. } = irv;
                let m = ones[index].monitor.as_ref().ok_or("no monitor")?;
                Ok(Answer::Slices(board::page(m, &query, python)?))
            }
            Request::Slice(id) => {
                let index = irv.monitor_of_board(id.property)?;
                let Irv {
                    ones,
                    python,
                    stacks,
                    ..
                } = irv;
                let m = ones[index].monitor.as_ref().ok_or("no monitor")?;
                let mut detail = board::detail(m, &id, HISTORY, python)?;
                for event in &mut detail.history {
                    event.backtrace = stacks.get(&event.n).map(|s| s.to_vec());
                }
                Ok(Answer::Slice(Box::new(detail)))
            }
            Request::SetEnv { slice, name, value } => {
                let cell = board::parse_value(&value)?;
                self.change(irv, &slice, |m, r, host, _| {
                    let at = m.property().env.iter().position(|n| *n == name);
                    let at = at.ok_or_else(|| format!("there is no variable {name}"))?;
                    m.set_env(r, at, cell, host);
                    Ok(())
                })
            }
            Request::SetState { slice, state } => self.change(irv, &slice, |m, r, _, observer| {
                let id = board::state_named(m.property(), &state);
                let id = id.ok_or_else(|| format!("there is no state {state}"))?;
                m.set_state(r, id, None, observer);
                Ok(())
            }),
            Request::Stack { n } => Ok(Answer::Stack {
                frames: irv.stacks.get(&n).map(|s| s.to_vec()).unwrap_or_default(),
            }),
            Request::Line { .. } | Request::GiveUp | Request::Quit => Err("not now".into()),
        }
    }

    fn change(
        &mut self,
        irv: &mut Irv,
        id: &SliceId,
        change: impl FnOnce(
            &mut Monitor,
            verde_monitor::SlotRef,
            &mut verde_pyhost::PythonHost,
            &mut Recorder,
        ) -> Result<(), String>,
    ) -> Result<Answer, String> {
        let index = irv.monitor_of_board(id.property)?;
        let Irv { ones, python, .. } = irv;
        let One {
            monitor, recorder, ..
        } = &mut ones[index];
        let m = monitor.as_mut().ok_or("no monitor")?;
        let r = board::find(m, id).ok_or("this slice has ended")?;
        change(m, r, python, recorder)?;
        self.report_found(irv, index);
        self.say_latched(irv);
        if self.live.is_some() && irv.is_stale() {
            self.instrument(irv, None);
            self.say_complaints(irv);
        }
        Ok(self.done())
    }

    /// Done, and nothing to say about it.
    fn done(&self) -> Answer {
        Answer::Done {
            text: String::new(),
            prompt: self.prompt().to_owned(),
            over: false,
        }
    }
}

impl Irv {
    /// The monitor that has this number in the frames.
    fn monitor_of_board(&self, property: usize) -> Result<usize, String> {
        let with = self.ones.iter().enumerate();
        let mut with = with.filter(|(_, o)| o.monitor.is_some());
        let found = with.nth(property).map(|(i, _)| i);
        found.ok_or_else(|| "there is no such property".to_owned())
    }
}

impl Watched {
    /// What watchers see of the past.
    pub(super) fn marks(&self) -> Marks {
        self.keeper.marks(self.serial, self.time)
    }

    /// The monitors are where they were after event `n`: what came later belongs to an
    /// abandoned future.
    pub(super) fn go_back_to(&mut self, irv: &Irv, n: u64, marks: Option<&Marks>) {
        if let Some(marks) = marks {
            self.time = marks.time;
        }
        let unseen = self.raw.drain(..).filter_map(|raw| raw.shown(irv));
        self.keeper.go_back_to(n, marks, self.serial, unseen);
    }

    /// The monitors may have begun anew, or be others.
    fn follow(&mut self, irv: &Irv) {
        if self.started != Some(irv.started) {
            if self.started.is_some() {
                self.keeper.begin_run();
            }
            self.started = Some(irv.started);
        }
        let monitors = irv.ones.iter().filter_map(|o| o.monitor.as_ref());
        let same = monitors.clone().map(|m| m.property().uid);
        if !same.eq(self.uids.iter().copied()) {
            self.uids = monitors.clone().map(|m| m.property().uid).collect();
            let properties = monitors.map(|m| m.property().clone()).collect();
            self.keeper.set_properties(properties);
        }
    }
}

impl Raw {
    /// `None`: the properties that wanted it are gone.
    fn shown(self, irv: &Irv) -> Option<EventView> {
        let source = irv.alphabet.sources.get(self.source)?;
        let names = (0..source.params.len()).map(|i| key_of(&source.params, i));
        let values = self
            .values
            .iter()
            .map(|v| Json::of_arg(v.arg()).to_string());
        Some(EventView {
            serial: self.serial,
            n: self.n,
            time: self.time,
            tid: self.tid.0.into(),
            name: source.title(),
            args: names.zip(values).collect(),
            loc: self.loc,
        })
    }
}

fn reason_lines(reason: &Reason) -> Vec<String> {
    let clean = |lines: &[String]| {
        let texts = lines.iter().flat_map(|l| l.lines());
        let texts = texts.map(|l| l.trim().trim_end_matches(',').to_owned());
        texts.filter(|l| !l.is_empty()).collect()
    };
    match reason {
        Reason::Ended(End::Exited(0)) => vec!["exited normally".into()],
        Reason::Ended(End::Exited(code)) => vec![format!("exited with code {code}")],
        Reason::Ended(End::Killed(signal)) => vec![format!(
            "killed by {}, {}",
            verde_sys::signals::name(*signal),
            description(*signal)
        )],
        Reason::Ended(End::Detached) => vec!["detached".into()],
        Reason::Point(lines) | Reason::Monitor(lines) => clean(lines),
        Reason::Step | Reason::StepCaught => vec!["step".into()],
        Reason::Signal(signal) => vec![format!(
            "received {}, {}",
            verde_sys::signals::name(*signal),
            description(*signal)
        )],
        Reason::Interrupted => vec!["interrupted".into()],
    }
}
