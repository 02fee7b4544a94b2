//! What people write after `break` and `list`: a function, a line, an address.

use super::Debugger;
use super::failure::{NO_LINES, Result, failure};
use super::points::{Site, Test};
use std::path::Path;
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
        if let Some(line) = line_number(text) {
            return Spec::Line(None, line);
        }
        match text.rsplit_once(':') {
            Some((file, line)) if !file.is_empty() && !file.ends_with(':') => {
                match line_number(line) {
                    Some(line) => Spec::Line(Some(file), line),
                    None => Spec::Function(text),
                }
            }
            _ => Spec::Function(text),
        }
    }
}

/// A line by its number; one with a sign is an [`offset`].
fn line_number(text: &str) -> Option<u32> {
    match text.starts_with('+') {
        true => None,
        false => text.parse().ok(),
    }
}

/// `+2`, `-1`: so many lines from one that is known.
pub(super) fn offset(text: &str) -> Option<i64> {
    let text = text.trim();
    let digits = text.strip_prefix(['+', '-'])?;
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

/// The line so many from another; a file has none before its first.
pub(super) fn moved(line: u32, by: i64) -> u32 {
    let to = i64::from(line).saturating_add(by);
    u32::try_from(to.max(1)).unwrap_or(u32::MAX)
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

/// Splits `LOCATION if CONDITION`, which has to be there.
pub(super) fn take_condition(text: &str) -> Result<(&str, Option<&str>)> {
    match split_condition(text) {
        (_, Some("")) => failure("A condition is missing after \"if\"."),
        parts => Ok(parts),
    }
}

/// Splits `LOCATION if CONDITION`.
pub(super) fn split_condition(text: &str) -> (&str, Option<&str>) {
    let text = text.trim();
    if let Some(place) = text.strip_suffix(" if") {
        return (place.trim(), Some(""));
    }
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
    /// A location that means the same wherever the program stands: its parts as one text, lines
    /// by their numbers.
    pub(super) fn settled(&self, text: &str) -> Result<String> {
        let text = text.trim();
        if let Some(by) = offset(text) {
            let (file, line) = self.line_here()?;
            return Ok(format!("{}:{}", file.name, moved(line, by)));
        }
        let text = of_parts(text)?.unwrap_or_else(|| text.to_owned());
        // A line alone means that of this file, whatever is shown when it is looked up again.
        Ok(match Spec::parse(&text) {
            Spec::Line(None, line) => format!("{}:{line}", self.default_file()?.name),
            _ => text,
        })
    }

    /// The places of code a location means; none while they are not loaded.
    pub(super) fn sites(&mut self, text: &str) -> Result<Vec<Site>> {
        let site = |module: &Arc<Module>, addr| Site {
            module: Some(module.clone()),
            addr,
            line: None,
            trap: None,
            disabled: false,
            test: Test::Unknown,
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
                        line: None,
                        trap: None,
                        disabled: false,
                        test: Test::Unknown,
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
                        let named = |a: &FileAddr| found.own.contains(a);
                        let sites = found.addresses.iter().map(|a| Site {
                            line: named(a).then(|| (found.file.clone(), found.line)),
                            ..site(&loaded.module, *a)
                        });
                        return Ok(sites.collect());
                    }
                }
                let all = self.images.loaded().iter();
                let known = all.flat_map(|l| l.module.source_files());
                match known
                    .into_iter()
                    .any(|f| Path::new(&f.name).ends_with(&file))
                {
                    true => failure(format!("No line {line} in file \"{file}\".")),
                    false => failure(format!("No source file named {file}.")),
                }
            }
            Spec::Function(name) => {
                let mut out = Vec::new();
                let named = self.functions(name)?;
                let is_chosen = named.iter().any(|(_, f)| f.is_ifunc);
                let mut found = self.with_choices(named);
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
                        let starts = self.entries.of(&loaded.module, name, &query).into_iter();
                        out.extend(starts.map(|addr| site(&loaded.module, addr)));
                    }
                }
                // Counted as they lie in memory, whichever file was loaded first.
                out.sort_by_key(|site| self.address(site));
                match out.is_empty() {
                    // Its code is chosen when the program runs.
                    true if is_chosen => Ok(out),
                    // It will be there when its library is.
                    true if self.live.is_none() && self.is_imported(name) => Ok(out),
                    true => failure(self.unknown_function(name)),
                    false => Ok(out),
                }
            }
        }
    }

    /// Functions of a name: of each file those with debug information, else those that only the
    /// linker knows.
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
            let module = &loaded.module;
            let (known, linked): (Vec<Function>, Vec<Function>) = module
                .functions(&query)
                .into_iter()
                .filter(|f| f.die.is_some() || !module.is_plt(f.entry))
                .partition(|f| f.die.is_some());
            // A file without debug information has functions of its own, and what stands behind an
            // indirect function is another than those of its name. The C library's names are
            // everywhere, and so are those in the scopes of C++'s.
            let is_bare = |f: &Function| f.linkage_name.as_ref() == Some(&f.name);
            let may_have_own = known.is_empty() && !self.images.is_c_library(module);
            for function in linked {
                let is_own = function.is_ifunc || may_have_own && is_bare(&function);
                others.push((is_own, (module.clone(), function)));
            }
            described.extend(known.into_iter().map(|f| (module.clone(), f)));
        }
        let is_alone = described.is_empty();
        let others = others.into_iter().filter(|(own, _)| is_alone || *own);
        described.extend(others.map(|(_, other)| other));
        Ok(described)
    }

    /// The program takes a function of this name from a library.
    pub(super) fn is_imported(&self, name: &str) -> bool {
        self.images.program().links_by(name)
    }

    pub(super) fn unknown_function(&self, name: &str) -> String {
        if self.inlined_named(name).is_some() {
            return format!(
                "Function \"{name}\" has no code of its own: all its calls are inlined."
            );
        }
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
        let stood = || self.current_line().or_else(|| self.listing.left());
        if let Some(file) = shown.or_else(|| Some(stood()?.0)) {
            return Ok(file);
        }
        match self.main_line() {
            Some((file, _)) => Ok(file),
            None => failure(NO_LINES),
        }
    }

    /// The line that offsets count from: that of the frame, else where `list` goes on.
    fn line_here(&self) -> Result<(Arc<SourceFile>, u32)> {
        let shown = self.current_line().or_else(|| self.listing.goes_on());
        match shown.or_else(|| self.main_line()) {
            Some(place) => Ok(place),
            None => failure(NO_LINES),
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
