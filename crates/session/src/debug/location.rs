//! What people write after `break` and `list`: a function, a line, an address.

use super::Debugger;
use super::failure::{Result, failure};
use super::points::Site;
use std::sync::Arc;
use verde_symbols::{FileAddr, Function, FunctionQuery, Language, Module, Modules, SourceFile};

/// A location taken apart.
pub(super) enum Spec<'a> {
    Address(&'a str),
    Line(Option<&'a str>, u32),
    Function(&'a str),
}

impl<'a> Spec<'a> {
    pub fn parse(text: &'a str) -> Spec<'a> {
        let text = text.trim();
        if let Some(expression) = text.strip_prefix('*') {
            return Spec::Address(expression);
        }
        if let Ok(line) = text.parse() {
            return Spec::Line(None, line);
        }
        match text.rsplit_once(':') {
            Some((file, line)) if !file.is_empty() && !file.ends_with(':') => match line.parse() {
                Ok(line) => Spec::Line(Some(file), line),
                Err(_) => Spec::Function(text),
            },
            _ => Spec::Function(text),
        }
    }
}

/// `-function f`, `-source a.c -line 12`: a location by its parts, as the one text it means.
/// `None`: it is one text already.
pub(super) fn of_parts(text: &str) -> Result<Option<String>> {
    if !text.starts_with('-') {
        return Ok(None);
    }
    let (mut source, mut place) = (None, None);
    let mut rest = text;
    while !rest.is_empty() {
        let (option, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let after = after.trim_start();
        if is_option(option, "-qualified") {
            rest = after;
            continue;
        }
        // A function of C++ may have spaces in its name.
        let end = after.find(" -").unwrap_or(after.len());
        let value = after[..end].trim();
        rest = after[end..].trim_start();
        if value.is_empty() {
            return failure(format!("missing argument for \"{option}\""));
        }
        match option {
            o if is_option(o, "-source") => source = Some(value),
            o if is_option(o, "-function") || is_option(o, "-line") => place = Some(value),
            _ => {
                return failure(format!(
                    "invalid explicit argument, \"{option}\": -function, -source, -line"
                ));
            }
        }
    }
    match (source, place) {
        (Some(source), Some(place)) => Ok(Some(format!("{source}:{place}"))),
        (None, Some(place)) => Ok(Some(place.to_owned())),
        _ => failure("Source filename requires function or line offset."),
    }
}

fn is_option(word: &str, name: &str) -> bool {
    word.len() > 1 && name.starts_with(word)
}

/// Splits `LOCATION if CONDITION`.
pub(super) fn split_condition(text: &str) -> (&str, Option<&str>) {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix("if ") {
        return ("", Some(rest.trim()));
    }
    let at = text.find(" if ").or_else(|| text.find(" if("));
    match at {
        Some(at) => (text[..at].trim(), Some(text[at + 3..].trim())),
        None => (text, None),
    }
}

impl Debugger {
    /// The places of code a location means; none while they are not loaded.
    pub(super) fn sites(&mut self, text: &str) -> Result<Vec<Site>> {
        let site = |module: &Arc<Module>, addr| Site {
            module: Some(module.clone()),
            addr,
            trap: None,
            disabled: false,
        };
        match Spec::parse(text) {
            Spec::Address(expression) => {
                let value = self.evaluate(expression)?;
                let addr = match value.ty.strip().kind() {
                    verde_symbols::Kind::Function(..) => value.address(),
                    _ => None,
                };
                let addr = match addr {
                    Some(addr) => addr,
                    None => value.to_address()?,
                };
                // A place of a file moves with it.
                let module = self.images.module_at(addr);
                let is_code = |(module, bias): &(Arc<Module>, u64)| {
                    let at = FileAddr::of(addr, *bias).0;
                    let mut code = module.segments().into_iter().filter(|s| s.flags.2);
                    code.any(|s| (s.addr.0..s.addr.0 + s.size).contains(&at))
                };
                Ok(vec![match module.filter(is_code) {
                    Some((module, bias)) => site(&module, FileAddr::of(addr, bias)),
                    None => Site {
                        module: None,
                        addr: FileAddr(addr),
                        trap: None,
                        disabled: false,
                    },
                }])
            }
            Spec::Line(file, line) => {
                let file = match file {
                    Some(file) => file.to_owned(),
                    None => self.default_file()?.name.clone(),
                };
                for loaded in self.images.loaded() {
                    if let Some(found) = loaded.module.line_addresses(&file, line) {
                        let addresses = found.addresses.iter();
                        return Ok(addresses.map(|a| site(&loaded.module, *a)).collect());
                    }
                }
                let all = self.images.loaded().iter();
                let known = all.flat_map(|l| l.module.source_files());
                match known.into_iter().any(|f| f.name.ends_with(&file)) {
                    true => failure(format!("No line {line} in file \"{file}\".")),
                    false => failure(format!("No source file named {file}.")),
                }
            }
            Spec::Function(name) => {
                let mut out = Vec::new();
                let mut found = self.functions(name)?;
                // The body of an async function runs later, as a function of its own.
                if found.iter().any(|(_, f)| f.language == Language::Rust) {
                    found.extend(self.functions(&format!("{name}::{{async_fn#0}}"))?);
                }
                for (module, function) in found {
                    out.push(site(&module, module.breakpoint_address(&function)));
                }
                let query = FunctionQuery::parse(name);
                for loaded in self.images.loaded() {
                    if query.fits_module(loaded.module.path()) {
                        let inlined = loaded.module.inlined_calls(&query);
                        out.extend(inlined.iter().map(|i| site(&loaded.module, i.entry)));
                    }
                }
                match out.is_empty() {
                    // It will be there when its library is.
                    true if self.live.is_none() && self.is_imported(name) => Ok(out),
                    true => failure(self.unknown_function(name)),
                    false => Ok(out),
                }
            }
        }
    }

    /// Functions of a name: those with debug information, else those that
    /// only the linker knows.
    pub(super) fn functions(&self, name: &str) -> Result<Vec<(Arc<Module>, Function)>> {
        self.functions_in(name, |_| true)
    }

    /// The same in some of the files.
    pub(super) fn functions_in(
        &self,
        name: &str,
        wanted: impl Fn(&Module) -> bool,
    ) -> Result<Vec<(Arc<Module>, Function)>> {
        let query = FunctionQuery::parse(name);
        let mut described = Vec::new();
        let mut others = Vec::new();
        for loaded in self.images.loaded() {
            if !query.fits_module(loaded.module.path()) || !wanted(&loaded.module) {
                continue;
            }
            for function in loaded.module.functions(&query) {
                let list = match function.die {
                    Some(_) => &mut described,
                    None if loaded.module.is_plt(function.entry) => continue,
                    None => &mut others,
                };
                list.push((loaded.module.clone(), function));
            }
        }
        if described.is_empty() {
            return Ok(others);
        }
        // What stands behind an indirect function is another than those of its name.
        described.extend(others.into_iter().filter(|(_, f)| f.is_ifunc));
        Ok(described)
    }

    /// The program takes a function of this name from a library.
    pub(super) fn is_imported(&self, name: &str) -> bool {
        let program = self.images.program();
        let names = program.section(".dynstr").and_then(|(at, size)| {
            let size = usize::try_from(size).ok()?;
            program.bytes_at(at, size)
        });
        let mut names = names.unwrap_or_default().split(|b| *b == 0);
        !name.is_empty() && names.any(|n| n == name.as_bytes())
    }

    pub(super) fn unknown_function(&self, name: &str) -> String {
        let near = self.images.program().nearest_names(name, 3);
        match near.is_empty() {
            true => format!("Function \"{name}\" not defined."),
            false => format!(
                "Function \"{name}\" not defined; near it: {}.",
                near.join(", ")
            ),
        }
    }

    /// The file a bare line number is in: that of the frame, else of `main`.
    pub(super) fn default_file(&self) -> Result<Arc<SourceFile>> {
        let shown = self.listing.file.clone();
        if let Some(file) = shown.or_else(|| Some(self.current_line()?.0)) {
            return Ok(file);
        }
        match self.main_line() {
            Some((file, _)) => Ok(file),
            None => failure("No symbol table is loaded.  Compile the program with -g."),
        }
    }

    /// Where `main` begins.
    pub(super) fn main_line(&self) -> Option<(Arc<SourceFile>, u32)> {
        let mains = self
            .images
            .program()
            .functions(&FunctionQuery::parse("main"));
        mains.into_iter().find_map(|f| f.declared)
    }
}
