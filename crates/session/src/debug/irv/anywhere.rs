//! Events that are bound to no place of the code: system calls, signals, threads, the end of the
//! process. Their parameters are what they bring, registers, and variables of the program.

use super::super::Debugger;
use super::super::here::Here;
use super::Irv;
use super::alphabet::{Site, Source};
use super::bind::{Note, note_misfit};
use super::reads::{How, Read, narrowed, of_place, operand_of, width};
use super::values::Form;
use std::sync::Arc;
use verde_engine::{On, Tid};
use verde_expr::{FrameScope, compile};
use verde_property::ast::Operand;
use verde_property::{Kind, ParamSpec, When};
use verde_symbols::{Frame, Registers};

/// Where the kernel takes the arguments of a system call from, by name and DWARF number.
const ARGUMENTS: [(&str, u16); 6] = [
    ("$rdi", 5),
    ("$rsi", 4),
    ("$rdx", 1),
    ("$r10", 10),
    ("$r8", 8),
    ("$r9", 9),
];

impl Debugger {
    /// The places of a source that has none in the code.
    pub(super) fn anywhere_sites(&mut self, source: &Source, notes: &mut Vec<Note>) -> Vec<Site> {
        let on = match source.kind {
            Kind::Signal => super::names::signal(&source.name).map(On::Signal),
            Kind::Syscall => super::names::system_call(&source.name).map(|n| On::Syscall(Some(n))),
            _ => Some(On::Thread),
        };
        let Some(on) = on else {
            let what = match source.kind {
                Kind::Signal => "signal",
                _ => "system call",
            };
            notes.push(Note {
                text: format!("event {}: there is no such {what}", source.title()),
                is_error: true,
            });
            return Vec::new();
        };
        let mut wrong = None;
        let mut reads = Vec::new();
        for param in &source.params {
            reads.push(self.read_anywhere(source, param).unwrap_or_else(|e| {
                wrong.get_or_insert(e);
                Read::now(How::Unknown)
            }));
        }
        let sites = vec![Site {
            on,
            is_loop: false,
            reads: reads.into(),
            scope: Some(Arc::new(nowhere())),
            loc: None,
            trap: None,
        }];
        note_misfit(source, &sites, wrong, notes);
        sites
    }

    /// A thread ends, and with the last one the memory: `process exit` brings what it held.
    pub(super) fn note_end(&mut self, irv: &mut Irv, tid: Tid) {
        for index in 0..irv.alphabet.sources.len() {
            let source = &irv.alphabet.sources[index];
            if source.kind != Kind::Process || source.wanted == 0 {
                continue;
            }
            let reads = source.sites.first().map(|site| site.reads.clone());
            let Some(reads) = reads else {
                continue;
            };
            let values = reads.iter().map(|r| self.read_at_end(irv, &r.how, tid));
            // Of a thread that is told of late nothing is known: what an earlier one brought stays.
            if let Some(values) = values.collect() {
                irv.at_end.insert(index, values);
            }
        }
    }

    fn read_anywhere(&mut self, source: &Source, param: &ParamSpec) -> Result<Read, String> {
        let operand = operand_of(param);
        match (operand, source.kind) {
            (Operand::Arg(i), Kind::Syscall) => return self.passed_to_kernel(*i, param),
            (_, Kind::Process) if Read::is_of_end(param) => return Ok(Read::of_end(operand)),
            (Operand::Arg(_), _) => {
                return Err(format!(
                    "`{}` means nothing here: `ret` is what the event brings",
                    param.text
                ));
            }
            (Operand::Ret, Kind::Syscall) if source.when == When::Before => {
                return Err("`ret` exists only in an `after` event".into());
            }
            _ => {}
        }
        let bound = of_place(param, None, |text| self.compile_nowhere(text, None));
        match bound {
            // A signal comes while some function runs.
            Err(_) if source.kind == Kind::Signal && self.is_some_local(&operand.text()) => {
                Ok(Read::now(How::Here))
            }
            bound => bound,
        }
    }

    fn passed_to_kernel(&mut self, i: u32, param: &ParamSpec) -> Result<Read, String> {
        let Some((name, number)) = ARGUMENTS.get(i as usize) else {
            return Err(format!("`{}`: a system call has 6 arguments", param.text));
        };
        let form = Form::of(param.ty.as_deref());
        Ok(Read::now(match form {
            Form::Text => {
                let text = narrowed(&format!("(unsigned long){name}"), None);
                let node = self.compile_nowhere(&text, Some(nowhere()))?;
                How::Node(Box::new(node), form)
            }
            _ => {
                let (bytes, signed) = width(param.ty.as_deref());
                How::Register {
                    number: *number,
                    bytes,
                    signed,
                    boolean: form == Form::Truth,
                }
            }
        }))
    }

    /// An expression that needs no frame, or only its registers.
    pub(super) fn compile_nowhere(
        &mut self,
        text: &str,
        frame: Option<FrameScope>,
    ) -> Result<verde_expr::Node, String> {
        let here = Here::of_property(&self.images, frame, &mut self.memo);
        let node = compile(text, &here).map_err(|e| e.to_string())?;
        match node.has_effects() {
            true => Err(format!("`{text}` would change the program")),
            false => Ok(node),
        }
    }

    /// Some function of the program declares what an expression names.
    fn is_some_local(&mut self, text: &str) -> bool {
        let locals = self.unknown_names(text);
        let modules = || self.images.loaded().iter().map(|l| &l.module);
        let mut own = modules().filter(|m| !self.images.is_systems(m));
        let names = locals.names();
        !names.is_empty()
            && own.any(|m| {
                let declared = |n: &String| !m.functions_declaring(n, 1).is_empty();
                names.iter().all(declared)
            })
    }
}

/// A frame of which only the registers matter.
fn nowhere() -> FrameScope {
    FrameScope {
        frame: Frame {
            registers: Registers::default(),
            pc: 0,
            cfa: None,
            is_exact: true,
            is_signal: false,
            has_jumped: false,
            method: None,
            module: None,
        },
        source: None,
        at_entry: true,
        entry: None,
    }
}
