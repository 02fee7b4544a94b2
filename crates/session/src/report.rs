//! The rows of a report, as `--format jsonl` writes them.

use crate::json::{Json, Object};
use serde::{Serialize, Serializer};
use verde_monitor::Violation;

#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Row {
    Event(EventRow),
    Violation(ViolationRow),
    Print(PrintRow),
    Note(NoteRow),
    Final(FinalRow),
}

#[derive(Clone, Debug, Serialize)]
pub struct EventRow {
    pub n: u64,
    /// For people; the trace has it.
    #[serde(skip)]
    pub event: String,
    pub property: String,
    pub verdict: &'static str,
    pub taken: Vec<TakenRow>,
    pub slices: Vec<SliceRow>,
    pub ended: Vec<EndedRow>,
}

#[derive(Clone, Debug, Serialize)]
pub struct TakenRow {
    pub slice: Object,
    pub created: bool,
    pub from: String,
    pub to: String,
    pub branch: &'static str,
    pub actions: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct SliceRow {
    pub slice: Object,
    pub parent: Option<Object>,
    pub state: String,
    pub verdict: &'static str,
    pub env: Object,
}

#[derive(Clone, Debug, Serialize)]
pub struct EndedRow {
    pub slice: Object,
    pub state: String,
    pub verdict: &'static str,
}

#[derive(Clone, Debug, Serialize)]
pub struct ViolationRow {
    pub property: String,
    pub slice: Object,
    pub state: String,
    /// For people: how it came about.
    #[serde(skip)]
    pub how: Violation,
    /// `null` for one that no event brought: at the end of the run, or at its start.
    pub n: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tid: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loc: Option<String>,
    /// The calls that led there, innermost first; a trace has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backtrace: Option<Vec<String>>,
    /// For people: the line of source of each of these calls, where it can be read.
    #[serde(skip)]
    pub source: Vec<Option<String>>,
    pub history: Vec<HistoryRow>,
}

/// An event of a slice's past.
#[derive(Clone, Debug, Serialize)]
pub struct HistoryRow {
    pub n: u64,
    pub kind: &'static str,
    pub when: &'static str,
    pub event: String,
    pub args: Object,
    pub from: String,
    pub to: String,
    pub taken: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tid: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loc: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<u64>,
    /// The calls that led there, when they were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backtrace: Option<Vec<String>>,
}

impl HistoryRow {
    /// The event as a property writes it, with the values of its parameters.
    pub fn text(&self) -> String {
        let usual = match self.kind {
            "write" | "read" | "update" => "after",
            _ => "before",
        };
        let when = if self.when == usual {
            String::new()
        } else {
            format!("{} ", self.when)
        };
        let kind = if self.kind == "call" {
            String::new()
        } else {
            format!("{} ", self.kind)
        };
        format!("{when}{kind}{}({})", self.event, self.args)
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct PrintRow {
    pub property: String,
    pub text: String,
}

/// What is to be known about the run, and is nothing that happened in it.
#[derive(Clone, Debug, Serialize)]
pub struct NoteRow {
    pub text: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct FinalRow {
    pub events: u64,
    /// What follows is not known, for this reason.
    #[serde(rename = "complete", serialize_with = "is_complete")]
    pub cut: Option<CutShort>,
    pub properties: Vec<FinalProperty>,
    /// How the program ended; a trace has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramEnd>,
}

/// What was not seen to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutShort {
    /// The trace, in this line.
    Line(u64),
    /// The run that was recorded.
    Recording,
    /// Somebody did not want to wait for the end of the trace.
    Replay,
    /// Somebody did not want to wait for the end of the program.
    Interrupted,
    /// The time was up.
    TimeLimit,
    /// `--stop-on-violation`.
    Violation,
    /// The program went on alone.
    Run,
}

fn is_complete<S: Serializer>(cut: &Option<CutShort>, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_bool(cut.is_none())
}

/// How a program ended.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum ProgramEnd {
    Exit(i32),
    Signal(String),
}

#[derive(Clone, Debug, Serialize)]
pub struct FinalProperty {
    pub property: String,
    pub verdict: &'static str,
    pub violations: u64,
    /// Violations that are known, and not among the others.
    #[serde(skip_serializing_if = "is_zero")]
    pub suppressed: u64,
    /// What went wrong with it, so that it saw no more events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<PropertyError>,
    /// How often something did.
    #[serde(skip)]
    pub failures: u64,
    /// Why it did not see all events.
    #[serde(skip)]
    pub away: Option<&'static str>,
    pub slices: FinalSlices,
}

/// A block of a property raised, or an argument was not what it declares.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct PropertyError {
    /// Python's name of it, where it has one.
    #[serde(rename = "type")]
    pub kind: String,
    /// With the place in the property.
    pub text: String,
    /// For people: Python's whole account.
    #[serde(skip)]
    pub traceback: String,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

#[derive(Clone, Debug, Serialize)]
pub struct FinalSlices {
    pub total: u64,
    pub ended: u64,
    pub by_state: Object,
}

impl FinalSlices {
    /// States without slices are left out.
    pub fn count(by_state: impl Iterator<Item = (String, u64)>, total: u64, ended: u64) -> Self {
        FinalSlices {
            total,
            ended,
            by_state: Object(
                by_state
                    .filter(|(_, n)| *n > 0)
                    .map(|(s, n)| (s, Json::UInt(n)))
                    .collect(),
            ),
        }
    }
}
