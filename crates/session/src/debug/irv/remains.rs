//! What the optimiser has left of what an event reads: found out when the event is bound, by
//! evaluating the expression once with registers and memory that hold anything.

use super::super::images::Images;
use super::reads::How;
use super::values::{Form, Owned};
use std::sync::Arc;
use verde_expr::{Call, Data, EvalError, FrameScope, Loaded, Node, Scope, Value, eval as evaluate};
use verde_symbols::{DieId, EntryValues, Language, LocationError, Memory, Module, Registers};

/// Why a value is not there, in the words of the note that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Nothing is left of it.
    Removed,
    /// The calling convention for large vectors is not known.
    Convention,
    /// Its place is one that nobody can read.
    Unreadable,
    /// What is in a register has no address.
    NoAddress,
    /// Nobody kept what it was at the entry.
    Entry,
}

/// What every register holds: small enough for a length, large enough for an index to be below.
const ANYTHING: u64 = 4096;

/// How a bound expression is read at the place of a frame, by what is left of it there.
pub fn remaining(node: Box<Node>, form: Form, frame: &FrameScope, images: &Images) -> How {
    let alone = Blank::new(Some(frame), images, None);
    match alone.left_of(&node, form) {
        Left::All => How::Node(node, form),
        Left::Part => How::InPart(node, form),
        Left::Nothing(why) => {
            let with_callers = Blank::new(Some(frame), images, Some(Arc::new(Anything)));
            match with_callers.left_of(&node, form) {
                Left::Nothing(_) => How::Removed(why),
                _ => How::ByCaller(node, form),
            }
        }
    }
}

enum Left {
    All,
    /// A structure that lacks members.
    Part,
    Nothing(Why),
}

/// A thread that stands at a place, with any contents.
pub(super) struct Blank<'a> {
    frame: Option<FrameScope>,
    images: &'a Images,
}

impl Blank<'_> {
    /// At the place of a frame, or nowhere. `callers`: they say what they passed.
    pub fn new<'a>(
        frame: Option<&FrameScope>,
        images: &'a Images,
        callers: Option<Arc<Anything>>,
    ) -> Blank<'a> {
        let frame = frame.map(|f| filled(f.clone(), callers));
        Blank { frame, images }
    }

    fn left_of(mut self, node: &Node, form: Form) -> Left {
        let value = match evaluate(node, &mut self) {
            Ok(value) => value,
            Err(e) => return why(&e).map_or(Left::All, Left::Nothing),
        };
        match &value.data {
            // Of a structure the members are there that are; a text needs them all.
            Data::Partly(..) => match Owned::of(&value, form, &self) {
                Owned::None => Left::Nothing(Why::Removed),
                _ => Left::Part,
            },
            Data::Missing(e) => why(&e.clone().into()).map_or(Left::All, Left::Nothing),
            Data::Bytes(_) | Data::Memory(_) => Left::All,
        }
    }
}

/// What the contents of registers and memory cannot mend.
fn why(error: &EvalError) -> Option<Why> {
    Some(match error {
        EvalError::OptimizedOut => Why::Removed,
        EvalError::Location(LocationError::UnknownConvention) => Why::Convention,
        EvalError::Location(LocationError::Dwarf(_) | LocationError::NoRegister(_)) => {
            Why::Unreadable
        }
        EvalError::InRegister | EvalError::NoAddress => Why::NoAddress,
        _ => return None,
    })
}

fn filled(mut frame: FrameScope, callers: Option<Arc<Anything>>) -> FrameScope {
    frame.frame.registers = Registers {
        general: [Some(ANYTHING); 17],
        xmm: [Some([0; 16]); 16],
        ymm_high: [Some([0; 16]); 16],
        control: Some([0; 9]),
        st: [Some([0; 10]); 8],
        eflags: Some(0),
        fs_base: Some(ANYTHING),
        gs_base: Some(ANYTHING),
        segments: Some([0; 6]),
    };
    frame.frame.cfa = Some(ANYTHING);
    frame.entry = callers.map(|c| c as _);
    frame
}

/// Callers that say what they passed.
pub(super) struct Anything;

impl EntryValues for Anything {
    fn entry_register(&self, _: u16) -> Option<u64> {
        Some(ANYTHING)
    }

    fn entry_parameter(&self, _: DieId) -> Option<u64> {
        Some(ANYTHING)
    }
}

impl Memory for Blank<'_> {
    fn read(&self, _: u64, buf: &mut [u8]) -> Result<(), LocationError> {
        buf.fill(0);
        Ok(())
    }
}

const NOTHING_RUNS: EvalError = EvalError::NoProcess("nothing runs");

impl Scope for Blank<'_> {
    fn modules(&self) -> &[Loaded] {
        self.images.loaded()
    }

    fn frame(&self) -> Option<&FrameScope> {
        self.frame.as_ref()
    }

    fn tls(&self, _: &Module) -> Option<u64> {
        Some(ANYTHING)
    }

    fn write(&mut self, _: u64, _: &[u8]) -> Result<(), EvalError> {
        Err(NOTHING_RUNS)
    }

    fn write_register(&mut self, _: u16, _: &[u8]) -> Result<(), EvalError> {
        Err(NOTHING_RUNS)
    }

    fn call(&mut self, _: &Call) -> Result<Registers, EvalError> {
        Err(NOTHING_RUNS)
    }

    fn allocate(&mut self, _: u64) -> Result<u64, EvalError> {
        Err(NOTHING_RUNS)
    }

    fn convenience(&self, _: &str) -> Option<Value> {
        None
    }

    fn set_convenience(&mut self, _: &str, _: Value) {}

    fn history(&self, _: i64) -> Option<Value> {
        None
    }

    fn language(&self) -> Language {
        match &self.frame {
            Some(frame) => frame.language(),
            None => self.images.language(),
        }
    }
}
