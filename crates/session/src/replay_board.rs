//! A replay that is watched: its monitors on a board, while it runs and after.

use crate::board::{
    self, Answer, Asked, Board, EventView, Frame, Keeper, ProgramState, ProgramView, PropertyView,
    Request,
};
use crate::json::Json;
use crate::replay::Replay;
use crate::report::ViolationRow;
use crate::trace::{self, Strings};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Lines kept between two frames.
const BETWEEN_FRAMES: usize = 1024;
/// Events of a slice in its details.
const HISTORY: usize = 200;

pub(crate) struct Watch {
    keeper: Keeper,
    /// The last lines, to be read again when somebody looks.
    lines: VecDeque<(u64, Vec<u8>)>,
    serial: u64,
    time: u64,
    last: u64,
    program: Arc<ProgramView>,
}

impl Watch {
    /// A line was applied as event `n`.
    pub fn event(&mut self, n: u64, time: Option<u64>, line: &[u8]) {
        let mut kept = match self.lines.len() {
            BETWEEN_FRAMES => self.lines.pop_front().map(|(_, line)| line),
            _ => None,
        }
        .unwrap_or_default();
        kept.clear();
        kept.extend_from_slice(line);
        self.lines.push_back((n, kept));
        self.serial += 1;
        self.last = n;
        self.time = time.unwrap_or(n);
        self.keeper.touch();
    }

    pub fn violation(&mut self, row: &ViolationRow, time: Option<u64>) {
        // Without times the numbers keep the order.
        self.keeper.violation(row.clone(), time.or(row.n));
    }

    fn events(&mut self) -> Vec<EventView> {
        let first = self.serial + 1 - self.lines.len() as u64;
        let skipped = self.lines.len() - self.keeper.allow(self.lines.len());
        let lines = (first..).zip(self.lines.drain(..)).skip(skipped);
        let shown = lines.filter_map(|(serial, (n, line))| {
            let strings = Strings::with_capacity(0);
            let e = trace::parse(&line, &strings).ok()?;
            Some(EventView {
                serial,
                n,
                // Without times the numbers keep the order.
                time: e.time.unwrap_or(n),
                tid: e.tid.map_or(0, |t| i64::try_from(t).unwrap_or(0)),
                name: e.name.to_string(),
                args: e
                    .args
                    .0
                    .iter()
                    .map(|(name, v)| (name.to_string(), Json::of_arg(*v).to_string()))
                    .collect(),
                loc: e.loc.map(Arc::from),
            })
        });
        shown.collect()
    }

    fn state(&mut self, state: ProgramState, reason: &str) {
        self.program = Arc::new(ProgramView {
            state,
            reason: vec![reason.to_owned()],
            ..ProgramView::clone(&self.program)
        });
    }
}

impl Replay<'_> {
    /// Lets others watch the monitors; `title` says what is replayed.
    pub fn open_board(&mut self, title: &str) -> Board {
        let mut keeper = Keeper::new();
        let monitors = self.ones.iter().map(|one| &one.monitor);
        keeper.set_properties(monitors.map(|m| m.property().clone()).collect());
        let board = keeper.board();
        self.watch = Some(Box::new(Watch {
            keeper,
            lines: VecDeque::new(),
            serial: 0,
            time: 0,
            last: 0,
            program: Arc::new(ProgramView {
                state: ProgramState::Running,
                command: title.to_owned(),
                ..ProgramView::default()
            }),
        }));
        self.pin_frame();
        board
    }

    /// Between two events.
    #[inline]
    pub(crate) fn tend_board(&mut self) {
        if self.watch.as_ref().is_some_and(|w| w.keeper.is_due()) {
            self.tend_now();
        }
    }

    #[cold]
    fn tend_now(&mut self) {
        while let Some(asked) = self.watch.as_ref().and_then(|w| w.keeper.take()) {
            self.answer(asked);
        }
        if self.watch.as_ref().is_some_and(|w| w.keeper.wants_frame()) {
            self.pin_frame();
        }
    }

    fn pin_frame(&mut self) {
        let Some(watch) = &mut self.watch else {
            return;
        };
        let ones = self.ones.iter().enumerate();
        let frame = Frame {
            program: watch.program.clone(),
            properties: ones
                .map(|(i, one)| PropertyView {
                    violations: one.violations,
                    outcome: one.outcome,
                    ..board::property_view(i, &one.monitor, one.recorder.last.as_ref())
                })
                .collect(),
            events: watch.last,
            relevant: self.events,
            time: watch.time,
            ..Frame::default()
        };
        let events = watch.events();
        watch.keeper.pin(frame, events.into_iter());
    }

    fn answer(&mut self, asked: Asked) -> bool {
        let over = matches!(asked.request, Request::Quit);
        let answer = self.answer_to(&asked.request);
        let answer = answer.unwrap_or_else(|error| Answer::Failed { error });
        // Whoever asked may be gone.
        let _ = asked.reply.send(answer);
        over
    }

    fn answer_to(&mut self, request: &Request) -> Result<Answer, String> {
        let one = |property: usize| {
            let one = self.ones.get(property);
            one.ok_or_else(|| "there is no such property".to_owned())
        };
        match request {
            Request::Slices(query) => {
                let monitor = &one(query.property)?.monitor;
                board::page(monitor, query, &mut self.host).map(Answer::Slices)
            }
            Request::Slice(id) => {
                let monitor = &one(id.property)?.monitor;
                let detail = board::detail(monitor, id, HISTORY, &mut self.host)?;
                Ok(Answer::Slice(Box::new(detail)))
            }
            Request::Stack { .. } => Ok(Answer::Stack { frames: Vec::new() }),
            Request::Quit => Ok(Answer::Done {
                text: String::new(),
                prompt: String::new(),
                over: true,
            }),
            Request::Line { .. }
            | Request::GiveUp
            | Request::SetEnv { .. }
            | Request::SetState { .. } => {
                Err("a trace is only watched: there is no program to command".into())
            }
        }
    }

    /// The trace is read: serves the board until `stop` or until nobody needs it.
    pub(crate) fn attend(&mut self, stop: &AtomicBool) {
        let Some(watch) = &mut self.watch else {
            return;
        };
        watch.state(ProgramState::Ended, "the trace is read");
        self.pin_frame();
        while !stop.load(Ordering::Relaxed) {
            let asked = self
                .watch
                .as_ref()
                .and_then(|w| w.keeper.wait(Duration::from_millis(100)));
            if let Some(asked) = asked
                && self.answer(asked)
            {
                return;
            }
        }
    }
}
