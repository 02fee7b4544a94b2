//! The monitors' host, through the plugin's table.
#![allow(unsafe_code)]

use crate::abi::*;
use crate::load::{LoadError, load};
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;
use verde_monitor::{Arg, Assigned, Cell, Host, Params, Raised, SlotRef, Truth, View};
use verde_property::{Block, BlockId, Property, Scenario, Source};

/// Whoever answers what Python code asks about the program and its monitors.
pub trait Services {
    /// An answer as JSON, or a message for an exception. `view`: the slices of the
    /// monitor whose code asks, `owner` its property's number.
    fn request(
        &mut self,
        owner: u64,
        view: Option<View>,
        what: &str,
        args: &str,
    ) -> Result<String, String>;

    /// Text that was printed before a request.
    fn printed(&mut self, text: &str);
}

/// A function that was registered for a moment raised.
pub struct FailedCallback {
    pub name: String,
    pub raised: Raised,
}

/// Nobody: a trace has no program.
pub struct NoProgram;

impl NoProgram {
    /// Whether only a program has the answer.
    pub fn is_asked(what: &str) -> bool {
        const WHAT: [&str; 9] = [
            "execute",
            "eval",
            "frame",
            "thread",
            "checkpoint",
            "restore_checkpoint",
            "set_watchpoint",
            "set_breakpoint",
            "unset_point",
        ];
        WHAT.contains(&what)
    }
}

impl Services for NoProgram {
    fn request(
        &mut self,
        _: u64,
        _: Option<View>,
        what: &str,
        args: &str,
    ) -> Result<String, String> {
        if what == "execute" {
            let command: serde_json::Value = serde_json::from_str(args).unwrap_or_default();
            let command = command["command"].as_str().unwrap_or_default();
            let text = format!("(no program: {command})\n");
            return Ok(serde_json::Value::String(text).to_string());
        }
        Err(format!("{what}: there is no program: this is a trace"))
    }

    fn printed(&mut self, _: &str) {}
}

/// Code that Python runs: blocks with an environment of their own.
#[derive(Clone, Copy)]
pub struct Unit<'a> {
    pub uid: u64,
    pub env: &'a [String],
    pub blocks: &'a [Block],
    pub source: &'a Source,
}

impl<'a> From<&'a Property> for Unit<'a> {
    fn from(p: &'a Property) -> Unit<'a> {
        Unit {
            uid: p.uid,
            env: &p.env,
            blocks: &p.blocks,
            source: &p.source,
        }
    }
}

impl<'a> From<&'a Scenario> for Unit<'a> {
    fn from(s: &'a Scenario) -> Unit<'a> {
        Unit {
            uid: s.uid,
            env: &s.env,
            blocks: &s.blocks,
            source: &s.source,
        }
    }
}

/// Cells of an environment, and which of them are references of the caller's.
pub struct Cells<'a> {
    pub cells: &'a mut [Cell],
    pub owned: &'a mut [bool],
}

/// Who answers the code that is about to run.
pub struct Asking<'a> {
    pub services: &'a mut dyn Services,
    pub view: Option<View<'a>>,
}

/// Python, started when it is first needed.
pub struct PythonHost {
    limit: Duration,
    functions: Vec<Arc<Source>>,
    table: Option<Result<&'static Table, String>>,
    /// By the property's `uid`.
    properties: HashMap<u64, Compiled>,
    actions: HashMap<String, bool>,
}

struct Compiled {
    env: u32,
    /// By block; 0 is not compiled yet.
    blocks: Vec<u32>,
}

/// What the plugin writes during one call, and who answers it.
#[derive(Default)]
struct Received<'a> {
    print: String,
    error: String,
    traceback: String,
    result: String,
    owner: u64,
    asking: Option<Asking<'a>>,
    answer: String,
}

extern "C" fn answer(context: *mut c_void, what: Text, args: Text, ok: *mut bool) -> Text {
    // SAFETY: `context` is the `Received` of the call that is running; the plugin
    // gives UTF-8 texts and a place for the flag that live during this call.
    let (received, what, args, ok) = unsafe {
        let text = |t: Text| String::from_utf8_lossy(std::slice::from_raw_parts(t.ptr, t.len));
        (
            &mut *context.cast::<Received>(),
            text(what),
            text(args),
            &mut *ok,
        )
    };
    let owner = received.owner;
    let replied = match &mut received.asking {
        Some(asking) => {
            if !received.print.is_empty() {
                asking
                    .services
                    .printed(&std::mem::take(&mut received.print));
            }
            let view = asking.view;
            asking.services.request(owner, view, &what, &args)
        }
        None => NoProgram.request(owner, None, &what, &args),
    };
    *ok = replied.is_ok();
    received.answer = replied.unwrap_or_else(|e| e);
    Text::new(&received.answer)
}

extern "C" fn receive(context: *mut c_void, what: u32, text: Text) {
    // SAFETY: `context` is the `Received` of the call that is running, and the
    // plugin gives UTF-8 text that lives during this call.
    let (received, bytes) = unsafe {
        let received = &mut *context.cast::<Received>();
        (received, std::slice::from_raw_parts(text.ptr, text.len))
    };
    let text = String::from_utf8_lossy(bytes);
    match what {
        SINK_PRINT => received.print.push_str(&text),
        SINK_ERROR => received.error.push_str(&text),
        SINK_TRACEBACK => received.traceback.push_str(&text),
        _ => received.result.push_str(&text),
    }
}

impl<'a> Received<'a> {
    fn asking(owner: u64, asking: Option<Asking<'a>>) -> Received<'a> {
        Received {
            owner,
            asking,
            ..Received::default()
        }
    }

    fn sink(&mut self) -> Sink {
        Sink {
            context: (self as *mut Received).cast(),
            write: receive,
            ask: answer,
        }
    }

    fn raised(self) -> Raised {
        Raised {
            error: self.error,
            traceback: self.traceback,
        }
    }
}

impl PythonHost {
    /// `limit`: how long a block may run.
    pub fn new(limit: Duration) -> PythonHost {
        PythonHost {
            limit,
            functions: Vec::new(),
            table: None,
            properties: HashMap::new(),
            actions: HashMap::new(),
        }
    }

    /// Runs a functions file: its names are there for every block.
    pub fn add_functions(&mut self, source: Arc<Source>) -> Result<(), Raised> {
        self.functions.push(source);
        self.table().map(|_| ())
    }

    /// Makes sure that every block that needs Python can run: loads Python and
    /// compiles them. Does nothing for a property within the typed subset.
    pub fn prepare(&mut self, unit: Unit) -> Result<(), Raised> {
        for (i, block) in unit.blocks.iter().enumerate() {
            if matches!(block.tier, verde_property::Tier::Python(_)) {
                self.block(unit, BlockId(i as u32))?;
            }
        }
        Ok(())
    }

    /// Python can run, or could be started.
    pub fn need(&mut self) -> Result<(), Raised> {
        self.table().map(|_| ())
    }

    /// Runs a block; see [`Host::run`].
    pub fn run_block(
        &mut self,
        unit: Unit,
        block: BlockId,
        params: Params,
        env: Cells,
        asking: Option<Asking>,
        out: &mut String,
    ) -> Result<Truth, Raised> {
        let (table, handle) = self.block(unit, block)?;
        let n = unit.blocks[block.index()].params.len();
        let args: Vec<Value> = (0..n).map(|i| value(params.get(i))).collect();
        let mut received = Received::asking(unit.uid, asking);
        let ran = (table.run)(
            handle,
            List::new(&args),
            env.cells.as_mut_ptr(),
            env.owned.as_mut_ptr(),
            env.cells.len().min(env.owned.len()),
            received.sink(),
        );
        out.push_str(&received.print);
        match ran {
            RUN_TRUE => Ok(Truth::True),
            RUN_FALSE => Ok(Truth::False),
            RUN_NONE => Ok(Truth::None),
            _ => Err(received.raised()),
        }
    }

    /// Calls an action function; see [`Host::action`].
    pub fn call_action(
        &mut self,
        owner: u64,
        name: &str,
        slice: &[(&str, Arg)],
        asking: Option<Asking>,
        out: &mut String,
    ) -> Result<(), Raised> {
        let table = self.table()?;
        let names: Vec<Text> = slice.iter().map(|(n, _)| Text::new(n)).collect();
        let values: Vec<Value> = slice.iter().map(|(_, v)| value(*v)).collect();
        let mut received = Received::asking(owner, asking);
        let ok = (table.action)(
            owner,
            Text::new(name),
            List::new(&names),
            List::new(&values),
            received.sink(),
        );
        out.push_str(&received.print);
        if ok { Ok(()) } else { Err(received.raised()) }
    }

    /// Calls the callbacks for a moment; arguments as a JSON array.
    pub fn fire(
        &mut self,
        owner: u64,
        moment: &str,
        args: &str,
        asking: Option<Asking>,
        out: &mut String,
    ) -> Result<(), FailedCallback> {
        let failed = |name, raised| FailedCallback { name, raised };
        let table = self.table().map_err(|e| failed(String::new(), e))?;
        let mut received = Received::asking(owner, asking);
        let ok = (table.fire)(owner, Text::new(moment), Text::new(args), received.sink());
        out.push_str(&received.print);
        match ok {
            true => Ok(()),
            false => Err(failed(
                std::mem::take(&mut received.result),
                received.raised(),
            )),
        }
    }

    /// Calls a method of `monitor`: what it returned, as text.
    pub fn method(
        &mut self,
        owner: u64,
        name: &str,
        args: &str,
        asking: Option<Asking>,
        out: &mut String,
    ) -> Result<String, Raised> {
        let table = self.table()?;
        let mut received = Received::asking(owner, asking);
        let ok = (table.method)(owner, Text::new(name), Text::new(args), received.sink());
        out.push_str(&received.print);
        match ok {
            true => Ok(received.result),
            false => Err(received.raised()),
        }
    }

    /// A property is no longer used.
    pub fn forget(&mut self, owner: u64) {
        if let Some(Ok(table)) = self.table {
            (table.forget)(owner);
        }
    }

    fn table(&mut self) -> Result<&'static Table, Raised> {
        let table = match &self.table {
            Some(Ok(t)) => *t,
            Some(Err(e)) => return Err(Raised::new(e.clone())),
            None => match start(self.limit) {
                Ok(t) => {
                    self.table = Some(Ok(t));
                    t
                }
                Err(e) => {
                    let e = e.to_string();
                    self.table = Some(Err(e.clone()));
                    return Err(Raised::new(e));
                }
            },
        };
        for source in self.functions.drain(..) {
            let mut received = Received::default();
            let ok = (table.functions)(
                Text::new(&source.name),
                Text::new(&source.text),
                received.sink(),
            );
            if !received.print.is_empty() {
                // A functions file may greet; there is no event to attach it to.
                eprint!("{}", received.print);
            }
            if !ok {
                return Err(received.raised());
            }
            self.actions.clear();
        }
        Ok(table)
    }

    fn block(&mut self, unit: Unit, id: BlockId) -> Result<(&'static Table, u32), Raised> {
        let table = self.table()?;
        let compiled = self.properties.entry(unit.uid).or_insert_with(|| {
            let names: Vec<Text> = unit.env.iter().map(|n| Text::new(n)).collect();
            Compiled {
                env: (table.make_env)(unit.uid, List::new(&names)),
                blocks: vec![0; unit.blocks.len()],
            }
        });
        let handle = &mut compiled.blocks[id.index()];
        if *handle == 0 {
            let block = &unit.blocks[id.index()];
            let params: Vec<Text> = block.params.iter().map(|p| Text::new(p)).collect();
            let globals: Vec<Text> = block
                .assigned
                .iter()
                .map(|i| Text::new(&unit.env[*i as usize]))
                .collect();
            let (lines, shifts) = (block.python.line_numbers(), block.python.column_shifts());
            let source = BlockSource {
                env: compiled.env,
                name: Text::new(block.role.word()),
                file: Text::new(&unit.source.name),
                text: Text::new(&block.python.text),
                lines: List::new(&lines),
                shifts: List::new(&shifts),
                params: List::new(&params),
                globals: List::new(&globals),
            };
            let mut received = Received::default();
            *handle = (table.compile)(&source, received.sink());
            if *handle == 0 {
                return Err(received.raised());
            }
        }
        Ok((table, *handle))
    }
}

fn start(limit: Duration) -> Result<&'static Table, LoadError> {
    let table = load()?;
    let mut received = Received::default();
    if (table.start)(limit.as_millis().max(1) as u64, received.sink()) {
        Ok(table)
    } else {
        Err(LoadError::Start(received.error))
    }
}

fn value(a: Arg) -> Value {
    let (kind, bits, text) = match a {
        Arg::None => (KIND_NONE, 0, ""),
        Arg::Bool(b) => (KIND_BOOL, b as u64, ""),
        Arg::Int(i) => (KIND_INT, i as u64, ""),
        Arg::UInt(u) => (KIND_UINT, u, ""),
        Arg::Float(f) => (KIND_FLOAT, f.to_bits(), ""),
        Arg::Str(t) => (KIND_STR, 0, t),
        Arg::Json(t) => (KIND_JSON, 0, t),
    };
    Value {
        kind,
        bits,
        text: Text::new(text),
    }
}

impl Host for PythonHost {
    fn run(
        &mut self,
        view: View,
        block: BlockId,
        params: Params,
        cells: &mut [Cell],
        owned: &mut [bool],
        out: &mut String,
    ) -> Result<Truth, Raised> {
        let unit = Unit::from(&**view.property());
        self.run_block(unit, block, params, Cells { cells, owned }, None, out)
    }

    fn has_action(&mut self, name: &str) -> bool {
        // Without functions files there are no functions, and no need of Python.
        let Some(Ok(table)) = self.table else {
            return false;
        };
        if let Some(known) = self.actions.get(name) {
            return *known;
        }
        let known = (table.has_action)(Text::new(name));
        self.actions.insert(name.to_string(), known);
        known
    }

    fn action(
        &mut self,
        view: View,
        name: &str,
        slice: SlotRef,
        out: &mut String,
    ) -> Result<Assigned, Raised> {
        let (uid, slice) = (view.property().uid, view.bindings(slice));
        self.call_action(uid, name, &slice, None, out)?;
        Ok(Assigned::new())
    }

    fn copy(&mut self, cells: &mut [Cell]) -> Result<(), Raised> {
        let table = self.table()?;
        let mut received = Received::default();
        if (table.copy)(cells.as_mut_ptr(), cells.len(), received.sink()) {
            Ok(())
        } else {
            Err(received.raised())
        }
    }

    fn release(&mut self, cell: Cell) {
        if let (verde_monitor::Tag::Other, Some(Ok(table))) = (cell.tag, &self.table) {
            (table.release)(cell.bits);
        }
    }

    fn json(&mut self, cell: Cell) -> String {
        let Some(Ok(table)) = self.table else {
            return "null".into();
        };
        let mut received = Received::default();
        (table.json)(cell.bits, received.sink());
        received.result
    }
}
