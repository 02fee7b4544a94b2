//! Verde's commands on a terminal: what they print and how they exit.

mod check;
mod check_report;
mod diagnostics;
mod exit;
mod graph;
mod human;
mod junit;
mod launch;
mod lint;
mod monitors;
mod paint;
mod prompt;
mod replay;
mod sarif;
mod suppress;
mod web;

pub use check::{CheckCommand, RecordCommand, check, record};
pub use diagnostics::Format;
pub use exit::Exit;
pub use graph::{GraphCommand, graph};
pub use launch::LaunchSettings;
pub use lint::{LintCommand, lint};
pub use monitors::MonitorSetup;
pub use prompt::{DebugCommand, Given, Target, debug};
pub use replay::{Interrupt, ReplayCommand, replay};
pub use verde_session::debug::{Automation, Interruption, Often};
pub use web::Web;
