//! A scope without a process: what files alone can tell, before the program runs.

use crate::error::EvalError;
use crate::scope::{Call, FrameScope, Loaded, Scope};
use crate::value::Value;
use std::collections::HashMap;
use std::sync::Arc;
use verde_symbols::{FileAddr, FunctionQuery, Language, LocationError, Memory, Module, Registers};

/// Types, constants, and variables with their initial values. Nothing can be written or called.
pub struct StaticScope {
    modules: Vec<Loaded>,
    frame: Option<FrameScope>,
    language: Language,
    conveniences: HashMap<String, Value>,
    values: Vec<Value>,
}

impl StaticScope {
    /// A scope over a program that does not run. The language is that of its `main`.
    pub fn new(program: Arc<Module>) -> StaticScope {
        let mains = program.functions(&FunctionQuery::parse("main"));
        let described = mains.iter().find(|f| f.die.is_some());
        StaticScope {
            language: described.map_or(Language::C, |f| f.language),
            modules: vec![Loaded {
                module: program,
                bias: 0,
            }],
            frame: None,
            conveniences: HashMap::new(),
            values: Vec::new(),
        }
    }

    /// The same over modules as they are loaded and a frame, whose names are known and whose
    /// values are not.
    pub fn around(modules: Vec<Loaded>, frame: FrameScope) -> StaticScope {
        StaticScope {
            language: frame.language(),
            modules,
            frame: Some(frame),
            conveniences: HashMap::new(),
            values: Vec::new(),
        }
    }

    /// Adds a value to the history and returns its number.
    pub fn remember(&mut self, value: Value) -> usize {
        self.values.push(value);
        self.values.len()
    }
}

impl Memory for StaticScope {
    fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), LocationError> {
        let missing = LocationError::Memory(addr);
        let end = addr.checked_add(buf.len() as u64).ok_or(missing.clone())?;
        for loaded in &self.modules {
            for segment in loaded.module.segments() {
                let inside = addr >= segment.addr.0 && end <= segment.addr.0 + segment.size;
                if !inside {
                    continue;
                }
                // What the file does not hold starts as zero.
                buf.fill(0);
                if let Some(bytes) = loaded.module.bytes_at(FileAddr(addr), buf.len()) {
                    buf[..bytes.len()].copy_from_slice(bytes);
                }
                return Ok(());
            }
        }
        Err(missing)
    }
}

const NOT_RUNNING: EvalError =
    EvalError::NoProcess("You can't do that without a process to debug.");

impl Scope for StaticScope {
    fn modules(&self) -> &[Loaded] {
        &self.modules
    }

    fn frame(&self) -> Option<&FrameScope> {
        self.frame.as_ref()
    }

    fn tls(&self, _: &Module) -> Option<u64> {
        None
    }

    fn write(&mut self, addr: u64, _: &[u8]) -> Result<(), EvalError> {
        Err(LocationError::Memory(addr).into())
    }

    fn write_register(&mut self, _: u16, _: &[u8]) -> Result<(), EvalError> {
        Err(NOT_RUNNING)
    }

    fn call(&mut self, _: &Call) -> Result<Registers, EvalError> {
        Err(NOT_RUNNING)
    }

    fn allocate(&mut self, _: u64) -> Result<u64, EvalError> {
        Err(NOT_RUNNING)
    }

    fn convenience(&self, name: &str) -> Option<Value> {
        self.conveniences.get(name).cloned()
    }

    fn set_convenience(&mut self, name: &str, value: Value) {
        self.conveniences.insert(name.to_owned(), value);
    }

    fn history(&self, number: i64) -> Option<Value> {
        let at = match number > 0 {
            true => usize::try_from(number - 1).ok()?,
            false => {
                let back = usize::try_from(number.unsigned_abs()).ok()?;
                self.values.len().checked_sub(1)?.checked_sub(back)?
            }
        };
        self.values.get(at).cloned()
    }

    fn language(&self) -> Language {
        self.language
    }
}
