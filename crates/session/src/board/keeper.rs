//! The session's end of a board.

use super::frame::{EventView, Frame};
use super::request::{Answer, Request};
use super::{BACKLOG, Board, Pinned, Shared, VIOLATIONS, lock};
use crate::report::ViolationRow;
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

pub(crate) struct Keeper {
    shared: Arc<Shared>,
    inbox: mpsc::Receiver<Asked>,
    seq: u64,
    run: u64,
    shapes: u64,
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
        let mut pinned = lock(&self.shared.pinned);
        pinned.events.clear();
        pinned.violations.clear();
        pinned.forgotten = 0;
    }

    /// The monitors are again where they were after event `n`; watchers begin anew.
    pub fn go_back_to(&mut self, n: u64) {
        self.run += 1;
        let mut pinned = lock(&self.shared.pinned);
        pinned.events.retain(|e| e.n <= n);
        pinned.violations.retain(|v| v.n.is_some_and(|at| at <= n));
        pinned.forgotten = 0;
    }

    pub fn violation(&mut self, row: ViolationRow) {
        self.touch();
        let mut pinned = lock(&self.shared.pinned);
        pinned.violations.push(Arc::new(row));
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
