//! The program as a user runs it.

mod actions;
mod common;
mod edges;
mod golden;
mod lint_and_graph;
mod python;
mod replay;
