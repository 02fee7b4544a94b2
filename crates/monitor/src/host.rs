//! What the monitor asks of the outside: blocks beyond the typed subset, action
//! functions, and the values that only Python has.

use crate::cell::Cell;
use crate::interp::Params;
use crate::num::Num;
use crate::slices::SlotRef;
use crate::view::View;
use verde_property::{BlockId, Span};

/// What a guard said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    True,
    False,
    None,
}

impl Truth {
    pub(crate) fn of(v: Num) -> Truth {
        match v {
            Num::None => Truth::None,
            v if v.truth() => Truth::True,
            _ => Truth::False,
        }
    }
}

/// An exception of a block or an action, with its traceback as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raised {
    /// The last line: `ZeroDivisionError: division by zero`.
    pub error: String,
    /// The whole traceback, or empty.
    pub traceback: String,
}

impl Raised {
    pub fn new(error: impl Into<String>) -> Self {
        Raised {
            error: error.into(),
            traceback: String::new(),
        }
    }
}

/// Values that an action gives names of its slice, in this order. The cells are references of
/// whoever has it.
pub type Assigned = Vec<(usize, Cell)>;

/// Runs Python for monitors. Handles of [`crate::Tag::Other`] cells are its own;
/// each cell that the monitor holds counts as one reference.
pub trait Host {
    /// Runs a block. `env` is read and updated: where the block gives a name
    /// another value, the new cell is a reference of the caller's and `owned`
    /// is set. Lines that it prints are added to `out`. `view` is the table
    /// as it is meanwhile: a block may ask about it. Its own slice is there as
    /// it was before the event, for what the block has are the names themselves.
    fn run(
        &mut self,
        view: View,
        block: BlockId,
        params: Params,
        env: &mut [Cell],
        owned: &mut [bool],
        out: &mut String,
    ) -> Result<Truth, Raised>;

    fn has_action(&mut self, name: &str) -> bool;

    /// Calls an action function for a slice of `view`. What it gives names of that
    /// slice is for the caller to store; there is nothing of it when it raises.
    fn action(
        &mut self,
        view: View,
        name: &str,
        slice: SlotRef,
        out: &mut String,
    ) -> Result<Assigned, Raised>;

    /// Replaces every [`crate::Tag::Other`] cell by a deep copy: what two cells
    /// shared, their copies share. The copies are references of the caller's.
    fn copy(&mut self, cells: &mut [Cell]) -> Result<(), Raised>;

    fn release(&mut self, cell: Cell);

    /// The value as JSON text.
    fn json(&mut self, cell: Cell) -> String;
}

/// The host of properties that fit the typed subset.
pub struct NoPython;

impl Host for NoPython {
    fn run(
        &mut self,
        _: View,
        _: BlockId,
        _: Params,
        _: &mut [Cell],
        _: &mut [bool],
        _: &mut String,
    ) -> Result<Truth, Raised> {
        Err(Raised::new("this block needs Python"))
    }

    fn has_action(&mut self, _: &str) -> bool {
        false
    }

    fn action(&mut self, _: View, _: &str, _: SlotRef, _: &mut String) -> Result<Assigned, Raised> {
        Ok(Assigned::new())
    }

    fn copy(&mut self, _: &mut [Cell]) -> Result<(), Raised> {
        Ok(())
    }

    fn release(&mut self, _: Cell) {}

    fn json(&mut self, _: Cell) -> String {
        "null".into()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// A block or an action raised.
    Raised(Raised),
    /// The event lacks a parameter that a transition needs.
    MissingArgument(String),
    /// A parameter's value contradicts its declared type.
    WrongType { param: String, declared: String },
}

/// Something went wrong while an event was applied to a slice. The transition
/// was not taken and the environment is as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub kind: FailureKind,
    /// The place in the property's file.
    pub span: Span,
    pub block: Option<BlockId>,
}
