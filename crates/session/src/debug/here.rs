//! Where expressions are evaluated: the selected frame of the process, or the
//! program's file when nothing runs.

use super::images::Images;
use super::registers::{place, with_vectors};
use super::siginfo::siginfo;
use super::watch_scope::{Wanted, scope_of};
use std::collections::HashMap;
use verde_engine::{Addr, Process, Tid, TrapId};
use verde_expr::{Call, EvalError, FrameScope, Loaded, Scope, Value};
use verde_symbols::{
    DieId, Encoding, FileAddr, FunctionQuery, Language, LocationError, Memory, Module, RIP,
    Registers, Type, dynamic_tls,
};

/// Values that were printed and variables of the session (`$1`, `$x`).
#[derive(Default)]
pub(super) struct Memo {
    values: Vec<Value>,
    conveniences: HashMap<String, Value>,
    /// Breakpoints that calls of the program's functions went through.
    passed: Vec<TrapId>,
}

impl Memo {
    /// The breakpoints that calls went through since this was asked last.
    pub fn take_passed(&mut self) -> Vec<TrapId> {
        std::mem::take(&mut self.passed)
    }

    /// Sets a variable of the session.
    pub fn set(&mut self, name: &str, value: Value) {
        self.conveniences.insert(name.to_owned(), value);
    }

    pub fn unset(&mut self, name: &str) {
        self.conveniences.remove(name);
    }

    /// The values that were printed, the first is number 1.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The variables of the session by name.
    pub fn conveniences(&self) -> Vec<(String, Value)> {
        let all = self.conveniences.iter();
        let mut all: Vec<_> = all.map(|(n, v)| (n.clone(), v.clone())).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    }

    /// Keeps a value; its number.
    pub fn remember(&mut self, value: Value) -> usize {
        self.values.push(value);
        self.values.len()
    }
}

pub(super) struct Here<'a> {
    pub process: Option<(&'a mut Process, Tid)>,
    pub images: &'a Images,
    pub frame: Option<FrameScope>,
    /// The frame is the innermost: its registers are the thread's.
    pub innermost: bool,
    pub memo: &'a mut Memo,
    pub names: Names,
}

/// What names without a file can mean.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// Whatever is called so, as in gdb.
    All,
    /// What the system's libraries have for themselves is not meant: a property waits for what the
    /// program does not have.
    Offered,
}

impl<'a> Here<'a> {
    /// A scope in which nothing can be read: for expressions that are evaluated later.
    pub fn ahead(images: &'a Images, frame: Option<FrameScope>, memo: &'a mut Memo) -> Here<'a> {
        Here {
            process: None,
            images,
            frame,
            innermost: false,
            memo,
            names: Names::All,
        }
    }

    /// The same for the expressions of properties.
    pub fn of_property(
        images: &'a Images,
        frame: Option<FrameScope>,
        memo: &'a mut Memo,
    ) -> Here<'a> {
        Here {
            names: Names::Offered,
            ..Here::ahead(images, frame, memo)
        }
    }
}

/// No program has anything at the very first addresses.
const FIRST_PAGE: u64 = 0x1000;

const NO_PROCESS: EvalError = EvalError::NoProcess("You can't do that without a process to debug.");

impl Memory for Here<'_> {
    fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), LocationError> {
        let missing = LocationError::Memory(addr);
        if let Some((process, _)) = &self.process {
            return process.read(Addr(addr), buf).map_err(|_| missing);
        }
        // A pointer that leads there leads nowhere, though the file's own head may lie there.
        if addr < FIRST_PAGE {
            return Err(missing);
        }
        let program = self.images.program();
        let end = addr.checked_add(buf.len() as u64).ok_or(missing.clone())?;
        let inside = |s: &verde_symbols::Segment| addr >= s.addr.0 && end <= s.addr.0 + s.size;
        if !program.segments().iter().any(inside) {
            return Err(missing);
        }
        // What the file does not hold starts as zero.
        buf.fill(0);
        if let Some(bytes) = program.bytes_at(FileAddr(addr), buf.len()) {
            buf[..bytes.len()].copy_from_slice(bytes);
        }
        Ok(())
    }
}

impl Scope for Here<'_> {
    fn modules(&self) -> &[Loaded] {
        self.images.loaded()
    }

    fn reaches(&self, module: &Module, linkage: &str) -> bool {
        self.names == Names::All || !self.images.is_systems(module) || module.links_by(linkage)
    }

    fn frame(&self) -> Option<&FrameScope> {
        self.frame.as_ref()
    }

    fn frame_of(&self, function: DieId) -> Option<FrameScope> {
        if let Some(selected) = self.frame().filter(|f| f.die() == Some(function)) {
            return Some(selected.clone());
        }
        let (process, tid) = self.process.as_ref()?;
        let wanted = Wanted {
            frame: None,
            function: Some(function),
        };
        scope_of(process, *tid, wanted, self.images)
    }

    fn tls(&self, module: &Module) -> Option<u64> {
        let (process, tid) = self.process.as_ref()?;
        let base = process.regs(*tid).ok()?.fs_base;
        if std::ptr::eq(&**self.images.program(), module) {
            return module.static_tls(base);
        }
        let (number, generation) = self.images.tls_number(process, module)?;
        dynamic_tls(self, base, number, generation)
    }

    fn write(&mut self, addr: u64, bytes: &[u8]) -> Result<(), EvalError> {
        let (process, _) = self.process.as_mut().ok_or(LocationError::Memory(addr))?;
        process
            .write(Addr(addr), bytes)
            .map_err(|_| LocationError::Memory(addr).into())
    }

    fn write_register(&mut self, number: u16, bytes: &[u8]) -> Result<(), EvalError> {
        let (process, tid) = self.process.as_mut().ok_or(NO_PROCESS)?;
        if !self.innermost {
            let text = "Registers of outer frames cannot be changed; select frame 0.";
            return Err(EvalError::Program(text.to_owned()));
        }
        let failed = |e: verde_engine::Error| EvalError::Program(e.to_string());
        if (17..33).contains(&number) {
            let mut state = process.xstate(*tid).map_err(failed)?;
            let index = usize::from(number - 17);
            let mut value = state.xmm(index).unwrap_or_default();
            let (low, high) = bytes.split_at(bytes.len().min(value.len()));
            value[..low.len()].copy_from_slice(low);
            state.set_xmm(index, value);
            if let Ok(high) = high.try_into() {
                state.set_ymm_high(index, high);
            }
            return process.set_xstate(*tid, &state).map_err(failed);
        }
        let mut regs = *process.regs(*tid).map_err(failed)?;
        let to = place(&mut regs, number).ok_or(EvalError::NotLvalue)?;
        let mut word = to.to_le_bytes();
        let len = bytes.len().min(word.len());
        word[..len].copy_from_slice(&bytes[..len]);
        *to = u64::from_le_bytes(word);
        let new = *to;
        process.set_regs(*tid, &regs).map_err(failed)?;
        if let Some(frame) = self.frame.as_mut()
            && number <= RIP
        {
            frame.frame.registers.general[usize::from(number)] = Some(new);
        }
        Ok(())
    }

    fn call(&mut self, call: &Call) -> Result<Registers, EvalError> {
        let (process, tid) = self.process.as_mut().ok_or(NO_PROCESS)?;
        let function = Addr(call.function);
        let (integers, stack) = (&call.integers, &call.stack);
        let returned = process.call_with_stack(*tid, function, integers, stack, |state| {
            for (i, value) in call.floats.iter().enumerate() {
                state.set_xmm(i, *value);
            }
        });
        let returned = returned.map_err(|e| EvalError::Program(e.to_string()))?;
        self.memo.passed.extend(&returned.passed);
        Ok(with_vectors(&returned.regs, &returned.xstate))
    }

    fn allocate(&mut self, size: u64) -> Result<u64, EvalError> {
        if self.process.is_none() {
            return Err(NO_PROCESS);
        }
        let query = FunctionQuery::parse("malloc");
        let found = self.images.loaded().iter().find_map(|l| {
            let functions = l.module.functions(&query);
            let own = functions.iter().find(|f| !l.module.is_plt(f.entry))?;
            Some(own.entry.at(l.bias))
        });
        let function = found.ok_or(EvalError::NoProcess(
            "evaluation of this expression requires the program to have a function \"malloc\".",
        ))?;
        let registers = self.call(&Call {
            function,
            integers: vec![size],
            ..Call::default()
        })?;
        match registers.get(0) {
            Some(addr) if addr != 0 => Ok(addr),
            _ => Err(EvalError::Program("The program has no memory left.".into())),
        }
    }

    fn convenience(&self, name: &str) -> Option<Value> {
        if name == "_siginfo" {
            let (process, tid) = self.process.as_ref()?;
            return siginfo(process, *tid);
        }
        if name == "_thread" {
            let number = self
                .process
                .as_ref()
                .map_or(0, |(process, tid)| process.thread_number(*tid).unwrap_or(0));
            let int = Type::base("int", Encoding::Signed, 4);
            return Some(Value::integer(int, number as i128));
        }
        self.memo.conveniences.get(name).cloned()
    }

    fn set_convenience(&mut self, name: &str, value: Value) {
        self.memo.set(name, value);
    }

    fn history(&self, number: i64) -> Option<Value> {
        let values = &self.memo.values;
        let at = match number > 0 {
            true => usize::try_from(number - 1).ok()?,
            false => {
                let back = usize::try_from(number.unsigned_abs()).ok()?;
                values.len().checked_sub(1)?.checked_sub(back)?
            }
        };
        values.get(at).cloned()
    }

    fn language(&self) -> Language {
        match &self.frame {
            Some(frame) if frame.source.is_some() => frame.language(),
            _ => self.images.language(),
        }
    }
}
