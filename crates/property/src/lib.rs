//! The property and scenario languages of Verde.
//!
//! Pure: text in, a checked [`Property`] or [`Scenario`] and [`Diagnostic`]s
//! out. Nothing here runs a block, opens a file or knows a process.

pub mod ast;
mod block;
mod chain;
mod check;
mod cursor;
pub mod diag;
pub mod ir;
pub mod limits;
mod lint;
mod load;
mod lower;
pub mod model;
mod parse;
mod python;
pub mod scan;
mod scenario;
mod scenario_words;
pub mod source;
mod types;

pub use ast::{Kind, When};
pub use diag::{Diagnostic, Severity, render};
pub use load::{Functions, Loaded, load_property, load_scenario};
pub use model::*;
pub use scenario::{Moment, Reaction, Scenario, StateFilter, Trigger};
pub use source::{Source, Span};
pub use types::declared as declared_types;
