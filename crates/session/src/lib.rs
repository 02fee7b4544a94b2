//! Monitors at work on a stream of events, and what they report.
//!
//! The stream is a recorded trace. Reports are rows ([`report::Row`]) that any
//! front end can show or write as JSON.

pub mod board;
mod code_host;
pub mod debug;
mod fast_line;
mod inquiry;
mod json;
mod lines;
mod properties;
mod recorder;
pub mod replay;
mod replay_board;
mod replay_code;
pub mod report;
mod router;
mod rows;
mod shipped;
mod trace;
mod writes;

pub use json::{Json, Object};
pub use properties::{Failed, LoadedSet, Loader, read_source};
pub use replay::{Outcome, Replay, Show};
pub use shipped::{PropertyText, property as property_text};
pub use verde_sys::inherited::is_ignored;
