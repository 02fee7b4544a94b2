//! The monitors' host, through the plugin's table.
#![allow(unsafe_code)]

use crate::abi::*;
use crate::load::{LoadError, load};
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;
use verde_monitor::{Arg, Cell, Host, Params, Raised, Truth};
use verde_property::{BlockId, Property, Source};

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

/// What the plugin writes during one call.
#[derive(Default)]
struct Received {
    print: String,
    error: String,
    traceback: String,
    result: String,
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

impl Received {
    fn sink(&mut self) -> Sink {
        Sink {
            context: (self as *mut Received).cast(),
            write: receive,
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
    pub fn prepare(&mut self, property: &Property) -> Result<(), Raised> {
        if property.needs_python().is_none() {
            return Ok(());
        }
        for i in 0..property.blocks.len() {
            let id = BlockId(i as u32);
            if matches!(property.block(id).tier, verde_property::Tier::Python(_)) {
                self.block(property, id)?;
            }
        }
        Ok(())
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

    fn block(&mut self, property: &Property, id: BlockId) -> Result<(&'static Table, u32), Raised> {
        let table = self.table()?;
        let compiled = self.properties.entry(property.uid).or_insert_with(|| {
            let names: Vec<Text> = property.env.iter().map(|n| Text::new(n)).collect();
            Compiled {
                env: (table.make_env)(List::new(&names)),
                blocks: vec![0; property.blocks.len()],
            }
        });
        let handle = &mut compiled.blocks[id.index()];
        if *handle == 0 {
            let block = property.block(id);
            let params: Vec<Text> = block.params.iter().map(|p| Text::new(p)).collect();
            let globals: Vec<Text> = block
                .assigned
                .iter()
                .map(|i| Text::new(&property.env[*i as usize]))
                .collect();
            let (lines, shifts) = (block.python.line_numbers(), block.python.column_shifts());
            let source = BlockSource {
                env: compiled.env,
                name: Text::new(block.role.word()),
                file: Text::new(&property.source.name),
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
        property: &Property,
        block: BlockId,
        params: Params,
        env: &mut [Cell],
        owned: &mut [bool],
        out: &mut String,
    ) -> Result<Truth, Raised> {
        let (table, handle) = self.block(property, block)?;
        let n = property.block(block).params.len();
        let args: Vec<Value> = (0..n).map(|i| value(params.get(i))).collect();
        let mut received = Received::default();
        let ran = (table.run)(
            handle,
            List::new(&args),
            env.as_mut_ptr(),
            owned.as_mut_ptr(),
            env.len().min(owned.len()),
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
        name: &str,
        slice: &[(&str, Arg)],
        out: &mut String,
    ) -> Result<(), Raised> {
        let table = self.table()?;
        let names: Vec<Text> = slice.iter().map(|(n, _)| Text::new(n)).collect();
        let values: Vec<Value> = slice.iter().map(|(_, v)| value(*v)).collect();
        let mut received = Received::default();
        let ok = (table.action)(
            Text::new(name),
            List::new(&names),
            List::new(&values),
            received.sink(),
        );
        out.push_str(&received.print);
        if ok { Ok(()) } else { Err(received.raised()) }
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
