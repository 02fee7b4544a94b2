//! Verde's commands on a terminal: what they print and how they exit.

mod diagnostics;
mod exit;
mod graph;
mod human;
mod lint;
mod paint;
mod prompt;
mod replay;

pub use diagnostics::Format;
pub use exit::Exit;
pub use graph::{GraphCommand, graph};
pub use lint::{LintCommand, lint};
pub use prompt::{DebugCommand, Given, Target, debug};
pub use replay::{Interrupt, ReplayCommand, replay};
