//! Parameters of events inside a function: its arguments as they are now, and as they were at its
//! entry.

use super::super::Debugger;
use super::super::live::ProcessMemory;
use super::Irv;
use super::alphabet::{Site, Source};
use super::bind::Note;
use super::feed::Saved;
use super::flow::jumps_back;
use super::reads::{Callee, How, Read, entry_scope, in_register, of_call};
use super::remains::Why;
use super::values::Form;
use std::sync::Arc;
use verde_engine::{Addr, On};
use verde_expr::FrameScope;
use verde_property::ast::Operand;
use verde_property::{ParamSpec, When};
use verde_symbols::{Function, Registers};

/// An operand as an expression at a place, where `arg i` is a name.
pub fn expression(operand: &Operand, scope: Option<&FrameScope>) -> Result<String, String> {
    Ok(match operand {
        Operand::Arg(i) => name_of_argument(*i as usize, scope)?,
        Operand::Deref(inner) => format!("*{}", expression(inner, scope)?),
        Operand::AddressOf(inner) => format!("&{}", expression(inner, scope)?),
        other => other.text(),
    })
}

fn name_of_argument(i: usize, scope: Option<&FrameScope>) -> Result<String, String> {
    let known = scope.and_then(|s| Some((s.frame.module.as_ref()?, s.source.as_ref()?)));
    let Some(((module, _), source)) = known else {
        return Err(format!(
            "`arg {i}`: no debug information tells what it is here"
        ));
    };
    let mut parameters = module.parameters(source.die);
    // What constructors have besides is nobody's argument.
    parameters.retain(|v| !matches!(v.name.as_str(), "__in_chrg" | "__vtt_parm"));
    let (count, function) = (parameters.len(), &source.name);
    match parameters.into_iter().nth(i) {
        Some(parameter) if !parameter.name.is_empty() => Ok(parameter.name),
        Some(_) => Err(format!(
            "`arg {i}` of {function} has no name and cannot be read"
        )),
        None => {
            let s = if count == 1 { "" } else { "s" };
            Err(format!("`arg {i}`: {function} has {count} argument{s}"))
        }
    }
}

impl Debugger {
    /// Where the calls begin of the function that a line is in: what `entry(x)` was is kept there,
    /// until they end.
    pub(super) fn site_of_entry(
        &mut self,
        source: &Source,
        scope: &FrameScope,
        wrong: &mut Option<String>,
    ) -> Option<Site> {
        let is_entry = |p: &ParamSpec| matches!(p.operand, Operand::Entry(_));
        if !source.params.iter().any(is_entry) {
            return None;
        }
        let (module, bias) = scope.frame.module.as_ref()?;
        let function = function_of(scope)?;
        let callee = Callee::new(module, *bias, &function);
        let mut reads = Vec::new();
        for param in &source.params {
            let read = match is_entry(param) {
                true => of_call(param, When::After, &callee, &self.images, &mut self.memo),
                false => Ok(Read::now(How::Unknown)),
            };
            reads.push(read.unwrap_or_else(|e| {
                wrong.get_or_insert(e);
                Read::now(How::Unknown)
            }));
        }
        Some(Site {
            on: On::Call(Addr(function.entry.at(*bias))),
            is_loop: jumps_back(module, &function),
            reads: reads.into(),
            scope: Some(Arc::new(entry_scope(module, *bias, function.entry))),
            loc: None,
            trap: None,
        })
    }

    /// What the call began with that a thread with these registers is in.
    pub(super) fn call_around<'a>(
        &self,
        irv: &'a Irv,
        registers: Registers,
        scope: Option<&FrameScope>,
    ) -> Option<&'a Saved> {
        let (scope, live) = (scope?, self.live.as_ref()?);
        let (_, bias) = scope.frame.module.as_ref()?;
        let entry = Addr(scope.source.as_ref()?.entry.at(*bias));
        let memory = ProcessMemory(&live.process);
        let (frames, _) = verde_symbols::backtrace(&self.images, &memory, registers, 1);
        let slot = Addr(frames.first()?.cfa?.wrapping_sub(8));
        irv.saved.last_at((entry, slot))
    }
}

/// The function whose frame a scope is.
fn function_of(scope: &FrameScope) -> Option<Function> {
    let source = scope.source.as_ref().filter(|s| !s.is_inlined)?;
    let (module, _) = scope.frame.module.as_ref()?;
    module.function_at(source.entry)
}

/// How `entry(x)` is read that a place keeps at the beginning of calls.
pub fn kept(began: Option<&Site>, parameter: usize) -> Read {
    let read = began.and_then(|site| site.reads.get(parameter));
    Read::now(match read.map(|r| &r.how) {
        None => How::Removed(Why::Entry),
        Some(How::Unknown) => How::Unknown,
        Some(_) => How::Kept,
    })
}

/// Where a datum is accessed is not known before: so nobody keeps what was at the entry.
pub fn note_entries(source: &Source, notes: &mut Vec<Note>) {
    let entries = source.params.iter();
    let entries = entries.filter(|p| matches!(p.operand, Operand::Entry(_)));
    notes.extend(entries.map(|p| Note {
        text: format!(
            "event {}: `{}` is not kept: it is what the caller's code tells, else None (without optimisation always)",
            source.title(),
            p.text
        ),
        is_error: false,
    }));
}

/// How an argument's value at the entry is found when the function runs already. What is changed in
/// place is known to nobody but the caller.
pub fn at_entry(operand: &Operand, form: Form, scope: Option<&FrameScope>) -> How {
    register_at_entry(operand, form, scope)
        .map_or(How::Removed(Why::Entry), |how| How::AtEntry(Box::new(how)))
}

fn register_at_entry(operand: &Operand, form: Form, scope: Option<&FrameScope>) -> Option<How> {
    let scope = scope?;
    let (module, bias) = scope.frame.module.as_ref()?;
    let function = function_of(scope)?;
    let callee = Callee::new(module, *bias, &function);
    let argument = match operand {
        Operand::Arg(i) => callee.arguments.get(*i as usize),
        Operand::Path(name) => callee.arguments.iter().find(|a| a.variable.name == *name),
        _ => None,
    };
    in_register(argument?, &callee, form)
}
