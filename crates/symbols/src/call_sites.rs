//! What a caller passed, as its call site describes it: the source of `DW_OP_entry_value`.

use crate::addr::FileAddr;
use crate::functions::code_at;
use crate::location::{EntryValues, Env, Evaluator, Place};
use crate::registers::{Memory, Registers};
use crate::type_read::{children, offset_of};
use crate::units::{DieId, Entry, Unit};
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

fn chain(frames: &[Frame], level: usize, memory: &dyn Memory, left: usize) -> CallSiteValues {
    let (Some(frame), Some(caller)) = (frames.get(level), frames.get(level + 1)) else {
        return CallSiteValues::default();
    };
    if left == 0 {
        return CallSiteValues::default();
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
    let (module, bias) = caller.module.as_ref()?;
    let after = FileAddr::of(caller.pc, *bias);
    let unit = module.unit_at(caller.file_addr()?)?;
    let function = code_at(&unit, caller.file_addr()?)?;
    let site = find_site(&unit, function, after.0, 0)?;
    let called = registers_at_call(frame, caller);
    let env = Env {
        memory,
        registers: Some(called.as_ref().unwrap_or(&caller.registers)),
        cfa: caller.cfa,
        bias: *bias,
        tls: None,
        entry: Some(outer),
    };
    let base = unit.entry(function)?.attr_value(dw::DW_AT_frame_base);
    let evaluator = Evaluator {
        info: module.info()?,
        unit: &unit,
        env: &env,
        frame_base: base,
        pc: caller.file_addr().map(|a| a.0),
    };
    let mut values = CallSiteValues::default();
    for parameter in children(&unit, offset_of(&site)) {
        let Some(value) = parameter_value(&evaluator, &parameter) else {
            continue;
        };
        if let Some(register) = register_of(&unit, &parameter) {
            values.registers.insert(register, value);
        }
        let removed = match parameter.tag() {
            dw::DW_TAG_GNU_call_site_parameter => parameter.attr_value(dw::DW_AT_abstract_origin),
            _ => parameter.attr_value(dw::DW_AT_call_parameter),
        };
        if let Some(id) = module.info()?.follow(&unit, removed) {
            values.parameters.insert(id, value);
        }
    }
    Some(values)
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

fn find_site(unit: &Unit, offset: u32, after: u64, depth: usize) -> Option<Entry> {
    if depth > 64 {
        return None;
    }
    for child in children(unit, offset) {
        match child.tag() {
            dw::DW_TAG_call_site | dw::DW_TAG_GNU_call_site => {
                let pc = child
                    .attr_value(dw::DW_AT_call_return_pc)
                    .or_else(|| child.attr_value(dw::DW_AT_low_pc));
                if unit.address(pc) == Some(after) {
                    return Some(child);
                }
            }
            dw::DW_TAG_lexical_block | dw::DW_TAG_inlined_subroutine => {
                if let Some(found) = find_site(unit, offset_of(&child), after, depth + 1) {
                    return Some(found);
                }
            }
            _ => {}
        }
    }
    None
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

fn parameter_value(evaluator: &Evaluator, parameter: &Entry) -> Option<u64> {
    let value = parameter
        .attr_value(dw::DW_AT_call_value)
        .or_else(|| parameter.attr_value(dw::DW_AT_GNU_call_site_value))?;
    // The value is computed, not a place: what looks like an address is the number itself.
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
