//! The table of functions that the plugin exports: plain C types, so that the
//! plugin and the program need not come from the same compiler run.
//!
//! Rules: pointers given to a function live until it returns; the plugin never
//! keeps one. All functions must be called from the thread that called `start`.

use std::ffi::c_void;
use verde_monitor::Cell;

/// Raised with every change of this file.
pub const ABI_VERSION: u32 = 2;

/// Name of the exported function that returns the table.
pub const ENTRY: &[u8] = b"verde_python_table\0";

/// A string of the caller's: UTF-8, not terminated.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Text {
    pub ptr: *const u8,
    pub len: usize,
}

impl Text {
    pub fn new(s: &str) -> Text {
        Text {
            ptr: s.as_ptr(),
            len: s.len(),
        }
    }
}

/// An array of the caller's.
#[repr(C)]
pub struct List<T> {
    pub ptr: *const T,
    pub len: usize,
}

impl<T> List<T> {
    pub fn new(s: &[T]) -> List<T> {
        List {
            ptr: s.as_ptr(),
            len: s.len(),
        }
    }
}

/// An argument of an event or a binding of a slice.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Value {
    /// One of `KIND_*`.
    pub kind: u32,
    pub bits: u64,
    pub text: Text,
}

pub const KIND_NONE: u32 = 0;
pub const KIND_BOOL: u32 = 1;
pub const KIND_INT: u32 = 2;
pub const KIND_UINT: u32 = 3;
pub const KIND_FLOAT: u32 = 4;
pub const KIND_STR: u32 = 5;
pub const KIND_JSON: u32 = 6;

/// Receives text from the plugin, and answers what Python asks meanwhile.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Sink {
    pub context: *mut c_void,
    pub write: extern "C" fn(context: *mut c_void, what: u32, text: Text),
    /// A request and its arguments as JSON. The answer (JSON, or a message when `ok`
    /// becomes false) lives until the next call through this sink.
    pub ask: extern "C" fn(context: *mut c_void, what: Text, args: Text, ok: *mut bool) -> Text,
}

/// What a [`Sink`] receives: printed text, the last line of an exception, its traceback, or a result.
pub const SINK_PRINT: u32 = 0;
pub const SINK_ERROR: u32 = 1;
pub const SINK_TRACEBACK: u32 = 2;
pub const SINK_RESULT: u32 = 3;

/// A block to compile.
#[repr(C)]
pub struct BlockSource {
    /// Of `make_env`.
    pub env: u32,
    /// Name of the function that the block becomes, for tracebacks.
    pub name: Text,
    pub file: Text,
    pub text: Text,
    /// For each line of `text` the file's line, and what to add to byte columns.
    pub lines: List<u32>,
    pub shifts: List<i32>,
    pub params: List<Text>,
    /// Names that it assigns and that belong to the environment.
    pub globals: List<Text>,
}

pub const RUN_TRUE: u32 = 0;
pub const RUN_FALSE: u32 = 1;
pub const RUN_NONE: u32 = 2;
pub const RUN_RAISED: u32 = 3;

/// Every `bool` is false when the call raised; the sink has the exception.
#[repr(C)]
pub struct Table {
    pub version: u32,
    /// Starts the interpreter. A block that runs longer than the limit is interrupted.
    pub start: extern "C" fn(limit_ms: u64, sink: Sink) -> bool,
    /// Runs a functions file.
    pub functions: extern "C" fn(file: Text, text: Text, sink: Sink) -> bool,
    /// An environment with these names; slices take turns in it. `owner` is the
    /// number of the property or scenario that its blocks belong to.
    pub make_env: extern "C" fn(owner: u64, names: List<Text>) -> u32,
    /// Compiles a block; 0 when it cannot be.
    pub compile: extern "C" fn(block: *const BlockSource, sink: Sink) -> u32,
    /// Runs a block on the cells of a slice's environment.
    pub run: extern "C" fn(
        block: u32,
        args: List<Value>,
        cells: *mut Cell,
        owned: *mut bool,
        n: usize,
        sink: Sink,
    ) -> u32,
    pub has_action: extern "C" fn(name: Text) -> bool,
    pub action: extern "C" fn(
        owner: u64,
        name: Text,
        names: List<Text>,
        values: List<Value>,
        sink: Sink,
    ) -> bool,
    /// Calls the callbacks that were registered for a moment, with arguments as JSON;
    /// the name of one that raises is the result.
    pub fire: extern "C" fn(owner: u64, moment: Text, args: Text, sink: Sink) -> bool,
    /// Calls a method of `monitor`; what it returns, as text, is the result.
    pub method: extern "C" fn(owner: u64, name: Text, args: Text, sink: Sink) -> bool,
    /// The property is gone, and what was registered for it.
    pub forget: extern "C" fn(owner: u64),
    /// Deep copies of the cells that are Python values.
    pub copy: extern "C" fn(cells: *mut Cell, n: usize, sink: Sink) -> bool,
    pub release: extern "C" fn(handle: u64),
    pub json: extern "C" fn(handle: u64, sink: Sink),
}

pub type Entry = unsafe extern "C" fn() -> *const Table;
