//! What front ends ask, and what they hear.

use super::frame::SliceId;
use crate::report::HistoryRow;
use serde::{Deserialize, Serialize};

/// Something that the session's thread does or answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Request {
    /// A line of the prompt's language. `shared`: what it says is wanted in the answer, too.
    Line {
        line: String,
        #[serde(default)]
        shared: bool,
    },
    /// Gives up the lines of a list that has no end yet.
    GiveUp,
    /// A page of slices that pass a filter.
    Slices(Query),
    /// All about a slice.
    Slice(SliceId),
    /// Gives a variable of a slice another value.
    SetEnv {
        slice: SliceId,
        name: String,
        value: String,
    },
    /// Puts a slice into another state.
    SetState { slice: SliceId, state: String },
    /// The backtrace of an event, if it was kept.
    Stack { n: u64 },
    /// Nobody needs the session any more.
    Quit,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Query {
    pub property: usize,
    /// `state:sink N>3 queue=0x55..`.
    #[serde(default)]
    pub filter: String,
    #[serde(default)]
    pub offset: usize,
    pub limit: usize,
    /// The column that they are sorted by; without one they stand as they were created.
    #[serde(default)]
    pub by: String,
    /// The last first.
    #[serde(default)]
    pub down: bool,
}

#[derive(Clone, Debug, Serialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Answer {
    /// Done; what it said, and whether more commands may follow.
    Done {
        text: String,
        prompt: String,
        over: bool,
    },
    Failed {
        error: String,
    },
    Slices(SlicePage),
    Slice(Box<SliceDetail>),
    Stack {
        frames: Vec<String>,
    },
}

#[derive(Clone, Debug, Serialize)]
pub struct SlicePage {
    /// Slices of the property.
    pub total: usize,
    /// Those that pass the filter.
    pub matching: usize,
    pub offset: usize,
    pub rows: Vec<SliceLine>,
    /// How long the session was busy with it, in microseconds.
    pub micros: u64,
}

/// A slice in a table; values as people write them, for JavaScript's numbers lose digits.
#[derive(Clone, Debug, Serialize)]
pub struct SliceLine {
    pub id: SliceId,
    pub slice: Vec<(String, String)>,
    pub state: usize,
    pub env: Vec<(String, String)>,
}

#[derive(Clone, Debug, Serialize)]
pub struct SliceDetail {
    #[serde(flatten)]
    pub line: SliceLine,
    pub verdict: &'static str,
    /// The slice that it came from; none for the root.
    pub parent: Option<Vec<(String, String)>>,
    /// Its last events, oldest first.
    pub history: Vec<HistoryRow>,
}
