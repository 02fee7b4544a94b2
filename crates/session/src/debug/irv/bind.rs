//! From the names of events to places of the program.

use super::super::Debugger;
use super::super::here::Here;
use super::alphabet::{Site, Source};
use super::flow::jumps_back;
use super::inside::kept;
use super::losses::Gone;
use super::reads::{Callee, How, Phase, Read, entry_scope, of_call, of_place};
use super::remains::remaining;
use super::{Irv, data};
use std::path::Path;
use std::sync::Arc;
use verde_engine::{Addr, On};
use verde_expr::{FrameScope, compile};
use verde_property::ast::Operand;
use verde_property::{Kind, When};
use verde_symbols::{FileAddr, Function, FunctionQuery, Module};

/// What the user should know about the binding of an event.
pub struct Note {
    pub text: String,
    /// It makes the property useless.
    pub is_error: bool,
}

impl Debugger {
    /// Finds the places of a source in what is loaded now. Places that stay keep their traps.
    pub(in super::super) fn bind_source(
        &mut self,
        irv: &mut Irv,
        index: usize,
        notes: &mut Vec<Note>,
    ) {
        let source = &irv.alphabet.sources[index];
        let known = notes.len();
        let found = match source.kind {
            Kind::Call | Kind::Unwound => {
                let functions = self.callable(irv, index);
                let source = &irv.alphabet.sources[index];
                let mut sites = self.call_sites(source, &functions, notes);
                // Nobody can write a shipped property otherwise: it does without those functions.
                if irv.is_shipped(source) && sites.iter().any(Site::is_misfit) {
                    sites.clear();
                    irv.alphabet.sources[index].is_unreadable = true;
                    let new = &mut notes[known..];
                    for note in new.iter_mut().filter(|n| n.is_error) {
                        note.text += "; its calls are not observed";
                        note.is_error = false;
                    }
                }
                let source = &irv.alphabet.sources[index];
                let is_inlined = self.note_inlined(source, &functions, notes);
                irv.alphabet.sources[index].is_inlined |= is_inlined;
                sites
            }
            Kind::Line => self.line_sites(source, notes),
            Kind::Syscall | Kind::Signal | Kind::Thread => self.anywhere_sites(source, notes),
            // Only for variables the end has to be seen before the memory is gone.
            Kind::Process if source.params.iter().all(Read::is_of_end) => vec![],
            Kind::Process => self.anywhere_sites(source, notes),
            Kind::Write | Kind::Read | Kind::Update => {
                if irv.alphabet.sources[index].datum.is_none() {
                    irv.alphabet.sources[index].datum = Some(data::Datum::default());
                }
                super::inside::note_entries(&irv.alphabet.sources[index], notes);
                return self.declare_datum(irv, index, notes);
            }
        };
        let source = &mut irv.alphabet.sources[index];
        source.found |= !found.is_empty() || source.kind == Kind::Process;
        let mut old = std::mem::take(&mut source.sites);
        source.sites = found;
        for site in &mut source.sites {
            if let Some(i) = old.iter().position(|o| o.on == site.on) {
                site.trap = old.swap_remove(i).trap;
            }
        }
        for site in old {
            irv.drop_site(index, site.on, site.trap, &mut self.live);
        }
    }

    /// The functions of a source's name that calls reach. An indirect one stands for the variant
    /// that its resolver chooses, which can be asked once the program is relocated.
    fn callable(&mut self, irv: &mut Irv, index: usize) -> Vec<(Arc<Module>, Function)> {
        let name = irv.alphabet.sources[index].name.clone();
        let named = name.contains('!');
        let wanted = |m: &Module| named || !self.images.is_loader(m);
        // What the kernel brings stands behind a library's function of the same name, which may
        // not be loaded yet.
        let own = |m: &Module| wanted(m) && (named || !is_kernels(m));
        let mut functions = self.functions_in(&name, own).unwrap_or_default();
        if functions.is_empty() {
            functions = self.functions_in(&name, wanted).unwrap_or_default();
            if irv.loading && !functions.is_empty() {
                irv.late = true;
                return Vec::new();
            }
        }
        if !functions.iter().any(|(_, f)| f.is_ifunc) {
            return functions;
        }
        if self.images.program().interpreter().is_none() && self.live.is_some() {
            // A static program chooses its variants after its first instruction.
            irv.warnings.push(format!(
                "event {name}: it is an indirect function of a static program: not observable"
            ));
            functions.retain(|(_, f)| !f.is_ifunc);
            return functions;
        }
        irv.alphabet.sources[index].found = true;
        irv.late |= irv.loading;
        functions.retain_mut(|(module, function)| {
            if !function.is_ifunc {
                return true;
            }
            let Some(bias) = self.images.bias(module) else {
                return false;
            };
            let resolver = function.entry.at(bias);
            let target = match irv.loading {
                true => self.known_choice(resolver),
                false => self.choice(resolver),
            };
            let Some(target) = target else {
                return false;
            };
            function.entry = FileAddr::of(target, bias);
            // What is described is the resolver.
            function.die = None;
            function.is_ifunc = false;
            true
        });
        functions
    }

    fn call_sites(
        &mut self,
        source: &Source,
        functions: &[(Arc<Module>, Function)],
        notes: &mut Vec<Note>,
    ) -> Vec<Site> {
        let mut sites: Vec<Site> = Vec::new();
        let mut others: Vec<Site> = Vec::new();
        let mut wrong: Option<String> = None;
        let mut gone = Gone::default();
        // What a call left by an exception had is known from its entry.
        let moment = match source.kind {
            Kind::Unwound => When::After,
            _ => source.when,
        };
        for (module, function) in functions {
            let Some(bias) = self.images.bias(module) else {
                continue;
            };
            if module.is_split_off(function) {
                gone.parts += 1;
                continue;
            }
            if calls_itself_deleted(source, module, function) || module.is_resumption(function) {
                continue;
            }
            let callee = Callee::new(module, bias, function);
            let mut reads = Vec::new();
            let mut failed = None;
            for param in &source.params {
                match of_call(param, moment, &callee, &self.images, &mut self.memo) {
                    Ok(read) => reads.push(read),
                    Err(e) => {
                        failed.get_or_insert_with(|| self.in_library(module, e));
                        reads.push(Read {
                            how: How::Unknown,
                            phase: Phase::Now,
                        });
                    }
                }
            }
            let fits = failed.is_none();
            wrong = wrong.or(failed);
            let at = Addr(function.entry.at(bias));
            let saves = reads.iter().any(|r| r.phase != Phase::Now);
            let is_loop = jumps_back(module, function);
            let on = match (source.kind, source.when) {
                (Kind::Unwound, _) | (_, When::After) if saves => On::Call(at),
                (Kind::Unwound, _) | (_, When::After) => On::Return(at),
                _ if is_loop => On::Enter(at),
                _ => On::Exec(at),
            };
            if sites.iter().chain(&others).any(|s| s.on == on) {
                continue;
            }
            if fits {
                gone.count(&source.params, &reads);
            }
            let by_scope =
                |r: &Read| matches!(r.how, How::Node(..) | How::InPart(..) | How::ByCaller(..));
            let needs_scope = reads.iter().any(by_scope);
            let scope = needs_scope.then(|| entry_scope(module, bias, function.entry));
            let list = if fits { &mut sites } else { &mut others };
            list.push(Site {
                on,
                is_loop,
                reads: reads.into(),
                scope: scope.map(Arc::new),
                loc: self.line_text(at.0),
                trap: None,
            });
        }
        // A function that lacks what the event names is another one of its name, unless all do.
        match sites.is_empty() {
            true => sites = others,
            false => wrong = wrong.map(|text| format!("{text}; those calls are not observed")),
        }
        note_misfit(source, &sites, wrong, notes);
        if !source.told {
            gone.note(source, (sites.len(), "function"), notes);
        }
        sites
    }

    /// What is wrong in a library's function says so: the program may have one of that name.
    fn in_library(&self, module: &Arc<Module>, text: String) -> String {
        match module.path().file_name() {
            Some(file) if !Arc::ptr_eq(module, self.images.program()) => {
                format!("in {}: {text}", file.to_string_lossy())
            }
            _ => text,
        }
    }

    fn line_sites(&mut self, source: &Source, notes: &mut Vec<Note>) -> Vec<Site> {
        let Some((file, line)) = source.name.rsplit_once(':') else {
            return Vec::new();
        };
        let Ok(line) = line.trim().parse() else {
            return Vec::new();
        };
        let mut sites: Vec<Site> = Vec::new();
        let mut entries: Vec<Site> = Vec::new();
        let mut wrong = None;
        let mut gone = Gone::default();
        let loaded = self.images.loaded().to_vec();
        for l in &loaded {
            let Some(found) = l.module.line_addresses(file.trim(), line) else {
                continue;
            };
            for addr in found.addresses {
                let at = Addr(addr.at(l.bias));
                let scope = inner_scope(&l.module, l.bias, addr);
                let began = self.site_of_entry(source, &scope, &mut wrong);
                let mut reads = Vec::new();
                for param in &source.params {
                    let bound = of_place(param, Some(&scope), |text| {
                        let here =
                            Here::of_property(&self.images, Some(scope.clone()), &mut self.memo);
                        compile(text, &here).map_err(|e| e.to_string())
                    });
                    reads.push(match bound {
                        Ok(_) if matches!(param.operand, Operand::Entry(_)) => {
                            kept(began.as_ref(), reads.len())
                        }
                        Ok(Read {
                            how: How::Node(node, form),
                            phase,
                        }) => Read {
                            how: remaining(node, form, &scope, &self.images),
                            phase,
                        },
                        Ok(read) => read,
                        Err(e) => {
                            wrong.get_or_insert(e);
                            Read {
                                how: How::Unknown,
                                phase: Phase::Now,
                            }
                        }
                    });
                }
                gone.count(&source.params, &reads);
                if let Some(began) = began {
                    gone.count(&source.params, &began.reads);
                    entries.push(began);
                }
                sites.push(Site {
                    on: On::Exec(at),
                    is_loop: false,
                    reads: reads.into(),
                    scope: Some(Arc::new(scope)),
                    loc: self.line_text(at.0),
                    trap: None,
                });
            }
        }
        note_misfit(source, &sites, wrong, notes);
        if !source.told {
            gone.note(source, (sites.len(), "place"), notes);
        }
        for entry in entries {
            if sites.iter().all(|s| s.on != entry.on) {
                sites.push(entry);
            }
        }
        sites
    }

    /// `file.c:12` of an address.
    pub(in super::super) fn line_text(&self, addr: u64) -> Option<Arc<str>> {
        let span = self.line_at(addr)?;
        Some(format!("{}:{}", span.file.name, span.line).into())
    }
}

/// A destructor that frees the object calls the one that does not, unless it has that in itself:
/// an object is destroyed once.
fn calls_itself_deleted(source: &Source, module: &Module, function: &Function) -> bool {
    if function.die.is_none() || !module.is_deleting(function) {
        return false;
    }
    let copies = module.inlined_calls(&FunctionQuery::parse(&source.name));
    let is_inside = |at: FileAddr| function.ranges.iter().any(|r| r.0 <= at && at < r.1);
    !copies.iter().any(|copy| is_inside(copy.entry))
}

/// One place of many may lack a parameter; all of them is a mistake.
pub(super) fn note_misfit(
    source: &Source,
    sites: &[Site],
    wrong: Option<String>,
    notes: &mut Vec<Note>,
) {
    if let Some(text) = wrong {
        let useless = sites.iter().all(Site::is_misfit);
        notes.push(Note {
            text: format!("event {}: {text}", source.title()),
            is_error: useless,
        });
    }
}

/// The code that the kernel maps into every process.
fn is_kernels(module: &Module) -> bool {
    module.path() == Path::new("[vdso]")
}

/// The scope of an instruction inside a function.
pub fn inner_scope(module: &Arc<Module>, bias: u64, at: FileAddr) -> FrameScope {
    FrameScope {
        at_entry: false,
        source: module.frames_at(at).into_iter().next(),
        ..entry_scope(module, bias, at)
    }
}
