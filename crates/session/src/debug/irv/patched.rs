//! Data as they were for a moment that is over: the memory of now, with other bytes at one place.

use super::super::here::Here;
use verde_engine::Addr;
use verde_expr::{Call, EvalError, FrameScope, Loaded, Scope, Value};
use verde_symbols::{DieId, Language, LocationError, Memory, Module, Registers};

pub(super) struct Patched<'a> {
    here: Here<'a>,
    at: Addr,
    bytes: &'a [u8],
}

impl<'a> Patched<'a> {
    pub fn new(here: Here<'a>, at: Addr, bytes: &'a [u8]) -> Patched<'a> {
        Patched { here, at, bytes }
    }
}

impl Memory for Patched<'_> {
    fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), LocationError> {
        self.here.read(addr, buf)?;
        for (i, byte) in self.bytes.iter().enumerate() {
            let offset = self.at.0.wrapping_add(i as u64).wrapping_sub(addr);
            let place = usize::try_from(offset).ok().and_then(|o| buf.get_mut(o));
            if let Some(place) = place {
                *place = *byte;
            }
        }
        Ok(())
    }
}

/// What is over cannot be changed.
const OVER: EvalError = EvalError::NoProcess("that moment is over");

impl Scope for Patched<'_> {
    fn modules(&self) -> &[Loaded] {
        self.here.modules()
    }

    fn frame(&self) -> Option<&FrameScope> {
        self.here.frame()
    }

    fn frame_of(&self, function: DieId) -> Option<FrameScope> {
        self.here.frame_of(function)
    }

    fn tls(&self, module: &Module) -> Option<u64> {
        self.here.tls(module)
    }

    fn write(&mut self, _: u64, _: &[u8]) -> Result<(), EvalError> {
        Err(OVER)
    }

    fn write_register(&mut self, _: u16, _: &[u8]) -> Result<(), EvalError> {
        Err(OVER)
    }

    fn call(&mut self, _: &Call) -> Result<Registers, EvalError> {
        Err(OVER)
    }

    fn allocate(&mut self, _: u64) -> Result<u64, EvalError> {
        Err(OVER)
    }

    fn convenience(&self, name: &str) -> Option<Value> {
        self.here.convenience(name)
    }

    fn set_convenience(&mut self, _: &str, _: Value) {}

    fn history(&self, number: i64) -> Option<Value> {
        self.here.history(number)
    }

    fn language(&self) -> Language {
        self.here.language()
    }
}
