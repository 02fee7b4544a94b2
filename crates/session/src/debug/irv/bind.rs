//! From the names of events to places of the program.

use super::super::Debugger;
use super::super::here::Here;
use super::alphabet::{Site, Source};
use super::flow::jumps_back;
use super::reads::{Callee, How, Phase, Read, entry_scope, of_call, of_place, width};
use super::{Irv, data};
use std::path::Path;
use std::sync::Arc;
use verde_engine::{Addr, On, Tid};
use verde_expr::{FrameScope, compile};
use verde_property::{Kind, ParamSpec, When};
use verde_symbols::{FileAddr, Function, FunctionQuery, Module, Modules};

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
        let found = match source.kind {
            Kind::Call | Kind::Unwound => {
                let functions = self.callable(irv, index);
                self.call_sites(&irv.alphabet.sources[index], functions, notes)
            }
            Kind::Line => self.line_sites(source, notes),
            Kind::Syscall => system_call_site(source, notes),
            Kind::Signal => signal_site(source, notes),
            Kind::Thread => vec![plain_site(source, On::Thread)],
            Kind::Process => vec![],
            Kind::Write | Kind::Read | Kind::Update => {
                if irv.alphabet.sources[index].datum.is_none() {
                    irv.alphabet.sources[index].datum = Some(data::Datum::default());
                }
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
        // The loader's private copies are none of the program's, unless it is named.
        let loader = self.images.program().interpreter();
        let loader = loader.as_deref().and_then(|p| p.file_name());
        let named = name.contains('!');
        let wanted = |m: &Module| named || loader.is_none() || m.path().file_name() != loader;
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
        if loader.is_none() && self.live.is_some() {
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
            let known = irv.resolved.get(&resolver).copied();
            let target = match known {
                Some(target) => Some(target),
                None if irv.loading => None,
                None => self.ask_resolver(resolver),
            };
            let Some(target) = target else {
                return false;
            };
            irv.resolved.insert(resolver, target);
            function.entry = FileAddr::of(target, bias);
            // What is described is the resolver.
            function.die = None;
            function.is_ifunc = false;
            true
        });
        functions
    }

    /// Lets the program choose the variant of an indirect function.
    fn ask_resolver(&mut self, resolver: u64) -> Option<u64> {
        let live = self.live.as_mut()?;
        let stopped = |t: &Tid| live.process.is_stopped(*t);
        let tid = live.process.threads().into_iter().find(stopped)?;
        let returned = live
            .process
            .call_function(tid, Addr(resolver), &[], |_| {})
            .ok()?;
        let target = returned.regs.rax;
        self.images.module_at(target).map(|_| target)
    }

    fn call_sites(
        &mut self,
        source: &Source,
        functions: Vec<(Arc<Module>, Function)>,
        notes: &mut Vec<Note>,
    ) -> Vec<Site> {
        let mut sites: Vec<Site> = Vec::new();
        let mut wrong: Option<String> = None;
        let mut gone = Gone::default();
        // What a call left by an exception had is known from its entry.
        let moment = match source.kind {
            Kind::Unwound => When::After,
            _ => source.when,
        };
        for (module, function) in &functions {
            let Some(bias) = self.images.bias(module) else {
                continue;
            };
            if module.is_split_off(function) {
                gone.parts += 1;
                continue;
            }
            if calls_itself_deleted(source, module, function) {
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
            wrong = wrong.or(failed);
            gone.count(&source.params, &reads);
            let at = Addr(function.entry.at(bias));
            let saves = reads.iter().any(|r| r.phase != Phase::Now);
            let is_loop = jumps_back(module, function);
            let on = match (source.kind, source.when) {
                (Kind::Unwound, _) | (_, When::After) if saves => On::Call(at),
                (Kind::Unwound, _) | (_, When::After) => On::Return(at),
                _ if is_loop => On::Enter(at),
                _ => On::Exec(at),
            };
            if sites.iter().any(|s| s.on == on) {
                continue;
            }
            let by_scope = |r: &Read| matches!(r.how, How::Node(..) | How::ByCaller(..));
            let needs_scope = reads.iter().any(by_scope);
            let scope = needs_scope.then(|| entry_scope(module, bias, function.entry));
            sites.push(Site {
                on,
                is_loop,
                reads: reads.into(),
                scope: scope.map(Arc::new),
                loc: self.line_text(at.0),
                trap: None,
            });
        }
        note_misfit(source, &sites, wrong, notes);
        if !source.told {
            gone.note(source, sites.len(), notes);
        }
        self.note_inlined(source, sites.is_empty(), notes);
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

    /// The program has a function of a source's name, in its callers only.
    pub(super) fn is_inlined(&self, source: &Source) -> bool {
        let query = FunctionQuery::parse(&source.name);
        let program = self.images.program();
        matches!(source.kind, Kind::Call | Kind::Unwound) && program.has_inlined(&query)
    }

    /// Calls that were inlined cannot be observed: the user is told how many.
    fn note_inlined(&self, source: &Source, alone: bool, notes: &mut Vec<Note>) {
        if source.told {
            return;
        }
        let query = FunctionQuery::parse(&source.name);
        let (mut count, mut gone) = (0, false);
        for loaded in self.images.loaded() {
            if query.fits_module(loaded.module.path()) {
                count += loaded.module.inlined_calls(&query).len();
                gone |= alone && loaded.module.has_inlined(&query);
            }
        }
        if count == 0 && gone {
            notes.push(Note {
                text: format!(
                    "event {}: it was inlined, and nothing is left of its calls: not observable (compile with -fno-inline to see them)",
                    source.title()
                ),
                is_error: false,
            });
        }
        if count > 0 {
            let calls = if count == 1 { "call" } else { "calls" };
            let rest = if alone {
                "; there is no other".to_owned()
            } else {
                String::new()
            };
            notes.push(Note {
                text: format!(
                    "event {}: {count} {calls} inlined: not observable{rest} (compile with -fno-inline to see them)",
                    source.title()
                ),
                is_error: false,
            });
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
        let mut wrong = None;
        let loaded = self.images.loaded().to_vec();
        for l in &loaded {
            let Some(found) = l.module.line_addresses(file.trim(), line) else {
                continue;
            };
            for addr in found.addresses {
                let at = Addr(addr.at(l.bias));
                let scope = inner_scope(&l.module, l.bias, addr);
                let mut reads = Vec::new();
                for param in &source.params {
                    let bound = of_place(param, |text| {
                        let here = Here {
                            process: None,
                            images: &self.images,
                            frame: Some(scope.clone()),
                            innermost: false,
                            memo: &mut self.memo,
                        };
                        compile(text, &here).map_err(|e| e.to_string())
                    });
                    reads.push(match bound {
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

/// What the optimiser has left nothing of.
#[derive(Default)]
struct Gone {
    /// Functions of which a part is apart from the beginning, which callers have in themselves.
    parts: usize,
    /// Parameters, what becomes of each, and in how many places.
    parameters: Vec<(String, &'static str, usize)>,
}

impl Gone {
    fn count(&mut self, params: &[ParamSpec], reads: &[Read]) {
        let all = params.iter().zip(reads);
        for (param, read) in all {
            let then = match read.how {
                How::Removed => "it is None there",
                How::ByCaller(..) => "it is what the caller's code tells there, else None",
                _ => continue,
            };
            let same = |g: &&mut (String, &str, usize)| g.0 == param.text && g.1 == then;
            match self.parameters.iter_mut().find(same) {
                Some((.., count)) => *count += 1,
                None => self.parameters.push((param.text.clone(), then, 1)),
            }
        }
    }

    fn note(&self, source: &Source, places: usize, notes: &mut Vec<Note>) {
        let title = source.title();
        let mut say = |text: String| {
            notes.push(Note {
                text: format!("event {title}: {text}"),
                is_error: false,
            });
        };
        for (parameter, then, count) in &self.parameters {
            let functions = if places == 1 { "function" } else { "functions" };
            say(format!(
                "`{parameter}` was optimised away in {count} of {places} {functions}: {then}"
            ));
        }
        if self.parts > 0 {
            say("the compiler split it: where its beginning is inlined, calls of the rest are not observed".to_owned());
        }
    }
}

/// One place of many may lack a parameter; all of them is a mistake.
fn note_misfit(source: &Source, sites: &[Site], wrong: Option<String>, notes: &mut Vec<Note>) {
    if let Some(text) = wrong {
        let useless = sites
            .iter()
            .all(|s| s.reads.iter().any(|r| matches!(r.how, How::Unknown)));
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

/// An event that is not bound to an address: its parameters are registers and what it brings.
fn plain_site(source: &Source, on: On) -> Site {
    let reads: Vec<Read> = source
        .params
        .iter()
        .map(|p| of_place(p, |_| Err(String::new())))
        .map(|r| {
            r.unwrap_or(Read {
                how: How::Unknown,
                phase: Phase::Now,
            })
        })
        .collect();
    Site {
        on,
        is_loop: false,
        reads: reads.into(),
        scope: None,
        loc: None,
        trap: None,
    }
}

fn signal_site(source: &Source, notes: &mut Vec<Note>) -> Vec<Site> {
    match super::names::signal(&source.name) {
        Some(number) => vec![plain_site(source, On::Signal(number))],
        None => {
            notes.push(Note {
                text: format!("event {}: there is no such signal", source.title()),
                is_error: true,
            });
            Vec::new()
        }
    }
}

fn system_call_site(source: &Source, notes: &mut Vec<Note>) -> Vec<Site> {
    let Some(number) = super::names::system_call(&source.name) else {
        notes.push(Note {
            text: format!("event {}: there is no such system call", source.title()),
            is_error: true,
        });
        return Vec::new();
    };
    // The kernel's convention: the fourth argument is in r10.
    const ARGUMENTS: [u16; 6] = [5, 4, 1, 10, 8, 9];
    let mut site = plain_site(source, On::Syscall(Some(number)));
    let reads: Vec<Read> = source
        .params
        .iter()
        .zip(site.reads.iter())
        .map(|(p, read)| {
            use verde_property::ast::Operand;
            let operand = match &p.operand {
                Operand::Entry(inner) => inner,
                other => other,
            };
            let Operand::Arg(i) = operand else {
                return read.clone();
            };
            let how = match ARGUMENTS.get(*i as usize) {
                Some(register) => {
                    let (bytes, signed) = width(p.ty.as_deref());
                    How::Register {
                        number: *register,
                        bytes,
                        signed,
                        boolean: false,
                    }
                }
                None => How::Unknown,
            };
            Read {
                how,
                phase: Phase::Now,
            }
        })
        .collect();
    site.reads = reads.into();
    vec![site]
}
