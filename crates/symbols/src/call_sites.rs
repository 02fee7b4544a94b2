//! What a caller passed, as its call site describes it: the source of `DW_OP_entry_value`.

use crate::addr::FileAddr;
use crate::jumps::jumped;
use crate::location::{EntryValues, Env, Evaluator, Place};
use crate::registers::{Memory, Registers};
use crate::tail_calls::{Code, Site, Target};
use crate::type_read::{children, offset_of};
use crate::units::{DieId, Entry, Unit, Value};
use crate::unwind::Frame;
use gimli::constants as dw;
use std::cell::OnceCell;
use std::collections::HashMap;

/// Registers at the entry of a frame's function, as its caller's code tells.
#[derive(Clone, Debug, Default)]
pub struct CallSiteValues {
    registers: HashMap<u16, u64>,
    /// What was not passed, because the function was made without it.
    parameters: HashMap<DieId, u64>,
}

impl EntryValues for CallSiteValues {
    fn entry_register(&self, register: u16) -> Option<u64> {
        self.registers.get(&register).copied()
    }

    fn entry_parameter(&self, parameter: DieId) -> Option<u64> {
        self.parameters.get(&parameter).copied()
    }
}

/// How many callers are asked in turn: a caller may only pass on what it was given itself.
const MAX_CALLERS: usize = 8;

/// Values of the registers that the callers say were set before the function of a frame was called.
/// `frames` is a backtrace, innermost first, and `level` the frame in it.
pub fn call_site_values(frames: &[Frame], level: usize, memory: &dyn Memory) -> CallSiteValues {
    chain(frames, level, memory, MAX_CALLERS)
}

/// The same if a variable of the function needs them: the callers' files may not even be read yet.
pub fn needed_from_callers(frames: &[Frame], level: usize, memory: &dyn Memory) -> CallSiteValues {
    let code = frames.get(level).and_then(|frame| {
        let (module, bias) = frame.module.as_ref()?;
        Code::at(module, *bias, frame.file_addr()?)
    });
    match code.is_some_and(|c| c.asks_callers()) {
        true => call_site_values(frames, level, memory),
        false => CallSiteValues::default(),
    }
}

fn chain(frames: &[Frame], level: usize, memory: &dyn Memory, left: usize) -> CallSiteValues {
    let (Some(frame), Some(caller)) = (frames.get(level), frames.get(level + 1)) else {
        return CallSiteValues::default();
    };
    if left == 0 {
        return CallSiteValues::default();
    }
    // What was called may have made room for this function.
    let jumped = jumped(frame, caller);
    if !jumped.is_empty() {
        let rest = frames[level + 1..].iter().take(left).cloned();
        let all: Vec<Frame> = [frame.clone()]
            .into_iter()
            .chain(jumped)
            .chain(rest)
            .collect();
        return chain(&all, 0, memory, left);
    }
    let outer = Outer {
        frames,
        level: level + 1,
        memory,
        left: left - 1,
        values: OnceCell::new(),
    };
    read(frame, caller, memory, &outer).unwrap_or_default()
}

/// The caller's own entry values, found only when its call site needs them.
struct Outer<'a> {
    frames: &'a [Frame],
    level: usize,
    memory: &'a dyn Memory,
    left: usize,
    values: OnceCell<CallSiteValues>,
}

impl EntryValues for Outer<'_> {
    fn entry_register(&self, register: u16) -> Option<u64> {
        let find = || chain(self.frames, self.level, self.memory, self.left);
        self.values.get_or_init(find).entry_register(register)
    }

    fn entry_parameter(&self, parameter: DieId) -> Option<u64> {
        let find = || chain(self.frames, self.level, self.memory, self.left);
        self.values.get_or_init(find).entry_parameter(parameter)
    }
}

fn read(
    frame: &Frame,
    caller: &Frame,
    memory: &dyn Memory,
    outer: &dyn EntryValues,
) -> Option<CallSiteValues> {
    // A signal handler was not called, and a frame without CFI is a guess.
    if caller.is_exact || frame.is_signal {
        return None;
    }
    let (module, bias) = frame.module.as_ref()?;
    let function = Code::at(module, *bias, frame.file_addr()?)?;
    let (module, bias) = caller.module.as_ref()?;
    let calling = Code::at(module, *bias, caller.file_addr()?)?;
    let site = calling.site_before(FileAddr::of(caller.pc, *bias).0)?;
    let called = registers_at_call(frame, caller);
    let registers = called.as_ref().unwrap_or(&caller.registers);
    let pc = caller.file_addr().map(|a| a.0);
    let call = Call {
        memory,
        registers,
        cfa: caller.cfa,
        pc,
        entry: outer,
    };
    if function.repeats() {
        return None;
    }
    let is_meant = match site.target {
        Target::Computed => function.begins_at(call.target(&calling, &site)?),
        _ => calling.calls(&site, &function.running()?),
    };
    match is_meant {
        true => call.passed(&calling, &site),
        false => None,
    }
}

/// What is known at a call.
#[derive(Clone, Copy)]
struct Call<'a> {
    memory: &'a dyn Memory,
    registers: &'a Registers,
    cfa: Option<u64>,
    /// Where it is, for what is described by ranges.
    pc: Option<u64>,
    /// What the calling function began with.
    entry: &'a dyn EntryValues,
}

impl Call<'_> {
    fn evaluated<T>(
        &self,
        code: &Code,
        site: &Site,
        read: impl FnOnce(&Evaluator, &Entry) -> Option<T>,
    ) -> Option<T> {
        let info = code.module.info()?;
        let (unit, function) = info.die(code.die)?;
        let env = Env {
            memory: self.memory,
            registers: Some(self.registers),
            cfa: self.cfa,
            bias: code.bias,
            tls: None,
            entry: Some(self.entry),
        };
        let evaluator = Evaluator {
            info,
            unit: &unit,
            env: &env,
            frame_base: function.attr_value(dw::DW_AT_frame_base),
            pc: self.pc,
        };
        read(&evaluator, &unit.entry(site.offset)?)
    }

    /// The address that an indirect call goes to.
    fn target(&self, code: &Code, site: &Site) -> Option<u64> {
        self.evaluated(code, site, |evaluator, site| {
            let target = site
                .attr_value(dw::DW_AT_call_target)
                .or_else(|| site.attr_value(dw::DW_AT_GNU_call_site_target));
            number(evaluator, target?)
        })
    }

    /// What the called function is passed.
    fn passed(&self, code: &Code, site: &Site) -> Option<CallSiteValues> {
        self.evaluated(code, site, |evaluator, site| {
            let mut values = CallSiteValues::default();
            for parameter in children(evaluator.unit, offset_of(site)) {
                let value = parameter
                    .attr_value(dw::DW_AT_call_value)
                    .or_else(|| parameter.attr_value(dw::DW_AT_GNU_call_site_value));
                let Some(value) = value.and_then(|v| number(evaluator, v)) else {
                    continue;
                };
                if let Some(register) = register_of(evaluator.unit, &parameter) {
                    values.registers.insert(register, value);
                }
                let removed = match parameter.tag() {
                    dw::DW_TAG_GNU_call_site_parameter => {
                        parameter.attr_value(dw::DW_AT_abstract_origin)
                    }
                    _ => parameter.attr_value(dw::DW_AT_call_parameter),
                };
                if let Some(id) = evaluator.info.follow(evaluator.unit, removed) {
                    values.parameters.insert(id, value);
                }
            }
            Some(values)
        })
    }
}

/// The caller's registers where the function has run nothing yet: those that functions may change
/// are as they were, too.
fn registers_at_call(frame: &Frame, caller: &Frame) -> Option<Registers> {
    let (module, _) = frame.module.as_ref()?;
    let at = frame.file_addr().filter(|_| frame.is_exact)?;
    let function = module.function_at(at).filter(|f| f.entry == at);
    function.map(|_| Registers {
        general: std::array::from_fn(|i| {
            caller.registers.general[i].or(frame.registers.general[i])
        }),
        ..caller.registers.clone()
    })
}

/// The register that a parameter is passed in.
fn register_of(unit: &Unit, parameter: &Entry) -> Option<u16> {
    let location = parameter.attr_value(dw::DW_AT_location)?.exprloc_value()?;
    let mut operations = location.operations(unit.unit.encoding());
    match operations.next().ok()?? {
        gimli::Operation::Register { register } => Some(register.0),
        _ => None,
    }
}

/// A value is computed, not a place: what looks like an address is the number itself.
fn number(evaluator: &Evaluator, value: Value) -> Option<u64> {
    match evaluator.evaluate(value.exprloc_value()?, None, 0).ok()? {
        Place::Memory(number) => Some(number),
        Place::Register(number) => evaluator.env.registers?.get(number),
        Place::Bytes(bytes) => {
            let mut word = [0; 8];
            let len = bytes.len().min(8);
            word[..len].copy_from_slice(&bytes[..len]);
            Some(u64::from_le_bytes(word))
        }
        _ => None,
    }
}
