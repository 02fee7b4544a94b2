//! What a session shows to front ends that watch it, and what they ask of it.
//!
//! The session's thread owns the program and the monitors. It pins numbered
//! [`Frame`]s to a [`Board`] when somebody wants one, and answers
//! [`Request`]s between two events and while the program is stopped. Nobody
//! who watches ever holds it up: an event costs it one look at a flag.

mod filter;
mod frame;
mod keeper;
mod order;
mod request;
mod slices;

pub(crate) use filter::{Filter, Past, state_named};
pub use frame::{
    CheckpointView, EventView, Frame, FrameView, LastStep, ProgramState, ProgramView, PropertyView,
    SliceId, SourceView, ThreadView, TrackView, ViolationView,
};
pub(crate) use keeper::{Asked, Keeper, Marks};
pub use request::{Answer, Query, Request, SliceDetail, SliceLine, SlicePage};
pub(crate) use slices::{detail, find, page, parse_value, property_view};

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use verde_engine::Interrupter;
use verde_property::Property;

/// Events that somebody who comes late still sees.
const BACKLOG: usize = 20_000;
/// Violations that are kept for the watchers.
const VIOLATIONS: usize = 1000;

/// The watchers' end. Cheap to clone; any thread may have one.
#[derive(Clone)]
pub struct Board {
    shared: Arc<Shared>,
}

struct Shared {
    /// A frame is wanted.
    wanted: AtomicBool,
    /// A request waits.
    asked: AtomicBool,
    /// Something happened since the last frame.
    changed: AtomicBool,
    /// The program runs: requests for the prompt must wait for its stop.
    running: AtomicBool,
    /// The last stop was asked for here.
    interrupted: AtomicBool,
    requests: mpsc::Sender<Asked>,
    program: Mutex<Option<Interrupter>>,
    pinned: Mutex<Pinned>,
    listener: Mutex<Option<Listener>>,
}

type Listener = Box<dyn Fn() + Send>;

/// All that is pinned to the board.
#[derive(Default)]
struct Pinned {
    frame: Arc<Frame>,
    properties: Vec<Arc<Property>>,
    events: VecDeque<Arc<EventView>>,
    violations: Vec<Arc<ViolationView>>,
    /// Violations that were dropped from the front.
    forgotten: usize,
}

/// What is new on the board for one watcher.
pub struct News {
    pub frame: Arc<Frame>,
    pub events: Vec<Arc<EventView>>,
    pub violations: Vec<Arc<ViolationView>>,
}

/// What a watcher has already seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    frame: u64,
    event: u64,
    violations: usize,
    /// The run whose events were seen.
    run: u64,
}

/// A lock that a panic elsewhere does not take away from everybody.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Board {
    /// Asks the session; the answer comes when it has time. A running program is woken, not
    /// stopped.
    pub fn ask(&self, request: Request) -> mpsc::Receiver<Answer> {
        let (reply, answer) = mpsc::channel();
        // A session that is over drops the reply, and the asker sees it.
        let _ = self.shared.requests.send(Asked { request, reply });
        self.shared.asked.store(true, Ordering::Release);
        self.wake();
        answer
    }

    /// Stops the program, if it runs.
    pub fn interrupt(&self) -> bool {
        if !self.is_running() {
            return false;
        }
        self.shared.interrupted.store(true, Ordering::Release);
        if let Some(program) = &*lock(&self.shared.program) {
            program.interrupt();
        }
        true
    }

    pub fn is_running(&self) -> bool {
        self.shared.running.load(Ordering::Acquire)
    }

    /// Called about 60 times a second while somebody looks: asks for a frame if there is
    /// something new. A session that is busy with events makes it in passing; one that waits
    /// for the program is woken at the second call.
    pub fn tick(&self) {
        if !self.shared.changed.load(Ordering::Acquire) {
            return;
        }
        if self.shared.wanted.swap(true, Ordering::AcqRel) {
            self.wake();
        }
    }

    fn wake(&self) {
        if let Some(program) = &*lock(&self.shared.program) {
            program.wake();
        }
    }

    /// Calls this after each new frame, on the session's thread.
    pub fn listen(&self, listener: impl Fn() + Send + 'static) {
        *lock(&self.shared.listener) = Some(Box::new(listener));
    }

    /// The properties, in the order of the frames' `properties`.
    pub fn properties(&self) -> Vec<Arc<Property>> {
        lock(&self.shared.pinned).properties.clone()
    }

    /// What a watcher has not seen; `None` if there is nothing.
    pub fn news(&self, seen: &mut Seen) -> Option<News> {
        let pinned = lock(&self.shared.pinned);
        let frame = pinned.frame.clone();
        if frame.seq == seen.frame {
            return None;
        }
        if frame.run != seen.run {
            *seen = Seen::default();
            seen.run = frame.run;
        }
        // Events are in order, and most watchers have seen nearly all.
        let new = pinned.events.iter().rev();
        let new = new.take_while(|e| e.serial > seen.event);
        let mut events: Vec<Arc<EventView>> = new.cloned().collect();
        events.reverse();
        let from = seen.violations.saturating_sub(pinned.forgotten);
        let violations = pinned.violations.get(from..).unwrap_or_default().to_vec();
        seen.frame = frame.seq;
        seen.violations = pinned.forgotten + pinned.violations.len();
        if let Some(last) = events.last() {
            seen.event = last.serial;
        }
        Some(News {
            frame,
            events,
            violations,
        })
    }
}
