//! Properties on live programs, as a user runs them.

mod actions;
mod answers;
mod arguments;
mod bench;
mod by_hand;
mod calls;
mod ci;
mod conventions;
mod data;
mod endings;
mod exchanges;
mod going_back;
mod implementations;
mod inside;
mod open_calls;
mod other_events;
mod prompt;
mod reloaded;
mod results;
mod scenarios;
mod threads;
mod types;
mod unwound;
