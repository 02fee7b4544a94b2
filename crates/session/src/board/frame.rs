//! What watchers see, as plain values.

use crate::report::ViolationRow;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Program and monitors at one moment between two events.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Frame {
    /// Rises with every frame.
    pub seq: u64,
    /// Changes when the monitors begin anew: event numbers and violations start again.
    pub run: u64,
    /// Changes with the set of properties.
    pub shapes: u64,
    pub program: Arc<ProgramView>,
    pub properties: Vec<PropertyView>,
    pub checkpoints: Vec<CheckpointView>,
    /// The threads that had events.
    pub tracks: Arc<Vec<TrackView>>,
    /// Number of the last event.
    pub events: u64,
    /// How many of them some slice could take.
    pub relevant: u64,
    /// Nanoseconds since the monitors started.
    pub time: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProgramState {
    /// It was not started.
    #[default]
    Idle,
    Running,
    Stopped,
    Ended,
}

/// The program, as it is known since it last stopped.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ProgramView {
    pub state: ProgramState,
    /// Why it stopped or how it ended, in lines.
    pub reason: Vec<String>,
    pub command: String,
    pub pid: Option<i32>,
    pub threads: Vec<ThreadView>,
    /// The stack of the selected thread.
    pub frames: Vec<FrameView>,
    /// The selected frame.
    pub selected: usize,
    pub source: Option<SourceView>,
    /// A program can be stopped and stepped; a trace cannot.
    pub controllable: bool,
    /// It can be started, and after its end again.
    pub startable: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct ThreadView {
    pub number: usize,
    pub tid: i32,
    pub name: String,
    pub place: String,
    pub selected: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct FrameView {
    pub text: String,
}

/// Lines around a place.
#[derive(Clone, Debug, Serialize)]
pub struct SourceView {
    pub file: String,
    pub path: String,
    /// The line where the program is.
    pub line: u32,
    /// Number of the first of the lines.
    pub first: u32,
    pub lines: Vec<String>,
}

/// A property at one moment.
#[derive(Clone, Debug, Serialize)]
pub struct PropertyView {
    pub name: String,
    pub verdict: &'static str,
    /// The last word, when the run is over.
    pub outcome: Option<&'static str>,
    /// Live slices in each state; the root only when there is no `slice on`.
    pub counts: Vec<u64>,
    /// The root's state.
    pub root: Option<usize>,
    pub live: u64,
    pub ended: u64,
    pub violations: u64,
    /// Events reach it.
    pub listens: bool,
    pub last: Option<LastStep>,
}

/// A slice: its place in the table and the number that tells it from the next one there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceId {
    pub property: usize,
    pub level: u8,
    pub slot: u32,
    pub created: u64,
}

/// The transition that a property took last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LastStep {
    pub slice: SliceId,
    /// Its bindings, when it still lives.
    pub title: Option<String>,
    pub from: usize,
    pub to: usize,
    /// The state of the slice now, when it still lives; somebody may have set it.
    pub state: Option<usize>,
    /// Index into the transitions of `from`.
    pub transition: usize,
    pub success: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct EventView {
    /// Rises from event to event, also where a restore sets their numbers back.
    pub serial: u64,
    pub n: u64,
    pub time: u64,
    pub tid: i64,
    /// As the property names it.
    pub name: String,
    pub args: Vec<(String, String)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loc: Option<Arc<str>>,
}

/// A thread whose events are shown; it may have ended since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrackView {
    pub tid: i64,
    pub name: String,
}

/// A violation, and when it came about.
#[derive(Clone, Debug, Serialize)]
pub struct ViolationView {
    #[serde(flatten)]
    pub row: ViolationRow,
    /// None when no event brought it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<u64>,
}

#[derive(Clone, Debug, Serialize)]
pub struct CheckpointView {
    pub number: u32,
    pub label: String,
    /// The last event before it.
    pub event: u64,
    /// When that was; none if nobody watched then.
    pub time: Option<u64>,
}
