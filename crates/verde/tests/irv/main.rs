//! Properties on live programs, as a user runs them.

mod arguments;
mod bench;
mod calls;
mod ci;
mod data;
mod endings;
mod open_calls;
mod other_events;
mod prompt;
mod scenarios;
mod threads;
