//! The session's end of a board.

use super::frame::{EventView, Frame, ViolationView};
use super::request::{Answer, Request};
use super::{BACKLOG, Board, Pinned, Shared, VIOLATIONS, lock};
use crate::report::ViolationRow;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use verde_engine::Interrupter;
use verde_property::Property;

/// A request on its way, with the way back.
pub(crate) struct Asked {
    pub request: Request,
    pub reply: mpsc::Sender<Answer>,
}

/// What a board shows of the past at a checkpoint.
#[derive(Clone)]
pub(crate) struct Marks {
    violations: Vec<Arc<ViolationView>>,
    forgotten: usize,
    past: Past,
    /// When that was.
    pub time: u64,
}

/// The events that led to a moment, by their serials: ranges, oldest first. What came between two
/// of them belongs to futures that were abandoned.
#[derive(Clone, Default)]
struct Past(Vec<RangeInclusive<u64>>);

impl Past {
    fn knows(&self, serial: u64) -> bool {
        self.0.iter().any(|range| range.contains(&serial))
    }

    /// It goes no further than this.
    fn cut(&mut self, last: u64) {
        self.0.retain(|range| *range.start() <= last);
        if let Some(range) = self.0.last_mut() {
            *range = *range.start()..=last.min(*range.end());
        }
    }
}

/// Events of a burst that are shown in full.
const BURST: usize = 2048;
/// Events that each frame may show of a stream that does not end.
const STEADY: usize = 64;

pub(crate) struct Keeper {
    shared: Arc<Shared>,
    inbox: mpsc::Receiver<Asked>,
    seq: u64,
    run: u64,
    shapes: u64,
    /// What led to the last restore, and the last event of all at that time.
    past: (Past, u64),
    /// Events of abandoned futures: one may become the present again.
    aside: Vec<Arc<EventView>>,
    /// Events that may still be shown: a burst is, but a fast stream is not slowed down for it.
    allowance: usize,
}

impl Keeper {
    pub fn new() -> Keeper {
        let (requests, inbox) = mpsc::channel();
        let shared = Shared {
            wanted: AtomicBool::new(false),
            asked: AtomicBool::new(false),
            changed: AtomicBool::new(false),
            running: AtomicBool::new(false),
            interrupted: AtomicBool::new(false),
            requests,
            program: Mutex::new(None),
            pinned: Mutex::new(Pinned::default()),
            listener: Mutex::new(None),
        };
        Keeper {
            shared: Arc::new(shared),
            inbox,
            seq: 0,
            run: 1,
            shapes: 0,
            past: (Past::default(), 0),
            aside: Vec::new(),
            allowance: BURST,
        }
    }

    pub fn board(&self) -> Board {
        Board {
            shared: self.shared.clone(),
        }
    }

    /// Something happened that a frame would show.
    pub fn touch(&self) {
        self.shared.changed.store(true, Ordering::Release);
    }

    /// A frame is wanted or a request waits.
    pub fn is_due(&self) -> bool {
        self.shared.wanted.load(Ordering::Relaxed) || self.shared.asked.load(Ordering::Relaxed)
    }

    /// A frame is wanted, and something is new.
    pub fn wants_frame(&self) -> bool {
        self.shared.wanted.load(Ordering::Acquire)
    }

    /// The next request, without waiting.
    pub fn take(&self) -> Option<Asked> {
        if let Ok(asked) = self.inbox.try_recv() {
            return Some(asked);
        }
        self.shared.asked.store(false, Ordering::Release);
        // One may have come before the flag was cleared.
        self.inbox.try_recv().ok()
    }

    /// The next request; `None` when there was none for a while.
    pub fn wait(&self, limit: Duration) -> Option<Asked> {
        self.inbox.recv_timeout(limit).ok()
    }

    /// The program goes on; others may wake and interrupt it.
    pub fn running(&self, program: Interrupter) {
        *lock(&self.shared.program) = Some(program);
        self.shared.running.store(true, Ordering::Release);
    }

    /// The program is stopped or over. Whether a watcher asked for it.
    pub fn stopped(&self) -> bool {
        self.shared.running.store(false, Ordering::Release);
        *lock(&self.shared.program) = None;
        self.shared.interrupted.swap(false, Ordering::AcqRel)
    }

    /// Other properties than before.
    pub fn set_properties(&mut self, properties: Vec<Arc<Property>>) {
        self.shapes += 1;
        lock(&self.shared.pinned).properties = properties;
    }

    /// The monitors begin anew.
    pub fn begin_run(&mut self) {
        self.run += 1;
        self.past.0.0.clear();
        self.aside.clear();
        let mut pinned = lock(&self.shared.pinned);
        pinned.events.clear();
        pinned.violations.clear();
        pinned.forgotten = 0;
    }

    /// What is shown of the past, to come back to; event `serial` was the last.
    pub fn marks(&self, serial: u64, time: u64) -> Marks {
        let pinned = lock(&self.shared.pinned);
        Marks {
            violations: pinned.violations.clone(),
            forgotten: pinned.forgotten,
            past: self.past_of(serial),
            time,
        }
    }

    /// What led to event `serial`, the last one.
    fn past_of(&self, serial: u64) -> Past {
        let (mut past, last) = self.past.clone();
        if serial > last {
            past.0.push(last + 1..=serial);
        }
        past
    }

    /// The monitors are again where they were after event `n`; watchers begin anew. Without
    /// marks nobody watched then, and what is known is sorted by the numbers. `serial`: the last
    /// event until now; `unseen`: events that no frame has shown.
    pub fn go_back_to(
        &mut self,
        n: u64,
        marks: Option<&Marks>,
        serial: u64,
        unseen: impl Iterator<Item = EventView>,
    ) {
        self.run += 1;
        self.touch();
        let present = self.past_of(serial);
        let mut pinned = lock(&self.shared.pinned);
        let mut all = std::mem::take(&mut self.aside);
        all.extend(pinned.events.drain(..));
        all.extend(unseen.map(Arc::new));
        all.sort_by_key(|e| e.serial);
        let (kept, aside): (Vec<_>, Vec<_>) = all.into_iter().partition(|e| match marks {
            Some(marks) => marks.past.knows(e.serial),
            None => e.n <= n && present.knows(e.serial),
        });
        let past = match marks {
            Some(marks) => marks.past.clone(),
            None => {
                let mut past = present;
                past.cut(kept.last().map_or(0, |e| e.serial));
                past
            }
        };
        self.past = (past, serial);
        self.aside = aside;
        let extra = self.aside.len().saturating_sub(BACKLOG);
        self.aside.drain(..extra);
        pinned.events = kept.into();
        let extra = pinned.events.len().saturating_sub(BACKLOG);
        pinned.events.drain(..extra);
        match marks {
            Some(marks) => {
                pinned.violations.clone_from(&marks.violations);
                pinned.forgotten = marks.forgotten;
            }
            None => {
                let known = |v: &ViolationView| v.row.n.is_some_and(|at| at <= n);
                pinned.violations.retain(|v| known(v));
                pinned.forgotten = 0;
            }
        }
    }

    /// How many of so many new events the next frame may show.
    pub fn allow(&mut self, new: usize) -> usize {
        self.allowance = (self.allowance + STEADY).min(BURST);
        let shown = new.min(self.allowance);
        self.allowance -= shown;
        shown
    }

    pub fn violation(&mut self, row: ViolationRow, time: Option<u64>) {
        self.touch();
        let mut pinned = lock(&self.shared.pinned);
        pinned
            .violations
            .push(Arc::new(ViolationView { row, time }));
        if pinned.violations.len() > VIOLATIONS {
            pinned.violations.remove(0);
            pinned.forgotten += 1;
        }
    }

    /// Pins a frame, with the events since the last one.
    pub fn pin(&mut self, mut frame: Frame, events: impl Iterator<Item = EventView>) {
        self.shared.changed.store(false, Ordering::Release);
        self.shared.wanted.store(false, Ordering::Release);
        self.seq += 1;
        frame.seq = self.seq;
        frame.run = self.run;
        frame.shapes = self.shapes;
        {
            let mut pinned = lock(&self.shared.pinned);
            pinned.events.extend(events.map(Arc::new));
            let extra = pinned.events.len().saturating_sub(BACKLOG);
            pinned.events.drain(..extra);
            pinned.frame = Arc::new(frame);
        }
        if let Some(listener) = &*lock(&self.shared.listener) {
            listener();
        }
    }
}
