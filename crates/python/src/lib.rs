//! The Python plugin: CPython behind the C table of `verde_pyhost::abi`.
//!
//! Unsafe code: the functions of the table are called through C, with pointers
//! that live during the call (the rule of the table), and Python values are
//! handed out as raw references whose counts the caller keeps.
#![allow(unsafe_code)]

mod convert;
mod plugin;
mod watchdog;

use std::panic::{AssertUnwindSafe, catch_unwind};
use verde_monitor::Cell;
use verde_pyhost::abi::*;

static TABLE: Table = Table {
    version: ABI_VERSION,
    start,
    functions,
    make_env,
    compile,
    run,
    has_action,
    action,
    fire,
    method,
    forget,
    copy,
    release,
    json,
};

#[unsafe(no_mangle)]
pub extern "C" fn verde_python_table() -> *const Table {
    &TABLE
}

/// A panic must not cross into C: it becomes the value for "raised".
fn guarded<T>(raised: T, sink: Option<Sink>, f: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|_| {
        if let Some(sink) = sink {
            let text = "internal error of the Python plugin";
            (sink.write)(sink.context, SINK_ERROR, Text::new(text));
        }
        raised
    })
}

extern "C" fn start(limit_ms: u64, sink: Sink) -> bool {
    guarded(false, Some(sink), || plugin::start(limit_ms, sink))
}

extern "C" fn functions(file: Text, text: Text, sink: Sink) -> bool {
    guarded(false, Some(sink), || {
        plugin::functions(convert::text(file), convert::text(text), sink)
    })
}

extern "C" fn make_env(owner: u64, names: List<Text>) -> u32 {
    guarded(0, None, || plugin::make_env(owner, convert::list(&names)))
}

extern "C" fn compile(block: *const BlockSource, sink: Sink) -> u32 {
    guarded(0, Some(sink), || {
        // SAFETY: the caller's block lives during the call.
        plugin::compile(unsafe { &*block }, sink)
    })
}

extern "C" fn run(
    block: u32,
    args: List<Value>,
    cells: *mut Cell,
    owned: *mut bool,
    n: usize,
    sink: Sink,
) -> u32 {
    guarded(RUN_RAISED, Some(sink), || {
        // SAFETY: the caller gives two arrays of `n` that nobody else uses during the call.
        let (cells, owned) = unsafe {
            (
                std::slice::from_raw_parts_mut(cells, n),
                std::slice::from_raw_parts_mut(owned, n),
            )
        };
        plugin::run(block, convert::list(&args), cells, owned, sink)
    })
}

extern "C" fn has_action(name: Text) -> bool {
    guarded(false, None, || plugin::has_action(convert::text(name)))
}

extern "C" fn fire(owner: u64, moment: Text, args: Text, sink: Sink) -> bool {
    guarded(false, Some(sink), || {
        plugin::fire(owner, convert::text(moment), convert::text(args), sink)
    })
}

extern "C" fn method(owner: u64, name: Text, args: Text, sink: Sink) -> bool {
    guarded(false, Some(sink), || {
        plugin::method(owner, convert::text(name), convert::text(args), sink)
    })
}

extern "C" fn forget(owner: u64) {
    guarded((), None, || plugin::forget(owner))
}

extern "C" fn action(
    owner: u64,
    name: Text,
    names: List<Text>,
    values: List<Value>,
    sink: Sink,
) -> bool {
    guarded(false, Some(sink), || {
        plugin::action(
            owner,
            convert::text(name),
            convert::list(&names),
            convert::list(&values),
            sink,
        )
    })
}

extern "C" fn copy(cells: *mut Cell, n: usize, sink: Sink) -> bool {
    guarded(false, Some(sink), || {
        // SAFETY: the caller gives an array of `n` that nobody else uses during the call.
        plugin::copy(unsafe { std::slice::from_raw_parts_mut(cells, n) }, sink)
    })
}

extern "C" fn release(handle: u64) {
    guarded((), None, || plugin::release(handle))
}

extern "C" fn json(handle: u64, sink: Sink) {
    guarded((), Some(sink), || plugin::json(handle, sink))
}
