//! Where an expression is evaluated.

use crate::error::EvalError;
use crate::value::Value;
use std::sync::Arc;
use verde_symbols::{
    DieId, EntryValues, Env, FileAddr, Frame, Language, Memory, Module, Registers, SourceFrame,
    needed_from_callers,
};

/// A module and where it is loaded.
#[derive(Clone)]
pub struct Loaded {
    /// The file.
    pub module: Arc<Module>,
    /// What the loader added to the file's addresses.
    pub bias: u64,
}

/// The frame names are looked up in: one frame of code, and one source frame of it.
#[derive(Clone)]
pub struct FrameScope {
    /// Registers, canonical frame address, pc and module.
    pub frame: Frame,
    /// The function or inlined call.
    pub source: Option<SourceFrame>,
    /// The thread stands at the function's very first instruction: its arguments are where the
    /// calling convention puts them, not where the body will find them.
    pub at_entry: bool,
    /// What the caller passed, for values the body no longer has.
    pub entry: Option<Arc<dyn EntryValues + Send + Sync>>,
}

impl FrameScope {
    /// The scope of a frame of a backtrace (`level`) and one of its source frames. Whether it stands at
    /// its function's entry and what its callers passed is found here.
    pub fn new(
        frames: &[Frame],
        level: usize,
        source: Option<SourceFrame>,
        memory: &dyn Memory,
    ) -> Option<FrameScope> {
        let frame = frames.get(level)?.clone();
        let inlined = source.as_ref().is_some_and(|s| s.is_inlined);
        let at_entry = match (&frame.module, frame.file_addr()) {
            (Some((module, _)), Some(addr)) if frame.is_exact && !inlined => {
                module.function_at(addr).is_some_and(|f| f.entry == addr)
            }
            _ => false,
        };
        let entry = needed_from_callers(frames, level, memory);
        Some(FrameScope {
            frame,
            source,
            at_entry,
            entry: Some(Arc::new(entry)),
        })
    }

    /// The address to look names up by, in the frame's module.
    pub fn file_addr(&self) -> Option<FileAddr> {
        self.frame.file_addr()
    }

    /// The function or inlined call around.
    pub fn die(&self) -> Option<DieId> {
        self.source.as_ref().map(|s| s.die)
    }

    /// The language to parse and print in.
    pub fn language(&self) -> Language {
        self.source.as_ref().map_or(Language::C, |s| s.language)
    }
}

/// A call to be made in the program, by the rules of its calling convention.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Call {
    /// The function's address.
    pub function: u64,
    /// Integer argument registers in order.
    pub integers: Vec<u64>,
    /// Floating-point argument registers in order.
    pub floats: Vec<[u8; 16]>,
    /// Words pushed for the rest, first argument lowest.
    pub stack: Vec<u8>,
}

/// Registers, memory, frame and modules: all an expression can see and do. Reading goes through
/// [`Memory`]; a scope without a process (a core file) refuses to write and call.
pub trait Scope: Memory {
    /// Loaded modules, the program first.
    fn modules(&self) -> &[Loaded];

    /// Whether a name without a file can mean a datum of a module that the linker calls so.
    fn reaches(&self, _module: &Module, _linkage: &str) -> bool {
        true
    }

    /// The selected frame.
    fn frame(&self) -> Option<&FrameScope>;

    /// The frame of a function: the selected one if it is, else the innermost.
    fn frame_of(&self, function: DieId) -> Option<FrameScope> {
        let selected = self.frame().filter(|f| f.die() == Some(function));
        selected.cloned()
    }

    /// Start of a module's thread-local block in the selected thread.
    fn tls(&self, module: &Module) -> Option<u64>;

    /// Writes memory.
    fn write(&mut self, addr: u64, bytes: &[u8]) -> Result<(), EvalError>;

    /// Writes a register of the selected frame, by DWARF number.
    fn write_register(&mut self, number: u16, bytes: &[u8]) -> Result<(), EvalError>;

    /// Calls a function and returns the registers it came back with.
    fn call(&mut self, call: &Call) -> Result<Registers, EvalError>;

    /// Memory of the program for a string or array literal.
    fn allocate(&mut self, size: u64) -> Result<u64, EvalError>;

    /// A convenience variable (`$x`), without the dollar.
    fn convenience(&self, name: &str) -> Option<Value>;

    /// Sets a convenience variable.
    fn set_convenience(&mut self, name: &str, value: Value);

    /// An earlier value: `$3` is 3, `$` is the last and `$$2` the second before it (as 0 and -2).
    fn history(&self, number: i64) -> Option<Value>;

    /// The language to parse and print in.
    fn language(&self) -> Language {
        match self.frame() {
            Some(frame) => frame.language(),
            None => Language::C,
        }
    }
}

/// The environment of a module's locations in a scope.
pub(crate) fn env<'a>(scope: &'a dyn Scope, memory: &'a dyn Memory, module: &Module) -> Env<'a> {
    let loaded = scope
        .modules()
        .iter()
        .find(|l| std::ptr::eq(&*l.module, module));
    let frame = scope.frame();
    let entry = frame.and_then(|f| f.entry.as_deref());
    Env {
        memory,
        registers: frame.map(|f| &f.frame.registers),
        cfa: frame.and_then(|f| f.frame.cfa),
        bias: loaded.map_or(0, |l| l.bias),
        tls: scope.tls(module),
        entry: entry.map(|e| e as &dyn EntryValues),
    }
}
