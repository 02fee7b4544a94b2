//! The monitor: slices, transitions and verdicts of one property over events.
//!
//! Pure: no process, no clock, no I/O. Events come in, an [`Observer`] hears
//! what happened, and blocks outside the typed subset are run by a [`Host`].

mod cell;
mod direct;
mod env;
mod flat;
mod groups;
mod history;
mod host;
mod index;
mod interner;
mod interp;
mod layout;
mod monitor;
pub mod num;
mod observer;
mod plan;
mod slices;
mod view;
mod words;

pub use cell::{Arg, Cell, Tag};
pub use env::Scratch;
pub use history::{Entry, Field};
pub use host::{Assigned, Failure, FailureKind, Host, NoPython, Raised, Truth};
pub use interp::{Bail, Params, run as interpret};
pub use layout::LAYOUT_VERSION;
pub use monitor::{Event, FinalVerdict, Monitor, Options};
pub use observer::{Branch, Observer, Step, Violation};
pub use slices::{Slices, SlotRef};
pub use view::View;
