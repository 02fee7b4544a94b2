//! Frames for the open tabs.

use crate::{FRAME, Page};
use axum::extract::State;
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use futures_util::stream::{Stream, unfold};
use serde::Serialize;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use verde_session::board::{
    Board, CheckpointView, EventView, News, ProgramView, PropertyView, Seen, TrackView,
    ViolationView,
};

/// The open tabs.
pub struct Tabs {
    open: Arc<AtomicUsize>,
    opened: Notify,
    /// Changes with every frame.
    frames: watch::Receiver<()>,
}

impl Tabs {
    pub fn new(board: &Board) -> Tabs {
        let (sender, frames) = watch::channel(());
        board.listen(move || {
            sender.send_replace(());
        });
        Tabs {
            open: Arc::new(AtomicUsize::new(0)),
            opened: Notify::new(),
            frames,
        }
    }

    /// Waits until some tab is open.
    pub async fn some(&self) {
        while self.open.load(Ordering::Acquire) == 0 {
            self.opened.notified().await;
        }
    }

    fn open(&self) -> Tab {
        self.open.fetch_add(1, Ordering::AcqRel);
        self.opened.notify_one();
        let mut frames = self.frames.clone();
        // The first frame is there already.
        frames.mark_changed();
        Tab {
            open: self.open.clone(),
            frames,
            seen: Seen::default(),
            program: None,
            tracks: None,
            run: 0,
            next: Instant::now(),
        }
    }
}

/// One open tab: what it has been told.
struct Tab {
    open: Arc<AtomicUsize>,
    frames: watch::Receiver<()>,
    seen: Seen,
    program: Option<Arc<ProgramView>>,
    tracks: Option<Arc<Vec<TrackView>>>,
    run: u64,
    /// When it may be told more.
    next: Instant,
}

impl Drop for Tab {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::AcqRel);
    }
}

#[derive(Serialize)]
struct Message<'a> {
    seq: u64,
    shapes: u64,
    /// Forget what was told before.
    fresh: bool,
    total: u64,
    relevant: u64,
    time: u64,
    properties: &'a [PropertyView],
    checkpoints: &'a [CheckpointView],
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<&'a ProgramView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tracks: Option<&'a [TrackView]>,
    events: &'a [Arc<EventView>],
    violations: &'a [Arc<ViolationView>],
}

/// What is now, unless it was told already.
fn news_of<'a, T>(told: &mut Option<Arc<T>>, now: &'a Arc<T>) -> Option<&'a T> {
    if told.as_ref().is_some_and(|t| Arc::ptr_eq(t, now)) {
        return None;
    }
    *told = Some(now.clone());
    Some(now)
}

impl Tab {
    fn message(&mut self, news: &News) -> Event {
        let frame = &news.frame;
        let program = news_of(&mut self.program, &frame.program);
        let tracks = news_of(&mut self.tracks, &frame.tracks);
        let fresh = self.run != frame.run;
        self.run = frame.run;
        let message = Message {
            seq: frame.seq,
            shapes: frame.shapes,
            fresh,
            total: frame.events,
            relevant: frame.relevant,
            time: frame.time,
            properties: &frame.properties,
            checkpoints: &frame.checkpoints,
            program,
            tracks: tracks.map(Vec::as_slice),
            events: &news.events,
            violations: &news.violations,
        };
        let text = serde_json::to_string(&message).unwrap_or_default();
        Event::default().id(frame.seq.to_string()).data(text)
    }
}

/// Numbered frames, as many as the tab can take and at most 60 a second.
pub async fn frames(
    State(page): State<Arc<Page>>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let tab = page.tabs.open();
    let stream = unfold((page, tab), |(page, mut tab)| async move {
        loop {
            tokio::time::sleep_until(tab.next).await;
            if tab.frames.changed().await.is_err() {
                return None;
            }
            if let Some(news) = page.board.news(&mut tab.seen) {
                tab.next = Instant::now() + FRAME;
                let event = tab.message(&news);
                return Some((Ok(event), (page, tab)));
            }
        }
    });
    Sse::new(stream).keep_alive(KeepAlive::default())
}
