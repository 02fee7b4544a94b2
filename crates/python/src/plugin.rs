//! The interpreter and what the table's functions do with it.

use crate::watchdog::What;
use crate::{convert, watchdog};
use pyo3::ffi::c_str;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyList, PyModule, PyString, PyTuple};
use std::cell::{Cell as StdCell, RefCell};
use verde_monitor::{Cell, Tag};
use verde_pyhost::abi::*;

/// Text that a runaway block may print before the rest is dropped.
const MOST_PRINTED: usize = 16 << 20;

struct Plugin {
    prelude: Py<PyModule>,
    from_json: Py<PyAny>,
    envs: Vec<Env>,
    blocks: Vec<Block>,
}

/// The globals of a property's blocks. Slices take turns in it.
struct Env {
    owner: u64,
    globals: Py<PyDict>,
    names: Vec<Py<PyString>>,
    /// Entries of `globals` that are not the slice's.
    fixed: usize,
}

struct Block {
    env: usize,
    function: Py<PyAny>,
}

thread_local! {
    static PLUGIN: RefCell<Option<Plugin>> = const { RefCell::new(None) };
    static PRINTED: RefCell<String> = const { RefCell::new(String::new()) };
    /// Whose code runs now, and who answers it.
    static CURRENT: StdCell<Option<(u64, Sink)>> = const { StdCell::new(None) };
}

fn with<T>(f: impl FnOnce(Python<'_>, &mut Plugin) -> T) -> Option<T> {
    PLUGIN.with(|p| {
        let mut p = p.try_borrow_mut().ok()?;
        let plugin = p.as_mut()?;
        Some(Python::attach(|py| f(py, plugin)))
    })
}

fn send(sink: Sink, what: u32, text: &str) {
    (sink.write)(sink.context, what, Text::new(text));
}

fn send_printed(sink: Sink) {
    let text = PRINTED.with(|p| std::mem::take(&mut *p.borrow_mut()));
    if !text.is_empty() {
        send(sink, SINK_PRINT, &text);
    }
}

fn send_error(py: Python<'_>, prelude: &Py<PyModule>, error: &PyErr, sink: Sink) {
    let described = prelude
        .bind(py)
        .getattr("describe")
        .and_then(|d| d.call1((error.value(py), error.traceback(py))))
        .and_then(|v| v.extract::<(String, String)>());
    match described {
        Ok((last, whole)) => {
            send(sink, SINK_ERROR, &last);
            send(sink, SINK_TRACEBACK, &whole);
        }
        Err(_) => send(sink, SINK_ERROR, &error.to_string()),
    }
}

pub fn start(limit_ms: u64, sink: Sink) -> bool {
    if PLUGIN.with(|p| p.borrow().is_some()) {
        return true;
    }
    // SAFETY: called once, before any other use of Python, by the thread that
    // will run it. 0: Python installs no signal handlers of its own. The
    // interpreter lock is let go at once; every call below takes it.
    unsafe {
        if pyo3::ffi::Py_IsInitialized() == 0 {
            pyo3::ffi::Py_InitializeEx(0);
            pyo3::ffi::PyEval_SaveThread();
        }
    }
    let result = Python::attach(|py| -> PyResult<Plugin> {
        let prelude = PyModule::from_code(
            py,
            c_str!(include_str!("prelude.py")),
            c_str!("verde_prelude.py"),
            c_str!("verde_prelude"),
        )?;
        let write = PyCFunction::new_closure(py, None, None, |args, _| -> PyResult<()> {
            // May run user code that prints: before the buffer is borrowed.
            let text = args.get_item(0)?.str()?;
            PRINTED.with(|p| {
                let mut p = p.borrow_mut();
                if p.len() < MOST_PRINTED {
                    p.push_str(&text.to_string_lossy());
                }
            });
            Ok(())
        })?;
        let ask = PyCFunction::new_closure(py, None, None, |args, _| {
            let what = args.get_item(0)?.extract::<String>()?;
            let json = args.get_item(1)?.extract::<String>()?;
            ask(&what, &json)
        })?;
        let owner = PyCFunction::new_closure(py, None, None, |_, _| {
            CURRENT.with(|c| c.get()).map_or(0, |(owner, _)| owner)
        })?;
        let borrow = PyCFunction::new_closure(py, None, None, |args, _| {
            let handle = args.get_item(0)?.extract::<u64>()?;
            Ok::<_, PyErr>(convert::borrow(args.py(), handle).unbind())
        })?;
        let cell = PyCFunction::new_closure(py, None, None, |args, _| {
            let value = args.get_item(0)?;
            let cell = convert::to_cell(&value).unwrap_or_else(|| Cell {
                bits: convert::give(value),
                tag: Tag::Other,
            });
            Ok::<_, PyErr>((cell.bits, cell.tag as u8))
        })?;
        let expired = PyCFunction::new_closure(py, None, None, |_, _| watchdog::expired())?;
        prelude
            .getattr("start")?
            .call1((write, expired, watchdog::SIGNAL))?;
        prelude
            .getattr("connect")?
            .call1((ask, owner, borrow, cell))?;
        Ok(Plugin {
            from_json: prelude.getattr("from_json")?.unbind(),
            prelude: prelude.unbind(),
            envs: Vec::new(),
            blocks: Vec::new(),
        })
    });
    match result {
        Ok(plugin) => {
            PLUGIN.with(|p| *p.borrow_mut() = Some(plugin));
            if let Err(e) = watchdog::start(limit_ms) {
                send(sink, SINK_ERROR, &format!("no thread to watch blocks: {e}"));
                return false;
            }
            true
        }
        Err(e) => {
            send(sink, SINK_ERROR, &e.to_string());
            false
        }
    }
}

/// Asks the program that the plugin belongs to.
fn ask(what: &str, json: &str) -> PyResult<(bool, String)> {
    let Some((_, sink)) = CURRENT.with(|c| c.get()) else {
        return Ok((false, "nobody is there to answer".into()));
    };
    // What was printed before must be seen before.
    send_printed(sink);
    // The answer may take its time: it is not the block that does not end.
    let _paused = watchdog::pause();
    let mut ok = true;
    let text = (sink.ask)(sink.context, Text::new(what), Text::new(json), &mut ok);
    Ok((ok, convert::text(text).to_owned()))
}

/// Runs `f` under the watchdog; sends what it printed, and what it raised.
fn watched<T>(
    what: What,
    sink: Sink,
    f: impl FnOnce(Python<'_>, &mut Plugin) -> PyResult<T>,
) -> Option<T> {
    with(|py, plugin| {
        let result = {
            let _running = watchdog::enter(what);
            f(py, plugin)
        };
        send_printed(sink);
        match result {
            Ok(v) => Some(v),
            Err(e) => {
                send_error(py, &plugin.prelude, &e, sink);
                None
            }
        }
    })
    .flatten()
}

/// The same for the code of `owner`, whose questions are answered.
fn call<T>(
    owner: u64,
    sink: Sink,
    f: impl FnOnce(Python<'_>, &mut Plugin) -> PyResult<T>,
) -> Option<T> {
    watched(What::Block, sink, |py, plugin| {
        CURRENT.with(|c| c.set(Some((owner, sink))));
        let result = f(py, plugin);
        CURRENT.with(|c| c.set(None));
        result
    })
}

pub fn functions(file: &str, text: &str, sink: Sink) -> bool {
    watched(What::File, sink, |py, plugin| {
        let run = plugin.prelude.bind(py).getattr("run_functions")?;
        run.call1((file, text)).map(drop)
    })
    .is_some()
}

pub fn make_env(owner: u64, names: &[Text]) -> u32 {
    with(|py, plugin| -> PyResult<u32> {
        let globals = plugin.prelude.bind(py).getattr("make_env")?.call0()?;
        let globals = globals.cast_into::<PyDict>()?;
        plugin.envs.push(Env {
            owner,
            fixed: globals.len(),
            globals: globals.unbind(),
            names: names
                .iter()
                .map(|n| PyString::intern(py, convert::text(*n)).unbind())
                .collect(),
        });
        Ok(plugin.envs.len() as u32 - 1)
    })
    .and_then(Result::ok)
    .unwrap_or(0)
}

pub fn compile(b: &BlockSource, sink: Sink) -> u32 {
    let texts = |l: &List<Text>| -> Vec<&str> {
        convert::list(l).iter().map(|t| convert::text(*t)).collect()
    };
    call(0, sink, |py, plugin| {
        let env = plugin.envs[b.env as usize].globals.bind(py);
        let function = plugin.prelude.bind(py).getattr("compile_block")?.call1((
            env,
            convert::text(b.name),
            convert::text(b.file),
            convert::text(b.text),
            convert::list(&b.lines).to_vec(),
            convert::list(&b.shifts).to_vec(),
            texts(&b.params),
            texts(&b.globals),
        ))?;
        plugin.blocks.push(Block {
            env: b.env as usize,
            function: function.unbind(),
        });
        Ok(plugin.blocks.len() as u32)
    })
    .unwrap_or(0)
}

pub fn run(block: u32, args: &[Value], cells: &mut [Cell], owned: &mut [bool], sink: Sink) -> u32 {
    let owner = with(|_, p| p.envs[p.blocks[block as usize - 1].env].owner).unwrap_or(0);
    call(owner, sink, |py, plugin| {
        let block = &plugin.blocks[block as usize - 1];
        let env = &plugin.envs[block.env];
        let globals = env.globals.bind(py);
        load(py, env, globals, cells)?;
        let from_json = plugin.from_json.bind(py);
        let args = args
            .iter()
            .map(|v| convert::argument(py, v, from_json))
            .collect::<PyResult<Vec<_>>>()?;
        let value = match block.function.bind(py).call1(PyTuple::new(py, args)?) {
            Ok(value) => value,
            // It asked to be left: what it did until then is done.
            Err(e) if is_leaving(py, &plugin.prelude, &e) => py.None().into_bound(py),
            Err(e) => return Err(e),
        };
        let truth = if value.is_none() {
            RUN_NONE
        } else if value.is_truthy()? {
            RUN_TRUE
        } else {
            RUN_FALSE
        };
        store(py, env, globals, cells, owned)?;
        Ok(truth)
    })
    .unwrap_or(RUN_RAISED)
}

/// The slice takes its turn: its values become the globals.
fn load(py: Python<'_>, env: &Env, globals: &Bound<'_, PyDict>, cells: &[Cell]) -> PyResult<()> {
    let mut set = env.fixed;
    for (name, c) in env.names.iter().zip(cells) {
        match convert::to_python(py, *c)? {
            Some(v) => {
                globals.set_item(name, v)?;
                set += 1;
            }
            None => {
                if globals.contains(name)? {
                    globals.del_item(name)?;
                }
            }
        }
    }
    if globals.len() != set {
        forget_strangers(py, env, globals)?;
    }
    Ok(())
}

/// Names that a block made in other ways than assignment (`exec`) belong to no slice.
fn forget_strangers(py: Python<'_>, env: &Env, globals: &Bound<'_, PyDict>) -> PyResult<()> {
    for key in globals.keys() {
        let text = key.str()?;
        let text = text.to_string_lossy();
        let known = text.starts_with("__")
            || env
                .names
                .iter()
                .any(|n| n.bind(py).to_string_lossy() == text);
        if !known {
            globals.del_item(&key)?;
        }
    }
    Ok(())
}

/// Reads the globals back. A value that is still the same object stays as it is.
fn store(
    py: Python<'_>,
    env: &Env,
    globals: &Bound<'_, PyDict>,
    cells: &mut [Cell],
    owned: &mut [bool],
) -> PyResult<()> {
    for ((name, cell), owned) in env.names.iter().zip(cells).zip(owned) {
        let value = globals.get_item(name)?;
        let same = |v: &Bound<'_, PyAny>| cell.tag == Tag::Other && v.as_ptr() as u64 == cell.bits;
        if value.as_ref().is_some_and(same) {
            continue;
        }
        let plain = match &value {
            None => Some(Cell::UNSET),
            Some(v) => convert::to_cell(v),
        };
        if std::mem::take(owned) {
            convert::release(py, cell.bits);
        }
        *cell = match (plain, value) {
            (Some(c), _) => c,
            (None, Some(v)) => {
                *owned = true;
                Cell {
                    bits: convert::give(v),
                    tag: Tag::Other,
                }
            }
            (None, None) => Cell::UNSET,
        };
    }
    Ok(())
}

pub fn has_action(name: &str) -> bool {
    with(|py, plugin| -> PyResult<bool> {
        plugin
            .prelude
            .bind(py)
            .getattr("has_action")?
            .call1((name,))?
            .extract()
    })
    .and_then(Result::ok)
    .unwrap_or(false)
}

/// `stop_execution` and `debugger_shell` leave the code that calls them by an exception.
fn is_leaving(py: Python<'_>, prelude: &Py<PyModule>, error: &PyErr) -> bool {
    prelude
        .bind(py)
        .getattr("Leave")
        .is_ok_and(|leave| error.is_instance(py, &leave))
}

pub fn fire(owner: u64, moment: &str, args: &str, sink: Sink) -> bool {
    let fired = call(owner, sink, |py, plugin| {
        let fire = plugin.prelude.bind(py).getattr("fire")?;
        fire.call1((owner, moment, args)).map(drop)
    });
    if fired.is_none() {
        let name = with(|py, plugin| {
            let name = plugin.prelude.bind(py).getattr("failed_callback");
            name.and_then(|n| n.extract::<String>())
        });
        if let Some(Ok(name)) = name {
            send(sink, SINK_RESULT, &name);
        }
    }
    fired.is_some()
}

pub fn method(owner: u64, name: &str, args: &str, sink: Sink) -> bool {
    let text = call(owner, sink, |py, plugin| {
        let method = plugin.prelude.bind(py).getattr("call_method")?;
        method.call1((name, args))?.extract::<String>()
    });
    match text {
        Some(text) => {
            send(sink, SINK_RESULT, &text);
            true
        }
        None => false,
    }
}

pub fn forget(owner: u64) {
    with(|py, plugin| {
        let forget = plugin.prelude.bind(py).getattr("forget");
        // Nothing depends on it: the number is never used again.
        let _ = forget.and_then(|f| f.call1((owner,)));
    });
}

pub fn action(owner: u64, name: &str, names: &[Text], values: &[Value], sink: Sink) -> bool {
    call(owner, sink, |py, plugin| {
        let slice = PyDict::new(py);
        for (n, v) in names.iter().zip(values) {
            slice.set_item(
                convert::text(*n),
                convert::argument(py, v, plugin.from_json.bind(py))?,
            )?;
        }
        plugin
            .prelude
            .bind(py)
            .getattr("call_action")?
            .call1((name, slice))
            .map(drop)
            .or_else(|e| match is_leaving(py, &plugin.prelude, &e) {
                true => Ok(()),
                false => Err(e),
            })
    })
    .is_some()
}

pub fn copy(cells: &mut [Cell], sink: Sink) -> bool {
    call(0, sink, |py, plugin| {
        let others: Vec<Bound<'_, PyAny>> = cells
            .iter()
            .filter(|c| c.tag == Tag::Other)
            .map(|c| convert::borrow(py, c.bits))
            .collect();
        let copies = plugin
            .prelude
            .bind(py)
            .getattr("deep_copy")?
            .call1((PyList::new(py, others)?,))?;
        let copies = copies.cast_into::<PyList>()?;
        let mut copies = copies.iter();
        for c in cells.iter_mut().filter(|c| c.tag == Tag::Other) {
            if let Some(v) = copies.next() {
                c.bits = convert::give(v);
            }
        }
        Ok(())
    })
    .is_some()
}

pub fn release(handle: u64) {
    with(|py, _| convert::release(py, handle));
}

pub fn json(handle: u64, sink: Sink) {
    let text = call(0, sink, |py, plugin| {
        plugin
            .prelude
            .bind(py)
            .getattr("to_json")?
            .call1((convert::borrow(py, handle),))?
            .extract::<String>()
    });
    send(sink, SINK_RESULT, &text.unwrap_or_else(|| "null".into()));
}
